//! A program that was checked, and one on its way.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use windlass_core::{ProgramEnd, ProgramFailure, ProgramFault, RetainedChange, RetainedMemory};
use windlass_ports::{
    PreparedProgram, ProgramAnswer, ProgramCall, ProgramEnvironment, ProgramResult, ProgramStep,
    RunningProgram, json_definition, text_output,
};

use crate::JAVASCRIPT;
use crate::engine::{Engine, EnginePause, MemoryTexts};
use crate::fault::{hinted, less, unhandled_rejection};
use crate::host_state::HostState;
use crate::instrument::InstrumentedProgram;
use crate::json_text;

/// A program that may run.
pub(crate) struct CheckedProgram {
    checked: InstrumentedProgram,
    world: ProgramEnvironment,
}

impl CheckedProgram {
    pub(crate) fn new(checked: InstrumentedProgram, world: ProgramEnvironment) -> Self {
        Self { checked, world }
    }
}

impl PreparedProgram for CheckedProgram {
    fn repairs(&self) -> Vec<String> {
        Vec::new()
    }

    fn start(self: Box<Self>) -> Result<Box<dyn RunningProgram>, ProgramFault> {
        let Self { checked, world } = *self;
        let data = text_of(&inputs(&world)?);
        let kept = memory_before(&world.memory)?;
        let shared = Arc::new(HostState::new(world.limits, world.cancel.clone()));
        let memory = memory_text(&kept);
        let engine = Engine::new(&checked.source, &world, &data, &memory, shared.clone())?;
        Ok(Box::new(JavaScriptRun {
            engine: Some(engine),
            shared,
            memory: kept,
            source: checked,
            must_return: world.must_return,
            begun: false,
            waits: Vec::new(),
            first: 0,
        }))
    }
}

/// Returns the inputs of a program, with the failure of the program before it.
fn inputs(world: &ProgramEnvironment) -> Result<Map<String, Value>, ProgramFault> {
    let mut inputs = match &world.data {
        None => Map::new(),
        Some(text) => object(text).ok_or_else(|| {
            let words = "the inputs are no JSON object, or are nested too deep";
            hinted("invalid_data", words, "Give the session's programs an object.")
        })?,
    };
    if let Some(failure) = &world.failure {
        let ProgramFailure { reason, message } = &**failure;
        let failure = json!({ "reason": reason, "message": message, "details": {} });
        inputs.entry("fail").or_insert(failure);
    }
    Ok(inputs)
}

fn text_of(object: &Map<String, Value>) -> String {
    serde_json::to_string(object).unwrap_or_default()
}

fn object(text: &str) -> Option<Map<String, Value>> {
    match serde_json::from_str(text) {
        Ok(Value::Object(object)) => Some(object),
        Ok(
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_),
        )
        | Err(_) => None,
    }
}

/// Returns the memory that earlier programs left, without a base: JSON text of each key. The base is
/// `{"javascript":{..}}`.
fn memory_before(memory: &RetainedMemory) -> Result<RetainedMemory, ProgramFault> {
    let foreign = || {
        hinted(
            "invalid_memory",
            "the memory was not written by this runtime",
            "Go on with the runtime that wrote it, or without memory.",
        )
    };
    let base = memory.base.as_deref().map(|text| {
        let around = json_text::object(text).filter(|around| around.len() == 1);
        let kept = around.as_ref().and_then(|around| around.get(JAVASCRIPT));
        kept.and_then(|kept| json_text::object(kept.get())).ok_or_else(foreign)
    });
    for (_, text) in memory.definitions() {
        json_text::check(text).map_err(|_| foreign())?;
    }
    let base = base.transpose()?.unwrap_or_default();
    let base = base.iter().map(|(name, text)| RetainedChange::set(name, text.get()));
    Ok(memory.without_base(base))
}

/// Returns the text of an object with the keys of a memory.
fn memory_text(memory: &RetainedMemory) -> String {
    let mut text = String::from("{");
    for (name, value) in memory.definitions() {
        let comma = if text.len() > 1 { "," } else { "" };
        let _ = write!(text, "{comma}{}:{value}", Value::from(&**name));
    }
    text.push('}');
    text
}

/// Returns the changes of the keys from one object to another.
fn changes(
    before: &BTreeMap<String, Box<RawValue>>,
    after: &BTreeMap<String, Box<RawValue>>,
) -> Vec<RetainedChange> {
    let same = |name: &String, text: &RawValue| {
        before.get(name).is_some_and(|before| before.get() == text.get())
    };
    let set = after.iter().filter(|(name, text)| !same(name, text));
    let set = set.map(|(name, text)| RetainedChange::set(name, text.get()));
    let removed = before.keys().filter(|name| !after.contains_key(*name));
    let removed = removed.map(|name| RetainedChange { name: name.as_str().into(), value: None });
    set.chain(removed).collect()
}

/// A program on its way.
struct JavaScriptRun {
    /// `None` once it has ended.
    engine: Option<Engine>,
    shared: Arc<HostState>,
    /// What earlier programs left, and in the end this one.
    memory: RetainedMemory,
    source: InstrumentedProgram,
    must_return: bool,
    begun: bool,
    /// The tools that it waits for, and the number of the first call.
    waits: Vec<Arc<str>>,
    first: u32,
}

enum RunStep {
    Calls(Vec<ProgramCall>),
    Done(ProgramEnd, Vec<RetainedChange>),
}

