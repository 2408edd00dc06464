//! Reading a signature's text.

use super::{Field, NamedType, Signature, Type};
use crate::fault::{Position, place};

/// The most bytes of a signature.
pub const SIGNATURE_BYTES: usize = 64 << 10;

/// Largest depth of lists and maps in a signature.
pub const SIGNATURE_DEPTH: u32 = 64;

/// Error in the text of a signature, with its position.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the signature is wrong at line {}, column {}: {kind}. {}",
    position.line, position.column, self.hint()
)]
pub struct SignatureError {
    /// Kind of the error.
    pub kind: SignatureErrorKind,
    /// Position of the error.
    pub position: Position,
}

/// Kind of an error in a signature's text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SignatureErrorKind {
    /// Something else stands where a part must stand.
    #[error("expected {expected}, found {}", .found.map_or("the end".to_owned(), |found| format!("{found:?}")))]
    Expected {
        /// Description of the expected text.
        expected: &'static str,
        /// Character found instead; `None` at the end.
        found: Option<char>,
    },
    /// No type has this name.
    #[error("there is no type :{name}")]
    UnknownType {
        /// The name, cut to 40 characters.
        name: String,
    },
    /// The text is longer than [`SIGNATURE_BYTES`].
    #[error("it has {bytes} bytes, more than {SIGNATURE_BYTES}")]
    TooLong {
        /// The bytes that it has.
        bytes: usize,
    },
    /// Nested deeper than [`SIGNATURE_DEPTH`].
    #[error("it is nested deeper than {SIGNATURE_DEPTH}")]
    TooDeep,
}

impl SignatureError {
    /// Returns the remedy.
    pub fn hint(&self) -> &'static str {
        match &self.kind {
            SignatureErrorKind::Expected { expected, .. }
                if *expected == TYPE || *expected == BEGINNING =>
            {
                "Write (name :type, ...) -> :type, or :type alone; a list is [:type], a map {name :type}."
            }
            SignatureErrorKind::Expected { expected, .. } if *expected == END => {
                "A signature ends with one type; ? stands only right after the name of a type."
            }
            SignatureErrorKind::Expected { .. } => {
                "Write fields and parameters as name :type, commas between them."
            }
            SignatureErrorKind::UnknownType { .. } => {
                "The types are :string, :int, :float, :bool, :keyword, :map, :any and :datetime."
            }
            SignatureErrorKind::TooLong { .. } | SignatureErrorKind::TooDeep => {
                "Use :map or :any for what is inside."
            }
        }
    }
}

const BEGINNING: &str = "'(' or a type";
const TYPE: &str = "a type";
const NAME: &str = "a name";
const END: &str = "the end";

pub(super) fn parse(text: &str) -> Result<Signature, SignatureError> {
    let mut parser = Parser { text, at: 0, deep: 0 };
    if text.len() > SIGNATURE_BYTES {
        return Err(parser.bad(0, SignatureErrorKind::TooLong { bytes: text.len() }));
    }
    parser.blanks();
    let params = match parser.peek() {
        Some('(') => parser.params()?,
        Some(':' | '[' | '{') => Vec::new(),
        _ => return Err(parser.expected(BEGINNING)),
    };
    let output = parser.kind()?;
    parser.blanks();
    match parser.peek() {
        None => Ok(Signature { params, output }),
        Some(_) => Err(parser.expected(END)),
    }
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    deep: u32,
}

impl<'a> Parser<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn bad(&self, at: usize, kind: SignatureErrorKind) -> SignatureError {
        // A text that is too long has its fault at its beginning.
        let offset = u32::try_from(at).unwrap_or_default();
        SignatureError { kind, position: place(self.text, offset) }
    }

    fn expected(&self, what: &'static str) -> SignatureError {
        let found = self.peek();
        self.bad(self.at, SignatureErrorKind::Expected { expected: what, found })
    }

    fn blanks(&mut self) {
        self.word(|c| matches!(c, ' ' | '\t' | '\n' | '\r'));
    }

    /// The characters of a kind that stand here.
    fn word(&mut self, of: impl Fn(char) -> bool) -> &'a str {
        let rest = self.rest();
        let word = &rest[..rest.find(|c| !of(c)).unwrap_or(rest.len())];
        self.at += word.len();
        word
    }

    fn accept(&mut self, part: &str) -> bool {
        let here = self.rest().starts_with(part);
        if here {
            self.at += part.len();
        }
        here
    }

    fn params(&mut self) -> Result<Vec<Field>, SignatureError> {
        let params = self.fields(")", "',' or ')'")?;
        self.blanks();
        if !self.accept("->") {
            return Err(self.expected("'->'"));
        }
        self.blanks();
        Ok(params)
    }

    /// The fields after an opening bracket, up to the closing one.
    fn fields(&mut self, close: &str, next: &'static str) -> Result<Vec<Field>, SignatureError> {
        self.at += 1;
        self.blanks();
        let mut fields = Vec::new();
        if self.accept(close) {
            return Ok(fields);
        }
        loop {
            fields.push(self.field()?);
            self.blanks();
            if self.accept(close) {
                return Ok(fields);
            }
            if !self.accept(",") {
                return Err(self.expected(next));
            }
            self.blanks();
        }
    }

    fn field(&mut self) -> Result<Field, SignatureError> {
        if !matches!(self.peek(), Some('a'..='z' | 'A'..='Z' | '_')) {
            return Err(self.expected(NAME));
        }
        let name = self.word(in_name).into();
        self.blanks();
        let kind = self.kind()?;
        Ok(Field { name, kind })
    }

    fn kind(&mut self) -> Result<Type, SignatureError> {
        match self.peek() {
            Some(':') => self.plain(),
            Some('[') => self.nested(|parser| {
                parser.at += 1;
                parser.blanks();
                let item = parser.kind()?;
                parser.blanks();
                if !parser.accept("]") {
                    return Err(parser.expected("']'"));
                }
                Ok(Type::List(Box::new(item)))
            }),
            Some('{') => self.nested(|parser| Ok(Type::Map(parser.fields("}", "',' or '}'")?))),
            _ => Err(self.expected(TYPE)),
        }
    }

    fn nested(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<Type, SignatureError>,
    ) -> Result<Type, SignatureError> {
        if self.deep == SIGNATURE_DEPTH {
            return Err(self.bad(self.at, SignatureErrorKind::TooDeep));
        }
        self.deep += 1;
        let read = read(self);
        self.deep -= 1;
        read
    }

    fn plain(&mut self) -> Result<Type, SignatureError> {
        let start = self.at;
        self.at += 1;
        let name = self.word(in_name);
        let plain = match name {
            "boolean" => Some(NamedType::Bool),
            _ => NamedType::ALL.into_iter().find(|plain| plain.name() == name),
        };
        let Some(plain) = plain else {
            let name = name.chars().take(40).collect();
            return Err(self.bad(start, SignatureErrorKind::UnknownType { name }));
        };
        Ok(if self.accept("?") { Type::Optional(plain) } else { Type::Plain(plain) })
    }
}

fn in_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_')
}
