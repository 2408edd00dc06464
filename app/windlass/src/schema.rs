//! JSON Schemas of Rust types, as models and providers read them.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value};
use windlass_engine::core::OutputSchema;

/// Most re-asks for an answer that does not fit its schema.
const RE_ASKS: u32 = 2;
/// Longest name of a schema, in characters.
const NAME: usize = 64;

/// Schema of a type, with its doc comments as descriptions.
pub(crate) struct TypeSchema {
    /// Doc comment of the type itself.
    pub(crate) description: Option<String>,
    /// JSON text of the schema.
    pub(crate) text: String,
    /// True if values are objects.
    pub(crate) is_object: bool,
}

impl TypeSchema {
    pub(crate) fn of<T: JsonSchema>() -> Self {
        let settings = SchemaSettings::draft2020_12().with(|settings| {
            settings.meta_schema = None;
            settings.inline_subschemas = true;
        });
        let schema = settings.into_generator().into_root_schema_for::<T>();
        let mut schema = Value::from(schema);
        tidy(&mut schema);
        let root = schema.as_object_mut();
        let description = root.and_then(|root| match root.remove("description") {
            Some(Value::String(text)) => Some(text),
            Some(_) | None => None,
        });
        let is_object = schema.get("type") == Some(&Value::from("object"));
        Self { description, is_object, text: schema.to_string() }
    }
}

/// Returns the schema that an answer of this type must fit.
pub(crate) fn output_schema<T: JsonSchema>() -> OutputSchema {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    let name: String = T::schema_name().chars().map(plain).take(NAME).collect();
    OutputSchema {
        name: if name.is_empty() { "answer".to_owned() } else { name },
        schema: TypeSchema::of::<T>().text,
        strict: true,
        max_re_asks: RE_ASKS,
    }
}

/// Removes what only readers of Rust need: the names of types, and the widths of numbers.
fn tidy(schema: &mut Value) {
    match schema {
        Value::Object(keys) => {
            if keys.get("title").is_some_and(Value::is_string) {
                keys.remove("title");
            }
            if is_number(keys) {
                keys.remove("format");
            }
            keys.values_mut().for_each(tidy);
        }
        Value::Array(items) => items.iter_mut().for_each(tidy),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn is_number(keys: &Map<String, Value>) -> bool {
    let number = |name: &Value| *name == "integer" || *name == "number";
    match keys.get("type") {
        Some(Value::Array(names)) => names.iter().any(number),
        Some(name) => number(name),
        None => false,
    }
}
