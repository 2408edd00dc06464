//! PtcRunner's signatures: what a turn or a tool takes and gives, in a line of text.
//!
//! ```text
//! (query :string, limit :int?) -> {items [{id :int, name :string}], total :int}
//! ```
//!
//! The rules are those of PtcRunner v0.13.0, as it behaves when it is run:
//!
//! - A signature is `(name type, ...) -> type`, or the type alone, which is the same with `()` before it.
//!   A name begins with a letter or `_` and goes on with letters, digits, `_` and `-`, all of ASCII.
//!   Blanks, tabs and line ends may stand between any two parts and at both ends. Nothing may follow a
//!   last comma.
//! - A type is `:string`, `:int`, `:float`, `:bool` (or `:boolean`), `:keyword`, `:map`, `:any` or
//!   `:datetime`; each of them with `?` after it; a list, `[type]`; or a map of fields,
//!   `{name type, ...}`, which may be empty.
//! - An int is a number of JSON without a fraction or exponent. A float is any number. A keyword is a text
//!   that could be the name of one (letters, digits and `+-*<>=?!_`), and, as the original has it, also
//!   nil, true and false. A map takes any object, and any takes all. No JSON is a datetime.
//! - With `?` a type takes nil too, and a field may be left out. Only names of types can have it.
//! - A map of fields takes objects with more fields. A field is looked for with `_` in its name, then as
//!   it is written, then with `-`; the first that is there counts.
//!
//! Errors are told in the order of the fields and items, with their paths, in the original's words: nil
//! in place of another type is called a keyword, and a field that is not there `nil`.
//!
//! What is refused as a signature is refused there too; the words are other ones, and have the place
//! where it happens. Here a signature has limits: [`SIGNATURE_BYTES`] and [`SIGNATURE_DEPTH`].

mod check;
mod parse;
mod schema;

#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::Arc;

pub use check::{ExpectedValue, MISMATCHES, Mismatch, Mismatches, PathSegment, ValueKind};
pub use parse::{SIGNATURE_BYTES, SIGNATURE_DEPTH, SignatureError, SignatureErrorKind};
pub use schema::SchemaError;

/// What is taken and what is given.
///
/// As text it can be parsed again: `(x :int) -> :int`, `() -> :int`.
///
/// ```
/// use serde_json::json;
/// use windlass_kit_ptclisp::Signature;
///
/// let signature = Signature::parse("{items [{id :int}]}")?;
/// assert_eq!(signature.to_string(), "() -> {items [{id :int}]}");
/// let output = signature.output();
/// assert!(output.check(&json!({"items": [{"id": 1}]})).is_ok());
/// let wrong = output.check(&json!({"items": [{"id": "1"}]})).unwrap_err();
/// assert_eq!(wrong.to_string(), "[items.0.id]: expected int, got string");
/// # Ok::<(), windlass_kit_ptclisp::signature::SignatureError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signature {
    params: Vec<Field>,
    output: Type,
}

/// What a value must be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Type {
    /// A value of this kind.
    Plain(NamedType),
    /// A value of this kind, or nil; as a field, it may be left out.
    Optional(NamedType),
    /// A list of such values.
    List(Box<Type>),
    /// An object with these fields, and any others.
    Map(Vec<Field>),
}

/// The types that have a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NamedType {
    /// A text.
    String,
    /// A number without a fraction.
    Int,
    /// A number.
    Float,
    /// True or false.
    Bool,
    /// A keyword's name.
    Keyword,
    /// An object.
    Map,
    /// Anything.
    Any,
    /// A date with a time; nothing of JSON is one.
    DateTime,
}

/// A field of a map, or a parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    name: Arc<str>,
    kind: Type,
}

impl Signature {
    /// Reads a signature. See the module for the notation.
    ///
    /// # Errors
    /// If the text is no signature, or exceeds a limit.
    pub fn parse(text: &str) -> Result<Signature, SignatureError> {
        parse::parse(text)
    }

    /// The parameters.
    pub fn params(&self) -> &[Field] {
        &self.params
    }

    /// What the parameters make together: a map of fields.
    pub fn input(&self) -> Type {
        Type::Map(self.params.clone())
    }

    /// What is given back.
    pub fn output(&self) -> &Type {
        &self.output
    }

    /// As PtcRunner shows it: without parameters, nothing stands before the arrow. That cannot be
    /// parsed again; what [`Display`](fmt::Display) shows can.
    pub fn rendered(&self) -> String {
        match self.params.as_slice() {
            [] => format!("-> {}", self.output),
            _ => self.to_string(),
        }
    }
}

impl NamedType {
    /// All of them.
    pub const ALL: [NamedType; 8] = [
        NamedType::String,
        NamedType::Int,
        NamedType::Float,
        NamedType::Bool,
        NamedType::Keyword,
        NamedType::Map,
        NamedType::Any,
        NamedType::DateTime,
    ];

    /// The name, without the colon.
    pub fn name(self) -> &'static str {
        match self {
            NamedType::String => "string",
            NamedType::Int => "int",
            NamedType::Float => "float",
            NamedType::Bool => "bool",
            NamedType::Keyword => "keyword",
            NamedType::Map => "map",
            NamedType::Any => "any",
            NamedType::DateTime => "datetime",
        }
    }
}

impl Field {
    /// The name as it is written.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What its value must be.
    pub fn kind(&self) -> &Type {
        &self.kind
    }
}

impl fmt::Display for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(")?;
        write_fields(f, &self.params)?;
        write!(f, ") -> {}", self.output)
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Type::Plain(plain) => write!(f, ":{}", plain.name()),
            Type::Optional(plain) => write!(f, ":{}?", plain.name()),
            Type::List(item) => write!(f, "[{item}]"),
            Type::Map(fields) => {
                f.write_str("{")?;
                write_fields(f, fields)?;
                f.write_str("}")
            }
        }
    }
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.name, self.kind)
    }
}

fn write_fields(f: &mut fmt::Formatter<'_>, fields: &[Field]) -> fmt::Result {
    for (at, field) in fields.iter().enumerate() {
        if at > 0 {
            f.write_str(", ")?;
        }
        write!(f, "{field}")?;
    }
    Ok(())
}
