//! Mailbox access: finds and reads commands, and writes acknowledgements.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout;
use windlass_core::SessionId;
use windlass_core::machine::{REMOTE_BATCH, RemoteCommandFault};
use windlass_ports::{
    BlobErrorKind, BlobReader, Mailbox, MailboxCommand, MailboxCommandId, MailboxError,
    MailboxErrorKind,
};

use super::{BATCH_BYTES, TIMEOUT};
use crate::session::SessionCommand;
use crate::session::remote::{CommandBody, RemoteCommand};

/// Access to the mailbox of a session.
#[derive(Clone)]
pub(super) struct MailboxAccess {
    pub(super) mailbox: Arc<dyn Mailbox>,
    pub(super) blobs: BlobReader,
    pub(super) session: SessionId,
    pub(super) epoch: windlass_core::Epoch,
    /// Most bytes of one command's blob.
    pub(super) max_bytes: u64,
}

/// Commands that were found.
pub(in crate::driver) struct FoundCommands {
    pub(super) commands: Vec<(MailboxCommandId, CommandRead)>,
}

/// Result of reading a command.
pub(in crate::driver) enum CommandRead {
    /// Command with its content.
    Ready(Box<RemoteCommand>, SessionCommand),
    /// The command cannot be executed.
    Rejected(RemoteCommandFault),
    /// Its blob could not be read this time.
    Failed(String),
}

/// Acknowledgement as it is written.
pub(super) struct EncodedAcknowledgement {
    pub(super) command: MailboxCommandId,
    pub(super) bytes: Vec<u8>,
}

/// Finds and reads the pending commands.
pub(super) async fn find(
    access: MailboxAccess,
    patience: Duration,
) -> Result<FoundCommands, MailboxError> {
    let MailboxAccess { mailbox: inbox, session, epoch, .. } = &access;
    let taken = with_timeout(patience, inbox.pending(session, *epoch, REMOTE_BATCH)).await?;
    let mut letters = Vec::with_capacity(taken.len());
    let mut room = BATCH_BYTES;
    for MailboxCommand { id, bytes } in taken {
        let note = match RemoteCommand::read(&bytes) {
            Ok(note) => note,
            Err(not_read) => {
                tracing::warn!(%session, letter = %id, why = not_read.0, "a letter is not read");
                letters
                    .push((id, CommandRead::Rejected(RemoteCommandFault::Unreadable(not_read.0))));
                continue;
            }
        };
        if let CommandBody::Blob(kept) = &note.body {
            if kept.bytes > room && !letters.is_empty() {
                // Left for the next read.
                break;
            }
            room = room.saturating_sub(kept.bytes);
        }
        letters.push((id, read(&access, note).await));
    }
    Ok(FoundCommands { commands: letters })
}

/// Reads a command, including its blob if it has one.
async fn read(access: &MailboxAccess, note: RemoteCommand) -> CommandRead {
    let unread = |why: String| CommandRead::Rejected(RemoteCommandFault::Unreadable(why));
    let kept = match &note.body {
        CommandBody::Inline(said) => {
            let said = said.clone();
            return CommandRead::Ready(Box::new(note), said);
        }
        CommandBody::Blob(kept) => kept,
    };
    if kept.bytes > access.max_bytes {
        let bytes = usize::try_from(kept.bytes).unwrap_or(usize::MAX);
        return CommandRead::Rejected(RemoteCommandFault::TooLarge(bytes));
    }
    let reading = timeout(TIMEOUT, access.blobs.read(&kept.sha256, kept.bytes));
    let bytes = match reading.await {
        Ok(Ok(bytes)) => bytes,
        Ok(Err(error)) => {
            return match error.kind {
                BlobErrorKind::NotFound | BlobErrorKind::Corrupt | BlobErrorKind::Disabled => {
                    unread(error.to_string())
                }
                BlobErrorKind::Io | BlobErrorKind::Full => CommandRead::Failed(error.to_string()),
            };
        }
        Err(_over) => {
            let why = "what it says is kept beside the log, and could not be read in time";
            return CommandRead::Failed(why.to_owned());
        }
    };
    match serde_json::from_slice(&bytes) {
        Ok(said) => CommandRead::Ready(Box::new(note), said),
        Err(error) => unread(error.to_string()),
    }
}

/// Writes acknowledgements, one after the other.
pub(super) async fn write(
    access: MailboxAccess,
    replies: Vec<EncodedAcknowledgement>,
) -> Result<(), MailboxError> {
    for EncodedAcknowledgement { command: letter, bytes } in replies {
        let MailboxAccess { mailbox: inbox, session, epoch, .. } = &access;
        let giving = inbox.acknowledge(session, *epoch, &letter, &bytes);
        with_timeout(TIMEOUT, giving).await?;
    }
    Ok(())
}

async fn with_timeout<T>(
    patience: Duration,
    asking: impl Future<Output = Result<T, MailboxError>>,
) -> Result<T, MailboxError> {
    match timeout(patience, asking).await {
        Ok(answer) => answer,
        Err(_over) => {
            let context = "the inbox did not answer in time";
            Err(MailboxError::new(MailboxErrorKind::Unavailable, context))
        }
    }
}
