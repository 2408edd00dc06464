//! A runtime with faults, of which each is found by a case of the suite.

#![allow(clippy::wildcard_enum_match_arm, reason = "each place plants few of the faults")]

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{ThreadId, current};
use std::time::Duration;

use windlass_core::{ProgramEnd, ProgramFault, ProgramLimits, RetainedChange, RetainedMemory};
use windlass_ports::{
    CancelSignal, PreparedProgram, ProgramAnswer, ProgramCall, ProgramEnvironment, ProgramGuide,
    ProgramResult, ProgramRuntime, ProgramStep, RunningProgram,
};

use super::ScriptedRuntime;
use super::suite::{ProgramFixture, Sample};
use super::tests::Scripted;

/// A fault to plant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    GuidesToNothing,
    GuidesToTools,
    RunsWhatIsRefused,
    FindsNoProgram,
    FindsProgramsEverywhere,
    ValuesReturn,
    ReturnsAreValues,
    GivingUpReturns,
    FaultsAreValues,
    EndsAgainAndAgain,
    PrintsInOneLine,
    HasOtherInputs,
    HasItsOwnClock,
    ForgetsFailures,
    CallsWithoutArguments,
    WrapsAnswers,
    PanicsOverLongAnswers,
    FailuresAreAnswers,
    SwapsAnswers,
    CallsOneByOne,
    TakesAnyNumberOfAnswers,
    ForgetsMemory,
    RemovesNothing,
    RecordsEverything,
    ListsNothing,
    EmptiesMemory,
    KeepsWhenItFails,
    TakesAnyMemory,
    RefusesLargeMemory,
    HasNoLimits,
    CountsOtherRunsSteps,
    StaysOnItsThread,
    RenamesFaults,
    SaysNothing,
    IsDeaf,
}

/// The scripted language, run by a runtime with a fault.
pub(super) struct Broken(pub(super) Fault);

impl ProgramFixture for Broken {
    fn runtime(&self) -> Arc<dyn ProgramRuntime> {
        Arc::new(Runtime(self.0))
    }

    fn write(&self, sample: &Sample<'_>) -> Option<String> {
        match sample {
            // The language has none of these: here it is enough that they do not end.
            Sample::Recursion | Sample::Catastrophic => Some("spin".to_owned()),
            sample => Scripted.write(sample),
        }
    }

    fn whole_memory(&self, name: &str, value: &str) -> Option<String> {
        Scripted.whole_memory(name, value)
    }

    fn answer(&self, source: &str) -> String {
        Scripted.answer(source)
    }

    fn malformed(&self) -> Vec<String> {
        Scripted.malformed()
    }

    fn hostile(&self) -> Vec<(&'static str, String)> {
        vec![("spins", "spin".to_owned())]
    }

    fn patience(&self) -> Duration {
        Duration::from_secs(30)
    }
}

struct Runtime(Fault);

impl ProgramRuntime for Runtime {
    fn name(&self) -> &'static str {
        ScriptedRuntime.name()
    }

    fn guide(&self, guide: &ProgramGuide) -> String {
        let tools = guide.tools.clone();
        match self.0 {
            Fault::GuidesToNothing => "Call tools.".to_owned(),
            Fault::GuidesToTools => {
                ScriptedRuntime.guide(&ProgramGuide { tools, ..ProgramGuide::default() })
            }
            _ => ScriptedRuntime.guide(guide),
        }
    }

    fn extract(&self, answer: &str) -> Option<Result<String, ProgramFault>> {
        match self.0 {
            Fault::FindsNoProgram => None,
            Fault::FindsProgramsEverywhere => Some(Ok(answer.to_owned())),
            _ => ScriptedRuntime.extract(answer),
        }
    }

    fn prepare(
        &self,
        source: &str,
        world: &ProgramEnvironment,
    ) -> Result<Box<dyn PreparedProgram>, ProgramFault> {
        let mut world = world.clone();
        match self.0 {
            Fault::HasOtherInputs => world.data = Some("{\"limit\":0,\"names\":0}".into()),
            Fault::ForgetsFailures => world.failure = None,
            Fault::HasItsOwnClock => {
                let run = RUNS.fetch_add(1, Ordering::SeqCst);
                (world.now_ms, world.seed) = (run, run);
            }
            Fault::HasNoLimits => {
                world.limits = ProgramLimits {
                    calls: u32::MAX,
                    source_bytes: u64::MAX,
                    print_bytes: u64::MAX,
                    value_bytes: u64::MAX,
                    retained_bytes: u64::MAX,
                    loop_rounds: 0,
                    ..world.limits
                };
            }
            Fault::TakesAnyMemory
                if ScriptedRuntime
                    .prepare("value 1", &world)
                    .and_then(|it| it.start())
                    .is_err() =>
            {
                world.memory = Arc::default();
            }
            Fault::RefusesLargeMemory if world.memory.bytes() > world.limits.retained_bytes => {
                world.limits.steps = 0;
            }
            Fault::IsDeaf => {
                world.cancel = CancelSignal::default();
                world.limits.steps = 100_000;
            }
            _ => {}
        }
        let prepared = match ScriptedRuntime.prepare(source, &world) {
            Err(_) if self.0 == Fault::RunsWhatIsRefused => {
                ScriptedRuntime.prepare("return 1", &world)
            }
            prepared => prepared,
        };
        Ok(Box::new(Prepared(self.0, world.memory, prepared?)))
    }
}

struct Prepared(Fault, Arc<RetainedMemory>, Box<dyn PreparedProgram>);

impl PreparedProgram for Prepared {
    fn repairs(&self) -> Vec<String> {
        self.2.repairs()
    }

