//! Mailbox: remote commands as they are read, and acknowledgements as they are written.

mod access;

use std::future::{Future, pending};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use windlass_core::Reject;
use windlass_core::machine::{
    self, MachineEvent, RemoteAcknowledgement, RemoteBody, RemoteCommandFault, RemoteCommandId,
    RemoteOutcome, RemoteRefusal,
};
use windlass_ports::{
    BlobReader, MailboxCommandId, MailboxError, MailboxErrorKind, StoreError, StoreErrorKind,
};

use self::access::{
    CommandRead, EncodedAcknowledgement, FoundCommands, MailboxAccess, find, write,
};
use super::{Driver, DriverParts};
use crate::error::{DriverEnd, SendError};
use crate::session::keyed;
use crate::session::remote::{Acknowledgement, Execution, RemoteCommand, RemoteRejection};

/// Bytes of command blobs that are read at a time.
const BATCH_BYTES: u64 = 16 * 1024 * 1024;
/// Time-out of the mailbox; shorter while others wait for the first read.
const TIMEOUT: Duration = Duration::from_secs(10);
const FIRST_TIMEOUT: Duration = Duration::from_secs(2);

type MailboxFuture<T> = Pin<Box<dyn Future<Output = Result<T, MailboxError>> + Send>>;

/// Tasks of a driver at its session's mailbox.
pub(super) struct MailboxTask {
    /// `None` for an engine without a cluster.
    access: Option<MailboxAccess>,
    work: MailboxWork,
}

enum MailboxWork {
    None,
    Reading(MailboxFuture<FoundCommands>),
    Acknowledging(MailboxFuture<()>),
}

/// Result of a task at the mailbox.
pub(super) enum MailboxEvent {
    Read(Result<FoundCommands, MailboxError>),
    Acknowledged(Result<(), MailboxError>),
}

impl MailboxTask {
    pub(super) fn new(parts: &DriverParts) -> Self {
        let session = &parts.slot.id;
        let most = parts.ports.store.capabilities().max_fact_bytes as u64;
        let access = parts.mailbox.as_ref().map(|inbox| MailboxAccess {
            mailbox: inbox.clone(),
            blobs: BlobReader::new(parts.ports.blobs.clone(), session.clone()),
            session: session.clone(),
            epoch: parts.epoch,
            max_bytes: most.saturating_mul(2).min(BATCH_BYTES),
        });
        Self { access, work: MailboxWork::None }
    }

    pub(super) fn read(&mut self, first: bool) {
        let patience = match first {
            true => FIRST_TIMEOUT,
            false => TIMEOUT,
        };
        if let Some(access) = &self.access {
            self.work = MailboxWork::Reading(Box::pin(find(access.clone(), patience)));
        }
    }

    /// Waits for the task that is under way. Never returns when there is none. Cancel safe.
    pub(super) async fn next(&mut self) -> MailboxEvent {
        let post = match &mut self.work {
            MailboxWork::Reading(reading) => MailboxEvent::Read(reading.as_mut().await),
            MailboxWork::Acknowledging(replying) => {
                MailboxEvent::Acknowledged(replying.as_mut().await)
            }
            MailboxWork::None => pending().await,
        };
        self.work = MailboxWork::None;
        post
    }
}

impl Driver {
    pub(super) fn acknowledge_remote(
        &mut self,
        replies: Vec<RemoteAcknowledgement>,
    ) -> Result<(), DriverEnd> {
        let Some(access) = self.mailbox.access.clone() else {
            return Ok(());
        };
        let written = replies.into_iter().map(encode_acknowledgement);
        let written: Vec<EncodedAcknowledgement> = written.collect::<Result<_, _>>()?;
        self.mailbox.work = MailboxWork::Acknowledging(Box::pin(write(access, written)));
        Ok(())
    }

