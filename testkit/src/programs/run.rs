//! A scripted program on its way.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value, json};
use windlass_core::{ProgramEnd, ProgramFault, RetainedChange, RetainedMemory};
use windlass_ports::{
    ProgramAnswer, ProgramCall, ProgramEnvironment, ProgramResult, ProgramStep, RunningProgram,
    json_definition, text_output,
};

use super::parse::{Op, name};

/// How deep values may be nested.
const DEEP: usize = 100;

/// How often a long run looks whether it is to stop, in steps.
const LOOK: u64 = 1_024;

/// A loop that goes round: the place of its first line, its round, and its rounds.
struct Round {
    round: u64,
    rounds: u64,
}

/// What a program waits for.
struct Wait {
    tools: Vec<Arc<str>>,
    list: bool,
    otherwise: Option<Value>,
}

/// What the output of a tool is to a program.
fn output(tool: &str, output: &str) -> Value {
    if let Some(text) = text_output(tool, output) {
        return json!(text);
    }
    serde_json::from_str(output).unwrap_or_else(|_| json!(output))
}

/// A program on its way.
pub(super) struct Run {
    ops: Vec<Op>,
    world: ProgramEnvironment,
    data: Map<String, Value>,
    kept: Map<String, Value>,
    /// Definitions that lasted when the program began, and that last once it has ended.
    before: Map<String, Value>,
    at: usize,
    loops: Vec<Round>,
    names: BTreeMap<String, Value>,
    last: Value,
    wait: Option<Wait>,
    ended: bool,
    prints: Vec<String>,
    printed: u64,
    defined: Vec<String>,
    steps: u64,
    allocated: u64,
    called: u64,
}

enum Next {
    Line,
    Calls(Vec<ProgramCall>),
    End(ProgramEnd),
}

fn over(class: &str, what: &str, most: u64) -> ProgramFault {
    ProgramFault {
        hint: Some("Do less in one program.".to_owned()),
        ..ProgramFault::new(class, format!("the program may take {most} {what} and took more"))
    }
}

impl Run {
    pub(super) fn new(
        ops: Vec<Op>,
        world: ProgramEnvironment,
        data: Map<String, Value>,
        kept: Map<String, Value>,
    ) -> Self {
        Self {
            ops,
            world,
            data,
            before: kept.clone(),
            kept,
            at: 0,
            loops: Vec::new(),
            names: BTreeMap::new(),
            last: Value::Null,
            wait: None,
            ended: false,
            prints: Vec::new(),
            printed: 0,
            defined: Vec::new(),
            steps: 0,
            allocated: 0,
            called: 0,
        }
    }

    fn step(&mut self) -> Result<(), ProgramFault> {
        self.steps += 1;
        if self.steps > self.world.limits.steps {
            return Err(over("fuel_exceeded", "steps", self.world.limits.steps));
        }
        if self.steps.is_multiple_of(LOOK) {
            self.look()?;
        }
        Ok(())
    }

    fn look(&self) -> Result<(), ProgramFault> {
        if self.world.cancel.is_cancelled() {
            let words = "the program was told to stop";
            return Err(ProgramFault::new(ProgramFault::STOPPED, words));
        }
        Ok(())
    }

    fn allocate(&mut self, bytes: u64) -> Result<(), ProgramFault> {
        self.allocated = self.allocated.saturating_add(bytes);
        let most = self.world.limits.memory_bytes;
        if self.allocated > most {
            return Err(over("memory_exceeded", "bytes of memory", most));
        }
        Ok(())
    }

    /// The value that an expression has now.
    fn value(&mut self, expression: &Value) -> Result<Value, ProgramFault> {
        let value = self.filled(expression)?;
        if deeper_than(&value, DEEP) {
            return Err(over("depth_exceeded", "values within each other", DEEP as u64));
        }
        self.allocate(size(&value))?;
        Ok(value)
    }

