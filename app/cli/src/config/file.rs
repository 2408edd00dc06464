//! Text of the configuration file, as entries with their lines. One reading finds every problem.

use std::collections::BTreeMap;
use std::path::Path;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::key_store::{KeyPlace, KeyPlaces};
use super::keys::{Key, KeyForm, Keys, nearest};
use super::terminal::TerminalConfig;

/// Names at the top of the file that are no flags.
const TABLES: [&str; 6] = ["keys", "mcp_servers", "models", "profile", "profiles", "terminal"];

/// Contents of the file.
#[derive(Debug, Default)]
pub(super) struct ConfigFile {
    /// Defaults.
    pub(super) keys: Vec<Entry>,
    /// Profile that applies if the command names none.
    pub(super) profile: Option<String>,
    pub(super) profiles: BTreeMap<String, Vec<Entry>>,
    pub(super) models: BTreeMap<String, Vec<Entry>>,
    pub(super) terminal: TerminalConfig,
    pub(super) key_places: KeyPlaces,
}

/// Value of a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    /// Long name of the flag.
    pub(super) name: String,
    /// Values as a command would give them, of which only a list has several.
    pub(super) values: Vec<String>,
    pub(super) line: usize,
}

/// Name or value with its position.
type Name<'a> = Spanned<std::borrow::Cow<'a, str>>;
pub(super) type Value<'a> = Spanned<DeValue<'a>>;

/// Reads a text. Returns its usable part, and a line for each problem.
pub(super) fn parse(text: &str, path: &Path, keys: &Keys) -> (ConfigFile, Vec<String>) {
    let mut reader = Reader { text, path, keys, problems: Vec::new() };
    let file = match DeTable::parse(text) {
        Ok(table) => reader.file(table.get_ref()),
        Err(error) => {
            // The line itself is not shown, since it may contain a secret.
            reader.problem(error.span().map_or(0, |span| span.start), error.message());
            ConfigFile::default()
        }
    };
    (file, reader.problems)
}

/// Returns the words for a name that is not known.
pub(super) fn unknown<'a>(
    what: &str,
    name: &str,
    known: impl IntoIterator<Item = &'a str>,
) -> String {
    match nearest(name, known) {
        Some(like) => format!("unknown {what} `{name}`; did you mean `{like}`?"),
        None => format!("unknown {what} `{name}`"),
    }
}

/// Reader of one text.
pub(super) struct Reader<'a> {
    text: &'a str,
    path: &'a Path,
    keys: &'a Keys,
    problems: Vec<String>,
}

