//! The lines of a scripted program, read and checked.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Map, Value};
use windlass_core::ProgramFault;

/// Names that every program has, beside `$round` within a loop.
const GIVEN: [&str; 3] = ["LAST", "NOW", "RANDOM"];

/// A line.
#[derive(Debug)]
pub(super) enum Op {
    /// Calls in one step; `list` where the answer is a list.
    Calls {
        calls: Vec<(Arc<str>, Value)>,
        list: bool,
        otherwise: Option<Value>,
    },
    Each(u64, Arc<str>, Value),
    Let(String, Value),
    Value(Value),
    Keep(String, Value),
    Drop(String),
    Print(Value),
    /// So many rounds; the place of its end.
    Loop(u64, usize),
    /// The place of its loop.
    End(usize),
    Return(Value),
    Fail(Value),
    Spin,
    Grow(u64),
}

struct Parser<'a> {
    tools: &'a [Arc<str>],
    names: BTreeSet<String>,
    line: u32,
    loops: usize,
}

impl Parser<'_> {
    fn fault(&self, class: &str, words: impl Into<String>, hint: &str) -> ProgramFault {
        ProgramFault {
            line: Some(self.line),
            column: Some(1),
            hint: Some(hint.to_owned()),
            ..ProgramFault::new(class, words)
        }
    }

    fn broken(&self, words: impl Into<String>) -> ProgramFault {
        self.fault("parse_error", words, "Write the line as the guide says.")
    }

    fn tool(&self, name: &str) -> Result<Arc<str>, ProgramFault> {
        let found = self.tools.iter().find(|tool| &***tool == name);
        found.cloned().ok_or_else(|| {
            let words = format!("there is no tool {name}");
            self.fault("unknown_tool", words, "Call one of the available tools.")
        })
    }

    /// A value at the beginning of a text, and what stands after it.
    fn value<'t>(&self, text: &'t str, rounds: bool) -> Result<(Value, &'t str), ProgramFault> {
        let text = text.trim_start();
        let (value, rest) = if text.starts_with('$') {
            let (name, rest) = text.split_once(' ').unwrap_or((text, ""));
            (Value::String(name.to_owned()), rest)
        } else {
            let mut values = serde_json::Deserializer::from_str(text).into_iter::<Value>();
            match values.next() {
                Some(Ok(value)) => (value, &text[values.byte_offset()..]),
                Some(Err(error)) => {
                    return Err(self.broken(format!("a value is no JSON: {error}")));
                }
                None => return Err(self.broken("a value is missing")),
            }
        };
        self.check(&value, rounds)?;
        Ok((value, rest.trim()))
    }

    /// A value that is all that is left of a line.
    fn whole(&self, text: &str) -> Result<Value, ProgramFault> {
        match self.value(text, false)? {
            (value, "") => Ok(value),
            (_, rest) => Err(self.broken(format!("{rest:?} stands after the value"))),
        }
    }

    /// Returns true if the names in a value are known. It is nested as deep as JSON is read, 128 at most.
    fn check(&self, value: &Value, rounds: bool) -> Result<(), ProgramFault> {
        match value {
            Value::Null | Value::Bool(_) | Value::Number(_) => Ok(()),
            Value::Array(values) => values.iter().try_for_each(|value| self.check(value, rounds)),
            Value::Object(values) => {
                values.values().try_for_each(|value| self.check(value, rounds))
            }
            Value::String(text) => {
                let Some(name) = name(text) else {
                    return Ok(());
                };
                let known = GIVEN.contains(&name)
                    || name.starts_with("data.")
                    || (name == "round" && (rounds || self.loops > 0))
                    || self.names.contains(name);
                if known {
                    return Ok(());
                }
                let words = format!("there is no name ${name}");
                Err(self.fault("unbound_var", words, "Use let or keep before it."))
            }
        }
    }

    fn count(&self, text: &str) -> Result<u64, ProgramFault> {
        text.parse().map_err(|_| self.broken(format!("{text:?} is no number")))
    }

    /// `NAME = JSON`
    fn assigned<'t>(&self, text: &'t str) -> Result<(&'t str, Value), ProgramFault> {
        let Some((name, value)) = text.split_once('=') else {
            return Err(self.broken("= is missing"));
        };
        let name = name.trim();
        let letter = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
        if name.is_empty() || !name.bytes().all(letter) || name == "round" || GIVEN.contains(&name)
        {
            return Err(self.broken(format!("{name:?} is no name")));
        }
        Ok((name, self.whole(value)?))
    }

    /// `NAME JSON`, and what stands after it.
    fn call<'t>(
        &self,
        text: &'t str,
        rounds: bool,
    ) -> Result<((Arc<str>, Value), &'t str), ProgramFault> {
        let (name, rest) = text.split_once(' ').unwrap_or((text, ""));
        let name = self.tool(name)?;
        let (arguments, rest) = self.value(rest, rounds)?;
        if !arguments.is_object() {
            return Err(self.broken("the arguments of a call are no object"));
        }
        Ok(((name, arguments), rest))
    }

    fn op(&mut self, word: &str, rest: &str) -> Result<Op, ProgramFault> {
        let one = |call, otherwise| Op::Calls { calls: vec![call], list: false, otherwise };
        Ok(match word {
            "call" => match self.call(rest, false)? {
                (call, "") => one(call, None),
                (_, rest) => return Err(self.broken(format!("{rest:?} stands after the call"))),
            },
            "try" => {
                let (call, rest) = self.call(rest, false)?;
                let Some(otherwise) = rest.strip_prefix("else ") else {
                    return Err(self.broken("else is missing"));
                };
                one(call, Some(self.whole(otherwise)?))
            }
            "both" => {
                let (mut calls, mut rest) = (Vec::new(), rest);
                while !rest.is_empty() {
                    let (call, after) = self.call(rest, false)?;
                    calls.push(call);
                    rest = after;
                }
                if calls.is_empty() {
                    return Err(self.broken("there is no call"));
                }
                Op::Calls { calls, list: true, otherwise: None }
            }
            "each" => {
                let (count, rest) = rest.split_once(' ').unwrap_or((rest, ""));
                let count = self.count(count)?;
                match self.call(rest, true)? {
                    ((name, arguments), "") => Op::Each(count, name, arguments),
                    (_, rest) => return Err(self.broken(format!("{rest:?} stands after the call"))),
                }
            }
            "let" => {
                let (name, value) = self.assigned(rest)?;
                self.names.insert(name.to_owned());
                Op::Let(name.to_owned(), value)
            }
            "keep" => {
                let (name, value) = self.assigned(rest)?;
                self.names.insert(format!("kept.{name}"));
                Op::Keep(name.to_owned(), value)
            }
            "drop" => {
                self.check(&Value::String(format!("$kept.{rest}")), false)?;
                Op::Drop(rest.to_owned())
            }
            "value" => Op::Value(self.whole(rest)?),
            "print" => Op::Print(self.whole(rest)?),
            "return" => Op::Return(self.whole(rest)?),
            "fail" => Op::Fail(self.whole(rest)?),
            "loop" => Op::Loop(self.count(rest)?, 0),
            "grow" => Op::Grow(self.count(rest)?),
            "end" if rest.is_empty() => Op::End(0),
            "spin" if rest.is_empty() => Op::Spin,
            other => return Err(self.broken(format!("there is no statement {other:?}"))),
        })
    }
}