    fn filled(&mut self, expression: &Value) -> Result<Value, ProgramFault> {
        Ok(match expression {
            Value::Null | Value::Bool(_) | Value::Number(_) => expression.clone(),
            Value::Array(values) => {
                values.iter().map(|value| self.filled(value)).collect::<Result<_, _>>()?
            }
            Value::Object(values) => {
                let mut object = Map::new();
                for (key, value) in values {
                    object.insert(key.clone(), self.filled(value)?);
                }
                Value::Object(object)
            }
            Value::String(text) => match name(text) {
                Some(name) => {
                    // Before the next one is copied: a line may have the same name many times.
                    let value = self.named(name)?;
                    self.allocate(size(&value))?;
                    value
                }
                None => Value::String(text.strip_prefix('$').unwrap_or(text).to_owned()),
            },
        })
    }

    fn named(&self, name: &str) -> Result<Value, ProgramFault> {
        let found = match name.split_once('.') {
            Some(("data", key)) => self.data.get(key).cloned(),
            Some(("kept", key)) => self.kept.get(key).cloned(),
            _ if name == "LAST" => Some(self.last.clone()),
            _ if name == "NOW" => Some(json!(self.world.now_ms)),
            // Another number at each line.
            _ if name == "RANDOM" => Some(json!(self.world.seed.wrapping_add(self.steps))),
            _ if name == "round" => self.loops.last().map(|inner| json!(inner.round)),
            _ => self.names.get(name).cloned(),
        };
        found.ok_or_else(|| {
            ProgramFault::new("runtime_error", format!("${name} has no value at this moment"))
        })
    }

    fn calls(
        &mut self,
        calls: Vec<ProgramCall>,
        list: bool,
        otherwise: Option<Value>,
    ) -> Result<Next, ProgramFault> {
        let most = u64::from(self.world.limits.calls);
        self.called = self.called.saturating_add(calls.len() as u64);
        if self.called > most {
            return Err(over("tool_call_limit_exceeded", "tool calls", most));
        }
        if calls.is_empty() {
            self.last = json!([]);
            return Ok(Next::Line);
        }
        let tools = calls.iter().map(|call| call.name.clone()).collect();
        self.wait = Some(Wait { tools, list, otherwise });
        Ok(Next::Calls(calls))
    }

    fn print(&mut self, value: &Value) -> Result<(), ProgramFault> {
        let text = match value {
            Value::String(text) => text.clone(),
            Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::Array(_)
            | Value::Object(_) => value.to_string(),
        };
        let most = self.world.limits.print_bytes;
        for line in text.split('\n') {
            self.printed = self.printed.saturating_add(line.len() as u64);
            if self.printed > most {
                return Err(over("print_limit_exceeded", "bytes of prints", most));
            }
            self.prints.push(line.to_owned());
        }
        Ok(())
    }

    fn text(&mut self, expression: &Value) -> Result<Arc<str>, ProgramFault> {
        let text = self.value(expression)?.to_string();
        let most = self.world.limits.value_bytes;
        if text.len() as u64 > most {
            return Err(over("value_limit_exceeded", "bytes of its value", most));
        }
        Ok(text.into())
    }

    /// Begins a round of the loop at this place, or leaves it.
    fn round(&mut self, begin: usize, end: usize) -> Result<(), ProgramFault> {
        let Some(inner) = self.loops.last() else {
            return Ok(());
        };
        if inner.round >= inner.rounds {
            self.loops.pop();
            self.at = end + 1;
            return Ok(());
        }
        let most = self.world.limits.loop_rounds;
        if most > 0 && inner.round >= u64::from(most) {
            return Err(over("loop_limit_exceeded", "rounds of a loop", most.into()));
        }
        self.at = begin + 1;
        self.step()
    }

