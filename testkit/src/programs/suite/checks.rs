//! What the cases share: how a program is run, and how what it comes to is held to what it must be.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, sync_channel};

use serde_json::Value;
use windlass_core::{ProgramEnd, ProgramFault, ProgramLimits, RetainedMemory};
use windlass_ports::{
    CancelSignal, ProgramAnswer, ProgramCall, ProgramEnvironment, ProgramResult, ProgramRuntime,
    ProgramStep,
};

use super::{Checked, ProgramFixture, Sample, Violation};

/// The rounds of calls after which a program is given up.
const ROUNDS: usize = 20_000;

/// The tools of every world that has some.
pub(super) const TOOLS: [&str; 2] = ["look", "pay"];

/// What a call is answered in most cases.
pub const ANSWERED: &str = "{\"ok\":true}";

/// Answers a violation unless the condition holds.
pub(super) fn ensure(holds: bool, words: impl FnOnce() -> String) -> Checked {
    if holds {
        return Ok(());
    }
    Err(Violation::new(words()))
}

/// The world of a program, in which most cases change one thing.
#[derive(Debug, Clone, Default)]
pub struct World(pub ProgramEnvironment);

impl World {
    /// With the tools `look` and `pay`, no inputs, no memory, and limits that are ample.
    #[must_use]
    pub fn new() -> Self {
        Self(ProgramEnvironment {
            tools: TOOLS.iter().map(|tool| Arc::from(*tool)).collect(),
            ..ProgramEnvironment::default()
        })
    }

    /// Without tools.
    #[must_use]
    pub fn without_tools(mut self) -> Self {
        self.0.tools = Vec::new();
        self
    }

    /// With these inputs.
    #[must_use]
    pub fn data(mut self, data: &str) -> Self {
        self.0.data = Some(data.into());
        self
    }

    /// With this memory.
    #[must_use]
    pub fn memory(mut self, memory: &RetainedMemory) -> Self {
        self.0.memory = Arc::new(memory.clone());
        self
    }

    /// With limits that are changed.
    #[must_use]
    pub fn limits(mut self, change: impl FnOnce(&mut ProgramLimits)) -> Self {
        change(&mut self.0.limits);
        self
    }

    /// With a signal to stop.
    #[must_use]
    pub fn stop(mut self, stop: CancelSignal) -> Self {
        self.0.cancel = stop;
        self
    }
}

/// What a program did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Told {
    /// Its calls, step by step.
    pub steps: Vec<Vec<ProgramCall>>,
    /// What it came to. One that was refused came to the fault.
    pub done: ProgramResult,
    /// True if it was refused before it ran.
    pub refused: bool,
}

impl Told {
    /// The fault that it ended with.
    pub(super) fn fault(&self, what: &str) -> Result<&ProgramFault, Violation> {
        match &self.done.end {
            ProgramEnd::Fault(fault) => Ok(fault),
            end @ (ProgramEnd::Value { .. }
            | ProgramEnd::Return { .. }
            | ProgramEnd::Fail { .. }) => {
                Err(Violation::new(format!("{what} must end with a fault, and ended with {end:?}")))
            }
        }
    }

    /// The value that it returned.
    pub(super) fn returned(&self, what: &str) -> Result<Value, Violation> {
        match &self.done.end {
            ProgramEnd::Return { value } => json(value, what),
            end @ (ProgramEnd::Value { .. } | ProgramEnd::Fault(_) | ProgramEnd::Fail { .. }) => {
                Err(Violation::new(format!("{what} must return, and ended with {end:?}")))
            }
        }
    }

    /// Holds it to its having ended well.
    pub(super) fn ended_well(&self, what: &str) -> Checked {
        let well = match &self.done.end {
            ProgramEnd::Return { .. } | ProgramEnd::Value { .. } => true,
            ProgramEnd::Fault(_) | ProgramEnd::Fail { .. } => false,
        };
        ensure(well, || format!("{what} must end well, and ended with {:?}", self.done.end))
    }
}

/// Reads a JSON text that a runtime wrote.
pub(super) fn json(text: &str, what: &str) -> Result<Value, Violation> {
    serde_json::from_str(text).map_err(|error| {
        Violation::new(format!("{what} wrote {text:?}, which is no JSON: {error}"))
    })
}

