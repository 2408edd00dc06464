//! Inputs: what the world says to a session.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::agent::Took;
use crate::asked::Asked;
use crate::call::Observation;
use crate::compaction::{Cut, Shown};
use crate::digest::Digest;
use crate::effect::EffectKey;
use crate::fact::{ContextPart, Lineage, StopWhen};
use crate::failure::SampleFailure;
use crate::goal::Goal;
use crate::hook::{Edit, HookReply};
use crate::id::{CallId, TurnId};
use crate::image::Image;
use crate::item::{CallItem, Item, StopReason};
use crate::outcome::Interrupter;
use crate::program::ProgramOutcome;
use crate::scope::Scope;
use crate::session::Delivery;
use crate::settings::Settings;
use crate::time::Timestamp;
use crate::usage::Usage;

/// An input with what only the world knows: when it came, and a random number to spend.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stamped<T> {
    /// When it came.
    pub at: Timestamp,
    /// Entropy for whatever the decision must spread (backoff).
    pub entropy: u64,
    /// The input.
    pub input: T,
}

/// What opens a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenSession {
    /// Whose session it is.
    pub owner: Scope,
    /// The folder that the tools work in, where there is one.
    pub workspace: Option<String>,
    /// What its turns are run with.
    pub settings: Settings,
    /// Where it comes from.
    pub lineage: Lineage,
}

/// What the world says to an open session.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::large_enum_variant, reason = "used at once, never kept")]
pub enum Input {
    /// Somebody says something under a key, so that it is done once however often it is said: by one
    /// who does not know what became of it, or by a process that took it over from another.
    ///
    /// The fact that the input itself is carries the key, and the session remembers those of the
    /// latest [`Session::KEYS`](crate::Session::KEYS) such facts. Under a key that it remembers
    /// nothing is decided: that is [`Reject::Duplicate`](crate::Reject::Duplicate), with the position
    /// of the fact. What becomes no fact leaves no key: settings that are the same, or a word to go on
    /// while a turn runs anyway; and so does what is refused.
    ///
    /// A `Send` keeps the key of its own besides, and is refused by either of them. All keys of a
    /// session are of one kind, so whoever makes them sees to it that no two inputs share one.
    Keyed {
        /// The key.
        key: String,
        /// What is said: a `Configure`, `SetGoal`, `Send`, `Continue`, `Interrupt` or `Answer`.
        /// Anything else is [`Reject::NotSaid`](crate::Reject::NotSaid).
        input: Box<Self>,
    },
    /// A user changes the settings, for turns that open from now on.
    Configure {
        /// Who does.
        scope: Scope,
        /// All of the settings.
        settings: Settings,
        /// Whether they may allow more than the session does.
        widening: Widening,
    },
    /// A user gives the session a goal, or takes it away.
    SetGoal {
        /// Who does.
        scope: Scope,
        /// The goal.
        goal: Option<Goal>,
    },
    /// A user says something.
    Send {
        /// Who says it.
        scope: Scope,
        /// What is said.
        text: String,
        /// When it is meant to be heard.
        delivery: Delivery,
        /// What the presenter tells the model besides.
        context: Vec<ContextPart>,
        /// The images that are shown with it, in order: their bytes are kept already.
        images: Vec<Image>,
        /// The caller's own key: sending the same key again changes nothing.
        key: Option<String>,
        /// Whether the turn only plans what its tools would do.
        dry_run: bool,
    },
    /// A user asks to go on with what is waiting. Refused while a turn stops that will leave it
    /// held. Hooks that are hearing of the session's end are not waited for: it does not end yet,
    /// and they are asked again when it does.
    Continue,
    /// Somebody or something asks the running turn to stop.
    Interrupt {
        /// Who asks.
        by: Interrupter,
        /// On whose behalf.
        scope: Scope,
        /// In which words.
        reason: String,
        /// When it is to stop.
        when: StopWhen,
        /// The turn that it is about; `None` for whichever runs. It stops no other one.
        turn: Option<TurnId>,
    },
    /// Somebody answers the open question about a call.
    Answer {
        /// The call.
        call: CallId,
        /// Who answers.
        scope: Scope,
        /// Digest of the arguments that the answer is about.
        arguments: Digest,
        /// The answer.
        answer: Answer,
    },
    /// The process lets the session go once it is at rest.
    Close,
    /// A new process took the session over: nothing that was running runs any more.
    Recovered,
    /// Time has passed; see [`crate::deadline`].
    Tick,
    /// The sampling effect says something.
    Sampled {
        /// Which run.
        key: EffectKey,
        /// What it says.
        news: SampleNews,
    },
    /// A tool's run has ended.
    Ran {
        /// Which run.
        key: EffectKey,
        /// What became of it.
        observation: Observation,
    },
    /// An agent's run has ended.
    Returned {
        /// Which run.
        key: EffectKey,
        /// What became of it.
        observation: Observation,
        /// What it took of what it was lent, over all that it opened.
        took: Took,
    },
    /// A program has gone on: it calls tools, or has ended.
    Programmed {
        /// Which run.
        key: EffectKey,
        /// What it says.
        news: ProgramNews,
    },
    /// A hook's run has ended.
    Hooked {
        /// Which run.
        key: EffectKey,
        /// What it says.
        reply: HookReply,
    },
    /// The approver's run has ended.
    Asked {
        /// Which run.
        key: EffectKey,
        /// Who answered; the system when nobody could be asked.
        scope: Scope,
        /// The answer.
        answer: Answer,
    },
    /// A tool has said what became of a call; `None` when it does not know.
    Reconciled {
        /// Which run.
        key: EffectKey,
        /// What became of it.
        observation: Option<Observation>,
    },
    /// A compaction's run has ended.
    Compacted {
        /// Which run.
        key: EffectKey,
        /// What it came to, or why it came to nothing.
        compaction: Result<Compaction, String>,
    },
    /// An effect that was owed was never begun, and will not be.
    NeverBegan {
        /// Which run.
        key: EffectKey,
    },
}