    fn op(&mut self, op: &Op) -> Result<Next, ProgramFault> {
        self.step()?;
        match op {
            Op::Calls { calls, list, otherwise } => {
                let mut made = Vec::new();
                for (name, arguments) in calls {
                    made.push(ProgramCall {
                        name: name.clone(),
                        arguments: self.value(arguments)?.to_string(),
                    });
                }
                let otherwise = match otherwise {
                    Some(otherwise) => Some(self.value(otherwise)?),
                    None => None,
                };
                return self.calls(made, *list, otherwise);
            }
            Op::Each(count, name, arguments) => {
                let left = u64::from(self.world.limits.calls).saturating_sub(self.called);
                let mut made = Vec::new();
                for round in 0..*count {
                    self.step()?;
                    // One more than there may be is all that it takes to be too many.
                    if round > left {
                        break;
                    }
                    self.loops.push(Round { round, rounds: 0 });
                    let filled = self.value(arguments);
                    self.loops.pop();
                    made.push(ProgramCall { name: name.clone(), arguments: filled?.to_string() });
                }
                return self.calls(made, true, None);
            }
            Op::Let(name, value) => {
                let value = self.value(value)?;
                self.names.insert(name.clone(), value);
            }
            Op::Value(value) => self.last = self.value(value)?,
            Op::Keep(name, value) => {
                let value = self.value(value)?;
                self.kept.insert(name.clone(), value);
                if !self.defined.contains(name) {
                    self.defined.push(name.clone());
                }
            }
            Op::Drop(name) => {
                self.kept.remove(name);
                self.defined.retain(|defined| defined != name);
            }
            Op::Print(value) => {
                let value = self.value(value)?;
                self.print(&value)?;
            }
            Op::Loop(rounds, end) => {
                let most = self.world.limits.depth;
                if self.loops.len() as u64 >= u64::from(most) {
                    return Err(over("depth_exceeded", "loops within each other", most.into()));
                }
                let begin = self.at - 1;
                self.loops.push(Round { round: 0, rounds: *rounds });
                self.round(begin, *end)?;
            }
            Op::End(begin) => {
                if let Some(inner) = self.loops.last_mut() {
                    inner.round += 1;
                }
                let end = self.at - 1;
                self.round(*begin, end)?;
            }
            Op::Return(value) => {
                let value = self.text(value)?;
                return Ok(Next::End(ProgramEnd::Return { value }));
            }
            Op::Fail(value) => {
                let value = self.text(value)?;
                return Ok(Next::End(ProgramEnd::Fail { value }));
            }
            Op::Spin => loop {
                self.step()?;
            },
            Op::Grow(bytes) => self.allocate(*bytes)?,
        }
        Ok(Next::Line)
    }

    fn answered(&mut self, answers: Vec<ProgramAnswer>) -> Result<(), ProgramFault> {
        let given = answers.len();
        let wait = self.wait.take();
        let waits = wait.as_ref().map_or(0, |wait| wait.tools.len());
        if given != waits {
            let words = format!("the program waits for {waits} answers and was given {given}");
            return Err(ProgramFault::new("wrong_answers", words));
        }
        let Some(wait) = wait else { return Ok(()) };
        let mut values = Vec::new();
        for (answer, tool) in answers.into_iter().zip(&wait.tools) {
            values.push(match (answer, &wait.otherwise) {
                (ProgramAnswer::Done(text), _) => {
                    self.allocate(text.len() as u64)?;
                    output(tool, &text)
                }
                (ProgramAnswer::Failed(_), Some(otherwise)) => otherwise.clone(),
                (ProgramAnswer::Failed(reason), None) => {
                    return Err(ProgramFault::new("tool_error", reason.to_string()));
                }
            });
        }
        self.last = if wait.list { Value::Array(values) } else { values.pop().unwrap_or_default() };
        Ok(())
    }

