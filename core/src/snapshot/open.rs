//! A cycle that is open: what its facts add to it, when it is over, and what it has come to then.

use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::messages::CycleMessages;
use super::source::source;
use super::turn::{Cycle, CycleCall, TurnSnapshot};
use crate::because::Because;
use crate::call::{Observation, ObservationStatus};
use crate::fact::{Fact, ProgramRun, SampleCut, SampleStarted, Stands};
use crate::failure::{FailureKind, SampleFailure};
use crate::id::CallId;
use crate::item::{CallItem, Item, StopReason};
use crate::program::{PROGRAM_TOOL, ProgramEnd, ProgramFault, SampleKind};
use crate::record::Recorded;
use crate::usage::Usage;

/// A cycle that is open.
#[derive(Debug, Clone)]
pub(super) struct Open {
    cycle: Cycle,
    calls: Vec<Out>,
    answer: Answer,
    /// Whether its turn is one of programs.
    programs: bool,
    ran: Option<Arc<ProgramRun>>,
}

/// A call, and whether the answer that it stood in stands.
#[derive(Debug, Clone)]
struct Out {
    call: CycleCall,
    stands: bool,
}

/// How an answer stands.
#[derive(Debug, Clone)]
enum Answer {
    /// It is awaited.
    Awaited,
    /// It is whole.
    Whole {
        stop: StopReason,
        fault: Option<String>,
    },
    /// It broke off, and may be asked for again.
    Cut { failure: SampleFailure, again: bool },
}

impl Open {
    /// Of the sample that starts; `None` where it belongs to no turn.
    pub(super) fn new(
        recorded: &Recorded,
        fact: &SampleStarted,
        messages: CycleMessages,
        programs: bool,
    ) -> Option<Self> {
        let kind = match fact.because {
            Because::RetryReturn { .. } => SampleKind::Retry,
            Because::Opened { .. }
            | Because::ToolResults
            | Because::Retry
            | Because::Unfinished
            | Because::PendingInput { .. }
            | Because::HookContext { .. }
            | Because::Compacted
            | Because::Goal { .. } => fact.kind,
        };
        let cycle = Cycle {
            turn: recorded.turn?,
            number: fact.sample,
            kind,
            attempts: fact.attempt,
            started: recorded.ts,
            ended: recorded.ts,
            raw_response: String::new(),
            program: None,
            program_call: None,
            result: None,
            prints: Vec::new(),
            repairs: Vec::new(),
            tool_calls: Vec::new(),
            memory: None,
            messages,
            usage: None,
        };
        Some(Self {
            cycle,
            calls: Vec::new(),
            answer: Answer::Awaited,
            programs,
            ran: None,
        })
    }

    /// The next attempt at its sample begins. Calls of those before it stay on record.
    pub(super) fn again(&mut self, attempt: u32) {
        self.cycle.attempts = attempt;
        self.cycle.raw_response.clear();
        self.answer = Answer::Awaited;
    }

    /// Takes in a fact of its sample or of one of its calls, with the arguments that a call which it
    /// observes ran with, where they were changed.
    pub(super) fn take(&mut self, recorded: &Recorded, edited: Option<Arc<str>>) {
        self.cycle.ended = recorded.ts;
        let id = CallId(recorded.seq.0);
        if let Fact::ItemAdded(fact) = &recorded.fact {
            match &fact.item {
                Item::Text { text } | Item::Refusal { text } => {
                    self.cycle.raw_response.push_str(text);
                }
                Item::Reasoning(_) => {}
                Item::Call(call) => self.call(id, None, call),
            }
        }
        if let Fact::ProgramCalled(fact) = &recorded.fact {
            self.call(id, Some(fact.program), &fact.item);
        }
        if let Fact::SampleEnded(fact) = &recorded.fact {
            self.spend(fact.usage.as_ref());
            let (stop, fault) = (fact.stop.clone(), fact.fault.clone());
            self.answer = Answer::Whole { stop, fault };
        }
        if let Fact::SampleCut(fact) = &recorded.fact {
            self.cut(fact);
        }
        if let Fact::ProgramRun(fact) = &recorded.fact {
            self.ran = Some(Arc::new(fact.clone()));
        }
        if let Fact::CallObserved(fact) = &recorded.fact {
            let mut calls = self.calls.iter_mut();
            if let Some(out) = calls.find(|out| out.call.id == fact.call) {
                out.call.observation = Some(fact.observation.clone());
                out.call.edited = edited;
            }
        }
    }

    /// Whether nothing of it is awaited any more.
    pub(super) fn is_over(&self) -> bool {
        let awaited = |out: &Out| out.stands && out.call.observation.is_none();
        match self.answer {
            Answer::Awaited | Answer::Cut { again: true, .. } => false,
            Answer::Whole { .. } | Answer::Cut { again: false, .. } => {
                !self.calls.iter().any(awaited)
            }
        }
    }

