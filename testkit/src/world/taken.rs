//! What was decided in a world, in few words: where a session stood, what it was told, and what
//! followed. Coarse enough that a person can read all of it.

use std::{fmt, iter};

use windlass_core::{
    CallProgress, Delivery, Hold, Input, Phase, ProgramEvent, Reject, SampleEvent, Session,
    StageName, StopTiming, Turn,
};

/// One decision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Taken {
    /// Where the session stood.
    pub place: Place,
    /// What it was told.
    pub told: Told,
    /// What followed.
    pub then: Then,
}

/// What followed a decision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Then {
    /// Facts; the session stands here now.
    Moved {
        /// Where it stands.
        to: Place,
        /// The kinds of the facts, in order.
        facts: Vec<&'static str>,
    },
    /// There was nothing to record.
    Nothing,
    /// It was refused, for a reason of this kind.
    Refused(&'static str),
}

/// Position of a session, as coarse as a state chart shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// The stage of its turn, or how it rests.
    pub room: Room,
    /// True if hooks are asked that the turn, or a call of it, waits for.
    pub hooks: bool,
    /// True if the turn was asked to stop.
    pub course: Course,
}

/// The stage of a turn, or how a session rests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Room {
    /// No turn is open.
    Idle,
    /// No turn is open, and what waits needs a user's word.
    Held,
    /// A turn is open.
    Turn {
        /// Its stage.
        stage: StageName,
        /// The part of the stage, where a chart tells it from the rest.
        part: Option<&'static str>,
    },
}

/// The parts of stages that a chart tells from the rest: a sample has brought calls; a person is
/// asked about a call.
const PARTS: [(StageName, &str); 2] =
    [(StageName::Sampling, "calling"), (StageName::Executing, "asking")];

/// Request to stop a turn, if there is one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Course {
    /// It was not.
    On,
    /// It is to stop before the model is asked again.
    Pausing,
    /// It is to stop now.
    Stopping,
}

/// What a session was told: the kind of an input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(
    missing_docs,
    reason = "each is a variant of `Input`, of what a sample says, or of how an input is meant"
)]
pub enum Told {
    Configure,
    SetGoal,
    Send,
    Steer,
    FollowUp,
    Compact,
    Command,
    EditInput,
    MoveInput,
    WithdrawInput,
    Rename,
    Rewind,
    FilesRestored,
    /// The process permits less than the session.
    Narrowed,
    Continue,
    InterruptNow,
    InterruptAfterStep,
    Answer,
    Close,
    Recovered,
    Tick,
    SampledItem,
    SampledEnd,
    SampledFailure,
    Ran,
    Suspended,
    Detached,
    ChildEnded,
    ProgramCalls,
    ProgramEnds,
    Hooked,
    Asked,
    Reconciled,
    Compacted,
    NeverBegan,
}

impl Told {
    /// All kinds, in the order of [`Input`].
    pub const ALL: [Self; 35] = [
        Self::Configure,
        Self::SetGoal,
        Self::Send,
        Self::Steer,
        Self::FollowUp,
        Self::Compact,
        Self::Command,
        Self::EditInput,
        Self::MoveInput,
        Self::WithdrawInput,
        Self::Rename,
        Self::Rewind,
        Self::FilesRestored,
        Self::Narrowed,
        Self::Continue,
        Self::InterruptNow,
        Self::InterruptAfterStep,
        Self::Answer,
        Self::Close,
        Self::Recovered,
        Self::Tick,
        Self::SampledItem,
        Self::SampledEnd,
        Self::SampledFailure,
        Self::Ran,
        Self::Suspended,
        Self::Detached,
        Self::ChildEnded,
        Self::ProgramCalls,
        Self::ProgramEnds,
        Self::Hooked,
        Self::Asked,
        Self::Reconciled,
        Self::Compacted,
        Self::NeverBegan,
    ];

