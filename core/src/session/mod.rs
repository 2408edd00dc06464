//! The state of a session: control data and ids. Texts, arguments and outputs live in facts and
//! in [`crate::History`].

mod programs;
mod turn;

use alloc::collections::{BTreeMap, VecDeque};
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::compaction::{ItemFingerprint, VisiblePart};
use crate::digest::Digest;
use crate::fact::Lineage;
use crate::goal::GoalState;
use crate::hook::SessionStart;
use crate::hook_rounds::HookRounds;
use crate::id::{InputId, Seq, SessionId};
use crate::scope::Scope;
use crate::settings::Settings;

pub use crate::call::{ApprovalQuestion, CallProgress, CallState, CallValidity};
pub(crate) use turn::is_zero;
pub use turn::{PendingContext, StopRequest, Turn, TurnUsage};

/// An open session: the fold of its log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Session {
    /// Id of the session.
    pub id: SessionId,
    /// The position that the next fact will get.
    pub next: Seq,
    /// Owner of the session.
    pub owner: Arc<Scope>,
    /// The folder that its tools work in.
    pub workspace: Option<Arc<str>>,
    /// Origin of the session.
    pub lineage: Arc<Lineage>,
    /// The settings for turns that open from now on.
    pub settings: Arc<Settings>,
    /// The fact that holds these settings.
    pub settings_at: Seq,
    /// Inputs that no turn has accepted yet, oldest first.
    pub queue: VecDeque<QueuedInput>,
    /// The keys that the latest facts with keys were said under, oldest first, with their positions;
    /// of at most [`Session::MAX_KEYS`] facts.
    pub keys: Arc<VecDeque<(String, Seq)>>,
    /// True if waiting inputs open turns by themselves.
    pub hold: Hold,
    /// Size of the conversation so far.
    pub visible: VisiblePart,
    /// The latest request that the provider measured.
    pub measured: Option<MeasuredRequest>,
    /// Digests of the lasting context that the model was told, by its name.
    pub known_context: Arc<BTreeMap<String, Digest>>,
    /// Goal of the session.
    pub goal: Option<GoalState>,
    /// The hooks that are to hear how the session starts.
    pub start: Option<SessionStart>,
    /// Context that lasts, which hooks gave in a turn that ended before it could be injected.
    pub pending: Vec<PendingContext>,
    /// Hooks that are asked while no turn is open.
    pub hook_rounds: HookRounds,
    /// The latest run of a sample, in whichever turn; [`Seq::ZERO`] before the first.
    pub latest_sample: Seq,
    /// True if a turn is open.
    pub phase: Phase,
}

impl Session {
    /// Of how many facts that were said under a key the keys are remembered. Whoever says inputs
    /// again, as it does not know what became of them, has no more of them open than that.
    pub const MAX_KEYS: usize = 64;

    /// Returns the open turn.
    #[must_use]
    pub fn turn(&self) -> Option<&Turn> {
        match &self.phase {
            Phase::Idle => None,
            Phase::InTurn(turn) => Some(turn),
        }
    }

    /// The open turn, to change.
    pub(crate) fn turn_mut(&mut self) -> Option<&mut Turn> {
        match &mut self.phase {
            Phase::Idle => None,
            Phase::InTurn(turn) => Some(turn),
        }
    }

    /// The input that the next turn is opened for: the oldest that is to be heard right after the
    /// turn before it, or else the oldest.
    #[must_use]
    pub fn next_input(&self) -> Option<&QueuedInput> {
        let mut waiting = self.queue.iter();
        let soon = |queued: &&QueuedInput| match queued.delivery {
            Delivery::Steer | Delivery::FollowUp => true,
            Delivery::Turn => false,
        };
        waiting.find(soon).or_else(|| self.queue.front())
    }

    /// The oldest input that is meant for the turn that runs.
    #[must_use]
    pub fn steer(&self) -> Option<&QueuedInput> {
        let mut waiting = self.queue.iter();
        waiting.find(|queued| queued.delivery == Delivery::Steer)
    }

    /// Returns `true` if this input is the oldest that is meant for the turn that runs.
    pub(crate) fn is_steer(&self, input: InputId) -> bool {
        self.steer().is_some_and(|steer| steer.id == input)
    }
}

/// A request as the provider measured it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MeasuredRequest {
    /// Tokens of the request.
    pub tokens: u64,
    /// Size of the conversation at that time.
    pub visible: VisiblePart,
}

/// True if a turn is open.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(
    clippy::large_enum_variant,
    reason = "one a session, and cloned for each decision"
)]
pub enum Phase {
    /// No turn is open.
    Idle,
    /// A turn is open.
    InTurn(Turn),
}

/// True if waiting inputs open turns by themselves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Hold {
    /// Inputs open turns.
    Free,
    /// They wait for a user's word: the last turn was interrupted.
    Held,
}

/// An input that waits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QueuedInput {
    /// Id of the input.
    pub id: InputId,
    /// Scope of the caller.
    pub scope: Arc<Scope>,
    /// When it is meant to be heard.
    pub delivery: Delivery,
    /// Its text, in numbers.
    pub text: ItemFingerprint,
    /// Additional context from the presenter.
    pub context: Arc<[QueuedContext]>,
    /// The images that are shown with it, in numbers.
    pub images: Arc<[ItemFingerprint]>,
    /// True if its turn only plans what its tools would do.
    pub dry_run: bool,
}

/// One part of an input's context that waits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QueuedContext {
    /// Name in the settings.
    pub from: String,
    /// Its text in its frame, in numbers.
    pub text: ItemFingerprint,
}

/// When an input is meant to be heard.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Delivery {
    /// In a turn of its own, after those before it.
    Turn,
    /// In the turn that runs, as soon as that may be; without one, in the next.
    Steer,
    /// In a turn of its own right after the one that runs, before those that wait as `Turn`.
    FollowUp,
}