/// The name that a text stands for.
pub(super) fn name(text: &str) -> Option<&str> {
    text.strip_prefix('$').filter(|name| !name.starts_with('$'))
}

/// Reads and checks a program.
pub(super) fn parse(
    source: &str,
    tools: &[Arc<str>],
    kept: &Map<String, Value>,
) -> Result<Vec<Op>, ProgramFault> {
    let mut parser = Parser {
        tools,
        names: kept.keys().map(|name| format!("kept.{name}")).collect(),
        line: 0,
        loops: 0,
    };
    let mut ops: Vec<Op> = Vec::new();
    let mut open: Vec<usize> = Vec::new();
    for line in source.lines() {
        parser.line = parser.line.saturating_add(1);
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        let mut op = parser.op(word, rest.trim())?;
        if let Op::Loop(..) = op {
            open.push(ops.len());
            parser.loops = open.len();
        }
        if let Op::End(begin) = &mut op {
            let Some(at) = open.pop() else {
                return Err(parser.broken("there is no loop to end here"));
            };
            *begin = at;
            parser.loops = open.len();
            let place = ops.len();
            if let Some(Op::Loop(_, end)) = ops.get_mut(at) {
                *end = place;
            }
        }
        ops.push(op);
    }
    if open.is_empty() { Ok(ops) } else { Err(parser.broken("a loop has no end")) }
}