    /// The kind of an input, whether it has a key or not.
    #[must_use]
    pub fn of(input: &Input) -> Self {
        match input {
            Input::Keyed { input, .. } => Self::of(input),
            Input::Configure { .. } => Self::Configure,
            Input::SetGoal { .. } => Self::SetGoal,
            Input::Send { delivery, .. } => match delivery {
                Delivery::Turn => Self::Send,
                Delivery::Steer => Self::Steer,
                Delivery::FollowUp => Self::FollowUp,
            },
            Input::Compact { .. } => Self::Compact,
            Input::RunCommand { .. } => Self::Command,
            Input::EditInput { .. } => Self::EditInput,
            Input::MoveInput { .. } => Self::MoveInput,
            Input::WithdrawInput { .. } => Self::WithdrawInput,
            Input::Rename { .. } => Self::Rename,
            Input::Rewind { .. } => Self::Rewind,
            Input::FilesRestored { .. } => Self::FilesRestored,
            Input::Continue => Self::Continue,
            Input::Interrupt { when, .. } => match when {
                StopTiming::Now => Self::InterruptNow,
                StopTiming::AfterStep => Self::InterruptAfterStep,
            },
            Input::Answer { .. } => Self::Answer,
            Input::Close => Self::Close,
            Input::Recover => Self::Recovered,
            Input::Narrow { .. } => Self::Narrowed,
            Input::Tick => Self::Tick,
            Input::SampleEvent { event: news, .. } => match news {
                SampleEvent::Item(_) => Self::SampledItem,
                SampleEvent::Ended { .. } => Self::SampledEnd,
                SampleEvent::Failed { .. } => Self::SampledFailure,
            },
            Input::CallEnded { .. } | Input::AgentEnded { .. } | Input::SubmitResult { .. } => {
                Self::Ran
            }
            Input::CallSuspended { .. } => Self::Suspended,
            Input::AgentDetached { .. } => Self::Detached,
            Input::ChildEnded { .. } => Self::ChildEnded,
            Input::ProgramEvent { event: news, .. } => match news {
                ProgramEvent::Calls(_) => Self::ProgramCalls,
                ProgramEvent::Ended { .. } => Self::ProgramEnds,
            },
            Input::HookReplied { .. } => Self::Hooked,
            Input::ApproverAnswered { .. } => Self::Asked,
            Input::CallReconciled { .. } => Self::Reconciled,
            Input::CompactionEnded { .. } => Self::Compacted,
            Input::NeverStarted { .. } => Self::NeverBegan,
        }
    }

    /// As tables and charts spell it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Configure => "configure",
            Self::SetGoal => "set goal",
            Self::Send => "send",
            Self::Steer => "steer",
            Self::FollowUp => "follow-up",
            Self::Compact => "compact",
            Self::Command => "command",
            Self::EditInput => "edit input",
            Self::MoveInput => "move input",
            Self::WithdrawInput => "withdraw input",
            Self::Rename => "rename",
            Self::Rewind => "rewind",
            Self::FilesRestored => "files restored",
            Self::Narrowed => "narrowed",
            Self::Continue => "continue",
            Self::InterruptNow => "interrupt now",
            Self::InterruptAfterStep => "interrupt after step",
            Self::Answer => "answer",
            Self::Close => "close",
            Self::Recovered => "recovered",
            Self::Tick => "tick",
            Self::SampledItem => "sampled item",
            Self::SampledEnd => "sampled end",
            Self::SampledFailure => "sampled failure",
            Self::Ran => "ran",
            Self::Suspended => "suspended",
            Self::Detached => "detached",
            Self::ChildEnded => "child ended",
            Self::ProgramCalls => "program calls",
            Self::ProgramEnds => "program ends",
            Self::Hooked => "hooked",
            Self::Asked => "asked",
            Self::Reconciled => "reconciled",
            Self::Compacted => "compacted",
            Self::NeverBegan => "never began",
        }
    }
}

impl Place {
    /// Position of a session.
    #[must_use]
    pub fn of(session: &Session) -> Self {
        match &session.phase {
            Phase::Idle => Self {
                room: match session.hold {
                    Hold::Free => Room::Idle,
                    Hold::Held => Room::Held,
                },
                hooks: session.hook_rounds.open.is_some(),
                course: Course::On,
            },
            Phase::InTurn(turn) => Self {
                room: room(turn),
                hooks: asked(turn),
                course: match (&turn.stop, &turn.pause) {
                    (Some(_), _) => Course::Stopping,
                    (None, Some(_)) => Course::Pausing,
                    (None, None) => Course::On,
                },
            },
        }
    }
}

