//! A program that was checked, and one on its way.

use std::sync::Arc;

use serde_json::{Map, Value, json};
use windlass_core::{
    Definition, ProgramEnd, ProgramFailure, ProgramFault, RetainedChange, RetainedMemory,
};
use windlass_ports::{
    PreparedProgram, ProgramAnswer, ProgramCall, ProgramEnvironment, ProgramResult, ProgramStep,
    RunningProgram, json_preview, text_output,
};

use crate::JAVASCRIPT;
use crate::engine::{Engine, EnginePause};
use crate::fault::{hinted, less, unhandled_rejection};
use crate::host_state::HostState;
use crate::instrument::InstrumentedProgram;

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
        let kept = parse_memory(&world.memory)?;
        let shared = Arc::new(HostState::new(world.limits, world.cancel.clone()));
        let memory = text_of(&kept);
        let engine = Engine::new(&checked.source, &world, &data, &memory, shared.clone())?;
        Ok(Box::new(JavaScriptRun {
            engine: Some(engine),
            shared,
            memory: kept,
            source: checked,
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

/// Returns the memory that earlier programs left: JSON text of each key. The base is `{"javascript":{..}}`.
fn parse_memory(memory: &RetainedMemory) -> Result<Map<String, Value>, ProgramFault> {
    let foreign = || {
        hinted(
            "invalid_memory",
            "the memory was not written by this runtime",
            "Go on with the runtime that wrote it, or without memory.",
        )
    };
    let base = memory.base.as_deref().map(|text| {
        let mut around = object(text).filter(|around| around.len() == 1);
        match around.as_mut().and_then(|around| around.remove(JAVASCRIPT)) {
            Some(Value::Object(kept)) => Ok(kept),
            _ => Err(foreign()),
        }
    });
    let mut kept = base.transpose()?.unwrap_or_default();
    for (name, value) in &memory.entries {
        match value {
            Some(text) => {
                let value = serde_json::from_str(text).map_err(|_| foreign())?;
                kept.insert(name.to_string(), value);
            }
            None => _ = kept.remove(&**name),
        }
    }
    Ok(kept)
}

/// Returns the changes of the keys from one memory to another.
fn changes(before: &Map<String, Value>, after: &Map<String, Value>) -> Vec<RetainedChange> {
    let set = after.iter().filter(|(name, value)| before.get(*name) != Some(value));
    let set = set.map(|(name, value)| RetainedChange::set(name, &value.to_string()));
    let removed = before.keys().filter(|name| !after.contains_key(*name));
    let removed = removed.map(|name| RetainedChange { name: name.as_str().into(), value: None });
    set.chain(removed).collect()
}

/// A program on its way.
struct JavaScriptRun {
    /// `None` once it has ended.
    engine: Option<Engine>,
    shared: Arc<HostState>,
    memory: Map<String, Value>,
    source: InstrumentedProgram,
    begun: bool,
    /// The tools that it waits for, and the number of the first call.
    waits: Vec<Arc<str>>,
    first: u32,
}

enum RunStep {
    Calls(Vec<ProgramCall>),
    Done(ProgramEnd, Option<Map<String, Value>>),
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
        Ok(RunStep::Done(ProgramEnd::Fail { value }, None))
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
                let memory = memory.map(|memory| self.memory(&memory)).transpose()?;
                let end = if returned {
                    ProgramEnd::Return { value }
                } else {
                    ProgramEnd::Value { value }
                };
                Ok(RunStep::Done(end, memory))
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

    fn memory(&self, text: &str) -> Result<Map<String, Value>, ProgramFault> {
        let (bytes, most) = (text.len() as u64, self.shared.limits.retained_bytes);
        // With what stands around it.
        if bytes + JAVASCRIPT.len() as u64 + 5 > most {
            let words = format!("the program keeps {bytes} bytes in memory and may keep {most}");
            return Err(less("kept_limit_exceeded", words));
        }
        readable(text, "the memory")?;
        object(text).ok_or_else(|| {
            let words = "what is kept in memory is no object";
            hinted("type_error", words, "Set keys of memory to JSON values.")
        })
    }
}

/// Holds a text to being JSON that others can read: 127 values within each other, no half letters.
fn readable(text: &str, what: &str) -> Result<(), ProgramFault> {
    serde_json::from_str::<Value>(text).map(drop).map_err(|error| {
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
        let (end, memory) = match next {
            Ok(RunStep::Calls(calls)) => return ProgramStep::Calls(calls),
            Ok(RunStep::Done(end, memory)) => (end, memory),
            Err(mut fault) => {
                if let (Some(line), Some(column)) = (fault.line, fault.column) {
                    fault.column = Some(self.source.column(line, column));
                }
                (ProgramEnd::Fault(fault), None)
            }
        };
        // All that it held is given back now.
        self.engine = None;
        let retained = memory.as_ref().map(|after| changes(&self.memory, after));
        let retained = retained.unwrap_or_default();
        self.memory = memory.unwrap_or_else(|| std::mem::take(&mut self.memory));
        let defined = retained.iter().filter(|change| change.value.is_some());
        let defined = defined.map(|change| change.name.to_string()).collect();
        let alive = self
            .memory
            .iter()
            .map(|(name, value)| Definition { name: name.clone(), preview: json_preview(value) });
        let alive = alive.collect();
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
