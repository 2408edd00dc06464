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
    /// The schema without it.
    pub(crate) schema: Value,
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
        Self { description, is_object, schema }
    }
}

/// Returns the schema that an answer of this type must fit, in the strict form of providers if it
/// has one: every property is required, and there are no others.
pub(crate) fn output_schema<T: JsonSchema>() -> OutputSchema {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    let name: String = T::schema_name().chars().map(plain).take(NAME).collect();
    let mut schema: Value = TypeSchema::of::<T>().schema;
    let strict = schema.get("type") == Some(&Value::from("object")) && has_strict_form(&schema);
    if strict {
        make_strict(&mut schema);
    }
    OutputSchema {
        name: if name.is_empty() { "answer".to_owned() } else { name },
        schema: schema.to_string(),
        strict,
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
            let schemas = keys.iter_mut().filter(|(key, _)| !is_data(key));
            schemas.for_each(|(_, schema)| tidy(schema));
        }
        Value::Array(items) => items.iter_mut().for_each(tidy),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Returns true if the values of this keyword are data, not schemas.
fn is_data(key: &str) -> bool {
    matches!(key, "const" | "default" | "enum" | "examples")
}

/// Returns true if providers that constrain answers accept a strict form of the schema: objects with
/// known properties, without alternatives of which one is excluded, and without recursion.
fn has_strict_form(schema: &Value) -> bool {
    match schema {
        Value::Object(keys) => {
            let barred = ["$ref", "allOf", "not", "oneOf", "patternProperties", "prefixItems"];
            let is_map = keys.get("additionalProperties").is_some_and(|more| *more != false);
            let is_open = keys.get("type") == Some(&Value::from("object"))
                && !keys.get("properties").is_some_and(Value::is_object);
            let schemas = keys.iter().filter(|(key, _)| !is_data(key));
            !is_map
                && !is_open
                && !barred.iter().any(|key| keys.contains_key(*key))
                && schemas.into_iter().all(|(_, schema)| has_strict_form(schema))
        }
        Value::Array(items) => items.iter().all(has_strict_form),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => true,
    }
}

/// Requires every property, and allows no others. What fits the result fits the schema too.
fn make_strict(schema: &mut Value) {
    match schema {
        Value::Object(keys) => {
            if let Some(Value::Object(properties)) = keys.get("properties") {
                let names: Vec<Value> = properties.keys().cloned().map(Value::from).collect();
                keys.insert("required".into(), names.into());
                keys.insert("additionalProperties".into(), false.into());
            }
            let schemas = keys.iter_mut().filter(|(key, _)| !is_data(key));
            schemas.for_each(|(_, schema)| make_strict(schema));
        }
        Value::Array(items) => items.iter_mut().for_each(make_strict),
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::json;

    use super::*;

    /// A place.
    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "only its schema is used")]
    struct Place {
        /// Its title.
        title: String,
        height: Option<u16>,
        parts: Vec<Part>,
    }

    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "only its schema is used")]
    struct Part {
        format: u8,
    }

    #[test]
    fn a_type_has_the_schema_that_a_model_needs_and_no_more() {
        let schema = TypeSchema::of::<Place>();
        assert_eq!(schema.description.as_deref(), Some("A place."));
        let part = json!({
            "type": "object", "required": ["format"],
            "properties": { "format": { "type": "integer", "minimum": 0, "maximum": 255 } },
        });
        let expected = json!({
            "type": "object", "required": ["title", "parts"],
            "properties": {
                "title": { "type": "string", "description": "Its title." },
                "height": { "type": ["integer", "null"], "minimum": 0, "maximum": 65535 },
                "parts": { "type": "array", "items": part },
            },
        });
        assert_eq!(schema.schema, expected);
    }

    #[test]
    fn the_schema_of_an_answer_is_strict_where_it_can_be() {
        let place = output_schema::<Place>();
        let schema: Value = serde_json::from_str(&place.schema).unwrap();
        assert!(place.strict);
        assert_eq!(schema["required"], json!(["height", "parts", "title"]));
        assert_eq!(schema["additionalProperties"], false);
        assert_eq!(schema["properties"]["parts"]["items"]["additionalProperties"], false);
        assert!(!output_schema::<BTreeMap<String, u8>>().strict);
        assert!(!output_schema::<Vec<Place>>().strict);
    }
}