/// What a sampling effect says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SampleNews {
    /// An item of the answer is whole.
    Item(Item),
    /// The answer is whole.
    Ended {
        /// Why the model stopped.
        stop: StopReason,
        /// What it cost.
        usage: Option<Usage>,
        /// The provider's id of the response.
        response_id: Option<String>,
        /// How the request went out, as far as its adapter tells.
        asked: Option<Box<Asked>>,
        /// Why the answer's text does not have the shape that the settings ask for, if so. Of an
        /// answer that cannot be a turn's last one it is not kept.
        fault: Option<String>,
    },
    /// It failed, or was told to stop.
    Failed {
        /// How.
        failure: SampleFailure,
        /// Text that had streamed by then and belongs to no whole item.
        partial: String,
        /// What it cost, as far as the provider said.
        usage: Option<Usage>,
        /// How the request went out, as far as its adapter tells.
        asked: Option<Box<Asked>>,
    },
}

/// What a program says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProgramNews {
    /// It waits for these calls, of which there is at least one.
    Calls(Vec<CallItem>),
    /// It has ended.
    Ended {
        /// What it came to.
        outcome: Box<ProgramOutcome>,
        /// Why what it returned does not fit the contract, if so.
        fault: Option<String>,
        /// What the model is told, see [`feedback`](crate::feedback).
        observation: Observation,
    },
}

/// Whether settings may allow more than those before them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Widening {
    /// They may not. Of the child of another session's call they may not have a tool either that it
    /// does not have by name.
    Refused,
    /// Somebody means it.
    Meant,
}

/// A person's word on a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Answer {
    /// It may run.
    Allow {
        /// With these arguments instead.
        edit: Option<Edit>,
    },
    /// It may not run.
    Deny {
        /// Why.
        reason: String,
    },
}

/// What a compaction came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Compaction {
    /// What it does to the conversation.
    pub cut: Cut,
    /// What is shown then.
    pub shown: Shown,
    /// What a summary cost.
    pub usage: Option<Usage>,
    /// Why the model's own summary was not used, where one was wanted.
    pub fallback: Option<String>,
}
