//! Shapes that the grammars share: fields and their types, names, ids, arguments, schemas, images.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::Fault;
use super::profile::{CallIds, Profile};

/// The longest name of a tool.
const NAME: usize = 64;
/// The most tools of a request.
const TOOLS: usize = 128;
const MEDIA: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];

pub(super) type Object = Map<String, Value>;

/// A field and what it holds.
pub(super) type Field = (&'static str, Kind);

/// What a field holds.
#[derive(Clone, Copy)]
pub(super) enum Kind {
    Any,
    Bool,
    /// Text that is not empty.
    Text,
    /// The same, up to so many characters.
    TextOf(usize),
    Word(&'static [&'static str]),
    /// A whole number, at least this.
    Whole(u64),
    /// A number within bounds.
    Number(f64, f64),
    List,
    Object,
}

impl Kind {
    fn wants(self, value: &Value) -> Option<String> {
        let (wanted, fits) = match self {
            Self::Any => return None,
            Self::Bool => ("true or false".to_owned(), value.is_boolean()),
            Self::Text => {
                let fits = value.as_str().is_some_and(|text| !text.is_empty());
                ("text that is not empty".to_owned(), fits)
            }
            Self::TextOf(most) => {
                let fits = |text: &str| !text.is_empty() && text.chars().count() <= most;
                let wanted = format!("text of 1 to {most} characters");
                (wanted, value.as_str().is_some_and(fits))
            }
            Self::Word(words) => {
                let fits = value.as_str().is_some_and(|word| words.contains(&word));
                (format!("one of {words:?}"), fits)
            }
            Self::Whole(least) => {
                let fits = value.as_u64().is_some_and(|number| number >= least);
                (format!("a whole number from {least}"), fits)
            }
            Self::Number(from, to) => {
                let fits = value.as_f64().is_some_and(|number| (from..=to).contains(&number));
                (format!("a number from {from} to {to}"), fits)
            }
            Self::List => ("a list".to_owned(), value.is_array()),
            Self::Object => ("an object".to_owned(), value.is_object()),
        };
        (!fits).then_some(wanted)
    }
}

/// What has been found wrong.
#[derive(Default)]
pub(super) struct Faults(Vec<Fault>);

impl Faults {
    pub(super) fn add(&mut self, at: impl Into<String>, why: impl Into<String>) {
        let (at, why) = (at.into(), why.into());
        self.0.push(Fault { at, why });
    }

    /// Adds it unless it holds.
    pub(super) fn hold(&mut self, holds: bool, at: &str, why: &str) {
        if !holds {
            self.add(at, why);
        }
    }

    pub(super) fn result(self) -> Result<(), Vec<Fault>> {
        match self.0.as_slice() {
            [] => Ok(()),
            [..] => Err(self.0),
        }
    }

