//! Mail: remote commands as they are read from the mailbox, and replies as they are written.

mod reading;

use std::future::{Future, pending};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use windlass_core::Reject;
use windlass_core::machine::{
    self, Event, Fault, RemoteBody, RemoteId, RemoteOutcome, RemoteRefusal, Reply,
};
use windlass_ports::{
    InboxError, InboxErrorKind, KeptReader, LetterId, StoreError, StoreErrorKind,
};

use self::reading::{Access, Found, Read, Written, find, write};
use super::{Driver, Parts};
use crate::error::{Ended, SendError};
use crate::session::keyed;
use crate::session::remote::{Acknowledgement, Execution, Rejection, RemoteCommand};

/// Bytes of what is kept beside commands that are read at a time.
const BATCH_BYTES: u64 = 16 * 1024 * 1024;
/// Time-out of the mailbox; shorter while others wait for the first read.
const PATIENCE: Duration = Duration::from_secs(10);
const PATIENCE_FIRST: Duration = Duration::from_secs(2);

type Working<T> = Pin<Box<dyn Future<Output = Result<T, InboxError>> + Send>>;

/// Work at the mailbox of a session.
pub(super) struct Mail {
    /// `None` for an engine that is alone on its store.
    access: Option<Access>,
    work: Work,
}

enum Work {
    None,
    Reading(Working<Found>),
    Replying(Working<()>),
}

/// The outcome of work at the mailbox.
pub(super) enum Post {
    Read(Result<Found, InboxError>),
    Replied(Result<(), InboxError>),
}

impl Mail {
    pub(super) fn new(parts: &Parts) -> Self {
        let session = &parts.slot.id;
        let most = parts.ports.store.capabilities().max_fact_bytes as u64;
        let access = parts.inbox.as_ref().map(|inbox| Access {
            inbox: inbox.clone(),
            kept: KeptReader::new(parts.ports.blobs.clone(), session.clone()),
            session: session.clone(),
            epoch: parts.epoch,
            most: most.saturating_mul(2).min(BATCH_BYTES),
        });
        Self {
            access,
            work: Work::None,
        }
    }

    pub(super) fn read(&mut self, first: bool) {
        let patience = match first {
            true => PATIENCE_FIRST,
            false => PATIENCE,
        };
        if let Some(access) = &self.access {
            self.work = Work::Reading(Box::pin(find(access.clone(), patience)));
        }
    }

    /// Waits for the work that is under way; for ever when there is none. Safe to drop while it
    /// waits.
    pub(super) async fn next(&mut self) -> Post {
        let post = match &mut self.work {
            Work::Reading(reading) => Post::Read(reading.as_mut().await),
            Work::Replying(replying) => Post::Replied(replying.as_mut().await),
            Work::None => pending().await,
        };
        self.work = Work::None;
        post
    }
}

impl Driver {
    pub(super) fn reply(&mut self, replies: Vec<Reply>) -> Result<(), Ended> {
        let Some(access) = self.mail.access.clone() else {
            return Ok(());
        };
        let written = replies.into_iter().map(written);
        let written: Vec<Written> = written.collect::<Result<_, _>>()?;
        self.mail.work = Work::Replying(Box::pin(write(access, written)));
        Ok(())
    }

    pub(super) fn on_post(&mut self, post: Post) -> Result<(), Ended> {
        match post {
            Post::Read(Ok(found)) => self.on_found(found),
            Post::Replied(Ok(())) => self.hand_over(Event::Replied),
            Post::Read(Err(error)) | Post::Replied(Err(error)) => self.on_mail_failed(error),
        }
        Ok(())
    }

    fn on_mail_failed(&mut self, failed: InboxError) {
        let superseded = match failed.kind {
            InboxErrorKind::NotClaimed => true,
            InboxErrorKind::Unavailable
            | InboxErrorKind::Io
            | InboxErrorKind::Full
            | InboxErrorKind::TooLarge => false,
        };
        if superseded {
            let error = StoreError::new(StoreErrorKind::NotClaimed, failed.context.clone());
            self.failure = Some(Ended::Superseded(error.caused_by(failed)));
        } else {
            tracing::warn!(
                session = %self.machine.session().id, error = %failed,
                "letters are asked for again in a while"
            );
        }
        self.hand_over(Event::MailboxFailed { superseded });
    }

    /// Hands over what was read, one command after the other: each may change what the next may be.
    fn on_found(&mut self, found: Found) {
        let ids = found.letters.iter().map(|(letter, _)| remote_id(letter));
        let ids = ids.collect();
        self.hand_over(Event::MailboxRead { ids });
        for (letter, read) in found.letters {
            let body = self.remote_body(read);
            let id = remote_id(&letter);
            self.hand_over(Event::Remote(machine::RemoteCommand { id, body }));
        }
    }

    fn remote_body(&mut self, read: Read) -> RemoteBody {
        match read {
            Read::Said(note, said) => {
                let RemoteCommand {
                    key, scope, until, ..
                } = *note;
                let said = keyed(&key, said.input(scope.clone()));
                let (input, fault) = match self.checked(said.clone()) {
                    Ok(input) => (input, None),
                    Err(fault) => (said, Some(fault)),
                };
                RemoteBody::Command {
                    scope,
                    until,
                    input,
                    fault,
                }
            }
            Read::Refused(fault) => RemoteBody::Invalid(fault),
            Read::Failed(why) => RemoteBody::Unread(why),
        }
    }
}

fn remote_id(letter: &LetterId) -> RemoteId {
    RemoteId(Arc::from(letter.as_str()))
}

/// The text of a reply.
fn written(reply: Reply) -> Result<Written, Ended> {
    let became = match reply.outcome {
        RemoteOutcome::Accepted { first, last } => Execution::Accepted { first, last },
        RemoteOutcome::Refused(refusal) => Execution::Refused(rejected(refusal)),
    };
    let defect = |error: &dyn std::fmt::Display| Ended::Defect(format!("a reply: {error}"));
    let letter = LetterId::new(&reply.id.0).map_err(|error| defect(&error))?;
    let bytes = Acknowledgement::new(became).write();
    let bytes = bytes.map_err(|error| defect(&error))?;
    Ok(Written { letter, bytes })
}

fn rejected(refusal: RemoteRefusal) -> Rejection {
    match refusal {
        RemoteRefusal::Rejected(reject) => {
            if let Reject::Defect(defect) = &reject {
                tracing::error!(%defect, "a letter is refused");
            }
            Rejection::Rejected(reject)
        }
        RemoteRefusal::Late { until } => Rejection::Late { until },
        RemoteRefusal::Invalid(fault) => fault.into(),
    }
}

impl From<Fault> for SendError {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Settings(why) => Self::Settings(why),
            Fault::TooLarge(bytes) => Self::TooLarge(bytes),
            Fault::Unread(why) => Self::Unread(why),
        }
    }
}
