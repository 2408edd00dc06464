//! Writes a session as text.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::sync::Arc;

use crate::callable::{Closure, ComposedFunction};
use crate::code::{Op, Proto};
use crate::session::LispSession;
use crate::session_text::{KINDS, SessionTooLong, VERSION};
use crate::value::Value;

type WriteResult = Result<(), SessionTooLong>;

/// Returns the text of a session.
pub(super) fn session(session: &LispSession, most: usize) -> Result<String, SessionTooLong> {
    let mut functions = BTreeMap::new();
    for value in session.definitions.values().chain(&session.history) {
        find(value, &mut functions);
    }
    let mut writer = SessionWriter {
        out: String::new(),
        most,
        codes: SourceTable::default(),
        places: BTreeMap::new(),
    };
    // The functions first: what they were written as is known then.
    writer.functions(&functions)?;
    let made = std::mem::take(&mut writer.out);
    writer.most = most.saturating_sub(made.len());
    writer.raw(&format!("{{\"ptclisp\":{VERSION},\"code\":"))?;
    let codes = std::mem::take(&mut writer.codes.all);
    writer.each(&codes, |writer, code| writer.raw(code))?;
    writer.raw(",\"made\":")?;
    let at = writer.out.len();
    writer.raw(",\"defs\":")?;
    writer.each(&session.definitions, |writer, (name, value)| {
        writer.raw("[")?;
        writer.text(name)?;
        writer.raw(",")?;
        writer.value(value)?;
        writer.raw("]")
    })?;
    writer.raw(",\"last\":")?;
    writer.each(&session.history, |writer, value| {
        writer.raw("[")?;
        writer.value(value)?;
        writer.raw("]")
    })?;
    writer.raw("}")?;
    writer.out.insert_str(at, &made);
    Ok(writer.out)
}

/// Returns the text of one value.
pub(super) fn value(value: &Value, most: usize) -> Result<String, SessionTooLong> {
    let mut functions = BTreeMap::new();
    find(value, &mut functions);
    let mut writer = SessionWriter {
        out: String::new(),
        most,
        codes: SourceTable::default(),
        places: BTreeMap::new(),
    };
    if functions.is_empty() {
        writer.raw("[")?;
        writer.value(value)?;
        writer.raw("]")?;
        return Ok(writer.out);
    }
    writer.functions(&functions)?;
    let made = std::mem::take(&mut writer.out);
    writer.most = most.saturating_sub(made.len());
    writer.raw("{\"code\":")?;
    let codes = std::mem::take(&mut writer.codes.all);
    writer.each(&codes, |writer, code| writer.raw(code))?;
    writer.raw(",\"made\":")?;
    let at = writer.out.len();
    writer.raw(",\"value\":[")?;
    writer.value(value)?;
    writer.raw("]}")?;
    writer.out.insert_str(at, &made);
    Ok(writer.out)
}

/// A function with a number.
enum NumberedFunction {
    Wrote(Arc<Closure>),
    Composed(Arc<ComposedFunction>),
}

/// Finds the functions within a value, by their numbers. What a function holds has lower numbers.
fn find(value: &Value, found: &mut BTreeMap<u64, NumberedFunction>) {
    match value {
        Value::Vec(items) => items.items.iter().for_each(|item| find(item, found)),
        Value::Set(members) => members.members.iter().for_each(|member| find(member, found)),
        Value::Map(entries) => {
            for (key, value) in entries.entries.iter() {
                find(key, found);
                find(value, found);
            }
        }
        Value::Fn(closure) => {
            if found.contains_key(&closure.id) {
                return;
            }
            found.insert(closure.id, NumberedFunction::Wrote(closure.clone()));
            for arity in &closure.arities {
                arity.captures.iter().for_each(|value| find(value, found));
            }
        }
        Value::Composed(made) => {
            if found.contains_key(&made.id) {
                return;
            }
            found.insert(made.id, NumberedFunction::Composed(made.clone()));
            made.parts.iter().for_each(|part| find(part, found));
        }
        _ => {}
    }
}

/// Forms of functions, each once.
#[derive(Default)]
struct SourceTable {
    known: BTreeMap<String, usize>,
    all: Vec<String>,
}

impl SourceTable {
    fn place(&mut self, code: String) -> usize {
        if let Some(place) = self.known.get(&code) {
            return *place;
        }
        self.all.push(code.clone());
        self.known.insert(code, self.all.len() - 1);
        self.all.len() - 1
    }
}

struct SessionWriter {
    out: String,
    most: usize,
    codes: SourceTable,
    /// Index of a function, by its number.
    places: BTreeMap<u64, usize>,
}

impl SessionWriter {
    fn raw(&mut self, text: &str) -> WriteResult {
        if self.out.len() + text.len() > self.most {
            return Err(SessionTooLong { most: self.most });
        }
        self.out.push_str(text);
        Ok(())
    }

    fn text(&mut self, text: &str) -> WriteResult {
        // No text is shorter when it is written, and writing one that is far too long is for nothing.
        if text.len() > self.most {
            return Err(SessionTooLong { most: self.most });
        }
        let quoted = quoted(text);
        self.raw(&quoted)
    }

