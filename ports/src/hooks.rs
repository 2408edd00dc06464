//! The hooks port: a user's own say at set points of a turn. The engine does not ask it yet.

use std::error::Error;

use async_trait::async_trait;
use windlass_core::{CallId, Scope, SessionId, TurnId};

/// Has a say at set points of a turn.
///
/// Laws: each point is asked once per occurrence and its verdict is a fact, so a replay asks
/// nothing; deny beats allow; a hook that fails counts as its declared side says.
#[async_trait]
pub trait Hooks: Send + Sync + 'static {
    /// Asks what is to happen at a point.
    ///
    /// # Errors
    /// [`HookError`] when the hook itself fails or takes too long.
    async fn decide(
        &self,
        point: HookPoint,
        context: HookContext,
    ) -> Result<HookVerdict, HookError>;
}

/// A point of a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HookPoint {
    /// A prompt is about to be let in.
    PromptSubmitted {
        /// The prompt.
        text: String,
    },
    /// A call is about to be decided.
    BeforeTool {
        /// The call.
        call: CallId,
        /// The tool.
        name: String,
        /// The arguments, JSON text.
        arguments: String,
    },
}

/// What a hook is told beside the point.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookContext {
    /// On whose behalf the turn runs.
    pub scope: Scope,
    /// The session.
    pub session: SessionId,
    /// The turn.
    pub turn: TurnId,
}

/// What a hook says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HookVerdict {
    /// Nothing against it.
    Pass,
    /// It is not to happen.
    Deny {
        /// Why, in words for the user or the model.
        reason: String,
    },
}

/// Why a hook gave no verdict.
#[derive(Debug, thiserror::Error)]
#[error("{context}")]
pub struct HookError {
    /// Which hook, what went wrong, what to do.
    pub context: String,
    /// The cause.
    #[source]
    pub source: Option<Box<dyn Error + Send + Sync>>,
}