impl Reader<'_> {
    fn file(&mut self, table: &DeTable<'_>) -> ConfigFile {
        let mut file = ConfigFile::default();
        for (name, value) in in_order(table) {
            match name.get_ref().as_ref() {
                "profile" => {
                    let named = value.get_ref().as_str().map(str::to_owned);
                    if named.is_none() {
                        self.mistyped("profile", value, KeyForm::Text.expected());
                    }
                    file.profile = named.filter(|name| !name.is_empty());
                }
                "profiles" => file.profiles = self.named("profiles", value, |_| true),
                "models" => file.models = self.named("models", value, Key::is_of_model),
                "keys" => file.key_places = self.key_places(value),
                "mcp_servers" => self.mcp_servers(value),
                "terminal" => {
                    if let Some(table) = self.table("terminal", value) {
                        file.terminal = TerminalConfig::read(self, table);
                    }
                }
                _ => self.entry(name, value, &mut file.keys, &|_| true, &TABLES),
            }
        }
        if let Some(name) = file.profile.take_if(|name| !file.profiles.contains_key(name)) {
            let at = table.iter().find(|(key, _)| key.get_ref() == "profile");
            let words = unknown("profile", &name, file.profiles.keys().map(String::as_str));
            self.problem(at.map_or(0, |(_, value)| value.span().start), &words);
        }
        file
    }

    /// Checks the MCP servers, which their adapter reads from the text.
    fn mcp_servers(&mut self, value: &Value<'_>) {
        let is_table = self.table("mcp_servers", value).is_some();
        #[cfg(not(feature = "mcp"))]
        let _ = is_table;
        #[cfg(feature = "mcp")]
        if is_table && let Err(error) = windlass_mcp::parse_toml(self.text) {
            // The lines before show the text, which may contain a secret.
            let reason = error.to_string();
            let reason = reason.lines().last().unwrap_or_default();
            self.problem(value.span().start, &format!("in `mcp_servers`: {reason}"));
        }
    }

    /// Reads the places of keys. A value is not repeated, since it may be a key.
    fn key_places(&mut self, value: &Value<'_>) -> KeyPlaces {
        let mut places = KeyPlaces::new();
        for (name, value) in self.table("keys", value).into_iter().flat_map(in_order) {
            match value.get_ref().as_str().and_then(KeyPlace::parse) {
                Some(place) => {
                    places.insert(name.get_ref().to_string(), place);
                }
                None => {
                    let words = format!(
                        "`{}` is neither \"keyring\" nor \"command:LINE\"; a key itself is not in \
                         this file",
                        name.get_ref()
                    );
                    self.problem(value.span().start, &words);
                }
            }
        }
        places
    }

    /// Reads tables by their names.
    fn named(
        &mut self,
        what: &str,
        value: &Value<'_>,
        fits: fn(&Key) -> bool,
    ) -> BTreeMap<String, Vec<Entry>> {
        let mut all = BTreeMap::new();
        for (name, value) in self.table(what, value).into_iter().flat_map(in_order) {
            let mut entries = Vec::new();
            let path = format!("{what}.{}", name.get_ref());
            for (key, value) in self.table(&path, value).into_iter().flat_map(in_order) {
                self.entry(key, value, &mut entries, &fits, &[]);
            }
            all.insert(name.get_ref().to_string(), entries);
        }
        all
    }

    fn entry(
        &mut self,
        name: &Name<'_>,
        value: &Value<'_>,
        entries: &mut Vec<Entry>,
        fits: &dyn Fn(&Key) -> bool,
        others: &[&str],
    ) {
        let (at, given) = (name.span().start, name.get_ref().as_ref());
        let Some(key) = self.keys.find(given).filter(|key| fits(key)) else {
            let known = self.keys.all().iter().filter(|key| fits(key)).map(Key::written);
            let known: Vec<String> = known.chain(others.iter().map(ToString::to_string)).collect();
            let like = given.replace('-', "_");
            let words = unknown("key", &like, known.iter().map(String::as_str));
            return self.problem(at, &words.replacen(&like, given, 1));
        };
        if entries.iter().any(|entry| entry.name == key.name) {
            return self.problem(at, &format!("the key `{given}` is there twice"));
        }
        let Some(mut values) = values(key, value.get_ref()) else {
            return self.mistyped(given, value, key.form.expected());
        };
        let beside = self.path.parent().unwrap_or(Path::new(""));
        values = values.into_iter().map(|value| key.resolve(value, beside)).collect();
        if let Err(reason) = self.keys.parse([(key.name.as_str(), values.as_slice())]) {
            return self.problem(value.span().start, &format!("invalid `{given}`: {reason}"));
        }
        let line = self.position(at).0;
        entries.push(Entry { name: key.name.clone(), values, line });
    }

    /// Returns the table that a value is to be.
    pub(super) fn table<'t, 'i>(
        &mut self,
        name: &str,
        value: &'t Value<'i>,
    ) -> Option<&'t DeTable<'i>> {
        let table = value.get_ref().as_table();
        if table.is_none() {
            self.mistyped(name, value, "a table");
        }
        table
    }

    pub(super) fn mistyped(&mut self, name: &str, value: &Value<'_>, expected: &str) {
        let found = value.get_ref().type_str();
        let words = format!("`{name}` is of type {found}, and {expected} is expected");
        self.problem(value.span().start, &words);
    }

    pub(super) fn problem(&mut self, at: usize, words: &str) {
        let (line, column) = self.position(at);
        let words = words.replace('\n', " ");
        self.problems.push(format!("{}:{line}:{column}: {words}", self.path.display()));
    }

    /// Returns the line and the column of a byte, from 1.
    fn position(&self, at: usize) -> (usize, usize) {
        let before = self.text.get(..at).unwrap_or_default();
        let line = before.rsplit('\n').next().unwrap_or_default();
        (before.matches('\n').count() + 1, line.chars().count() + 1)
    }
}

/// Returns the names and values of a table in the order of the text.
pub(super) fn in_order<'t, 'i>(table: &'t DeTable<'i>) -> Vec<(&'t Name<'i>, &'t Value<'i>)> {
    let mut all: Vec<_> = table.iter().collect();
    all.sort_by_key(|(name, _)| name.span().start);
    all
}

/// Returns the values of a key as a command would give them; `None` for another type.
fn values(key: &Key, value: &DeValue<'_>) -> Option<Vec<String>> {
    let one = match (key.form, value) {
        (KeyForm::Switch, DeValue::Boolean(on)) => on.to_string(),
        (KeyForm::Number, DeValue::Integer(number)) if number.radix() == 10 => {
            number.as_str().to_owned()
        }
        (KeyForm::Text, DeValue::Array(numbers)) if key.name == "price" => {
            let numbers: Option<Vec<String>> =
                numbers.iter().map(|number| scalar(number.get_ref())).collect();
            numbers?.join(",")
        }
        (KeyForm::Text, value) => scalar(value)?,
        (KeyForm::List, DeValue::Array(texts)) => {
            let texts = texts.iter().map(|text| text.get_ref().as_str().map(str::to_owned));
            return texts.collect();
        }
        _ => return None,
    };
    Some(vec![one])
}

/// Returns a text or a number as a command would give it.
fn scalar(value: &DeValue<'_>) -> Option<String> {
    match value {
        DeValue::String(text) => Some(text.to_string()),
        DeValue::Integer(number) if number.radix() == 10 => Some(number.as_str().to_owned()),
        DeValue::Float(number) => Some(number.as_str().to_owned()),
        DeValue::Integer(_)
        | DeValue::Boolean(_)
        | DeValue::Datetime(_)
        | DeValue::Array(_)
        | DeValue::Table(_) => None,
    }
}