/// A fault that helps whoever reads it: it has a class of small letters, and says something.
pub(super) fn well_formed(fault: &ProgramFault, what: &str) -> Checked {
    let letter = |b: u8| b.is_ascii_lowercase() || b == b'_' || b.is_ascii_digit();
    ensure(
        !fault.class.is_empty() && fault.class.bytes().all(letter) && !fault.message.is_empty(),
        || format!("{what} has a fault that says nothing: {fault:?}"),
    )?;
    ensure(
        fault.line.is_none_or(|line| line > 0) && fault.column.is_none_or(|column| column > 0),
        || format!("{what} has a fault whose place is not counted from 1: {fault:?}"),
    )?;
    ensure(fault.message.len() <= 64 << 10, || {
        format!("{what} has a fault with a message of {} bytes", fault.message.len())
    })
}

/// Answers every call with [`ANSWERED`].
pub(super) fn obliging(calls: &[ProgramCall]) -> Vec<ProgramAnswer> {
    calls.iter().map(|_| ProgramAnswer::Done(ANSWERED.into())).collect()
}

/// Writes a sample, or says on stderr that the language has no such thing.
#[allow(clippy::print_stderr, reason = "a case that looks at nothing says so")]
pub(super) fn written(fixture: &dyn ProgramFixture, sample: &Sample<'_>) -> Option<String> {
    let source = fixture.write(sample);
    if source.is_none() {
        let name = fixture.runtime().name();
        eprintln!("not looked at: {name} cannot write {sample:?}");
    }
    source
}

/// Writes and runs a sample whose calls are answered with [`ANSWERED`]; `None` where the language
/// cannot say it.
///
/// # Errors
/// A violation when it panics or does not end.
pub fn run_sample(
    fixture: &dyn ProgramFixture,
    sample: &Sample<'_>,
    world: World,
) -> Result<Option<Told>, Violation> {
    let Some(source) = written(fixture, sample) else {
        return Ok(None);
    };
    run(fixture, &source, world, obliging).map(Some)
}

/// Runs a program on a thread of its own. A refusal is told as the fault that it is.
pub(super) fn run(
    fixture: &dyn ProgramFixture,
    source: &str,
    world: World,
    answers: impl FnMut(&[ProgramCall]) -> Vec<ProgramAnswer> + Send + 'static,
) -> Result<Told, Violation> {
    let (runtime, source) = (fixture.runtime(), source.to_owned());
    let begun: String = source.chars().take(200).collect();
    apart(fixture, &begun, move || drive(&*runtime, &source, &world, answers))?
}

/// Does something on a thread of its own, for as long as the fixture's patience lasts.
pub(super) fn apart<T: Send + 'static>(
    fixture: &dyn ProgramFixture,
    what: &str,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Violation> {
    let patience = fixture.patience();
    let (tell, told) = sync_channel(1);
    std::thread::spawn(move || {
        // Nobody listens any more where the patience is over.
        let _ = tell.send(catch_unwind(AssertUnwindSafe(work)).map_err(drop));
    });
    match told.recv_timeout(patience) {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(())) | Err(RecvTimeoutError::Disconnected) => {
            Err(Violation::new(format!("a runtime panicked over {what}")))
        }
        Err(RecvTimeoutError::Timeout) => {
            Err(Violation::new(format!("a program did not end within {patience:?}: {what}")))
        }
    }
}

/// Runs a program to its end.
fn drive(
    runtime: &dyn ProgramRuntime,
    source: &str,
    world: &World,
    mut answers: impl FnMut(&[ProgramCall]) -> Vec<ProgramAnswer>,
) -> Result<Told, Violation> {
    let refused = |fault, refused| Told {
        steps: Vec::new(),
        done: ProgramResult {
            end: ProgramEnd::Fault(fault),
            prints: Vec::new(),
            retained: Vec::new(),
            defined: Vec::new(),
            alive: Vec::new(),
            steps: 0,
        },
        refused,
    };
    let prepared = match runtime.prepare(source, &world.0) {
        Ok(prepared) => prepared,
        Err(fault) => return Ok(refused(fault, true)),
    };
    let mut running = match prepared.start() {
        Ok(running) => running,
        Err(fault) => return Ok(refused(fault, true)),
    };
    let mut steps = Vec::new();
    let mut answered = Vec::new();
    while steps.len() < ROUNDS {
        match running.resume(answered) {
            ProgramStep::Done(done) => {
                return Ok(Told { steps, done: *done, refused: false });
            }
            ProgramStep::Calls(calls) => {
                ensure(!calls.is_empty(), || {
                    "a program waits for calls, of which there is none".into()
                })?;
                answered = answers(&calls);
                steps.push(calls);
            }
        }
    }
    Err(Violation::new(format!("a program went on calling tools for {ROUNDS} steps")))
}
