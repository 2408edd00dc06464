//! Keys of the configuration file: the long names of the flags of a turn. There is no second list of
//! them, so a new flag is a key.

use std::path::Path;

use clap::builder::Resettable;
use clap::{Arg, ArgAction, ArgMatches, Args as _, Command, ValueHint, value_parser};

use crate::args::{LocationArgs, ProgramSharingArgs, SettingsArgs};

/// Flags that are no key: a choice of one command, the opposite of a key, or of a file of its own.
pub(super) const NO_KEYS: [&str; 8] = [
    "encrypt-key",
    "json",
    "no-answer-schema",
    "no-program",
    "no-rules",
    "no-web-search",
    "profile",
    "workspace",
];

/// Keys that apply to a process, whichever sessions it drives. All others are defaults of new sessions.
pub(super) const OF_PROCESS: [&str; 12] = [
    "connect-timeout",
    "escalation",
    "hooks",
    "process-life",
    "process-output",
    "processes",
    "program-idle",
    "programs-at-once",
    "providers",
    "sandbox",
    "store",
    "tools",
];

/// Keys of a model's own table.
pub(super) const OF_MODEL: [&str; 8] = [
    "base-url",
    "edit-tool",
    "effort",
    "max-output-tokens",
    "price",
    "provider",
    "temperature",
    "window",
];

/// Keys whose lists add up over the command, the profile and the file.
const RULES: [&str; 3] = ["allow", "ask", "deny"];

/// Form of a key's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum KeyForm {
    Switch,
    Number,
    Text,
    List,
}

impl KeyForm {
    /// Describes the expected value.
    pub(super) fn expected(self) -> &'static str {
        match self {
            Self::Switch => "true or false",
            Self::Number => "a number",
            Self::Text => "a text in quotes",
            Self::List => "a list of texts, such as [\"a\", \"b\"]",
        }
    }
}

/// Key, with its flag.
#[derive(Debug)]
pub(super) struct Key {
    /// Long name of the flag.
    pub(super) name: String,
    /// Other names of the flag.
    aliases: Vec<String>,
    /// Id of the flag's argument.
    pub(super) id: String,
    pub(super) form: KeyForm,
    /// True if the value is a path, which is relative to the folder of the file.
    is_path: bool,
    /// True if the value may be such a path after an @.
    may_name_file: bool,
    /// Environment variable of the flag.
    pub(super) variable: Option<String>,
    /// Default by the help of the flag.
    pub(super) default: Option<String>,
}

/// All keys.
#[derive(Debug)]
pub(super) struct Keys {
    all: Vec<Key>,
    /// Command that takes a value for each.
    command: Command,
}

impl Keys {
    pub(super) fn new() -> Self {
        let command = SettingsArgs::augment_args(Command::new("config"));
        let command = LocationArgs::augment_args(ProgramSharingArgs::augment_args(command));
        let all = command.get_arguments().filter_map(Key::of).collect();
        let command = command.no_binary_name(true).disable_help_flag(true).mut_args(plain);
        Self { all, command }
    }

    pub(super) fn all(&self) -> &[Key] {
        &self.all
    }

    /// Returns the key of a name, in which `_` and `-` are the same.
    pub(super) fn find(&self, name: &str) -> Option<&Key> {
        let name = name.replace('_', "-");
        self.all.iter().find(|key| key.name == name || key.aliases.contains(&name))
    }

    /// Parses values of keys by the parsers of their flags.
    ///
    /// # Errors
    /// The reason why they are no values, or do not go together.
    pub(super) fn parse<'a>(
        &self,
        values: impl IntoIterator<Item = (&'a str, &'a [String])>,
    ) -> Result<ArgMatches, String> {
        let words = values.into_iter().flat_map(|(name, values)| {
            values.iter().map(move |value| format!("--{name}={value}")).collect::<Vec<_>>()
        });
        self.command.clone().try_get_matches_from(words).map_err(|error| reason(&error))
    }

    /// Returns true if a flag of the command excludes a key.
    pub(super) fn is_excluded(&self, key: &Key, by: &ArgMatches) -> bool {
        let of = |id: &str| self.command.get_arguments().find(|arg| arg.get_id() == id);
        let excludes = |one: &Arg, id: &str| {
            let excluded = self.command.get_arg_conflicts_with(one);
            excluded.iter().any(|other| other.get_id() == id)
        };
        let Some(own) = of(&key.id) else {
            return false;
        };
        let mut given = by.ids().filter(|id| super::is_given(by, id.as_str()));
        given.any(|id| {
            let other = of(id.as_str());
            excludes(own, id.as_str()) || other.is_some_and(|other| excludes(other, &key.id))
        })
    }
}

