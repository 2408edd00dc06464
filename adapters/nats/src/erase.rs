//! Erasing: first a message that ends the log, then every message before it is taken away and
//! overwritten.

use futures_util::future::try_join_all;
use windlass_core::{Epoch, Seq, SessionId};
use windlass_kit_log::LogEnd;
use windlass_ports::{StoreError, StoreErrorKind};

use crate::header::{MessageHeader, MessageKind};
use crate::server::Server;
use crate::server_error::{ServerError, not_claimed};
use crate::store::{HeldClaim, NatsStore};

/// Most messages that are removed at once.
const AT_ONCE: usize = 32;

/// Most tries of an erasure while others write to the same session.
const ATTEMPTS: u32 = 4;

impl NatsStore {
    /// Erases a session under a claim.
    pub(crate) async fn erase_session(
        &self,
        session: &SessionId,
        epoch: Epoch,
    ) -> Result<(), StoreError> {
        let slot = self.known_slot(session);
        let slot = slot.ok_or_else(|| not_claimed(session, epoch))?;
        let mut held = slot.lock().await;
        let claimed = held.as_mut().filter(|held| held.epoch == epoch);
        let claimed = claimed.ok_or_else(|| not_claimed(session, epoch))?;
        let erased = self.erase_in(session, claimed).await;
        let over = erased
            .as_ref()
            .map_or_else(|error| error.kind == StoreErrorKind::NotClaimed, |()| true);
        if over {
            *held = None;
            drop(held);
            self.forget_slot(session, slot);
        }
        erased
    }

    async fn erase_in(&self, session: &SessionId, held: &mut HeldClaim) -> Result<(), StoreError> {
        let doing = self.about("erasing", session);
        for _ in 0..ATTEMPTS {
            if !held.sure {
                self.look_up(session, held).await?;
            }
            // Letters that are left from now on are for a new session.
            let letters = self.mailbox_end(session).await?;
            let none = LogEnd::empty(session);
            let head = MessageHeader::new(MessageKind::Erase, held.epoch.0, &self.node.name, &none);
            held.sure = false;
            match self.mark(session, &head, held.seq).await {
                Ok(seq) => {
                    held.end = none;
                    held.seq = seq;
                    held.last_append = None;
                    self.wake(session, Seq::ZERO).await;
                    self.sweep(session, seq).await?;
                    self.sweep_mailbox(session, letters).await?;
                    return Ok(());
                }
                Err(ServerError::Moved) => {}
                Err(trouble) => return Err(trouble.in_store(&doing)),
            }
        }
        Err(ServerError::Moved.in_store(&doing))
    }

    /// Takes all of a session away that stands before a message of its stream, and its snapshot.
    pub(crate) async fn sweep(&self, session: &SessionId, before: u64) -> Result<(), StoreError> {
        let names = &self.server.names;
        let (stream, subject) = (self.stream(session), names.log_subject(session));
        let snapshot = names.checkpoint_subject(session, "*");
        self.forget_spot(session);
        let swept = async {
            self.server.sweep(&stream, &subject, before).await?;
            let snapshots = names.checkpoint_stream();
            self.server.sweep(&snapshots, &snapshot, u64::MAX).await
        };
        let swept = swept.await;
        swept.map_err(|trouble| trouble.in_store(&self.about("erasing", session)))
    }

    /// The last message of a session's inbox.
    async fn mailbox_end(&self, session: &SessionId) -> Result<u64, StoreError> {
        let names = &self.server.names;
        let all = names.mailbox_subject("*", Some(session), None);
        let last = self.server.last(&names.mailbox_stream(), &all).await;
        let last = last.map_err(|trouble| trouble.in_store(&self.about("erasing", session)))?;
        Ok(last.map_or(0, |last| last.seq))
    }

    /// Takes all of a session's inbox away up to a message of its stream.
    async fn sweep_mailbox(&self, session: &SessionId, up_to: u64) -> Result<(), StoreError> {
        let names = &self.server.names;
        let all = names.mailbox_subject("*", Some(session), None);
        let before = up_to.saturating_add(1);
        let swept = self.server.sweep(&names.mailbox_stream(), &all, before).await;
        swept.map_err(|trouble| trouble.in_store(&self.about("erasing", session)))
    }

    /// Takes the letters away that an erasure left which ended before it was through: those that
    /// were there when it began, by the servers' clock.
    pub(crate) async fn sweep_remaining_mailboxes(
        &self,
        session: &SessionId,
        erased_ms: u64,
    ) -> Result<(), StoreError> {
        let names = &self.server.names;
        let (stream, all) =
            (names.mailbox_stream(), names.mailbox_subject("*", Some(session), None));
        let (mut up_to, mut from) = (0, 1);
        loop {
            let next = self.server.next(&stream, &all, from).await;
            let next = next.map_err(|trouble| trouble.in_store(&self.about("erasing", session)))?;
            match next.filter(|next| next.at_ms < erased_ms) {
                Some(next) => (up_to, from) = (next.seq, next.seq + 1),
                None if up_to == 0 => return Ok(()),
                None => return self.sweep_mailbox(session, up_to).await,
            }
        }
    }
}

impl Server {
    /// Takes the messages of a subject before one of the stream away, and overwrites them.
    pub(crate) async fn sweep(
        &self,
        name: &str,
        subject: &str,
        before: u64,
    ) -> Result<(), ServerError> {
        loop {
            // The leader says whether there is one left: a replica may lag behind.
            let first = self.next(name, subject, 1).await?;
            let Some(first) = first.filter(|first| first.seq < before) else {
                return Ok(());
            };
            let page = self.page(name, subject, 1, u64::MAX).await?;
            let all = page.iter().map(|message| message.seq).chain([first.seq]);
            let seqs: Vec<u64> = all.filter(|seq| *seq < before).collect();
            for some in seqs.chunks(AT_ONCE) {
                try_join_all(some.iter().map(|seq| self.erase_message(name, *seq))).await?;
            }
        }
    }
}