    pub(super) fn on_mailbox(&mut self, post: MailboxEvent) -> Result<(), DriverEnd> {
        match post {
            MailboxEvent::Read(Ok(found)) => self.on_commands(found),
            MailboxEvent::Acknowledged(Ok(())) => self.hand_over(MachineEvent::RemoteAcknowledged),
            MailboxEvent::Read(Err(error)) | MailboxEvent::Acknowledged(Err(error)) => {
                self.on_mailbox_failed(error)
            }
        }
        Ok(())
    }

    fn on_mailbox_failed(&mut self, failed: MailboxError) {
        let superseded = match failed.kind {
            MailboxErrorKind::NotClaimed => true,
            MailboxErrorKind::Unavailable
            | MailboxErrorKind::Io
            | MailboxErrorKind::Full
            | MailboxErrorKind::TooLarge => false,
        };
        if superseded {
            let error = StoreError::new(StoreErrorKind::NotClaimed, failed.context.clone());
            self.failure = Some(DriverEnd::Superseded(error.caused_by(failed)));
        } else {
            tracing::warn!(
                session = %self.machine.session().id, error = %failed,
                "letters are asked for again in a while"
            );
        }
        self.hand_over(MachineEvent::MailboxFailed { superseded });
    }

    /// Hands over the commands that were read one at a time, since each may affect the next.
    fn on_commands(&mut self, found: FoundCommands) {
        let ids = found.commands.iter().map(|(letter, _)| remote_id(letter));
        let ids = ids.collect();
        self.hand_over(MachineEvent::MailboxRead { ids });
        for (letter, read) in found.commands {
            let body = self.remote_body(read);
            let id = remote_id(&letter);
            self.hand_over(MachineEvent::Remote(machine::RemoteCommand { id, body }));
        }
    }

    fn remote_body(&mut self, read: CommandRead) -> RemoteBody {
        match read {
            CommandRead::Ready(note, said) => {
                let RemoteCommand { key, scope, until, .. } = *note;
                let said = keyed(&key, said.input(scope.clone()));
                let (input, fault) = match self.validate(said.clone()) {
                    Ok(input) => (input, None),
                    Err(fault) => (said, Some(fault)),
                };
                RemoteBody::Command { scope, until, input, fault }
            }
            CommandRead::Rejected(fault) => RemoteBody::Invalid(fault),
            CommandRead::Failed(why) => RemoteBody::Unreadable(why),
        }
    }
}

fn remote_id(letter: &MailboxCommandId) -> RemoteCommandId {
    RemoteCommandId(Arc::from(letter.as_str()))
}

/// Serialises an acknowledgement.
fn encode_acknowledgement(
    reply: RemoteAcknowledgement,
) -> Result<EncodedAcknowledgement, DriverEnd> {
    let became = match reply.outcome {
        RemoteOutcome::Accepted { first, last } => Execution::Accepted { first, last },
        RemoteOutcome::Refused(refusal) => Execution::Rejected(rejected(refusal)),
    };
    let defect = |error: &dyn std::fmt::Display| DriverEnd::Defect(format!("a reply: {error}"));
    let letter = MailboxCommandId::new(&reply.id.0).map_err(|error| defect(&error))?;
    let bytes = Acknowledgement::new(became).write();
    let bytes = bytes.map_err(|error| defect(&error))?;
    Ok(EncodedAcknowledgement { command: letter, bytes })
}

fn rejected(refusal: RemoteRefusal) -> RemoteRejection {
    match refusal {
        RemoteRefusal::Rejected(reject) => {
            if let Reject::Defect(defect) = &reject {
                tracing::error!(%defect, "a letter is refused");
            }
            RemoteRejection::Rejected(reject)
        }
        RemoteRefusal::Expired { until } => RemoteRejection::Expired { until },
        RemoteRefusal::Invalid(fault) => fault.into(),
    }
}

impl From<RemoteCommandFault> for SendError {
    fn from(fault: RemoteCommandFault) -> Self {
        match fault {
            RemoteCommandFault::Settings(why) => Self::Settings(why),
            RemoteCommandFault::TooLarge(bytes) => Self::TooLarge(bytes),
            RemoteCommandFault::Unreadable(why) => Self::Unreadable(why),
        }
    }
}