impl JavaScriptRun {
    fn on(&mut self, answers: &[ProgramAnswer]) -> Result<RunStep, ProgramFault> {
        let next = self.through(answers);
        if self.engine.is_none() {
            return next;
        }
        // What it gives up for counts, however it was ended then.
        let (fault, failed) = {
            let inner = self.shared.lock();
            (inner.fault.clone(), inner.failed.clone())
        };
        if let Some(fault) = fault {
            return Err(fault);
        }
        let Some(reason) = failed else {
            return next;
        };
        let value = self.written(&reason, "reason")?;
        Ok(RunStep::Done(ProgramEnd::Fail { value }, Vec::new()))
    }

    fn through(&mut self, answers: &[ProgramAnswer]) -> Result<RunStep, ProgramFault> {
        let Some(engine) = &self.engine else {
            let words = "the program has ended and goes no further";
            return Err(ProgramFault::new("ended", words));
        };
        if answers.len() != self.waits.len() {
            let words = format!(
                "the program waits for {} answers and was given {}",
                self.waits.len(),
                answers.len()
            );
            return Err(ProgramFault::new("wrong_answers", words));
        }
        if self.shared.spend(1) {
            engine.work()?;
        }
        if !self.begun {
            self.begun = true;
            engine.begin()?;
        }
        for ((id, tool), answer) in (self.first..).zip(&self.waits).zip(answers) {
            match answer {
                ProgramAnswer::Done(output) => match text_output(tool, output) {
                    Some(text) => engine.deliver_text(id, text)?,
                    None => engine.deliver_answer(id, true, output)?,
                },
                ProgramAnswer::Failed(reason) => engine.deliver_answer(id, false, reason)?,
            }
        }
        engine.work()?;
        let rest = engine.pause_state()?;
        if let EnginePause::Threw(thrown) = rest {
            return Err(engine.fault(thrown));
        }
        let (first, calls) = self.shared.take_calls();
        if !calls.is_empty() {
            for call in &calls {
                readable(&call.arguments, "the arguments of a call")?;
            }
            self.waits = calls.iter().map(|call| call.name.clone()).collect();
            self.first = first;
            return Ok(RunStep::Calls(calls));
        }
        match rest {
            EnginePause::Ended { returned, value, memory } => {
                let value = self.written(&value, "value")?;
                let changes = memory.map(|memory| self.changes(&memory)).transpose()?;
                let end = match returned {
                    true => ProgramEnd::Return { value },
                    // A definition at the end is no result.
                    false if self.must_return && self.source.defines => {
                        ProgramEnd::Value { value: "null".into() }
                    }
                    false => ProgramEnd::Value { value },
                };
                Ok(RunStep::Done(end, changes.unwrap_or_default()))
            }
            EnginePause::UnhandledRejection(thrown) => Err(unhandled_rejection(thrown)),
            EnginePause::Waiting | EnginePause::Threw(_) => Err(hinted(
                "runtime_error",
                "the program waits for a promise that nothing settles",
                "Await only tool calls and what is made of them.",
            )),
        }
    }

    fn written(&self, text: &str, what: &str) -> Result<Arc<str>, ProgramFault> {
        let (bytes, most) = (text.len() as u64, self.shared.limits.value_bytes);
        if bytes > most {
            let words = format!("the program's {what} has {bytes} bytes and may have {most}");
            return Err(less("value_limit_exceeded", words));
        }
        readable(text, what)?;
        Ok(text.into())
    }

    /// Returns the changes of what is kept, which may have as many bytes as the limit says.
    fn changes(&self, texts: &MemoryTexts) -> Result<Vec<RetainedChange>, ProgramFault> {
        readable(&texts.after, "the memory")?;
        let object = |text: &str| {
            json_text::object(text).ok_or_else(|| {
                let words = "what is kept in memory is no object";
                hinted("type_error", words, "Set keys of memory to JSON values.")
            })
        };
        let changes = changes(&object(&texts.before)?, &object(&texts.after)?);
        let mut after = self.memory.clone();
        after.apply(&changes);
        let most = self.shared.limits.retained_bytes;
        if !after.is_within(most, &self.memory) {
            let bytes = after.bytes();
            let words = format!("the program keeps {bytes} bytes in memory and may keep {most}");
            return Err(less("kept_limit_exceeded", words));
        }
        Ok(changes)
    }
}

/// Holds a text to being JSON that others can read: 127 values within each other, no half letters.
fn readable(text: &str, what: &str) -> Result<(), ProgramFault> {
    json_text::check(text).map_err(|error| {
        let words = format!("{what} cannot be written as JSON: {error}");
        if error.to_string().contains("recursion") {
            less("depth_exceeded", words)
        } else {
            hinted("type_error", words, "Use whole texts and plain values.")
        }
    })
}

impl RunningProgram for JavaScriptRun {
    fn resume(&mut self, answers: Vec<ProgramAnswer>) -> ProgramStep {
        let next = self.on(&answers);
        let (end, retained) = match next {
            Ok(RunStep::Calls(calls)) => return ProgramStep::Calls(calls),
            Ok(RunStep::Done(end, changes)) => (end, changes),
            Err(mut fault) => {
                if let (Some(line), Some(column)) = (fault.line, fault.column) {
                    fault.column = Some(self.source.column(line, column));
                }
                (ProgramEnd::Fault(fault), Vec::new())
            }
        };
        // All that it held is given back now.
        self.engine = None;
        self.memory.apply(&retained);
        let defined = retained.iter().filter(|change| change.value.is_some());
        let defined = defined.map(|change| change.name.to_string()).collect();
        let alive = self.memory.definitions();
        let alive = alive.map(|(name, text)| json_definition(name, text)).collect();
        ProgramStep::Done(Box::new(ProgramResult {
            end,
            prints: std::mem::take(&mut self.shared.lock().prints),
            retained,
            defined,
            alive,
            steps: self.shared.steps(),
        }))
    }
}
