//! What was decided in a world, in few words: where a session stood, what it was told, and what
//! followed. Coarse enough that a person can read all of it.

use std::fmt;

use windlass_core::{
    Delivery, Hold, Input, Phase, ProgramNews, Progress, Reject, SampleNews, Session, Stage,
    StopWhen, Turn,
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

/// Where a session stands, as coarse as a state chart shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// The stage of its turn, or how it rests.
    pub room: Room,
    /// Whether hooks are asked that the turn, or a call of it, waits for.
    pub hooks: bool,
    /// Whether the turn was asked to stop.
    pub course: Course,
}

/// The stage of a turn, or how a session rests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Room {
    /// No turn is open.
    Idle,
    /// No turn is open, and what waits needs a user's word.
    Held,
    /// See [`Stage::Opening`].
    Opening,
    /// See [`Stage::Ready`].
    Ready,
    /// See [`Stage::Compacting`].
    Compacting,
    /// See [`Stage::Sampling`]; it has brought no call.
    Sampling,
    /// See [`Stage::Sampling`]; it has brought calls.
    Calling,
    /// See [`Stage::Backoff`].
    Backoff,
    /// See [`Stage::Executing`].
    Executing,
    /// As [`Room::Executing`], while a person is asked about a call.
    Asking,
    /// See [`Stage::Concluding`].
    Concluding,
    /// See [`Stage::Ending`].
    Ending,
}

/// Whether a turn was asked to stop.
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
    pub const ALL: [Self; 23] = [
        Self::Configure,
        Self::SetGoal,
        Self::Send,
        Self::Steer,
        Self::FollowUp,
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
            Input::Continue => Self::Continue,
            Input::Interrupt { when, .. } => match when {
                StopWhen::Now => Self::InterruptNow,
                StopWhen::AfterStep => Self::InterruptAfterStep,
            },
            Input::Answer { .. } => Self::Answer,
            Input::Close => Self::Close,
            Input::Recovered => Self::Recovered,
            Input::Tick => Self::Tick,
            Input::Sampled { news, .. } => match news {
                SampleNews::Item(_) => Self::SampledItem,
                SampleNews::Ended { .. } => Self::SampledEnd,
                SampleNews::Failed { .. } => Self::SampledFailure,
            },
            Input::Ran { .. } | Input::Returned { .. } => Self::Ran,
            Input::Programmed { news, .. } => match news {
                ProgramNews::Calls(_) => Self::ProgramCalls,
                ProgramNews::Ended { .. } => Self::ProgramEnds,
            },
            Input::Hooked { .. } => Self::Hooked,
            Input::Asked { .. } => Self::Asked,
            Input::Reconciled { .. } => Self::Reconciled,
            Input::Compacted { .. } => Self::Compacted,
            Input::NeverBegan { .. } => Self::NeverBegan,
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
    /// Where a session stands.
    #[must_use]
    pub fn of(session: &Session) -> Self {
        match &session.phase {
            Phase::Idle => Self {
                room: match session.hold {
                    Hold::Free => Room::Idle,
                    Hold::Held => Room::Held,
                },
                hooks: session.gates.open.is_some(),
                course: Course::On,
            },
            Phase::Turning(turn) => Self {
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
    match &turn.stage {
        Stage::Opening(_) => Room::Opening,
        Stage::Ready(_) => Room::Ready,
        Stage::Compacting(_) => Room::Compacting,
        Stage::Sampling(sampling) if sampling.calls.is_empty() => Room::Sampling,
        Stage::Sampling(_) => Room::Calling,
        Stage::Backoff(_) => Room::Backoff,
        Stage::Executing(_) if asks(turn) => Room::Asking,
        Stage::Executing(_) => Room::Executing,
        Stage::Concluding(_) => Room::Concluding,
        Stage::Ending(_) => Room::Ending,
    }
}

fn asks(turn: &Turn) -> bool {
    turn.calls().iter().any(|call| match &call.progress {
        Progress::Asking { question } => question.is_some(),
        Progress::Proposed
        | Progress::Allowed
        | Progress::Denied { .. }
        | Progress::Running { .. }
        | Progress::Reconciling { .. }
        | Progress::Done { .. } => false,
    })
}

fn asked(turn: &Turn) -> bool {
    let mut calls = turn.calls().iter();
    turn.gates.open.is_some() || calls.any(|call| call.gates.open.is_some())
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
    /// All of them, in the order in which a turn comes to them.
    pub const ALL: [Self; 12] = [
        Self::Idle,
        Self::Held,
        Self::Opening,
        Self::Ready,
        Self::Compacting,
        Self::Sampling,
        Self::Calling,
        Self::Backoff,
        Self::Executing,
        Self::Asking,
        Self::Concluding,
        Self::Ending,
    ];

    /// As tables and charts spell it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Held => "held",
            Self::Opening => "opening",
            Self::Ready => "ready",
            Self::Compacting => "compacting",
            Self::Sampling => "sampling",
            Self::Calling => "calling",
            Self::Backoff => "backoff",
            Self::Executing => "executing",
            Self::Asking => "asking",
            Self::Concluding => "concluding",
            Self::Ending => "ending",
        }
    }
}

/// The kind of a reject.
pub(super) fn refusal(reject: &Reject) -> &'static str {
    match reject {
        Reject::Stale(_) => "Stale",
        Reject::Idle => "Idle",
        Reject::OtherTurn(_) => "OtherTurn",
        Reject::NothingWaits => "NothingWaits",
        Reject::Stopping => "Stopping",
        Reject::QueueFull { .. } => "QueueFull",
        Reject::Empty => "Empty",
        Reject::Duplicate(_) => "Duplicate",
        Reject::NotSaid => "NotSaid",
        Reject::NotAsked(_) => "NotAsked",
        Reject::OtherArguments(_) => "OtherArguments",
        Reject::ContextTooLarge { .. } => "ContextTooLarge",
        Reject::NotRunning(_) => "NotRunning",
        Reject::OwnDeadline => "OwnDeadline",
        Reject::TooManyParts { .. } => "TooManyParts",
        Reject::Foreign => "Foreign",
        Reject::Widens(_) => "Widens",
        Reject::NoGoal => "NoGoal",
        Reject::TooManyImages { .. } => "TooManyImages",
        Reject::Defect(_) => "Defect",
    }
}
