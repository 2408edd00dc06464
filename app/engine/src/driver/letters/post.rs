//! How letters are reached: taken and read, and replied to.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout;
use windlass_core::SessionId;
use windlass_ports::{
    BlobErrorKind, Inbox, InboxError, InboxErrorKind, KeptReader, Letter, LetterId,
};

use super::{BATCH, BATCH_BYTES, PATIENCE};
use crate::session::SessionCommand;
use crate::session::remote::{Body, Rejection, RemoteCommand};

/// How letters are reached.
#[derive(Clone)]
pub(super) struct Post {
    pub(super) inbox: Arc<dyn Inbox>,
    pub(super) kept: KeptReader,
    pub(super) session: SessionId,
    pub(super) epoch: windlass_core::Epoch,
    /// The most bytes of what is kept beside one letter.
    pub(super) most: u64,
}

/// What a look found.
pub(in crate::driver) struct Looked {
    pub(super) letters: Vec<(LetterId, Read)>,
}

/// A letter that was read.
pub(super) enum Read {
    /// It says this.
    Said(Box<RemoteCommand>, SessionCommand),
    /// It cannot be acted upon.
    Refused(Rejection),
    /// What is kept beside it could not be read this time.
    Failed(String),
}

/// What is replied to a letter.
pub(super) struct Reply {
    pub(super) letter: LetterId,
    pub(super) bytes: Vec<u8>,
}

/// Takes the letters that wait, and reads them.
pub(super) async fn look(post: Post, patience: Duration) -> Result<Looked, InboxError> {
    let Post {
        inbox,
        session,
        epoch,
        ..
    } = &post;
    let taken = in_time(patience, inbox.letters(session, *epoch, BATCH)).await?;
    let mut letters = Vec::with_capacity(taken.len());
    let mut room = BATCH_BYTES;
    for Letter { id, bytes } in taken {
        let note = match RemoteCommand::read(&bytes) {
            Ok(note) => note,
            Err(not_read) => {
                tracing::warn!(%session, letter = %id, why = not_read.0, "a letter is not read");
                letters.push((id, Read::Refused(Rejection::Unread(not_read.0))));
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
        letters.push((id, read(&post, note).await));
    }
    Ok(Looked { letters })
}

/// Reads what a letter says, where it is kept beside the log too.
async fn read(post: &Post, note: RemoteCommand) -> Read {
    let unread = |why: String| Read::Refused(Rejection::Unread(why));
    let kept = match &note.body {
        Body::Here(said) => {
            let said = said.clone();
            return Read::Said(Box::new(note), said);
        }
        Body::Kept(kept) => kept,
    };
    if kept.bytes > post.most {
        let bytes = usize::try_from(kept.bytes).unwrap_or(usize::MAX);
        return Read::Refused(Rejection::TooLarge(bytes));
    }
    let reading = timeout(PATIENCE, post.kept.read(&kept.sha256, kept.bytes));
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

/// Gives replies, one after the other.
pub(super) async fn reply(post: Post, replies: Vec<Reply>) -> Result<(), InboxError> {
    for Reply { letter, bytes } in replies {
        let giving = post.inbox.reply(&post.session, post.epoch, &letter, &bytes);
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