    /// A value as an object.
    pub(super) fn object<'a>(&mut self, at: &str, value: &'a Value) -> Option<&'a Object> {
        let object = value.as_object();
        self.hold(object.is_some(), at, "it is no object");
        object
    }

    /// Holds an object to its fields: those that it must have, and those that it may.
    pub(super) fn fields(&mut self, at: &str, object: &Object, must: &[Field], may: &[Field]) {
        for (name, _) in must {
            if !object.contains_key(*name) {
                self.add(under(at, name), "it is missing");
            }
        }
        for (name, value) in object {
            let known = must.iter().chain(may).find(|(known, _)| known == name);
            match known {
                None => self.add(under(at, name), "no such field is known here"),
                Some((_, kind)) => {
                    if let Some(wanted) = kind.wants(value) {
                        self.add(under(at, name), format!("it has to be {wanted}"));
                    }
                }
            }
        }
    }

    /// Holds a body to the fields of its protocol, as the server takes them.
    pub(super) fn body(&mut self, profile: &Profile, body: &Object, must: &[Field], may: &[Field]) {
        let may: Vec<Field> = may
            .iter()
            .filter(|(name, _)| !profile.without.contains(name))
            .copied()
            .chain(profile.also.iter().map(|name| (*name, Kind::Any)))
            .collect();
        self.fields("", body, must, &may);
    }

    /// The name of a tool.
    pub(super) fn name(&mut self, at: &str, name: &Value) {
        let fits = |name: &str| plain(name) && name.len() <= NAME;
        let fits = name.as_str().is_some_and(fits);
        self.hold(fits, at, "a name has 1 to 64 characters of a-z A-Z 0-9 _ -");
    }

    /// The id of a call.
    pub(super) fn call_id(&mut self, at: &str, id: &str, ids: CallIds) {
        let long = id.chars().count();
        let (fits, wanted) = match ids {
            CallIds::UpTo(most) => {
                ((1..=most).contains(&long), format!("an id has 1 to {most} characters"))
            }
            CallIds::Plain(most) => (
                plain(id) && long <= most,
                format!("an id has 1 to {most} characters of a-z A-Z 0-9 _ -"),
            ),
            CallIds::Exactly(count) => (
                long == count && id.chars().all(|c| c.is_ascii_alphanumeric()),
                format!("an id has exactly {count} characters of a-z A-Z 0-9"),
            ),
        };
        self.hold(fits, at, &wanted);
    }

    /// The arguments of a call, as text.
    pub(super) fn arguments(&mut self, at: &str, arguments: &Value) {
        let Some(text) = arguments.as_str() else {
            return self.add(at, "they have to be text");
        };
        if let Err(error) = serde_json::from_str::<Object>(text) {
            self.add(at, format!("they have to be the text of a JSON object: {error}"));
        }
    }

    /// The list of tools; answers their names.
    pub(super) fn tools<'a>(
        &mut self,
        body: &'a Object,
        mut tool: impl FnMut(&mut Self, &str, &'a Object) -> Option<&'a str>,
    ) -> BTreeSet<&'a str> {
        let mut names = BTreeSet::new();
        let Some(tools) = body.get("tools").and_then(Value::as_array) else {
            return names;
        };
        let fits = (1..=TOOLS).contains(&tools.len());
        self.hold(fits, "tools", "there are 1 to 128 tools, or no such field");
        for (index, value) in tools.iter().enumerate() {
            let at = format!("tools[{index}]");
            let Some(object) = self.object(&at, value) else {
                continue;
            };
            if let Some(name) = tool(self, &at, object)
                && !names.insert(name)
            {
                self.add(at, format!("another tool is called {name:?}"));
            }
        }
        names
    }

    /// The schema of a tool's arguments; of a strict one each object is closed and requires all.
    pub(super) fn schema(&mut self, at: &str, schema: &Value, strict: bool) {
        let object = schema["type"] == "object";
        self.hold(object, at, "a schema here is one of an object");
        if strict {
            self.strict(at, schema);
        }
    }

    fn strict(&mut self, at: &str, schema: &Value) {
        if schema["type"] == "object" {
            let closed = schema["additionalProperties"] == false;
            self.hold(closed, at, "a strict schema has additionalProperties false");
            let required: BTreeSet<&str> =
                list(&schema["required"]).iter().filter_map(Value::as_str).collect();
            let properties = schema["properties"].as_object();
            for (name, inner) in properties.into_iter().flatten() {
                let all = required.contains(name.as_str());
                self.hold(all, at, "a strict schema requires all its properties");
                self.strict(&under(at, name), inner);
            }
        }
        if let Some(items) = schema.get("items") {
            self.strict(&under(at, "items"), items);
        }
    }

    /// A `json_schema` format.
    pub(super) fn answer_schema(&mut self, at: &str, format: &Object, with_type: bool) {
        let mut must = vec![("name", Kind::Any), ("schema", Kind::Object)];
        if with_type {
            must.push(("type", Kind::Any));
        }
        let may = [("description", Kind::Text), ("strict", Kind::Bool)];
        self.fields(at, format, &must, &may);
        if let Some(name) = format.get("name") {
            self.name(&under(at, "name"), name);
        }
        if let Some(schema) = format.get("schema") {
            let strict = format.get("strict") == Some(&Value::Bool(true));
            self.schema(&under(at, "schema"), schema, strict);
        }
    }

    /// The address of an image: of the web, or its bytes.
    pub(super) fn image_url(&mut self, at: &str, url: &Value) {
        let url = url.as_str().unwrap_or_default();
        if url.starts_with("https://") || url.starts_with("http://") {
            return;
        }
        let data = url.strip_prefix("data:").and_then(|rest| rest.split_once(";base64,"));
        match data {
            None => self.add(at, "it is neither a web address nor a data URL in base64"),
            Some((media, data)) => self.image(at, media, data),
        }
    }

    /// The bytes of an image.
    pub(super) fn image(&mut self, at: &str, media: &str, data: &str) {
        self.hold(MEDIA.contains(&media), at, "an image is a PNG, JPEG, GIF or WebP");
        self.hold(is_base64(data), at, "its data is no base64");
    }
}

/// A place under another.
pub(super) fn under(at: &str, key: &str) -> String {
    if at.is_empty() {
        return key.to_owned();
    }
    format!("{at}.{key}")
}

/// The values of a list; none of what is no list.
pub(super) fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

/// The text of a field; empty where there is none.
pub(super) fn text<'a>(object: &'a Object, key: &str) -> &'a str {
    object.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// Returns true if it is there and not null.
pub(super) fn given(object: &Object, key: &str) -> bool {
    object.get(key).is_some_and(|value| !value.is_null())
}

fn plain(text: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    !text.is_empty() && text.chars().all(fits)
}

fn is_base64(data: &str) -> bool {
    let body = data.trim_end_matches('=');
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '/');
    !body.is_empty()
        && data.len().is_multiple_of(4)
        && data.len() - body.len() <= 2
        && body.chars().all(fits)
}