    fn start(self: Box<Self>) -> Result<Box<dyn RunningProgram>, ProgramFault> {
        Ok(Box::new(Running {
            fault: self.0,
            memory: self.1,
            inner: self.2.start()?,
            thread: current().id(),
            waits: 0,
            held: Vec::new(),
            answers: Vec::new(),
            ended: None,
        }))
    }
}

struct Running {
    fault: Fault,
    memory: Arc<RetainedMemory>,
    inner: Box<dyn RunningProgram>,
    thread: ThreadId,
    waits: usize,
    /// Calls that are made one by one, and the answers to those that were.
    held: Vec<ProgramCall>,
    answers: Vec<ProgramAnswer>,
    ended: Option<ProgramResult>,
}

/// Runs of all programs of this process.
static RUNS: AtomicU64 = AtomicU64::new(0);

impl Running {
    fn tampered(&self, mut answers: Vec<ProgramAnswer>) -> Vec<ProgramAnswer> {
        match self.fault {
            Fault::WrapsAnswers => {
                for answer in &mut answers {
                    if let ProgramAnswer::Done(text) = answer {
                        *text = serde_json::json!({ "text": &**text }).to_string().into();
                    }
                }
            }
            Fault::PanicsOverLongAnswers => {
                for answer in &answers {
                    if let ProgramAnswer::Done(text) = answer {
                        assert!(text.len() < 1_000_000, "the answer is long");
                    }
                }
            }
            Fault::FailuresAreAnswers => {
                for answer in &mut answers {
                    if let ProgramAnswer::Failed(reason) = answer {
                        *answer = ProgramAnswer::Done(reason.clone());
                    }
                }
            }
            Fault::SwapsAnswers => answers.reverse(),
            Fault::TakesAnyNumberOfAnswers => {
                answers.resize(self.waits, ProgramAnswer::Done("{}".into()));
            }
            _ => {}
        }
        answers
    }

    fn ended(&mut self, mut done: ProgramResult) -> ProgramResult {
        done.end = match (self.fault, done.end) {
            (Fault::ValuesReturn, ProgramEnd::Value { value }) => ProgramEnd::Return { value },
            (Fault::ReturnsAreValues, ProgramEnd::Return { value }) => ProgramEnd::Value { value },
            (Fault::GivingUpReturns, ProgramEnd::Fail { value }) => ProgramEnd::Return { value },
            (Fault::FaultsAreValues, ProgramEnd::Fault(_)) => {
                ProgramEnd::Value { value: "null".into() }
            }
            (Fault::RenamesFaults, ProgramEnd::Fault(fault)) => {
                ProgramEnd::Fault(ProgramFault { class: "odd".to_owned(), ..fault })
            }
            (Fault::SaysNothing, ProgramEnd::Fault(_)) => {
                ProgramEnd::Fault(ProgramFault::new("", ""))
            }
            (_, end) => end,
        };
        match self.fault {
            Fault::PrintsInOneLine => done.prints = vec![done.prints.join(" ")],
            Fault::ForgetsMemory => done.retained.clear(),
            Fault::RemovesNothing => done.retained.retain(|change| change.value.is_some()),
            Fault::EmptiesMemory if done.retained.is_empty() => {
                let other = |name: &Arc<str>| RetainedChange {
                    name: name.clone(),
                    value: Some("0".into()),
                };
                done.retained = self.memory.entries.keys().map(other).collect();
            }
            Fault::KeepsWhenItFails => done.retained = vec![RetainedChange::set("n", "1")],
            Fault::RecordsEverything => {
                let all = self.memory.definitions();
                done.retained.extend(all.map(|(name, value)| RetainedChange::set(name, value)));
            }
            Fault::ListsNothing => done.alive.clear(),
            Fault::CountsOtherRunsSteps => done.steps += RUNS.fetch_add(1, Ordering::SeqCst),
            _ => {}
        }
        done
    }
}

impl RunningProgram for Running {
    fn resume(&mut self, answers: Vec<ProgramAnswer>) -> ProgramStep {
        if let (Fault::EndsAgainAndAgain, Some(done)) = (self.fault, &self.ended) {
            return ProgramStep::Done(Box::new(done.clone()));
        }
        let mut answers = self.tampered(answers);
        if self.fault == Fault::CallsOneByOne {
            self.answers.append(&mut answers);
            if let Some(call) = self.held.pop() {
                return ProgramStep::Calls(vec![call]);
            }
            answers = std::mem::take(&mut self.answers);
        }
        let step = if self.fault == Fault::StaysOnItsThread && self.thread != current().id() {
            let fault = ProgramFault::new("elsewhere", "this is another thread");
            ProgramStep::Done(Box::new(ProgramResult {
                end: ProgramEnd::Fault(fault),
                prints: Vec::new(),
                retained: Vec::new(),
                defined: Vec::new(),
                alive: Vec::new(),
                steps: 0,
            }))
        } else {
            self.inner.resume(answers)
        };
        match step {
            ProgramStep::Done(done) => {
                let done = self.ended(*done);
                self.ended = Some(done.clone());
                ProgramStep::Done(Box::new(done))
            }
            ProgramStep::Calls(mut calls) => {
                self.waits = calls.len();
                if self.fault == Fault::CallsWithoutArguments {
                    for call in &mut calls {
                        call.arguments = "{}".to_owned();
                    }
                }
                if self.fault == Fault::CallsOneByOne {
                    calls.reverse();
                    self.held = calls;
                    return ProgramStep::Calls(self.held.pop().into_iter().collect());
                }
                ProgramStep::Calls(calls)
            }
        }
    }
}
