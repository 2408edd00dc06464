//! Inputs: what the world says to a session.

use alloc::string::String;

use crate::call::Observation;
use crate::effect::EffectKey;
use crate::fact::Lineage;
use crate::failure::SampleFailure;
use crate::item::{Item, StopReason};
use crate::outcome::Interrupter;
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
pub enum Input {
    /// A user changes the settings, for turns that open from now on.
    Configure {
        /// All of the settings.
        settings: Settings,
    },
    /// A user says something.
    Send {
        /// Who says it.
        scope: Scope,
        /// What is said.
        text: String,
        /// When it is meant to be heard.
        delivery: Delivery,
        /// The caller's own key: sending the same key again changes nothing.
        key: Option<String>,
        /// Whether the turn only plans what its tools would do.
        dry_run: bool,
    },
    /// A user asks to go on with what is waiting.
    Continue,
    /// Somebody or something asks the running turn to stop.
    Interrupt {
        /// Who asks.
        by: Interrupter,
        /// In which words.
        reason: String,
    },
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
    },
    /// It failed, or was told to stop.
    Failed {
        /// How.
        failure: SampleFailure,
        /// Text that had streamed by then and belongs to no whole item. For the record only.
        partial: String,
    },
}
