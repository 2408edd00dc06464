//! A type as a JSON Schema, for models and checkers that know that.

use std::collections::BTreeSet;

use serde_json::{Map, Value as Json, json};

use super::check::{PathSegment, dotted};
use super::{Field, NamedType, Type};

/// Reason that a type has no JSON Schema.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SchemaError {
    /// Nothing of JSON is a datetime.
    #[error(
        "there is no JSON Schema of the datetime at [{}]. Use :string, and say the format in the task.",
        dotted(path)
    )]
    DateTime {
        /// Path within the type; an item counts as 0.
        path: Vec<PathSegment>,
    },
    /// Two fields of one map are the same but for `-` and `_`, so that one value is for both.
    #[error(
        "there is no JSON Schema of a map that has the field [{}] twice. Give it once.",
        dotted(path)
    )]
    SameField {
        /// Path within the type; an item counts as 0.
        path: Vec<PathSegment>,
    },
}

impl Type {
    /// The JSON Schema that says the same of JSON, in words that all drafts from 6 have.
    ///
    /// What it takes, the type takes, with two exceptions: JSON Schema calls `5.0` an integer, and it
    /// does not know that a field may be told in another spelling next to its own. The type takes more:
    /// other spellings of fields, and nil, true and false as keywords.
    ///
    /// # Errors
    /// If JSON Schema cannot say it: the type has a datetime, or a field twice.
    pub fn schema(&self) -> Result<Json, SchemaError> {
        of_type(self, &mut Vec::new())
    }
}

fn of_type(kind: &Type, path: &mut Vec<PathSegment>) -> Result<Json, SchemaError> {
    match kind {
        Type::Plain(plain) => of_plain(*plain, path),
        Type::Optional(plain) => {
            let mut schema = of_plain(*plain, path)?;
            if let Some(name) = schema.get_mut("type") {
                *name = json!([name.take(), "null"]);
            }
            Ok(schema)
        }
        Type::List(item) => {
            path.push(PathSegment::Item(0));
            let items = of_type(item, path)?;
            path.pop();
            Ok(json!({"type": "array", "items": items}))
        }
        Type::Map(fields) => of_fields(fields, path),
    }
}

fn of_fields(fields: &[Field], path: &mut Vec<PathSegment>) -> Result<Json, SchemaError> {
    let mut properties = Map::new();
    let mut required = Vec::new();
    let mut names = BTreeSet::new();
    for field in fields {
        path.push(PathSegment::Field(field.name.clone()));
        if !names.insert(field.name.replace('-', "_")) {
            return Err(SchemaError::SameField { path: path.clone() });
        }
        properties.insert(field.name.to_string(), of_type(&field.kind, path)?);
        match &field.kind {
            Type::Optional(_) => {}
            Type::Plain(_) | Type::List(_) | Type::Map(_) => required.push(&*field.name),
        }
        path.pop();
    }
    Ok(json!({"type": "object", "properties": properties, "required": required}))
}

fn of_plain(plain: NamedType, path: &[PathSegment]) -> Result<Json, SchemaError> {
    Ok(match plain {
        NamedType::String => json!({"type": "string"}),
        NamedType::Int => json!({"type": "integer"}),
        NamedType::Float => json!({"type": "number"}),
        NamedType::Bool => json!({"type": "boolean"}),
        NamedType::Keyword => json!({"type": "string", "pattern": "^[a-zA-Z0-9+\\-*<>=?!_]+$"}),
        NamedType::Map => json!({"type": "object"}),
        NamedType::Any => json!({}),
        NamedType::DateTime => {
            return Err(SchemaError::DateTime { path: path.to_vec() });
        }
    })
}
