//! Exit codes for scripts.

use std::process::ExitCode;

use windlass::store::StoreUrlError;
use windlass_engine::core::{FailureKind, InterruptSource, TurnOutcome};
use windlass_engine::ports::{StoreError, StoreErrorKind};
use windlass_engine::{AwaitError, DriverEnd, SendError, StartError};

/// Exit code of the command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ExitKind {
    /// Code 0: completed.
    Completed,
    /// Code 1: failed.
    Failed,
    /// Code 2: invalid arguments, or arguments that name something missing.
    Usage,
    /// Code 3: blocked or denied by policy.
    Blocked,
    /// Code 4: provider configuration or authentication.
    Provider,
    /// Code 5: the store is locked, corrupt, full or unavailable.
    Store,
    /// Code 6: a limit is exhausted, or there is no answer or no valid output.
    Exhausted,
    /// Code 130: interrupted (SIGINT).
    Interrupted,
    /// Code 143: terminated (SIGTERM).
    Terminated,
    /// Code of a command that was run in place of a turn.
    Command(u8),
}

impl ExitKind {
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
            Self::Command(code) => code,
        }
    }

    /// Returns the code of a turn's outcome.
    pub(crate) fn of(outcome: &TurnOutcome) -> Self {
        match outcome {
            TurnOutcome::Completed => Self::Completed,
            TurnOutcome::NoAnswer
            | TurnOutcome::Refused
            | TurnOutcome::InvalidOutput { .. }
            | TurnOutcome::Exhausted { .. } => Self::Exhausted,
            TurnOutcome::Blocked { .. } => Self::Blocked,
            TurnOutcome::Interrupted { by, .. } => match by {
                InterruptSource::Person | InterruptSource::Parent => Self::Interrupted,
                InterruptSource::Shutdown => Self::Terminated,
                InterruptSource::Deadline => Self::Exhausted,
            },
            TurnOutcome::Failed { failure, .. } => match failure {
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
                | FailureKind::Program
                | FailureKind::Compaction => Self::Failed,
            },
        }
    }
}

impl From<ExitKind> for ExitCode {
    fn from(exit: ExitKind) -> Self {
        Self::from(exit.code())
    }
}

/// Failure of a command.
#[derive(Debug)]
pub(crate) struct Failure {
    /// Exit code of the command.
    pub(crate) exit: ExitKind,
    /// The operation, its failure, and advice.
    pub(crate) message: String,
}

impl Failure {
    pub(crate) fn new(exit: ExitKind, message: impl Into<String>) -> Self {
        Self { exit, message: message.into() }
    }

    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::new(ExitKind::Usage, message)
    }

    /// Creates the failure of a feature that this build lacks, and names its cargo feature.
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
            StoreErrorKind::Unknown => ExitKind::Usage,
            StoreErrorKind::Locked
            | StoreErrorKind::NotClaimed
            | StoreErrorKind::Conflict { .. }
            | StoreErrorKind::Invalid
            | StoreErrorKind::TooLarge
            | StoreErrorKind::Corrupt { .. }
            | StoreErrorKind::Newer
            | StoreErrorKind::WrongKey
            | StoreErrorKind::Full
            | StoreErrorKind::ReadOnly
            | StoreErrorKind::Unsupported
            | StoreErrorKind::Unavailable
            | StoreErrorKind::Io
            | StoreErrorKind::Ended => ExitKind::Store,
        };
        let mut words = error.to_string();
        if error.kind == StoreErrorKind::Unavailable {
            words.push_str(
                ". Acknowledged facts are safe: resume the session once the store is back",
            );
        }
        Self::new(exit, words)
    }
}

impl From<StoreUrlError> for Failure {
    fn from(error: StoreUrlError) -> Self {
        match error {
            StoreUrlError::Store(error) => error.into(),
            StoreUrlError::NotBuilt { name, feature } => Self::not_built(name, feature),
            error @ (StoreUrlError::Invalid(_) | _) => Self::usage(error.to_string()),
        }
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
            StartError::InvalidFact { .. } => Self::new(ExitKind::Store, error.to_string()),
            StartError::ShutDown(_)
            | StartError::Busy { .. }
            | StartError::Child(_)
            | StartError::MissingParts { .. } => Self::new(ExitKind::Failed, error.to_string()),
            _ => Self::new(ExitKind::Failed, error.to_string()),
        }
    }
}

impl From<&DriverEnd> for Failure {
    fn from(ended: &DriverEnd) -> Self {
        let exit = match ended {
            DriverEnd::Closed
            | DriverEnd::HandOff { .. }
            | DriverEnd::Abandoned
            | DriverEnd::Defect(_) => ExitKind::Failed,
            DriverEnd::Store(error) if error.kind == StoreErrorKind::Unavailable => {
                let words = format!(
                    "{ended}. Acknowledged facts are safe: resume the session once the store is \
                     back"
                );
                return Self::new(ExitKind::Store, words);
            }
            DriverEnd::Superseded(_) | DriverEnd::Store(_) => ExitKind::Store,
            _ => ExitKind::Failed,
        };
        Self::new(exit, ended.to_string())
    }
}

impl From<SendError> for Failure {
    fn from(error: SendError) -> Self {
        match error {
            SendError::Ended(ended) => Self::from(&*ended),
            // The command drives its sessions itself, so nothing is left for other nodes.
            SendError::Start(_) | SendError::Mailbox(_) | SendError::Pending { .. } => {
                Self::new(ExitKind::Store, error.to_string())
            }
            SendError::Expired { .. } | SendError::Unreadable(_) => {
                Self::new(ExitKind::Failed, error.to_string())
            }
            SendError::Rejected(_)
            | SendError::Settings(_)
            | SendError::Image { .. }
            | SendError::TooLarge(_) => Self::usage(error.to_string()),
            _ => Self::new(ExitKind::Failed, error.to_string()),
        }
    }
}

impl From<AwaitError> for Failure {
    fn from(error: AwaitError) -> Self {
        match error {
            AwaitError::Ended(ended) => Self::from(&*ended),
            AwaitError::Store(error) => error.into(),
            AwaitError::NoTurn(_) | AwaitError::Withdrawn(_) => Self::usage(error.to_string()),
            _ => Self::new(ExitKind::Failed, error.to_string()),
        }
    }
}
