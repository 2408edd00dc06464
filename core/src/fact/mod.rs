//! Facts: what happened, in the past tense. Nothing else moves a session.

mod calls;
mod opening;
mod program;
mod sample;
mod shaping;
mod turn;

use alloc::string::String;

pub use calls::{
    ApprovalAnswered, ApprovalAsked, CallDecided, CallObserved, CallStarted, Decider,
    ReconcileStarted,
};
pub use opening::{
    Ancestor, GoalEnded, GoalSet, Lineage, SessionOpened, SessionResumed, SettingsChanged,
};
pub use program::{ProgramCalled, ProgramRun};
pub use sample::{ItemAdded, Reserved, SampleCut, SampleEnded, SampleStarted, Stands};
pub use shaping::{
    Compacted, CompactionFailed, CompactionStarted, ContextInjected, ContextSource, HookDecided,
    HooksAsked, Lasting,
};
pub use turn::{
    ContextPart, InputAccepted, InputBlocked, InputQueued, InterruptRequested, StopWhen,
    TurnOpened, TurnSettled,
};

/// One thing that happened.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(
    missing_docs,
    reason = "each variant is its struct, which is documented"
)]
pub enum Fact {
    SessionOpened(SessionOpened),
    SessionResumed(SessionResumed),
    SettingsChanged(SettingsChanged),
    GoalSet(GoalSet),
    GoalEnded(GoalEnded),
    InputQueued(InputQueued),
    TurnOpened(TurnOpened),
    HooksAsked(HooksAsked),
    HookDecided(HookDecided),
    InputAccepted(InputAccepted),
    InputBlocked(InputBlocked),
    ContextInjected(ContextInjected),
    CompactionStarted(CompactionStarted),
    Compacted(Compacted),
    CompactionFailed(CompactionFailed),
    SampleStarted(SampleStarted),
    ItemAdded(ItemAdded),
    SampleEnded(SampleEnded),
    SampleCut(SampleCut),
    CallDecided(CallDecided),
    ApprovalAsked(ApprovalAsked),
    ApprovalAnswered(ApprovalAnswered),
    CallStarted(CallStarted),
    ReconcileStarted(ReconcileStarted),
    CallObserved(CallObserved),
    ProgramCalled(ProgramCalled),
    ProgramRun(ProgramRun),
    InterruptRequested(InterruptRequested),
    TurnSettled(TurnSettled),
}

impl Fact {
    /// The keys that it was said under, if it was said under any: the caller's own, and that of an
    /// [`Input::Keyed`](crate::Input::Keyed). None of them twice.
    pub fn keys(&self) -> impl Iterator<Item = &String> {
        let (own, said) = match self {
            Self::InputQueued(fact) => {
                let keyed = fact.keyed.as_ref();
                (fact.key.as_ref(), keyed.filter(|_| fact.key != fact.keyed))
            }
            Self::SettingsChanged(fact) => (None, fact.key.as_ref()),
            Self::GoalSet(fact) => (None, fact.key.as_ref()),
            Self::TurnOpened(fact) => (None, fact.key.as_ref()),
            Self::ApprovalAnswered(fact) => (None, fact.key.as_ref()),
            Self::InterruptRequested(fact) => (None, fact.key.as_ref()),
            Self::SessionOpened(_)
            | Self::SessionResumed(_)
            | Self::GoalEnded(_)
            | Self::HooksAsked(_)
            | Self::HookDecided(_)
            | Self::InputAccepted(_)
            | Self::InputBlocked(_)
            | Self::ContextInjected(_)
            | Self::CompactionStarted(_)
            | Self::Compacted(_)
            | Self::CompactionFailed(_)
            | Self::SampleStarted(_)
            | Self::ItemAdded(_)
            | Self::SampleEnded(_)
            | Self::SampleCut(_)
            | Self::CallDecided(_)
            | Self::ApprovalAsked(_)
            | Self::CallStarted(_)
            | Self::ReconcileStarted(_)
            | Self::CallObserved(_)
            | Self::ProgramCalled(_)
            | Self::ProgramRun(_)
            | Self::TurnSettled(_) => (None, None),
        };
        own.into_iter().chain(said)
    }

    /// The kind, as the envelope spells it.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::SessionOpened(_) => "SessionOpened",
            Self::SessionResumed(_) => "SessionResumed",
            Self::SettingsChanged(_) => "SettingsChanged",
            Self::GoalSet(_) => "GoalSet",
            Self::GoalEnded(_) => "GoalEnded",
            Self::InputQueued(_) => "InputQueued",
            Self::TurnOpened(_) => "TurnOpened",
            Self::HooksAsked(_) => "HooksAsked",
            Self::HookDecided(_) => "HookDecided",
            Self::InputAccepted(_) => "InputAccepted",
            Self::InputBlocked(_) => "InputBlocked",
            Self::ContextInjected(_) => "ContextInjected",
            Self::CompactionStarted(_) => "CompactionStarted",
            Self::Compacted(_) => "Compacted",
            Self::CompactionFailed(_) => "CompactionFailed",
            Self::SampleStarted(_) => "SampleStarted",
            Self::ItemAdded(_) => "ItemAdded",
            Self::SampleEnded(_) => "SampleEnded",
            Self::SampleCut(_) => "SampleCut",
            Self::CallDecided(_) => "CallDecided",
            Self::ApprovalAsked(_) => "ApprovalAsked",
            Self::ApprovalAnswered(_) => "ApprovalAnswered",
            Self::CallStarted(_) => "CallStarted",
            Self::ReconcileStarted(_) => "ReconcileStarted",
            Self::CallObserved(_) => "CallObserved",
            Self::ProgramCalled(_) => "ProgramCalled",
            Self::ProgramRun(_) => "ProgramRun",
            Self::InterruptRequested(_) => "InterruptRequested",
            Self::TurnSettled(_) => "TurnSettled",
        }
    }
}
