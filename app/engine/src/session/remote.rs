//! Remote commands and their acknowledgements as stored in a mailbox: JSON, versioned.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use windlass_core::machine::RemoteCommandFault;
use windlass_core::{Reject, Scope, Seq, StoredOutput, Timestamp};

use super::command::SessionCommand;
use crate::capacity;
use crate::error::SendError;

/// Version of the form. A higher one belongs to a newer release and is rejected.
const VERSION: u32 = 1;
/// Limit on the text of a rejection, in bytes; the rest is cut.
const MAX_REASON_BYTES: usize = 2_048;

const MINUTE_MS: u64 = 60_000;
const DAY_MS: u64 = 24 * 60 * MINUTE_MS;
/// Validity of a user input in a mailbox.
pub(crate) const INPUT_VALID: Duration = Duration::from_millis(DAY_MS);

/// A command for the node that drives the session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RemoteCommand {
    v: u32,
    /// Key of the command in the log.
    pub(crate) key: String,
    /// Scope of the sender.
    pub(crate) scope: Scope,
    /// Time at which it was stored.
    pub(crate) stored_at: Timestamp,
    /// Time until which it may be executed.
    pub(crate) until: Timestamp,
    pub(crate) body: CommandBody,
}

/// Body of a command, or its location.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum CommandBody {
    /// Inline.
    Inline(SessionCommand),
    /// In a blob of the session, serialised as it would be inline.
    Blob(StoredOutput),
}

/// The acknowledgement of a remote command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Acknowledgement {
    v: u32,
    pub(crate) execution: Execution,
}

/// Result of a remote command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum Execution {
    /// It was executed, and its facts are durable.
    Accepted {
        /// Position of its first fact, or the next position if it produced none.
        first: Seq,
        /// Position of its last fact.
        last: Seq,
    },
    /// It was rejected and changed nothing.
    Rejected(RemoteRejection),
}

/// Cause for the rejection of a remote command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum RemoteRejection {
    /// Rejected by the core.
    Rejected(Reject),
    /// Unusable settings.
    Settings(String),
    /// Larger than a fact may be. Contains its size in bytes.
    TooLarge(usize),
    /// Read after it had expired.
    Expired {
        /// Time until which it could be executed.
        until: Timestamp,
    },
    /// The node that drives the session cannot read it.
    Unreadable(String),
}

/// Any form, parsed for its version only.
#[derive(Deserialize)]
struct FormVersion {
    v: u32,
}

/// Reason why this release cannot read a form.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct UnreadableForm(pub(crate) String);

impl RemoteCommand {
    pub(super) fn new(
        key: &str,
        scope: &Scope,
        left: Timestamp,
        body: CommandBody,
        lasts_ms: u64,
    ) -> Self {
        Self {
            v: VERSION,
            key: key.to_owned(),
            scope: scope.clone(),
            stored_at: left,
            until: left.plus_ms(lasts_ms),
            body,
        }
    }

    pub(crate) fn write(&self) -> Result<Vec<u8>, serde_json::Error> {
        serde_json::to_vec(self)
    }

    pub(crate) fn read(bytes: &[u8]) -> Result<Self, UnreadableForm> {
        read(bytes)
    }
}

impl Acknowledgement {
    pub(crate) fn new(became: Execution) -> Self {
        Self { v: VERSION, execution: became }
    }

    pub(crate) fn write(&self) -> Result<Vec<u8>, serde_json::Error> {
        serde_json::to_vec(self)
    }

    pub(crate) fn read(bytes: &[u8]) -> Result<Self, UnreadableForm> {
        read(bytes)
    }
}

/// Returns the time for which a stored command may be executed, in milliseconds.
///
/// A user input, a result of a child, a goal, an answer and a change of a waiting input are still meant a day later: an
/// answer names its question and fits no other, and a change its input. Settings, a
/// compaction, a command line, an interrupt, a rewind and a resumption concern the moment and last ten minutes.
/// Clocks of nodes differ by seconds, which affects neither.
pub(super) fn valid_ms(command: &SessionCommand) -> u64 {
    match command {
        SessionCommand::Send(_)
        | SessionCommand::SetGoal { .. }
        | SessionCommand::EditInput { .. }
        | SessionCommand::MoveInput { .. }
        | SessionCommand::WithdrawInput { .. }
        | SessionCommand::ChildEnded { .. }
        | SessionCommand::Answer { .. }
        | SessionCommand::SubmitResult { .. } => DAY_MS,
        SessionCommand::Configure { .. }
        | SessionCommand::Compact { .. }
        | SessionCommand::RunCommand { .. }
        | SessionCommand::Interrupt { .. }
        | SessionCommand::Rename { .. }
        | SessionCommand::Rewind { .. }
        | SessionCommand::Resume {} => 10 * MINUTE_MS,
    }
}

fn read<T: serde::de::DeserializeOwned>(bytes: &[u8]) -> Result<T, UnreadableForm> {
    let wrong = |error: serde_json::Error| UnreadableForm(error.to_string());
    let FormVersion { v } = serde_json::from_slice(bytes).map_err(wrong)?;
    if v != VERSION {
        let why = format!("it has version {v} of its form, and this release reads {VERSION}");
        return Err(UnreadableForm(why));
    }
    serde_json::from_slice(bytes).map_err(wrong)
}

impl From<RemoteCommandFault> for RemoteRejection {
    fn from(fault: RemoteCommandFault) -> Self {
        let words = |mut words: String| {
            capacity::cut(&mut words, MAX_REASON_BYTES);
            words
        };
        match fault {
            RemoteCommandFault::Settings(why) => Self::Settings(words(why)),
            RemoteCommandFault::TooLarge(bytes) => Self::TooLarge(bytes),
            RemoteCommandFault::Unreadable(why) => Self::Unreadable(words(why)),
        }
    }
}

impl From<RemoteRejection> for SendError {
    fn from(rejection: RemoteRejection) -> Self {
        match rejection {
            RemoteRejection::Rejected(reject) => Self::Rejected(reject),
            RemoteRejection::Settings(why) => Self::Settings(why),
            RemoteRejection::TooLarge(bytes) => Self::TooLarge(bytes),
            RemoteRejection::Expired { until } => Self::Expired { until },
            RemoteRejection::Unreadable(why) => Self::Unreadable(why),
        }
    }
}
