//! Entries: facts in the terms of those who show a session. Holds the only list of facts of the view.
#![expect(
    missing_docs,
    reason = "most variants are their facts, which are documented"
)]

use alloc::sync::Arc;

use crate::fact::{
    ApprovalAnswered, ApprovalAsked, CallDecided, CallObserved, CallStarted, Compacted,
    CompactionFailed, CompactionStarted, ContextInjected, Fact, GoalEnded, GoalSet, HookDecided,
    HooksAsked, InputBlocked, InputQueued, InterruptRequested, ProgramRun, ReconcileStarted,
    SampleCut, SampleEnded, SampleStarted, SessionOpened, SettingsChanged, TurnOpened, TurnSettled,
};
use crate::id::{CallId, InputId, Seq};
use crate::item::{CallItem, Item, ReasoningItem};
use crate::record::Recorded;

/// One entry of a session's timeline. Position, time and turn are those of its fact.
#[derive(Debug, Clone, Copy)]
pub enum Entry<'a> {
    /// Changes the session as a whole.
    Session(SessionEntry<'a>),
    /// Concerns an input of the user.
    Input(InputEntry<'a>),
    /// Opens, stops or settles a turn.
    Turn(TurnEntry<'a>),
    /// Records a question to hooks or the answer of one.
    Hook(HookEntry<'a>),
    /// Adds context that no user typed.
    Context(&'a ContextInjected),
    /// Concerns a compaction of the conversation.
    Compaction(CompactionEntry<'a>),
    /// Concerns an answer of the model.
    Sample(SampleEntry<'a>),
    /// Concerns the call with this id.
    Call(CallId, CallEntry<'a>),
    /// Records the end of a program.
    Program(&'a ProgramRun),
}

/// Entries about the session as a whole.
#[derive(Debug, Clone, Copy)]
pub enum SessionEntry<'a> {
    Opened(&'a SessionOpened),
    Resumed,
    Settings(&'a SettingsChanged),
    Goal(&'a GoalSet),
    GoalEnded(&'a GoalEnded),
}

/// Entries about an input of the user.
#[derive(Debug, Clone, Copy)]
pub enum InputEntry<'a> {
    Queued(&'a InputQueued),
    Accepted(InputId),
    Blocked(&'a InputBlocked),
}

/// Entries about a turn as a whole.
#[derive(Debug, Clone, Copy)]
pub enum TurnEntry<'a> {
    Opened(&'a TurnOpened),
    Interrupted(&'a InterruptRequested),
    Settled(&'a TurnSettled),
}

/// Entries about hooks.
#[derive(Debug, Clone, Copy)]
pub enum HookEntry<'a> {
    Asked(&'a HooksAsked),
    Decided(&'a HookDecided),
}

/// Entries about a compaction.
#[derive(Debug, Clone, Copy)]
pub enum CompactionEntry<'a> {
    Started(&'a CompactionStarted),
    Done(&'a Compacted),
    Failed(&'a CompactionFailed),
}

/// Entries about an answer of the model; `started` names its `SampleStarted`.
#[derive(Debug, Clone, Copy)]
pub enum SampleEntry<'a> {
    Started(&'a SampleStarted),
    Content { started: Seq, part: ContentPart<'a> },
    Ended(&'a SampleEnded),
    Cut(&'a SampleCut),
}

/// Part of an answer that is no call.
#[derive(Debug, Clone, Copy)]
pub enum ContentPart<'a> {
    Text(&'a Arc<str>),
    Refusal(&'a Arc<str>),
    Reasoning(&'a ReasoningItem),
}

/// Entries about a call.
#[derive(Debug, Clone, Copy)]
pub enum CallEntry<'a> {
    Proposed(CallSource, &'a Arc<CallItem>),
    Decided(&'a CallDecided),
    Asked(&'a ApprovalAsked),
    Answered(&'a ApprovalAnswered),
    Started(&'a CallStarted),
    Reconciling(&'a ReconcileStarted),
    Observed(&'a CallObserved),
}

/// Origin of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallSource {
    /// The model's answer, named by its `SampleStarted`.
    Sample(Seq),
    /// A program, named by the call that runs it.
    Program(CallId),
}

impl CallSource {
    /// Returns the program that makes the call, if one does.
    #[must_use]
    pub fn program(self) -> Option<CallId> {
        match self {
            Self::Sample(_) => None,
            Self::Program(program) => Some(program),
        }
    }
}

impl<'a> Entry<'a> {
    /// Reads a fact as an entry. Depends on nothing that came before it.
    #[must_use]
    pub fn of(recorded: &'a Recorded) -> Self {
        let own = CallId(recorded.seq.0);
        match &recorded.fact {
            Fact::SessionOpened(fact) => Self::Session(SessionEntry::Opened(fact)),
            Fact::SessionResumed(_) => Self::Session(SessionEntry::Resumed),
            Fact::SettingsChanged(fact) => Self::Session(SessionEntry::Settings(fact)),
            Fact::GoalSet(fact) => Self::Session(SessionEntry::Goal(fact)),
            Fact::GoalEnded(fact) => Self::Session(SessionEntry::GoalEnded(fact)),
            Fact::InputQueued(fact) => Self::Input(InputEntry::Queued(fact)),
            Fact::InputAccepted(fact) => Self::Input(InputEntry::Accepted(fact.input)),
            Fact::InputBlocked(fact) => Self::Input(InputEntry::Blocked(fact)),
            Fact::TurnOpened(fact) => Self::Turn(TurnEntry::Opened(fact)),
            Fact::InterruptRequested(fact) => Self::Turn(TurnEntry::Interrupted(fact)),
            Fact::TurnSettled(fact) => Self::Turn(TurnEntry::Settled(fact)),
            Fact::HooksAsked(fact) => Self::Hook(HookEntry::Asked(fact)),
            Fact::HookDecided(fact) => Self::Hook(HookEntry::Decided(fact)),
            Fact::ContextInjected(fact) => Self::Context(fact),
            Fact::CompactionStarted(fact) => Self::Compaction(CompactionEntry::Started(fact)),
            Fact::Compacted(fact) => Self::Compaction(CompactionEntry::Done(fact)),
            Fact::CompactionFailed(fact) => Self::Compaction(CompactionEntry::Failed(fact)),
            Fact::SampleStarted(fact) => Self::Sample(SampleEntry::Started(fact)),
            Fact::ItemAdded(fact) => Self::item(own, fact.started, &fact.item),
            Fact::SampleEnded(fact) => Self::Sample(SampleEntry::Ended(fact)),
            Fact::SampleCut(fact) => Self::Sample(SampleEntry::Cut(fact)),
            Fact::CallDecided(fact) => Self::Call(fact.call, CallEntry::Decided(fact)),
            Fact::ApprovalAsked(fact) => Self::Call(fact.call, CallEntry::Asked(fact)),
            Fact::ApprovalAnswered(fact) => Self::Call(fact.call, CallEntry::Answered(fact)),
            Fact::CallStarted(fact) => Self::Call(fact.call, CallEntry::Started(fact)),
            Fact::ReconcileStarted(fact) => Self::Call(fact.call, CallEntry::Reconciling(fact)),
            Fact::CallObserved(fact) => Self::Call(fact.call, CallEntry::Observed(fact)),
            Fact::ProgramCalled(fact) => {
                let source = CallSource::Program(fact.program);
                Self::Call(own, CallEntry::Proposed(source, &fact.item))
            }
            Fact::ProgramRun(fact) => Self::Program(fact),
        }
    }

    /// Returns the last run of a sample that is over with this entry at this position, if one is.
    #[must_use]
    pub fn run_over(self, at: Seq) -> Option<Seq> {
        if let Self::Sample(SampleEntry::Ended(fact)) = self {
            return Some(fact.started);
        }
        if let Self::Sample(SampleEntry::Cut(fact)) = self {
            return Some(fact.started);
        }
        matches!(self, Self::Turn(TurnEntry::Settled(_))).then_some(at)
    }

    fn item(own: CallId, started: Seq, item: &'a Item) -> Self {
        let part = match item {
            Item::Text { text } => ContentPart::Text(text),
            Item::Refusal { text } => ContentPart::Refusal(text),
            Item::Reasoning(item) => ContentPart::Reasoning(item),
            Item::Call(item) => {
                let source = CallSource::Sample(started);
                return Self::Call(own, CallEntry::Proposed(source, item));
            }
        };
        Self::Sample(SampleEntry::Content { started, part })
    }
}