fn room(turn: &Turn) -> Room {
    let stage = turn.stage.name();
    let brings = turn.stage.sampling().is_some() && !turn.calls().is_empty();
    let asks = turn.stage.executing().is_some() && asks(turn);
    let part = PARTS.iter().find(|(of, _)| *of == stage && (brings || asks));
    Room::Turn { stage, part: part.map(|(_, word)| *word) }
}

fn asks(turn: &Turn) -> bool {
    turn.calls().iter().any(|call| match &call.progress {
        CallProgress::AwaitingApproval { question } => question.is_some(),
        CallProgress::Proposed
        | CallProgress::Allowed
        | CallProgress::Denied { .. }
        | CallProgress::Running { .. }
        | CallProgress::AwaitingResult { .. }
        | CallProgress::Reconciling { .. }
        | CallProgress::Done { .. } => false,
    })
}

fn asked(turn: &Turn) -> bool {
    let mut calls = turn.calls().iter();
    turn.hook_rounds.open.is_some() || calls.any(|call| call.hook_rounds.open.is_some())
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.course {
            Course::On => "",
            Course::Pausing => "pausing ",
            Course::Stopping => "stopping ",
        })?;
        f.write_str(self.room.word())?;
        f.write_str(if self.hooks { " at hooks" } else { "" })
    }
}

impl Room {
    /// Returns all of them, in the order in which a turn comes to them.
    pub fn all() -> impl Iterator<Item = Self> {
        let rooms = |stage: &StageName| {
            let stage = *stage;
            let parts = PARTS.iter().filter(move |(of, _)| *of == stage);
            let parts = iter::once(None).chain(parts.map(|(_, word)| Some(*word)));
            parts.map(move |part| Self::Turn { stage, part })
        };
        let rest = [Self::Idle, Self::Held];
        rest.into_iter().chain(StageName::ALL.iter().flat_map(rooms))
    }

    /// As tables and charts spell it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Held => "held",
            Self::Turn { stage, part } => part.unwrap_or(stage.as_str()),
        }
    }
}

/// The kind of a reject.
pub(super) fn refusal(reject: &Reject) -> &'static str {
    match reject {
        Reject::Stale(_) => "Stale",
        Reject::Idle => "Idle",
        Reject::TurnMismatch(_) => "OtherTurn",
        Reject::InputNotWaiting(_) => "NotWaiting",
        Reject::InputLocked(_) => "InputLocked",
        Reject::InputOpened { .. } => "InputOpened",
        Reject::NoPendingInput => "NothingWaits",
        Reject::NothingToCompact => "NothingToCompact",
        Reject::TurnRunning(_) => "TurnRunning",
        Reject::CommandRefused(_) => "CommandRefused",
        Reject::NoRewindPoint { .. } => "NoRewindPoint",
        Reject::RewindOutOfReach { .. } => "RewindOutOfReach",
        Reject::Stopping => "Stopping",
        Reject::QueueFull { .. } => "QueueFull",
        Reject::SessionFull { .. } => "SessionFull",
        Reject::Empty => "Empty",
        Reject::Duplicate(_) => "Duplicate",
        Reject::KeyNotAllowed => "NotSaid",
        Reject::NoOpenQuestion(_) => "NotAsked",
        Reject::ResultNotAwaited(_) => "ResultNotAwaited",
        Reject::ArgumentsMismatch(_) => "OtherArguments",
        Reject::ContextTooLarge { .. } => "ContextTooLarge",
        Reject::NotRunning(_) => "NotRunning",
        Reject::NotDetached(_) => "NotDetached",
        Reject::DeadlineReserved => "OwnDeadline",
        Reject::TooManyParts { .. } => "TooManyParts",
        Reject::OutOfScope => "Foreign",
        Reject::WidensPermissions(_) => "Widens",
        Reject::InvalidTitle { .. } => "NoTitle",
        Reject::InvalidGoal => "NoGoal",
        Reject::TooManyImages { .. } => "TooManyImages",
        Reject::Defect(_) => "Defect",
    }
}