    /// What it has come to, with what lasts after it.
    pub(super) fn over(mut self, memory: Option<&Arc<str>>) -> TurnSnapshot {
        let program = self.calls.iter().position(|out| self.is_program(out));
        let program = program.map(|at| self.calls.remove(at).call);
        let why = self.why(program.as_ref());
        let cycle = &mut self.cycle;
        if let Some(program) = program {
            let source = source(&program.call.arguments);
            if !program.call.spoken {
                let apart = if cycle.raw_response.is_empty() {
                    ""
                } else {
                    "\n\n"
                };
                cycle.raw_response = format!("{}{apart}{source}", cycle.raw_response);
            }
            cycle.program_call = Some(program.id);
            cycle.program = Some(source);
        }
        if let Some(ran) = &self.ran {
            cycle.result = Some(ran.outcome.end.clone());
            cycle.prints.clone_from(&ran.outcome.prints);
            cycle.repairs.clone_from(&ran.outcome.repairs);
        }
        cycle.tool_calls = self.calls.into_iter().map(|out| out.call).collect();
        cycle.memory = memory.cloned();
        match why {
            None => TurnSnapshot::success(self.cycle),
            Some(why) => TurnSnapshot::failure(self.cycle, why),
        }
    }

    fn call(&mut self, id: CallId, program: Option<CallId>, call: &Arc<CallItem>) {
        self.calls.push(Out {
            call: CycleCall {
                id,
                program,
                call: call.clone(),
                edited: None,
                observation: None,
            },
            stands: true,
        });
    }

    fn cut(&mut self, fact: &SampleCut) {
        self.spend(fact.usage.as_ref());
        self.cycle.raw_response.push_str(&fact.partial);
        let (last, again) = match fact.stands {
            Stands::Nothing => (None, fact.retry_at.is_some()),
            Stands::Through { item } => (Some(item), false),
            Stands::Said => (None, false),
        };
        for out in &mut self.calls {
            out.stands &= last.is_some_and(|last| out.call.id.0 <= last.0);
        }
        let failure = fact.failure.clone();
        self.answer = Answer::Cut { failure, again };
    }

    fn spend(&mut self, usage: Option<&Usage>) {
        if let Some(usage) = usage {
            let spent = self.cycle.usage.get_or_insert_default();
            spent.add(usage);
        }
    }

    fn is_program(&self, out: &Out) -> bool {
        let own = out.call.program.is_none() && out.call.call.name == PROGRAM_TOOL;
        self.programs && own && out.stands
    }

    /// Why it did not do what it was to do, where it did not.
    fn why(&self, program: Option<&CycleCall>) -> Option<ProgramFault> {
        let (stop, fault) = match &self.answer {
            Answer::Awaited => return Some(unfinished("the answer is not whole")),
            Answer::Cut { failure, .. } => {
                return Some(ProgramFault::new(
                    failure.kind.name(),
                    failure.message.clone(),
                ));
            }
            Answer::Whole { stop, fault } => (stop, fault),
        };
        if !self.is_over() || program.is_some_and(|program| program.observation.is_none()) {
            return Some(unfinished("not every call has its observation"));
        }
        if let Some(ran) = &self.ran {
            return ended_badly(ran);
        }
        if let Some(fault) = fault {
            return Some(ProgramFault::new("misshapen", fault.clone()));
        }
        let first = self.calls.iter().find(|out| out.call.program.is_none());
        match (program, first) {
            (Some(program), _) => program.observation.as_deref().map(not_run),
            (None, Some(first)) if self.programs => first.call.observation.as_deref().map(not_run),
            (None, Some(_)) => None,
            (None, None) => cut_off(stop),
        }
    }
}

fn unfinished(words: &str) -> ProgramFault {
    ProgramFault::new("unfinished", words)
}

fn ended_badly(ran: &ProgramRun) -> Option<ProgramFault> {
    if let Some(fault) = &ran.fault {
        return Some(ProgramFault::new("rejected", fault.clone()));
    }
    match &ran.outcome.end {
        ProgramEnd::Value { .. } | ProgramEnd::Return { .. } => None,
        ProgramEnd::Fail { value } => Some(ProgramFault::new("fail", String::from(&**value))),
        ProgramEnd::Fault(fault) => Some(fault.clone()),
    }
}

/// Why a program did not run to an end, by what the model is told of it.
fn not_run(observation: &Observation) -> ProgramFault {
    let class = match observation.status {
        ObservationStatus::Done => "no_program",
        ObservationStatus::Failed => "not_run",
        ObservationStatus::Denied => "denied",
        ObservationStatus::Aborted => "aborted",
        ObservationStatus::Unknown => "unknown",
        ObservationStatus::NotStarted => "not_started",
    };
    ProgramFault::new(class, observation.output.clone())
}

/// An answer that asks for nothing more and did not come to its end.
fn cut_off(stop: &StopReason) -> Option<ProgramFault> {
    match stop {
        StopReason::Stop | StopReason::Unfinished | StopReason::Other(_) => None,
        StopReason::Length => Some(ProgramFault::new(
            "length",
            "the model's limit of output tokens cut the answer off",
        )),
        StopReason::ContentFilter => Some(ProgramFault::new(
            FailureKind::ContentFilter.name(),
            "the provider's content filter cut the answer off",
        )),
    }
}
