//! Reads a session from its text.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use num_bigint::BigInt;
use serde_json::Value as Json;

use crate::analyze::{NameScope, analyze_stored};
use crate::callable::{Arity, Closure, ComposedFunction, ComposedKind};
use crate::code::{CaptureSource, FunctionTemplate};
use crate::context::DEEPEST_VALUE;
use crate::library;
use crate::pattern::Pattern;
use crate::read::read_stored;
use crate::session::{LispSession, REMEMBERED};
use crate::session_text::{
    FunctionSource, KINDS, SessionText, SessionTextError, VERSION, ValueText,
};
use crate::value::{Entries, Items, Members, Value, ValueSize};

/// The session of a text.
pub(super) fn session(text: &str) -> Result<LispSession, SessionTextError> {
    let text: SessionText =
        serde_json::from_str(text).map_err(|error| SessionTextError::new(error.to_string()))?;
    if text.ptclisp != VERSION {
        let why = format!("it has version {}, not {VERSION}", text.ptclisp);
        return Err(SessionTextError::new(why));
    }
    let reader = SessionReader::new(&text.code, &text.made, 0)?;
    let mut session = LispSession { ids: text.made.len() as u64, ..LispSession::default() };
    for definition in &text.defs {
        let Some((Json::String(name), value)) = definition.split_first() else {
            return Err(SessionTextError::new("a definition has no name"));
        };
        let value = reader.only(value)?;
        if session.definitions.insert(Arc::from(&**name), value).is_some() {
            return Err(SessionTextError::new(format!("{name} is defined twice")));
        }
    }
    for result in &text.last {
        let value = reader.only(result)?;
        session.history.push(value);
    }
    if session.history.len() > REMEMBERED {
        return Err(SessionTextError::new("it has too many last results"));
    }
    Ok(session)
}

/// Returns the value of a text, with the highest number that a function has after it; `ids` is the highest
/// one before.
pub(super) fn value(text: &str, ids: u64) -> Result<(Value, u64), SessionTextError> {
    let unread = |error: serde_json::Error| SessionTextError::new(error.to_string());
    let text = match text.starts_with('[') {
        true => {
            let value = serde_json::from_str(text).map_err(unread)?;
            ValueText { code: Vec::new(), made: Vec::new(), value }
        }
        false => serde_json::from_str(text).map_err(unread)?,
    };
    let reader = SessionReader::new(&text.code, &text.made, ids)?;
    let value = reader.only(&text.value)?;
    Ok((value, ids.saturating_add(text.made.len() as u64)))
}

/// Compiles the form of a function again.
fn compiled(code: &FunctionSource) -> Result<FunctionTemplate, SessionTextError> {
    let globals: BTreeSet<&str> = code.globals.iter().map(String::as_str).collect();
    let scope = NameScope {
        tools: &BTreeSet::new(),
        defined: &|name| globals.contains(name),
        any_tool: true,
    };
    let forms = read_stored(&code.text);
    let template = forms.and_then(|forms| match forms.as_slice() {
        [form] => analyze_stored(form, &code.names, &scope),
        _ => Err(crate::fault::Fault::new(
            crate::fault::FaultClass::Parse,
            "it is not a single form",
        )),
    });
    template.map_err(|fault| SessionTextError::new(format!("the function {}: {fault}", code.text)))
}

struct SessionReader {
    codes: Vec<FunctionTemplate>,
    /// Number of names that each of them takes from around it.
    names: Vec<usize>,
    made: Vec<Value>,
    /// Highest number of a function before these.
    ids: u64,
}

/// A collection of which parts are to come.
struct OpenCollection {
    kind: char,
    parts: Vec<Value>,
    missing: usize,
}

impl SessionReader {
    fn new(
        code: &[FunctionSource],
        made: &[Vec<Json>],
        ids: u64,
    ) -> Result<SessionReader, SessionTextError> {
        let codes: Result<Vec<FunctionTemplate>, SessionTextError> =
            code.iter().map(compiled).collect();
        let names = code.iter().map(|code| code.names.len()).collect();
        let mut reader = SessionReader { codes: codes?, names, made: Vec::new(), ids };
        for made in made {
            let function = reader.function(made)?;
            reader.made.push(function);
        }
        Ok(reader)
    }