    /// Goes on to the next calls or to the end.
    fn on(&mut self, answers: Vec<ProgramAnswer>) -> Result<Next, ProgramFault> {
        self.look()?;
        self.answered(answers)?;
        let ops = std::mem::take(&mut self.ops);
        let next = loop {
            let Some(op) = ops.get(self.at) else {
                let last = Value::String("$LAST".to_owned());
                break self.text(&last).map(|value| Next::End(ProgramEnd::Value { value }));
            };
            self.at += 1;
            match self.op(op) {
                Ok(Next::Line) => {}
                next @ (Ok(Next::Calls(_) | Next::End(_)) | Err(_)) => break next,
            }
        };
        self.ops = ops;
        next
    }

    /// Returns the changed definitions, and adds them to those that were kept before.
    fn retained(&mut self, end: &ProgramEnd) -> Result<Vec<RetainedChange>, ProgramFault> {
        match end {
            ProgramEnd::Value { .. } | ProgramEnd::Return { .. } => {
                let most = self.world.limits.retained_bytes;
                if !memory_of(&self.kept).is_within(most, &memory_of(&self.before)) {
                    return Err(over("kept_limit_exceeded", "bytes of memory to keep", most));
                }
                let change = |name: &String| {
                    let value = self.kept.get(name)?;
                    let is_new = self.before.get(name) != Some(value);
                    is_new.then(|| RetainedChange::set(name, &value.to_string()))
                };
                let dropped = self.before.keys().filter(|name| !self.kept.contains_key(*name));
                let dropped =
                    dropped.map(|name| RetainedChange { name: name.as_str().into(), value: None });
                let changes = self.defined.iter().filter_map(change).chain(dropped).collect();
                self.before.clone_from(&self.kept);
                Ok(changes)
            }
            ProgramEnd::Fail { .. } | ProgramEnd::Fault(_) => {
                self.defined.clear();
                Ok(Vec::new())
            }
        }
    }
}

impl RunningProgram for Run {
    fn resume(&mut self, answers: Vec<ProgramAnswer>) -> ProgramStep {
        let next = if self.ended {
            let words = "the program has ended and goes no further";
            Err(ProgramFault::new("ended", words))
        } else {
            self.on(answers)
        };
        let ended = match next {
            Ok(Next::Calls(calls)) => return ProgramStep::Calls(calls),
            Ok(Next::End(end)) => self.retained(&end).map(|retained| (end, retained)),
            Ok(Next::Line) => Ok((ProgramEnd::Value { value: "null".into() }, Vec::new())),
            Err(fault) => Err(fault),
        };
        self.ended = true;
        let (end, retained) = ended.unwrap_or_else(|fault| {
            self.defined.clear();
            (ProgramEnd::Fault(fault), Vec::new())
        });
        let alive = self.before.iter();
        let alive = alive.map(|(name, value)| json_definition(name, &value.to_string()));
        ProgramStep::Done(Box::new(ProgramResult {
            end,
            prints: std::mem::take(&mut self.prints),
            retained,
            defined: std::mem::take(&mut self.defined),
            alive: alive.collect(),
            steps: self.steps,
        }))
    }
}

fn memory_of(kept: &Map<String, Value>) -> RetainedMemory {
    let entries = kept.iter().map(|(name, value)| RetainedChange::set(name, &value.to_string()));
    RetainedMemory::default().without_base(entries)
}

/// What a value takes: so much for each value in it, and its texts.
fn size(value: &Value) -> u64 {
    let inner = match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
        Value::String(text) => text.len() as u64,
        Value::Array(values) => values.iter().map(size).sum(),
        Value::Object(values) => {
            values.iter().map(|(key, value)| key.len() as u64 + size(value)).sum()
        }
    };
    inner + size_of::<Value>() as u64
}

/// Returns true if a value is nested deeper than this. It looks no deeper.
fn deeper_than(value: &Value, most: usize) -> bool {
    let within = |mut values: Box<dyn Iterator<Item = &Value> + '_>| match most.checked_sub(1) {
        Some(less) => values.any(|value| deeper_than(value, less)),
        None => true,
    };
    match value {
        Value::Array(values) => within(Box::new(values.iter())),
        Value::Object(values) => within(Box::new(values.values())),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}
