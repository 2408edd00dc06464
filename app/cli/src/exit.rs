//! Exit codes: what a script may rely on.

use std::process::ExitCode;

use windlass_engine::core::{FailureKind, Interrupter, Outcome};
use windlass_engine::ports::{StoreError, StoreErrorKind};
use windlass_engine::{AwaitError, Ended, SendError, StartError};

/// Exit code of the command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Code 0: completed.
    Completed,
    /// Code 1: failed.
    Failed,
    /// 2: the command's words are off, or name what is not there.
    Usage,
    /// 3: blocked or denied by policy.
    Blocked,
    /// 4: the provider's configuration or authentication.
    Provider,
    /// 5: the store: locked, corrupt, full, away.
    Store,
    /// 6: a limit is exhausted, or there is no answer, or none of the shape that is asked for.
    Exhausted,
    /// Code 130: interrupted (SIGINT).
    Interrupted,
    /// Code 143: terminated (SIGTERM).
    Terminated,
}

impl Exit {
    /// Returns the number.
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Completed => 0,
            Self::Failed => 1,
            Self::Usage => 2,
            Self::Blocked => 3,
            Self::Provider => 4,
            Self::Store => 5,
            Self::Exhausted => 6,
            Self::Interrupted => 130,
            Self::Terminated => 143,
        }
    }

    /// The code of a turn's outcome.
    pub(crate) fn of(outcome: &Outcome) -> Self {
        match outcome {
            Outcome::Completed => Self::Completed,
            Outcome::NoAnswer
            | Outcome::Refused
            | Outcome::Misshapen { .. }
            | Outcome::Exhausted { .. } => Self::Exhausted,
            Outcome::Blocked { .. } => Self::Blocked,
            Outcome::Interrupted { by, .. } => match by {
                Interrupter::Person => Self::Interrupted,
                Interrupter::Shutdown => Self::Terminated,
                Interrupter::Deadline => Self::Exhausted,
            },
            Outcome::Failed { failure, .. } => match failure {
                FailureKind::Authentication | FailureKind::NotFound | FailureKind::Unsupported => {
                    Self::Provider
                }
                FailureKind::InvalidRequest
                | FailureKind::ContextOverflow
                | FailureKind::RateLimit
                | FailureKind::Quota
                | FailureKind::Overloaded
                | FailureKind::Server
                | FailureKind::ContentFilter
                | FailureKind::Unavailable
                | FailureKind::Protocol
                | FailureKind::Truncated
                | FailureKind::TooLarge
                | FailureKind::Timeout
                | FailureKind::Cancelled
                | FailureKind::Restart
                | FailureKind::Steered
                | FailureKind::Hook
                | FailureKind::Program => Self::Failed,
            },
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

/// Failure of a command.
#[derive(Debug)]
pub(crate) struct Failure {
    /// Exit code of the command.
    pub(crate) exit: Exit,
    /// The operation, its failure, and advice.
    pub(crate) message: String,
}

impl Failure {
    pub(crate) fn new(exit: Exit, message: impl Into<String>) -> Self {
        Self {
            exit,
            message: message.into(),
        }
    }

    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::new(Exit::Usage, message)
    }

    /// Refuses what this build was made without, and names the cargo feature that adds it.
    pub(crate) fn not_built(what: &str, feature: &str) -> Self {
        Self::usage(format!(
            "this build of windlass is without {what}; build it with `cargo build --release -p \
             windlass-cli --features {feature}`, or with --features full for everything"
        ))
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        let exit = match &error.kind {
            StoreErrorKind::Unknown => Exit::Usage,
            StoreErrorKind::Locked
            | StoreErrorKind::NotClaimed
            | StoreErrorKind::Conflict { .. }
            | StoreErrorKind::Invalid
            | StoreErrorKind::TooLarge
            | StoreErrorKind::Corrupt { .. }
            | StoreErrorKind::Newer
            | StoreErrorKind::Full
            | StoreErrorKind::ReadOnly
            | StoreErrorKind::Unsupported
            | StoreErrorKind::Unavailable
            | StoreErrorKind::Io => Exit::Store,
        };
        let mut words = error.to_string();
        if error.kind == StoreErrorKind::Unavailable {
            words.push_str(
                ". What was acknowledged stands: resume the session once the store is back",
            );
        }
        Self::new(exit, words)
    }
}

impl From<StartError> for Failure {
    fn from(error: StartError) -> Self {
        match error {
            StartError::Store(error) | StartError::Locked(error) | StartError::Corrupt(error) => {
                error.into()
            }
            StartError::Unknown(_)
            | StartError::Exists(_)
            | StartError::Settings(_)
            | StartError::Unfinished { .. } => Self::usage(error.to_string()),
            StartError::Misfit { .. } => Self::new(Exit::Store, error.to_string()),
            StartError::Shut(_)
            | StartError::Busy { .. }
            | StartError::Child(_)
            | StartError::Lacking { .. } => Self::new(Exit::Failed, error.to_string()),
        }
    }
}

impl From<&Ended> for Failure {
    fn from(ended: &Ended) -> Self {
        let exit = match ended {
            Ended::Closed | Ended::Parted { .. } | Ended::Abandoned | Ended::Defect(_) => {
                Exit::Failed
            }
            Ended::Store(error) if error.kind == StoreErrorKind::Unavailable => {
                let words = format!(
                    "{ended}. What was acknowledged stands: resume the session once the store is back"
                );
                return Self::new(Exit::Store, words);
            }
            Ended::Superseded(_) | Ended::Store(_) => Exit::Store,
        };
        Self::new(exit, ended.to_string())
    }
}

impl From<SendError> for Failure {
    fn from(error: SendError) -> Self {
        match error {
            SendError::Ended(ended) => Self::from(&*ended),
            // The command drives its sessions itself, so nothing is left for other nodes.
            SendError::Start(_) | SendError::Inbox(_) | SendError::Waits { .. } => {
                Self::new(Exit::Store, error.to_string())
            }
            SendError::Late { .. } | SendError::Unread(_) => {
                Self::new(Exit::Failed, error.to_string())
            }
            SendError::Rejected(_)
            | SendError::Settings(_)
            | SendError::Image { .. }
            | SendError::TooLarge(_) => Self::usage(error.to_string()),
        }
    }
}

impl From<AwaitError> for Failure {
    fn from(error: AwaitError) -> Self {
        match error {
            AwaitError::Ended(ended) => Self::from(&*ended),
            AwaitError::Store(error) => error.into(),
            AwaitError::NoTurn(_) => Self::usage(error.to_string()),
        }
    }
}