    /// An array of what is written for each.
    fn each<T>(
        &mut self,
        all: impl IntoIterator<Item = T>,
        mut write: impl FnMut(&mut Self, T) -> WriteResult,
    ) -> WriteResult {
        self.raw("[")?;
        for (index, one) in all.into_iter().enumerate() {
            if index > 0 {
                self.raw(",")?;
            }
            write(self, one)?;
        }
        self.raw("]")
    }

    fn functions(&mut self, functions: &BTreeMap<u64, NumberedFunction>) -> WriteResult {
        self.each(functions, |writer, (id, function)| {
            let place = writer.places.len();
            writer.function(function)?;
            writer.places.insert(*id, place);
            Ok(())
        })
    }

    fn function(&mut self, function: &NumberedFunction) -> WriteResult {
        match function {
            NumberedFunction::Wrote(closure) => self.closure(closure),
            NumberedFunction::Composed(made) => {
                let name = KINDS.iter().find(|(_, kind)| *kind == made.kind);
                let name = name.map_or("", |(name, _)| name);
                self.raw(&format!("[\"{name}\",{}", made.parts.len()))?;
                for part in &made.parts {
                    self.raw(",")?;
                    self.value(part)?;
                }
                self.raw("]")
            }
        }
    }

    fn closure(&mut self, closure: &Closure) -> WriteResult {
        // All bodies stand in one scope, so that one name means one value in all of them.
        let mut values: BTreeMap<&str, &Value> = BTreeMap::new();
        let mut globals = BTreeSet::new();
        for arity in &closure.arities {
            let names = arity.proto.names.iter().map(|name| &**name);
            values.extend(names.zip(&arity.captures));
            find_globals(&arity.proto, &mut globals);
        }
        let mut code = String::from("{\"fn\":");
        code.push_str(&quoted(&closure.text));
        for (key, names) in [
            ("names", values.keys().copied().collect::<Vec<_>>()),
            ("globals", globals.iter().map(|name| &**name).collect()),
        ] {
            let names: Vec<String> = names.into_iter().map(quoted).collect();
            let _ = write!(code, ",\"{key}\":[{}]", names.join(","));
        }
        code.push('}');
        let place = self.codes.place(code);
        self.raw(&format!("[\"fn\",{place}"))?;
        for value in values.values() {
            self.raw(",")?;
            self.value(value)?;
        }
        self.raw("]")
    }

    fn value(&mut self, value: &Value) -> WriteResult {
        match value {
            Value::Nil => self.raw("null"),
            Value::Bool(true) => self.raw("true"),
            Value::Bool(false) => self.raw("false"),
            Value::Int(n) => self.raw(&n.to_string()),
            Value::Str(text) => self.text(text),
            Value::Big(n) => self.raw(&format!("{{\"n\":\"{n}\"}}")),
            Value::Float(n) => self.raw(&format!("{{\"f\":\"{n:?}\"}}")),
            Value::Kw(name) => self.tagged("k", name),
            Value::Sym(name) => self.tagged("s", name),
            Value::Var(name) => self.tagged("v", name),
            Value::Regex(pattern) => self.tagged("r", &pattern.source),
            Value::Native(native) => self.tagged("b", native.name),
            Value::Tool(name) => self.tagged("t", name),
            Value::Fn(closure) => self.held(closure.id),
            Value::Composed(made) => self.held(made.id),
            Value::Vec(items) => {
                self.counted("l", items.items.len())?;
                self.after(&items.items)
            }
            Value::Set(members) => {
                self.counted("e", members.members.len())?;
                self.after(members.iter())
            }
            Value::Map(entries) => {
                self.counted("m", entries.entries.len())?;
                self.after(entries.entries.iter().flat_map(|(key, value)| [key, value]))
            }
        }
    }

    fn after<'a>(&mut self, values: impl IntoIterator<Item = &'a Value>) -> WriteResult {
        for value in values {
            self.raw(",")?;
            self.value(value)?;
        }
        Ok(())
    }

    fn tagged(&mut self, tag: &str, text: &str) -> WriteResult {
        self.raw(&format!("{{\"{tag}\":"))?;
        self.text(text)?;
        self.raw("}")
    }

    fn counted(&mut self, tag: &str, count: usize) -> WriteResult {
        self.raw(&format!("{{\"{tag}\":{count}}}"))
    }

    fn held(&mut self, id: u64) -> WriteResult {
        let place = self.places.get(&id).copied().unwrap_or_default();
        self.counted("c", place)
    }
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// The names by which a body, and those within it, mean definitions.
fn find_globals(proto: &Proto, found: &mut BTreeSet<Arc<str>>) {
    for op in &proto.code {
        if let Op::Global(index) = op
            && let Some(Value::Str(name)) = proto.consts.get(*index as usize)
        {
            found.insert(name.clone());
        }
    }
    for template in &proto.templates {
        for arity in &template.arities {
            find_globals(arity, found);
        }
    }
}
