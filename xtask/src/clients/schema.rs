//! Schemas of an OpenAPI document, in the forms that the server's description uses.

use anyhow::{Context as _, bail};
use serde_json::{Map, Value};

/// Start of a reference to a schema.
const REFERENCE: &str = "#/components/schemas/";

/// Named schemas, in the order of their names.
#[derive(Debug)]
pub(super) struct Schemas(pub(super) Vec<Definition>);

/// Schema with a name.
#[derive(Debug)]
pub(super) struct Definition {
    pub(super) name: String,
    pub(super) doc: String,
    pub(super) body: Body,
}

/// Body of a named schema.
#[derive(Debug)]
pub(super) enum Body {
    /// Object with these fields.
    Record(Vec<Field>),
    /// Any other type.
    Alias(Type),
}

/// Field of an object.
#[derive(Debug)]
pub(super) struct Field {
    pub(super) name: String,
    pub(super) doc: String,
    pub(super) required: bool,
    pub(super) of: Type,
}

/// Type of a value.
#[derive(Debug)]
pub(super) enum Type {
    Text,
    Integer,
    Number,
    Boolean,
    Null,
    Any,
    /// One of these texts.
    Literals(Vec<String>),
    /// Named schema.
    Named(String),
    List(Box<Self>),
    /// Object whose values have this type.
    Dictionary(Box<Self>),
    OneOf(Vec<Self>),
}

impl Schemas {
    /// Reads a document.
    ///
    /// # Errors
    /// When it is no JSON, or a schema has a form that no type is generated for.
    pub(super) fn read(document: &str) -> anyhow::Result<Self> {
        let document: Value = serde_json::from_str(document).context("reading the document")?;
        let schemas = document.pointer("/components/schemas").and_then(Value::as_object);
        let schemas = schemas.context("the document has no components.schemas")?;
        let read = |(name, schema): (&String, &Value)| {
            let body = body(schema).with_context(|| format!("schema {name}"))?;
            Ok(Definition { name: name.clone(), doc: doc(schema), body })
        };
        schemas.iter().map(read).collect::<anyhow::Result<_>>().map(Self)
    }
}

fn body(schema: &Value) -> anyhow::Result<Body> {
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
        return Ok(Body::Alias(of(schema)?));
    };
    fields(schema, properties).map(Body::Record)
}

fn fields(schema: &Value, properties: &Map<String, Value>) -> anyhow::Result<Vec<Field>> {
    let required = schema.get("required").and_then(Value::as_array);
    let is_required = |name: &String| {
        required.is_some_and(|all| all.iter().any(|one| one.as_str() == Some(name.as_str())))
    };
    let read = |(name, schema): (&String, &Value)| {
        let of = of(schema).with_context(|| format!("field {name}"))?;
        Ok(Field { name: name.clone(), doc: doc(schema), required: is_required(name), of })
    };
    properties.iter().map(read).collect()
}

/// Returns the type of a schema.
fn of(schema: &Value) -> anyhow::Result<Type> {
    if let Some(reference) = schema.get("$ref").and_then(Value::as_str) {
        let name = reference.strip_prefix(REFERENCE);
        return Ok(Type::Named(name.with_context(|| format!("reference {reference}"))?.to_owned()));
    }
    if let Some(all) = schema.get("oneOf").and_then(Value::as_array) {
        return all.iter().map(of).collect::<anyhow::Result<_>>().map(Type::OneOf);
    }
    if let Some(values) = schema.get("enum").and_then(Value::as_array) {
        let texts = values.iter().map(|value| value.as_str().map(str::to_owned));
        return Ok(Type::Literals(texts.collect::<Option<_>>().context("an enum of texts")?));
    }
    match schema.get("type") {
        Some(Value::String(kind)) => of_kind(kind, schema),
        Some(Value::Array(kinds)) => {
            let each = kinds.iter().map(|kind| of_kind(kind.as_str().unwrap_or_default(), schema));
            each.collect::<anyhow::Result<_>>().map(Type::OneOf)
        }
        None if schema.as_object().is_some_and(is_free) => Ok(Type::Any),
        _ => bail!("no type is generated for the form {schema}"),
    }
}

fn of_kind(kind: &str, schema: &Value) -> anyhow::Result<Type> {
    Ok(match kind {
        "string" => Type::Text,
        "integer" => Type::Integer,
        "number" => Type::Number,
        "boolean" => Type::Boolean,
        "null" => Type::Null,
        "array" => {
            let items = schema.get("items").map_or(Ok(Type::Any), of);
            Type::List(Box::new(items.context("items")?))
        }
        "object" => match schema.get("additionalProperties") {
            Some(values @ Value::Object(_)) => Type::Dictionary(Box::new(of(values)?)),
            _ => Type::Dictionary(Box::new(Type::Any)),
        },
        other => bail!("no type is generated for the kind {other:?}"),
    })
}

/// Returns true for a schema that describes any value.
fn is_free(schema: &Map<String, Value>) -> bool {
    schema.keys().all(|key| matches!(key.as_str(), "description" | "example" | "default"))
}

/// Returns the description, on one line. That of a nullable reference is inside of it.
fn doc(schema: &Value) -> String {
    let inner = schema.get("oneOf").and_then(Value::as_array).into_iter().flatten();
    let mut places = std::iter::once(schema).chain(inner);
    let text = places.find_map(|place| place.get("description").and_then(Value::as_str));
    text.unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ")
}
