//! The state of a session: control data and ids. Texts, arguments and outputs live in facts and
//! in [`crate::History`].

mod programs;
mod totals;
mod turn;

use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::compaction::{CompactionRequest, ItemFingerprint, VisiblePart};
use crate::detached::{DetachedChild, QueuedResult};
use crate::digest::Digest;
use crate::fact::Lineage;
use crate::goal::GoalState;
use crate::hook::SessionStart;
use crate::hook_rounds::HookRounds;
use crate::id::{CallId, InputId, Seq, SessionId};
use crate::item::CallItem;
use crate::limits::Limits;
use crate::outcome::InterruptSource;
use crate::rewind::RewindPoints;
use crate::scope::Scope;
use crate::settings::Settings;
use crate::time::Timestamp;

pub use crate::call::{
    ApprovalQuestion, CallProgress, CallState, CallValidity, OutsideSandbox, UserCommand,
};
pub use totals::SessionTotals;
pub(crate) use turn::is_zero;
pub use turn::{PendingContext, StopRequest, Turn, TurnUsage};

/// An open session: the fold of its log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Session {
    /// Id of the session.
    pub id: SessionId,
    /// Position of the next fact.
    pub next: Seq,
    /// Time of its latest fact.
    pub changed_at: Timestamp,
    /// Bytes of the bodies of its facts as JSON, and of the outputs and images that they name.
    pub bytes: u64,
    /// Owner of the session.
    pub owner: Arc<Scope>,
    /// Folder that its tools work in.
    pub workspace: Option<Arc<str>>,
    /// Origin of the session.
    pub lineage: Arc<Lineage>,
    /// Name that a person gave the session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<Arc<str>>,
    /// Totals of its turns.
    pub totals: SessionTotals,
    /// Settings for turns that open from now on.
    pub settings: Arc<Settings>,
    /// Position of the fact that holds these settings.
    pub settings_at: Seq,
    /// Inputs that no turn has accepted yet, in the order in which they were sent or moved.
    pub queue: VecDeque<QueuedInput>,
    /// Keys of the latest facts with keys, oldest first, with their positions; of at most
    /// [`Session::MAX_KEYS`] facts.
    pub keys: Arc<VecDeque<(String, Seq)>>,
    /// Hold on waiting inputs.
    pub hold: Hold,
    /// Size of the conversation so far.
    pub visible: VisiblePart,
    /// Latest request that the provider measured.
    pub measured: Option<MeasuredRequest>,
    /// Digests of the lasting context that the model has seen, by name.
    pub known_context: Arc<BTreeMap<String, Digest>>,
    /// Deferred tools that searches have found.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub found_tools: Arc<BTreeSet<String>>,
    /// Goal of the session.
    pub goal: Option<GoalState>,
    /// Detached children whose results are awaited, in the order of their calls.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub detached: Vec<DetachedChild>,
    /// Request to compact the conversation that waits for its turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compaction: Option<CompactionRequest>,
    /// Settings of the latest sample, also of a rewound one, if they differ from
    /// [`Session::settings`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reader: Option<Arc<Settings>>,
    /// Start of the session that hooks must still process.
    pub start: Option<SessionStart>,
    /// Lasting context from hooks whose turn ended before its injection.
    pub pending: Vec<PendingContext>,
    /// Hooks that are asked while no turn is open.
    pub hook_rounds: HookRounds,
    /// Latest run of a sample, in any turn; [`Seq::ZERO`] before the first.
    pub latest_sample: Seq,
    /// Phase of the session: idle or in a turn.
    pub phase: Phase,
    /// Positions that a rewind can return to.
    #[serde(default)]
    pub rewind: Arc<RewindPoints>,
}

fn is_empty(names: &Arc<BTreeSet<String>>) -> bool {
    names.is_empty()
}

impl Session {
    /// Number of facts whose keys are remembered. A caller that may repeat inputs has at most this
    /// many without a known outcome.
    pub const MAX_KEYS: usize = 64;

    /// Returns true if it has as many bytes as these limits allow.
    pub(crate) fn is_full(&self, limits: &Limits) -> bool {
        limits.session_bytes > 0 && self.bytes >= limits.session_bytes
    }

    /// Returns the open turn.
    #[must_use]
    pub fn turn(&self) -> Option<&Turn> {
        match &self.phase {
            Phase::Idle => None,
            Phase::InTurn(turn) => Some(turn),
        }
    }

    /// Returns the open turn, mutably.
    pub(crate) fn turn_mut(&mut self) -> Option<&mut Turn> {
        match &mut self.phase {
            Phase::Idle => None,
            Phase::InTurn(turn) => Some(turn),
        }
    }

    /// Returns the idempotency key of a call: the same for each run of it, and unique over all
    /// sessions. A fork uses the source session's id for an inherited call.
    #[must_use]
    pub fn idempotency_key(&self, call: CallId) -> String {
        alloc::format!("{}.{call}", self.author())
    }

