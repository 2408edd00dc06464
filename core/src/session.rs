//! The state of a session: control data and ids. Texts, arguments and outputs live in facts and
//! in [`crate::History`].

use alloc::collections::VecDeque;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::because::Because;
use crate::digest::Digest;
use crate::id::{CallId, InputId, Seq, SessionId, TurnId};
use crate::item::StopReason;
use crate::limits::Limits;
use crate::nonempty::NonEmpty;
use crate::outcome::{Interrupter, LimitKind, Outcome};
use crate::scope::Scope;
use crate::settings::{Concurrency, EffectClass, Settings};
use crate::time::Timestamp;
use crate::usage::Usage;

/// An open session: the fold of its log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    /// Its id.
    pub id: SessionId,
    /// The position that the next fact will get.
    pub next: Seq,
    /// Whose it is.
    pub owner: Arc<Scope>,
    /// The settings for turns that open from now on.
    pub settings: Arc<Settings>,
    /// The fact that holds these settings.
    pub settings_at: Seq,
    /// Inputs that no turn has accepted yet, oldest first.
    pub queue: VecDeque<Queued>,
    /// Keys of the latest inputs, oldest first; bounded by [`Session::KEYS`].
    pub keys: Arc<VecDeque<(String, Seq)>>,
    /// Whether waiting inputs open turns by themselves.
    pub hold: Hold,
    /// Digest of what the model may see so far.
    pub context: Digest,
    /// The latest run of a sample, in whichever turn; [`Seq::ZERO`] before the first.
    pub latest: Seq,
    /// Whether a turn is open.
    pub phase: Phase,
}

impl Session {
    /// How many keys of past inputs are remembered.
    pub const KEYS: usize = 64;

    /// The open turn.
    #[must_use]
    pub fn turn(&self) -> Option<&Turn> {
        match &self.phase {
            Phase::Idle => None,
            Phase::Turning(turn) => Some(turn),
        }
    }
}

/// Whether a turn is open.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(
    clippy::large_enum_variant,
    reason = "one a session, and cloned for each decision"
)]
pub enum Phase {
    /// None is.
    Idle,
    /// One is.
    Turning(Turn),
}

/// Whether waiting inputs open turns by themselves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hold {
    /// They do.
    Free,
    /// They wait for a user's word: the last turn was interrupted.
    Held,
}

/// An input that waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Queued {
    /// Its id.
    pub id: InputId,
    /// Who said it.
    pub scope: Arc<Scope>,
    /// When it is meant to be heard.
    pub delivery: Delivery,
    /// Digest of its text.
    pub digest: Digest,
    /// Whether its turn only plans what its tools would do.
    pub dry_run: bool,
}

/// When an input is meant to be heard.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Delivery {
    /// In a turn of its own, after those before it.
    Turn,
}

/// An open turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Turn {
    /// Its id.
    pub id: TurnId,
    /// On whose behalf it runs.
    pub scope: Arc<Scope>,
    /// Its settings, frozen.
    pub settings: Arc<Settings>,
    /// Its limits, frozen.
    pub limits: Limits,
    /// Whether tools that change something are only planned.
    pub dry_run: bool,
    /// When it opened.
    pub opened_at: Timestamp,
    /// What it has taken so far.
    pub spent: Spent,
    /// Whether it was asked to stop.
    pub stop: Option<Stop>,
    /// Where it stands.
    pub stage: Stage,
}

impl Turn {
    /// The limit on calls that the last answer went over, if it did. None of its calls runs.
    #[must_use]
    pub fn over_calls(&self) -> Option<LimitKind> {
        let Stage::Executing(executing) = &self.stage else {
            return None;
        };
        let count = u32::try_from(executing.calls.len()).unwrap_or(u32::MAX);
        if count > self.limits.calls_per_sample {
            return Some(LimitKind::CallsPerSample);
        }
        (self.spent.calls > self.limits.calls).then_some(LimitKind::Calls)
    }
}

/// What a turn has taken.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spent {
    /// Samples; retried attempts of one sample count once.
    pub samples: u32,
    /// Attempts at samples.
    pub attempts: u32,
    /// Calls that the model asked for.
    pub calls: u32,
    /// Tokens, as far as the provider reported them.
    pub usage: Usage,
}

/// A request to stop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stop {
    /// Who asked.
    pub by: Interrupter,
    /// In which words.
    pub reason: String,
    /// When.
    pub at: Timestamp,
    /// The fact that says so.
    pub seq: Seq,
}

/// Where an open turn stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stage {
    /// Its input is to be let in.
    Opening {
        /// The input.
        input: InputId,
    },
    /// The model may be asked next.
    Ready(Ready),
    /// The model has been asked.
    Sampling(Sampling),
    /// The last attempt failed; the next one waits.
    Backoff(Backoff),
    /// Tool calls are out.
    Executing(Executing),
    /// The model has answered and asks for nothing more.
    Concluding(Concluding),
    /// It cannot go on: this outcome is to be recorded.
    Ending(Outcome),
}

/// The model may be asked next, for a new sample.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ready {
    /// Why.
    pub because: Because,
}

/// The model has been asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sampling {
    /// The run.
    pub started: Seq,
    /// The run before this one, in whichever turn; [`Seq::ZERO`] for the first.
    pub previous: Seq,
    /// Failures of this sample before this attempt.
    pub failures: u32,
    /// Restarts of this sample before this attempt.
    pub restarts: u32,
    /// Calls that it has brought so far.
    pub calls: Vec<CallState>,
    /// Digest of what the model will have seen, with the items that it has brought so far.
    pub context: Digest,
    /// What it has said to the user so far.
    pub said: Said,
}

/// What an answer says to the user, the strongest thing so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Said {
    /// Nothing.
    Nothing,
    /// A refusal.
    Refusal,
    /// Text.
    Text,
}

/// The last attempt failed; the next one waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Backoff {
    /// Until when.
    pub until: Timestamp,
    /// Failures of this sample so far.
    pub failures: u32,
    /// Restarts of this sample so far.
    pub restarts: u32,
}

/// Tool calls are out; this ends when each has its observation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Executing {
    /// The calls, in the order of the answer.
    pub calls: NonEmpty<CallState>,
}

/// The model has answered and asks for nothing more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Concluding {
    /// Why it stopped.
    pub stop: StopReason,
    /// What it said.
    pub said: Said,
}

/// One call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallState {
    /// Its id.
    pub id: CallId,
    /// Digest of the provider's id of it.
    pub provider_id: Digest,
    /// What stands against it before anything is decided.
    pub fitness: Fitness,
    /// Digest of its arguments.
    pub arguments: Digest,
    /// How far it is.
    pub progress: Progress,
}

/// Whether a call can be run at all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fitness {
    /// It names a tool and its arguments fit.
    Fit {
        /// What running it does to the world.
        effect: EffectClass,
        /// Whether it may run beside others.
        concurrency: Concurrency,
        /// The longest one run may take, in milliseconds.
        timeout_ms: u64,
    },
    /// It cannot be run, for this reason.
    Unfit {
        /// Why.
        reason: String,
    },
}

/// How far a call is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Progress {
    /// Nothing is decided.
    Proposed,
    /// It may run and has not started.
    Allowed,
    /// It may not run, for this reason.
    Denied {
        /// Why.
        reason: String,
    },
    /// It runs.
    Running {
        /// The run.
        started: Seq,
        /// Which run it is, from 1.
        attempt: u32,
    },
    /// It has its observation.
    Done {
        /// Digest of the observation.
        observation: Digest,
    },
}