impl Key {
    fn of(arg: &Arg) -> Option<Self> {
        let name = arg.get_long().filter(|name| !NO_KEYS.contains(name))?;
        let counted = ["N", "TOKENS"];
        let value_name = arg.get_value_names().and_then(|names| names.first());
        let is_counted = value_name.is_some_and(|name| counted.contains(&name.as_str()));
        let form = if is_switch(arg) {
            KeyForm::Switch
        } else if matches!(arg.get_action(), ArgAction::Append) {
            KeyForm::List
        } else if is_counted {
            KeyForm::Number
        } else {
            KeyForm::Text
        };
        let aliases = arg.get_all_aliases().unwrap_or_default();
        let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
        let default = help.split_once("[default: ").and_then(|(_, rest)| rest.split_once(']'));
        Some(Self {
            name: name.to_owned(),
            aliases: aliases.into_iter().map(str::to_owned).collect(),
            id: arg.get_id().to_string(),
            form,
            is_path: arg.get_value_hint() == ValueHint::AnyPath,
            may_name_file: value_name.is_some_and(|name| name.contains("@FILE")),
            variable: arg.get_env().map(|name| name.to_string_lossy().into_owned()),
            default: default.map(|(default, _)| default.to_owned()),
        })
    }

    /// Returns true if the value applies to existing sessions too.
    pub(super) fn is_of_process(&self) -> bool {
        OF_PROCESS.contains(&self.name.as_str())
    }

    /// Returns true if its lists add up.
    pub(super) fn is_rule(&self) -> bool {
        RULES.contains(&self.name.as_str())
    }

    /// Returns true if a model's own table may have it.
    pub(super) fn is_of_model(&self) -> bool {
        OF_MODEL.contains(&self.name.as_str())
    }

    /// Returns a value whose path is relative to a folder.
    pub(super) fn resolve(&self, value: String, beside: &Path) -> String {
        match value.strip_prefix('@') {
            Some(path) if self.may_name_file => format!("@{}", beside.join(path).display()),
            Some(_) | None if self.is_path => beside.join(value).display().to_string(),
            Some(_) | None => value,
        }
    }

    /// Name as the file and the documentation write it.
    pub(super) fn written(&self) -> String {
        self.name.replace('-', "_")
    }
}

/// Returns the argument without its variable, and a switch as an option with a value.
fn plain(arg: Arg) -> Arg {
    let arg = arg.env(Resettable::Reset);
    match is_switch(&arg) {
        true => arg.action(ArgAction::Set).value_parser(value_parser!(bool)),
        false => arg,
    }
}

fn is_switch(arg: &Arg) -> bool {
    matches!(arg.get_action(), ArgAction::SetTrue)
}

/// Returns the reason of an error without the command's usage.
fn reason(error: &clap::Error) -> String {
    use clap::error::{ContextKind, ContextValue};
    use std::error::Error as _;
    if let Some(source) = error.source() {
        return source.to_string();
    }
    match error.get(ContextKind::ValidValue) {
        Some(ContextValue::Strings(valid)) if !valid.is_empty() => {
            format!("use one of {}", valid.join(", "))
        }
        Some(_) | None => {
            let words = error.to_string();
            let line = words.lines().next().unwrap_or_default();
            line.trim_start_matches("error: ").to_owned()
        }
    }
}

/// Returns the name that is most like a misspelt one, if one is.
pub(crate) fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let like = known.into_iter().map(|one| {
        let far = distance(name.as_bytes(), one.as_bytes());
        (far, one.len().abs_diff(name.len()), one)
    });
    let (far, _, one) = like.min()?;
    (far <= 1 + one.len() / 4).then_some(one)
}

/// Counts the insertions, deletions, replacements and swaps of neighbours between two names.
fn distance(one: &[u8], other: &[u8]) -> usize {
    let mut rows: Vec<Vec<usize>> = vec![(0..=other.len()).collect()];
    let cell = |rows: &[Vec<usize>], line: usize, at: usize| {
        rows.get(line).and_then(|row| row.get(at)).copied().unwrap_or(usize::MAX)
    };
    for (line, a) in one.iter().enumerate() {
        rows.push(vec![line + 1]);
        for (at, b) in other.iter().enumerate() {
            let mut least = cell(&rows, line, at) + usize::from(a != b);
            least = least.min(cell(&rows, line, at + 1) + 1).min(cell(&rows, line + 1, at) + 1);
            let swapped =
                line > 0 && at > 0 && one.get(line - 1) == Some(b) && other.get(at - 1) == Some(a);
            if swapped {
                least = least.min(cell(&rows, line - 1, at - 1) + 1);
            }
            if let Some(row) = rows.last_mut() {
                row.push(least);
            }
        }
    }
    cell(&rows, one.len(), other.len())
}