    /// Returns the cause of the open turn's stop, in words for the model.
    pub(crate) fn stop_cause(&self) -> &'static str {
        match self.turn().and_then(Turn::stopped_by) {
            Some(InterruptSource::Person) => "the user interrupted the turn",
            Some(InterruptSource::Parent) => "the calling session stopped the turn",
            Some(InterruptSource::Shutdown) => "the process was shut down",
            Some(InterruptSource::Deadline) => "the time of the turn was over",
            None => "the turn was asked to stop",
        }
    }

    /// Returns the input that opens the next turn: a user's first follow-up, or else a user's first
    /// input, or else the first result of a detached child that opens a turn. Other results join the
    /// turn.
    #[must_use]
    pub fn next_input(&self) -> Option<&QueuedInput> {
        let of_users = || self.queue.iter().filter(|queued| queued.result.is_none());
        let mut opening = self.queue.iter().filter(|queued| queued.opens_turn());
        let soon = |queued: &&QueuedInput| match queued.delivery {
            Delivery::Steer | Delivery::FollowUp => true,
            Delivery::Turn => false,
        };
        of_users().find(soon).or_else(|| of_users().next()).or_else(|| opening.next())
    }

    /// Returns the input that opens the next turn if a user asks to continue: also a result that is
    /// only to wait.
    pub(crate) fn continued_input(&self) -> Option<&QueuedInput> {
        self.next_input().or_else(|| self.queue.front())
    }

    /// Returns the steering input that is admitted next: the first one of a user, or else the first
    /// result of a detached child.
    #[must_use]
    pub fn steer(&self) -> Option<&QueuedInput> {
        let mut waiting = self.queue.iter();
        self.user_steer().or_else(|| waiting.find(|queued| queued.delivery == Delivery::Steer))
    }

    /// Returns a waiting input.
    #[must_use]
    pub fn queued(&self, input: InputId) -> Option<&QueuedInput> {
        self.queue.iter().find(|queued| queued.id == input)
    }

    /// Returns the input right behind a waiting one.
    pub(crate) fn next_of(&self, input: InputId) -> Option<InputId> {
        let mut waiting = self.queue.iter().map(|queued| queued.id);
        waiting.find(|id| *id == input)?;
        waiting.next()
    }

    /// Returns true if an answer yields, or has yielded, to this steering input: it is accepted next.
    #[must_use]
    pub fn is_locked(&self, input: InputId) -> bool {
        let yields = |turn: &Turn| turn.stage.yields(self, turn);
        self.is_steer(input) && self.turn().is_some_and(yields)
    }

    /// Returns the steering input that an answer yields to and that a moved input would precede.
    pub(crate) fn overtaken(&self, input: InputId, before: Option<InputId>) -> Option<InputId> {
        let steer = self.steer().filter(|steer| self.is_locked(steer.id))?;
        let moved = self.queued(input).filter(|moved| moved.delivery == Delivery::Steer)?;
        let place = |id: InputId| self.queue.iter().position(|queued| queued.id == id);
        let overtakes = moved.id != steer.id && place(before?)? <= place(steer.id)?;
        overtakes.then_some(steer.id)
    }

    /// Returns true if this input is the steering input that is admitted next.
    pub(crate) fn is_steer(&self, input: InputId) -> bool {
        self.steer().is_some_and(|steer| steer.id == input)
    }
}

/// A request with the token count of its provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MeasuredRequest {
    /// Tokens of the request.
    pub tokens: u64,
    /// Size of the conversation at that time.
    pub visible: VisiblePart,
}

/// Phase of a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(clippy::large_enum_variant, reason = "one a session, and cloned for each decision")]
pub enum Phase {
    /// No turn is open.
    Idle,
    /// A turn is open.
    InTurn(Turn),
}

/// Hold on waiting inputs: decides if they open turns by themselves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Hold {
    /// Inputs open turns.
    Free,
    /// Inputs wait for a user's action: the last turn was interrupted.
    Held,
}

/// A waiting input.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QueuedInput {
    /// Id of the input.
    pub id: InputId,
    /// Scope of the caller.
    pub scope: Arc<Scope>,
    /// When the model should receive it.
    pub delivery: Delivery,
    /// Fingerprint of its text.
    pub text: ItemFingerprint,
    /// Additional context from the presenter.
    pub context: Arc<[QueuedContext]>,
    /// Fingerprints of its images.
    pub images: Arc<[ItemFingerprint]>,
    /// True if its turn only plans the effects of its tools.
    pub dry_run: bool,
    /// Result of a detached child that it carries, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<QueuedResult>,
    /// Call of a user, if it is a command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<Arc<CallItem>>,
}

/// One part of a waiting input's context.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QueuedContext {
    /// Name of the context.
    pub from: String,
    /// Fingerprint of its framed text.
    pub text: ItemFingerprint,
}

/// When the model should receive an input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Delivery {
    /// In a turn of its own, after earlier inputs.
    Turn,
    /// In the running turn, as soon as possible; without one, in the next.
    Steer,
    /// In a turn of its own right after the running one, before inputs that wait as `Turn`.
    FollowUp,
}
