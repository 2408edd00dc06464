//! Entries: facts in the terms of a timeline. Contains the view's only list of facts.
#![expect(missing_docs, reason = "most variants are their facts, which are documented")]

use alloc::sync::Arc;

use crate::citation::Citation;
use crate::fact::{
    ApprovalAnswered, ApprovalAsked, CallDecided, CallObserved, CallResumed, CallStarted,
    CallSuspended, Compacted, CompactionFact, CompactionFailed, CompactionRequested,
    CompactionStarted, ContextFact, ContextInjected, FactGroup, FilesRestored, GoalEnded, GoalFact,
    GoalSet, HookDecided, HookFact, HooksAsked, InputAccepted, InputBlocked, InputEdited,
    InputFact, InputMoved, InputQueued, InputWithdrawn, InterruptRequested, PermissionFact,
    PermissionsNarrowed, ProgramFact, ProgramRun, RunFact, SampleCut, SampleEnded, SampleFact,
    SampleStarted, SessionFact, SessionOpened, SessionRenamed, SessionRewound, SettingsChanged,
    TurnFact, TurnOpened, TurnSettled,
};
use crate::id::{CallId, InputId, Seq};
use crate::item::{CallItem, Item, ReasoningItem};
use crate::record::RecordedFact;

/// One entry of a session's timeline. Position, time and turn are those of its fact.
#[derive(Debug, Clone, Copy)]
pub enum TimelineEntry<'a> {
    /// Changes the session as a whole.
    Session(SessionEntry<'a>),
    /// Concerns an input of the user.
    Input(InputEntry<'a>),
    /// Opens, stops or settles a turn.
    Turn(TurnEntry<'a>),
    /// Records a question to hooks, or a hook's reply.
    Hook(HookEntry<'a>),
    /// Adds context that no user wrote.
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
    /// The permissions were narrowed to those of the process.
    Narrowed(&'a PermissionsNarrowed),
    Renamed(&'a SessionRenamed),
    Rewound(&'a SessionRewound),
    FilesRestored(&'a FilesRestored),
    Goal(&'a GoalSet),
    GoalEnded(&'a GoalEnded),
}

/// Entries about an input of the user.
#[derive(Debug, Clone, Copy)]
pub enum InputEntry<'a> {
    Queued(&'a InputQueued),
    Accepted(InputId),
    Blocked(&'a InputBlocked),
    Edited(&'a InputEdited),
    Moved(&'a InputMoved),
    Withdrawn(&'a InputWithdrawn),
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
    Requested(&'a CompactionRequested),
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
    Text { text: &'a Arc<str>, citations: &'a Arc<[Citation]> },
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
    Reconciling,
    Suspended(&'a CallSuspended),
    Resumed(&'a CallResumed),
    Observed(&'a CallObserved),
}

/// Origin of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallSource {
    /// The model's answer, named by its `SampleStarted`.
    Sample(Seq),
    /// A program, named by the call that runs it.
    Program(CallId),
    /// A user, whose input it is.
    User(InputId),
}

impl CallSource {
    /// Returns the program that made the call, if one did.
    #[must_use]
    pub fn program(self) -> Option<CallId> {
        match self {
            Self::Sample(_) | Self::User(_) => None,
            Self::Program(program) => Some(program),
        }
    }
}

impl<'a> TimelineEntry<'a> {
    /// Reads a fact as an entry. Depends on no earlier fact.
    #[must_use]
    pub fn of(recorded: &'a RecordedFact) -> Self {
        let own = CallId(recorded.seq.0);
        match recorded.fact.group() {
            FactGroup::Session(fact) => Self::Session(match fact {
                SessionFact::SessionOpened(fact) => SessionEntry::Opened(fact),
                SessionFact::SettingsChanged(fact) => SessionEntry::Settings(fact),
                SessionFact::PermissionsNarrowed(fact) => SessionEntry::Narrowed(fact),
                SessionFact::SessionRenamed(fact) => SessionEntry::Renamed(fact),
                SessionFact::SessionRewound(fact) => SessionEntry::Rewound(fact),
                SessionFact::FilesRestored(fact) => SessionEntry::FilesRestored(fact),
            }),
            // A new process resumes the session, or asks a tool about a call.
            FactGroup::Recovery(_) => match recorded.fact.call() {
                Some(call) => Self::Call(call, CallEntry::Reconciling),
                None => Self::Session(SessionEntry::Resumed),
            },
            FactGroup::Goal(fact) => Self::Session(match fact {
                GoalFact::GoalSet(fact) => SessionEntry::Goal(fact),
                GoalFact::GoalEnded(fact) => SessionEntry::GoalEnded(fact),
            }),
            FactGroup::Input(InputFact::InputAccepted(InputAccepted {
                input,
                call: Some(item),
            })) => Self::Call(own, CallEntry::Proposed(CallSource::User(*input), item)),
            FactGroup::Input(fact) => Self::Input(match fact {
                InputFact::InputQueued(fact) => InputEntry::Queued(fact),
                InputFact::InputAccepted(fact) => InputEntry::Accepted(fact.input),
                InputFact::InputBlocked(fact) => InputEntry::Blocked(fact),
                InputFact::InputEdited(fact) => InputEntry::Edited(fact),
                InputFact::InputMoved(fact) => InputEntry::Moved(fact),
                InputFact::InputWithdrawn(fact) => InputEntry::Withdrawn(fact),
            }),
            FactGroup::Turn(fact) => Self::Turn(match fact {
                TurnFact::TurnOpened(fact) => TurnEntry::Opened(fact),
                TurnFact::InterruptRequested(fact) => TurnEntry::Interrupted(fact),
                TurnFact::TurnSettled(fact) => TurnEntry::Settled(fact),
            }),
            FactGroup::Hook(fact) => Self::Hook(match fact {
                HookFact::HooksAsked(fact) => HookEntry::Asked(fact),
                HookFact::HookDecided(fact) => HookEntry::Decided(fact),
            }),
            FactGroup::Context(ContextFact::ContextInjected(fact)) => Self::Context(fact),
            FactGroup::Compaction(fact) => Self::Compaction(match fact {
                CompactionFact::CompactionRequested(fact) => CompactionEntry::Requested(fact),
                CompactionFact::CompactionStarted(fact) => CompactionEntry::Started(fact),
                CompactionFact::Compacted(fact) => CompactionEntry::Done(fact),
                CompactionFact::CompactionFailed(fact) => CompactionEntry::Failed(fact),
            }),
            FactGroup::Sample(fact) => match fact {
                SampleFact::SampleStarted(fact) => Self::Sample(SampleEntry::Started(fact)),
                SampleFact::ItemAdded(fact) => Self::item(own, fact.started, &fact.item),
                SampleFact::SampleEnded(fact) => Self::Sample(SampleEntry::Ended(fact)),
                SampleFact::SampleCut(fact) => Self::Sample(SampleEntry::Cut(fact)),
            },
            FactGroup::Permission(fact) => match fact {
                PermissionFact::CallDecided(fact) => {
                    Self::Call(fact.call, CallEntry::Decided(fact))
                }
                PermissionFact::ApprovalAsked(fact) => {
                    Self::Call(fact.call, CallEntry::Asked(fact))
                }
                PermissionFact::ApprovalAnswered(fact) => {
                    Self::Call(fact.call, CallEntry::Answered(fact))
                }
            },
            FactGroup::Run(fact) => match fact {
                RunFact::CallStarted(fact) => Self::Call(fact.call, CallEntry::Started(fact)),
                RunFact::CallSuspended(fact) => Self::Call(fact.call, CallEntry::Suspended(fact)),
                RunFact::CallResumed(fact) => Self::Call(fact.call, CallEntry::Resumed(fact)),
                RunFact::CallObserved(fact) => Self::Call(fact.call, CallEntry::Observed(fact)),
            },
            FactGroup::Program(fact) => match fact {
                ProgramFact::ProgramCalled(fact) => {
                    let source = CallSource::Program(fact.program);
                    Self::Call(own, CallEntry::Proposed(source, &fact.item))
                }
                ProgramFact::ProgramRun(fact) => Self::Program(fact),
            },
        }
    }

    /// Returns the run of a sample that this entry ends, if it ends one; `at` is its position.
    #[must_use]
    pub fn finished_run(self, at: Seq) -> Option<Seq> {
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
            Item::Text { text, citations, .. } => ContentPart::Text { text, citations },
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
