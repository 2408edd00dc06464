//! One scripted answer of the in-process provider.

use std::collections::VecDeque;

use serde_json::Value;
use windlass_core::{FailureKind, Retry, StreamEvent};
use windlass_ports::ProviderError;

use crate::answer::Answer;
use crate::gate::Gate;

/// One scripted answer: whether there is a head at all, then beats in order.
#[derive(Debug, Clone, Default)]
pub struct Step {
    pub(super) before_head: Option<Gate>,
    pub(super) refusal: Option<Failure>,
    pub(super) beats: VecDeque<Beat>,
}

/// What one beat of an answer does.
#[derive(Debug, Clone)]
pub(super) enum Beat {
    /// Gives out these events in one read.
    Events(Vec<StreamEvent>),
    /// Waits at a gate.
    Gate(Gate),
    /// Breaks.
    Fail(Failure),
    /// Waits until it is dropped.
    Stall,
}

/// A provider error that a script can hold. It becomes a [`ProviderError`] when its turn comes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// The class.
    pub kind: FailureKind,
    /// True if to ask again.
    pub retry: Retry,
    /// In words.
    pub context: String,
    /// The HTTP status.
    pub status: Option<u16>,
    /// The provider's request id.
    pub request_id: Option<String>,
}

impl From<Failure> for ProviderError {
    fn from(failure: Failure) -> Self {
        let mut error = Self::new(failure.kind, failure.retry, failure.context);
        error.details.status = failure.status;
        error.details.request_id = failure.request_id;
        error
    }
}

/// An answer of text.
#[must_use]
pub fn say(text: impl Into<String>) -> Step {
    Step::from(Answer::new().text(text))
}

/// An answer of one call.
#[must_use]
pub fn call(name: impl Into<String>, arguments: Value) -> Step {
    Step::from(Answer::new().call(name, arguments))
}

/// An answer of several calls.
#[must_use]
pub fn calls<N: Into<String>>(calls: impl IntoIterator<Item = (N, Value)>) -> Step {
    let add = |answer: Answer, (name, arguments): (N, Value)| answer.call(name, arguments);
    Step::from(calls.into_iter().fold(Answer::new(), add))
}

/// A request that is refused: there is no stream.
#[must_use]
pub fn fail(kind: FailureKind, retry: Retry) -> Step {
    Step { refusal: Some(Failure::scripted(kind, retry)), ..Step::default() }
}

/// A stream that breaks off after this text, which is no whole part.
#[must_use]
pub fn cut_after(text: impl Into<String>) -> Step {
    let mut events = Answer::new().text(text).events();
    events
        .retain(|event| !matches!(event, StreamEvent::Done { .. } | StreamEvent::Finished { .. }));
    let broken = Failure::scripted(FailureKind::Truncated, Retry::Soon);
    events.into_iter().fold(Step::default(), Step::event).broken(broken)
}

/// A stream that opens and brings nothing until it is dropped.
#[must_use]
pub fn stall() -> Step {
    Step::default().stalled()
}

impl From<Answer> for Step {
    fn from(answer: Answer) -> Self {
        answer.events().into_iter().fold(Self::default(), Self::event)
    }
}

impl Failure {
    /// A failure without status and request id, which says that it is scripted.
    #[must_use]
    pub fn scripted(kind: FailureKind, retry: Retry) -> Self {
        Self {
            kind,
            retry,
            context: format!("the script says that asking the model fails: {kind:?}"),
            status: None,
            request_id: None,
        }
    }
}

impl Step {
    /// A request that is refused with all details.
    #[must_use]
    pub fn refused(failure: Failure) -> Self {
        Self { refusal: Some(failure), ..Self::default() }
    }

    /// Waits at a gate before the head of the response.
    #[must_use]
    pub fn head_after(mut self, gate: &Gate) -> Self {
        self.before_head = Some(gate.clone());
        self
    }

    /// Adds a read that brings these events.
    #[must_use]
    pub fn batch(mut self, events: impl IntoIterator<Item = StreamEvent>) -> Self {
        self.beats.push_back(Beat::Events(events.into_iter().collect()));
        self
    }

    /// Adds a gate after what is there so far.
    #[must_use]
    pub fn then_gate(mut self, gate: &Gate) -> Self {
        self.beats.push_back(Beat::Gate(gate.clone()));
        self
    }

    /// Puts a gate before the last read, which holds the end of a whole answer.
    #[must_use]
    pub fn end_after(mut self, gate: &Gate) -> Self {
        let last = self.beats.pop_back();
        self.beats.push_back(Beat::Gate(gate.clone()));
        self.beats.extend(last);
        self
    }

    /// Adds a break after what is there so far.
    #[must_use]
    pub fn broken(mut self, failure: Failure) -> Self {
        self.beats.push_back(Beat::Fail(failure));
        self
    }

    /// Adds a stall after what is there so far.
    #[must_use]
    pub fn stalled(mut self) -> Self {
        self.beats.push_back(Beat::Stall);
        self
    }

    /// Cuts the events again: each read brings up to `count`, at least 1. What is no event stays
    /// where it is.
    #[must_use]
    pub fn batched(mut self, count: usize) -> Self {
        let mut beats = VecDeque::new();
        for beat in self.beats {
            match (beats.back_mut(), beat) {
                (Some(Beat::Events(open)), Beat::Events(events))
                    if open.len() + events.len() <= count.max(1) =>
                {
                    open.extend(events);
                }
                (_, beat) => beats.push_back(beat),
            }
        }
        self.beats = beats;
        self
    }

    fn event(self, event: StreamEvent) -> Self {
        self.batch([event])
    }
}