    fn function(&self, made: &[Json]) -> Result<Value, SessionTextError> {
        let id = self.ids.saturating_add(self.made.len() as u64).saturating_add(1);
        let (kind, number, rest) = match made {
            [Json::String(kind), number, rest @ ..] => (kind, index(number)?, rest),
            _ => return Err(SessionTextError::new("a function has no kind")),
        };
        if kind == "fn" {
            let (Some(template), Some(names)) = (self.codes.get(number), self.names.get(number))
            else {
                return Err(SessionTextError::new("a function has no code"));
            };
            let values = self.several(rest, *names)?;
            return Ok(Value::Fn(Arc::new(closure(id, template, &values)?)));
        }
        let Some((_, kind)) = KINDS.iter().find(|(name, _)| name == kind) else {
            return Err(SessionTextError::new(format!("{kind} is no kind of function")));
        };
        let parts = self.several(rest, number)?;
        let fits = match kind {
            ComposedKind::Complement | ComposedKind::Constantly => parts.len() == 1,
            ComposedKind::Partial
            | ComposedKind::Comp
            | ComposedKind::Juxt
            | ComposedKind::EveryPred
            | ComposedKind::SomeFn
            | ComposedKind::Fnil
            | ComposedKind::Reduced
            | ComposedKind::Transducer
            | ComposedKind::Endless => !parts.is_empty(),
        };
        let shape = ValueSize::of(&parts);
        if !fits || shape.depth > DEEPEST_VALUE {
            return Err(SessionTextError::new("a function has not the parts that it needs"));
        }
        Ok(Value::Composed(Arc::new(ComposedFunction { id, shape, kind: *kind, parts })))
    }

    /// The one value that is written.
    fn only(&self, written: &[Json]) -> Result<Value, SessionTextError> {
        self.several(written, 1).map(|mut values| values.pop().unwrap_or_default())
    }

    /// So many values, and nothing after them.
    fn several(&self, written: &[Json], count: usize) -> Result<Vec<Value>, SessionTextError> {
        let mut open = vec![OpenCollection { kind: ' ', parts: Vec::new(), missing: count }];
        let mut written = written.iter();
        loop {
            // What is complete is a part of what is around it.
            while let Some(done) = open.pop_if(|open| open.missing == 0) {
                let Some(around) = open.last_mut() else {
                    return match written.next() {
                        None => Ok(done.parts),
                        Some(_) => Err(SessionTextError::new("something stands after a value")),
                    };
                };
                around.parts.push(done.closed()?);
                around.missing -= 1;
            }
            let Some(next) = written.next() else {
                return Err(SessionTextError::new("a value ends early"));
            };
            if let Some((kind, missing)) = counted(next)? {
                if open.len() as u32 > DEEPEST_VALUE {
                    return Err(SessionTextError::new("a value is nested too deep"));
                }
                open.push(OpenCollection { kind, parts: Vec::new(), missing });
            } else if let Some(around) = open.last_mut() {
                around.parts.push(self.leaf(next)?);
                around.missing -= 1;
            }
        }
    }

    fn leaf(&self, written: &Json) -> Result<Value, SessionTextError> {
        let (tag, value) = match written {
            Json::Null => return Ok(Value::Nil),
            Json::Bool(value) => return Ok(Value::Bool(*value)),
            Json::String(text) => return Ok(Value::text(text)),
            Json::Number(n) => {
                let n = n.as_i64().ok_or_else(|| odd(written))?;
                return Ok(Value::Int(n));
            }
            Json::Array(_) => return Err(odd(written)),
            Json::Object(_) => entry(written)?,
        };
        if tag == "c" {
            let made = self.made.get(index(value)?);
            return made.cloned().ok_or_else(|| odd(written));
        }
        let text = value.as_str().ok_or_else(|| odd(written))?;
        Ok(match tag {
            "f" => Value::Float(text.parse().map_err(|_| odd(written))?),
            "n" => match text.parse::<BigInt>().map(Value::integer) {
                Ok(big @ Value::Big(_)) => big,
                _ => return Err(odd(written)),
            },
            "k" => Value::keyword(text),
            "s" => Value::Sym(Arc::from(text)),
            "v" => Value::Var(Arc::from(text)),
            "t" => Value::Tool(Arc::from(text)),
            "r" => match Pattern::new(text) {
                Ok(pattern) => Value::Regex(Arc::new(pattern)),
                Err(why) => return Err(SessionTextError::new(why)),
            },
            "b" => Value::Native(library::find_stored(text).ok_or_else(|| odd(written))?),
            _ => return Err(odd(written)),
        })
    }
}

