//! Errors of the door: of its configuration, of the ports, and of turns without a usable answer.

use std::error::Error as StdError;
use std::fmt;

use windlass_engine::core::{InvalidSessionId, SessionId, TurnId, TurnOutcome, TurnUsage};
use windlass_engine::ports::{ProviderError, StoreError};
use windlass_engine::{AwaitError, SendError, StartError, ToolboxError, TurnReport};

use crate::store::StoreUrlError;

/// Error of any kind, as tools, hooks and `main` return it.
pub type BoxError = Box<dyn StdError + Send + Sync>;

/// Result of a user's own function: a tool, a hook, an approver or `main`. Any error converts with
/// `?`, and a text with `.into()`.
pub type Result<T = (), E = BoxError> = std::result::Result<T, E>;

/// Error of [`Windlass`](crate::Windlass) and [`Conversation`](crate::Conversation).
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The configuration is incomplete or unusable.
    #[error("{0}")]
    Config(String),
    /// The provider cannot be set up.
    #[error("cannot set up the provider: {0}")]
    Provider(#[from] ProviderError),
    /// The store cannot be opened.
    #[error(transparent)]
    StoreUrl(#[from] StoreUrlError),
    /// The store cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The session cannot be opened.
    #[error(transparent)]
    Start(Box<StartError>),
    /// The input, or another command, was not accepted.
    #[error(transparent)]
    Send(#[from] SendError),
    /// The end of the turn could not be observed.
    #[error(transparent)]
    Await(#[from] AwaitError),
    /// The turn ended without a usable answer.
    #[error(transparent)]
    Turn(Box<TurnFailure>),
    /// The answer fits its schema, and still is no value of the requested type.
    #[error("the answer is no value of the requested type: {fault}")]
    Output {
        /// Description of the fault.
        fault: String,
        /// Text of the answer.
        text: String,
    },
}

/// Turn that ended without a usable answer: every outcome except `Completed`.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct TurnFailure {
    /// Outcome of the turn.
    pub outcome: TurnOutcome,
    /// Text of the model's last answer; empty if there is none.
    pub text: String,
    /// Usage of the turn.
    pub usage: TurnUsage,
    /// Session of the turn.
    pub session: SessionId,
    /// Id of the turn.
    pub turn: TurnId,
}

impl Error {
    /// Creates the error of a part whose cargo feature is off.
    #[cfg(not(all(
        feature = "anthropic",
        feature = "demo",
        feature = "gemini",
        feature = "http",
        feature = "openai"
    )))]
    pub(crate) fn not_built(name: &'static str, feature: &'static str) -> Self {
        Self::StoreUrl(StoreUrlError::NotBuilt { name, feature })
    }

    /// Returns the turn that ended without a usable answer, if that is the error.
    ///
    /// ```no_run
    /// # async fn run(windlass: windlass::Windlass) -> windlass::Result {
    /// let answer = windlass.run("Summarize the contract.").await;
    /// if let Some(turn) = answer.as_ref().err().and_then(windlass::Error::turn) {
    ///     println!("{:?} after: {}", turn.outcome, turn.text);
    /// }
    /// # Ok(()) }
    /// ```
    #[must_use]
    pub fn turn(&self) -> Option<&TurnFailure> {
        match self {
            Self::Turn(failure) => Some(failure),
            Self::Config(_)
            | Self::Provider(_)
            | Self::StoreUrl(_)
            | Self::Store(_)
            | Self::Start(_)
            | Self::Send(_)
            | Self::Await(_)
            | Self::Output { .. } => None,
        }
    }
}

impl TurnFailure {
    pub(crate) fn new(report: TurnReport) -> Self {
        Self {
            outcome: report.outcome,
            text: report.answer,
            usage: report.spent,
            session: report.settled.session.clone(),
            turn: report.turn,
        }
    }
}

impl fmt::Display for TurnFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.outcome {
            TurnOutcome::Completed => f.write_str("the turn completed"),
            TurnOutcome::NoAnswer => f.write_str("the model ended the turn without an answer"),
            TurnOutcome::Refused => write!(f, "the model refused to answer: {}", self.text),
            TurnOutcome::InvalidOutput { fault } => {
                write!(f, "the answer does not fit its schema: {fault}")
            }
            TurnOutcome::Interrupted { reason, .. } => {
                write!(f, "the turn was interrupted: {reason}")
            }
            TurnOutcome::Blocked { reason } => write!(f, "a hook blocked the turn: {reason}"),
            TurnOutcome::Exhausted { limit } => {
                write!(f, "the turn reached a limit: {limit:?}")
            }
            TurnOutcome::Failed { message, .. } => write!(f, "the turn failed: {message}"),
        }
    }
}

impl StdError for TurnFailure {}

impl From<StartError> for Error {
    fn from(error: StartError) -> Self {
        Self::Start(Box::new(error))
    }
}

impl From<ToolboxError> for Error {
    fn from(error: ToolboxError) -> Self {
        Self::Config(error.to_string())
    }
}

impl From<InvalidSessionId> for Error {
    fn from(error: InvalidSessionId) -> Self {
        Self::Config(error.to_string())
    }
}
