//! Reading the mailbox: commands are found and read, and replies are written.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout;
use windlass_core::SessionId;
use windlass_core::machine::{Fault, REMOTE_BATCH};
use windlass_ports::{
    BlobErrorKind, Inbox, InboxError, InboxErrorKind, KeptReader, Letter, LetterId,
};

use super::{BATCH_BYTES, PATIENCE};
use crate::session::SessionCommand;
use crate::session::remote::{Body, RemoteCommand};

/// Access to the mailbox of a session.
#[derive(Clone)]
pub(super) struct Access {
    pub(super) inbox: Arc<dyn Inbox>,
    pub(super) kept: KeptReader,
    pub(super) session: SessionId,
    pub(super) epoch: windlass_core::Epoch,
    /// The most bytes of what is kept beside one letter.
    pub(super) most: u64,
}

/// The commands that were found.
pub(in crate::driver) struct Found {
    pub(super) letters: Vec<(LetterId, Read)>,
}

/// A command that was found.
pub(in crate::driver) enum Read {
    /// A command with its content.
    Said(Box<RemoteCommand>, SessionCommand),
    /// It cannot be acted upon.
    Refused(Fault),
    /// Its stored content could not be read this time.
    Failed(String),
}

/// A reply as it is written.
pub(super) struct Written {
    pub(super) letter: LetterId,
    pub(super) bytes: Vec<u8>,
}

/// Finds the commands that wait, and reads them.
pub(super) async fn find(access: Access, patience: Duration) -> Result<Found, InboxError> {
    let Access {
        inbox,
        session,
        epoch,
        ..
    } = &access;
    let taken = in_time(patience, inbox.letters(session, *epoch, REMOTE_BATCH)).await?;
    let mut letters = Vec::with_capacity(taken.len());
    let mut room = BATCH_BYTES;
    for Letter { id, bytes } in taken {
        let note = match RemoteCommand::read(&bytes) {
            Ok(note) => note,
            Err(not_read) => {
                tracing::warn!(%session, letter = %id, why = not_read.0, "a letter is not read");
                letters.push((id, Read::Refused(Fault::Unread(not_read.0))));
                continue;
            }
        };
        if let Body::Kept(kept) = &note.body {
            if kept.bytes > room && !letters.is_empty() {
                // It comes with the next look.
                break;
            }
            room = room.saturating_sub(kept.bytes);
        }
        letters.push((id, read(&access, note).await));
    }
    Ok(Found { letters })
}

/// Reads what a letter says, where it is kept beside the log too.
async fn read(access: &Access, note: RemoteCommand) -> Read {
    let unread = |why: String| Read::Refused(Fault::Unread(why));
    let kept = match &note.body {
        Body::Here(said) => {
            let said = said.clone();
            return Read::Said(Box::new(note), said);
        }
        Body::Kept(kept) => kept,
    };
    if kept.bytes > access.most {
        let bytes = usize::try_from(kept.bytes).unwrap_or(usize::MAX);
        return Read::Refused(Fault::TooLarge(bytes));
    }
    let reading = timeout(PATIENCE, access.kept.read(&kept.sha256, kept.bytes));
    let bytes = match reading.await {
        Ok(Ok(bytes)) => bytes,
        Ok(Err(error)) => {
            return match error.kind {
                BlobErrorKind::NotFound | BlobErrorKind::Corrupt | BlobErrorKind::Off => {
                    unread(error.to_string())
                }
                BlobErrorKind::Io | BlobErrorKind::Full => Read::Failed(error.to_string()),
            };
        }
        Err(_over) => {
            let why = "what it says is kept beside the log, and could not be read in time";
            return Read::Failed(why.to_owned());
        }
    };
    match serde_json::from_slice(&bytes) {
        Ok(said) => Read::Said(Box::new(note), said),
        Err(error) => unread(error.to_string()),
    }
}

/// Writes replies, one after the other.
pub(super) async fn write(access: Access, replies: Vec<Written>) -> Result<(), InboxError> {
    for Written { letter, bytes } in replies {
        let Access {
            inbox,
            session,
            epoch,
            ..
        } = &access;
        let giving = inbox.reply(session, *epoch, &letter, &bytes);
        in_time(PATIENCE, giving).await?;
    }
    Ok(())
}

async fn in_time<T>(
    patience: Duration,
    asking: impl Future<Output = Result<T, InboxError>>,
) -> Result<T, InboxError> {
    match timeout(patience, asking).await {
        Ok(answer) => answer,
        Err(_over) => {
            let context = "the inbox did not answer in time";
            Err(InboxError::new(InboxErrorKind::Unavailable, context))
        }
    }
}