impl OpenCollection {
    /// The collection of its parts.
    fn closed(self) -> Result<Value, SessionTextError> {
        let count = self.parts.len();
        let shape = ValueSize::of(&self.parts);
        if shape.depth > DEEPEST_VALUE {
            return Err(SessionTextError::new("a value is nested too deep"));
        }
        let items = self.parts;
        let whole = match self.kind {
            'l' => Value::Vec(Arc::new(Items { items, shape })),
            'e' => {
                let members: BTreeSet<Value> = items.into_iter().collect();
                if members.len() < count {
                    return Err(SessionTextError::new("a set has a member twice"));
                }
                Value::Set(Arc::new(Members { members: members.into(), shape }))
            }
            _ => {
                let mut entries = BTreeMap::new();
                let mut parts = items.into_iter();
                while let (Some(key), Some(value)) = (parts.next(), parts.next()) {
                    entries.insert(key, value);
                }
                if 2 * entries.len() < count {
                    return Err(SessionTextError::new("a map has a key twice"));
                }
                Value::Map(Arc::new(Entries { entries: entries.into(), shape }))
            }
        };
        Ok(whole)
    }
}

/// A function with the values of the names that it takes from around it.
fn closure(
    id: u64,
    template: &FunctionTemplate,
    values: &[Value],
) -> Result<Closure, SessionTextError> {
    let mut shape = ValueSize { depth: 1, weight: 1 };
    let mut arities = Vec::with_capacity(template.arities.len());
    for proto in &template.arities {
        let captured = |from: &CaptureSource| match from {
            CaptureSource::Slot(slot) => values.get(*slot as usize).cloned(),
            CaptureSource::Capture(_) | CaptureSource::Myself => None,
        };
        let captures: Option<Vec<Value>> = proto.captures.iter().map(captured).collect();
        let captures =
            captures.ok_or_else(|| SessionTextError::new("a function takes too many names"))?;
        shape.add(ValueSize::of(&captures));
        arities.push(Arity { proto: proto.clone(), captures });
    }
    if shape.depth > DEEPEST_VALUE {
        return Err(SessionTextError::new("a function is nested too deep"));
    }
    Ok(Closure { id, arities, shape, text: template.text.clone() })
}

/// The beginning of a collection: its kind, and how many parts follow.
fn counted(written: &Json) -> Result<Option<(char, usize)>, SessionTextError> {
    if !written.is_object() {
        return Ok(None);
    }
    let (tag, count) = entry(written)?;
    Ok(match tag {
        "l" => Some(('l', index(count)?)),
        "e" => Some(('e', index(count)?)),
        "m" => {
            let parts = index(count)?.checked_mul(2);
            Some(('m', parts.ok_or_else(|| odd(written))?))
        }
        _ => None,
    })
}

/// The one entry of an object.
fn entry(written: &Json) -> Result<(&str, &Json), SessionTextError> {
    let object = written.as_object().filter(|object| object.len() == 1);
    let entry = object.and_then(|object| object.iter().next());
    entry.map(|(tag, value)| (tag.as_str(), value)).ok_or_else(|| odd(written))
}

fn index(written: &Json) -> Result<usize, SessionTextError> {
    let index = written.as_u64().and_then(|n| usize::try_from(n).ok());
    index.ok_or_else(|| odd(written))
}

fn odd(written: &Json) -> SessionTextError {
    let shown: String = written.to_string().chars().take(80).collect();
    SessionTextError::new(format!("{shown} stands where a value should"))
}
