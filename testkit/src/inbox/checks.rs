//! What the cases share: two nodes at one place, and how an answer is held to what it must be.

use std::time::Duration;

use bytes::Bytes;
use windlass_core::{Epoch, SessionId};
use windlass_ports::{
    LogSignal, MailboxCapabilities, MailboxCommand, MailboxCommandId, MailboxError,
    MailboxErrorKind, StoreError,
};

use super::{Checked, InboxFixture, Opened, Violation};
use crate::store::ensure;

/// Two nodes at one place.
pub(super) struct Two {
    pub(super) one: Opened,
    pub(super) other: Opened,
    pub(super) declared: MailboxCapabilities,
    patience: Duration,
}

impl Two {
    pub(super) async fn open(at: &dyn InboxFixture) -> Result<Self, Violation> {
        Self::of(at, at.open().await, at.open().await)
    }

    pub(super) fn of(at: &dyn InboxFixture, one: Opened, other: Opened) -> Result<Self, Violation> {
        let declared = one.inbox.capabilities();
        ensure!(
            other.inbox.capabilities() == declared,
            "two objects at one place declare {declared:?} and {:?}",
            other.inbox.capabilities()
        );
        let MailboxCapabilities {
            durability,
            max_command_bytes: letter_bytes,
            max_commands: letters,
            notify_within_ms: told_ms,
            retain_acks_ms: replies_ms,
        } = declared;
        ensure!(
            durability <= one.store.capabilities().durability,
            "an inbox that declares {durability:?} lies beside logs that are less durable"
        );
        ensure!(
            letter_bytes >= 4_096 && (1..=1_024).contains(&letters),
            "letters of {letter_bytes} bytes, {letters} a session: it is 4,096 at least, and 1 to 1,024"
        );
        ensure!(
            (1..=60_000).contains(&told_ms) && replies_ms > 0,
            "told within {told_ms} ms, replies kept for {replies_ms}: nobody can rest on that"
        );
        Ok(Self { one, other, declared, patience: at.patience() })
    }

    /// Both nodes, told apart in words.
    pub(super) fn both(&self) -> [(&Opened, &'static str); 2] {
        [(&self.one, "the one node"), (&self.other, "the other node")]
    }

    /// Within what time something is told, with what a slow machine may take.
    pub(super) fn soon(&self) -> Duration {
        Duration::from_millis(self.declared.notify_within_ms) + self.patience
    }
}

pub(super) fn session(text: &str) -> Result<SessionId, Violation> {
    SessionId::new(text).map_err(|error| Violation::new(format!("{text:?}: {error}")))
}

pub(super) fn letter_id(text: &str) -> Result<MailboxCommandId, Violation> {
    MailboxCommandId::new(text).map_err(|error| Violation::new(format!("{text:?}: {error}")))
}

pub(super) fn letter(id: &str, says: impl AsRef<[u8]>) -> Result<MailboxCommand, Violation> {
    Ok(MailboxCommand { id: letter_id(id)?, bytes: Bytes::copy_from_slice(says.as_ref()) })
}

/// Takes the value of what must succeed.
pub(super) fn done<T>(result: Result<T, MailboxError>, what: &str) -> Result<T, Violation> {
    result.map_err(|error| Violation::new(format!("{what} failed with {:?}: {error}", error.kind)))
}

/// Takes the value of what the store must do.
pub(super) fn stored<T>(result: Result<T, StoreError>, what: &str) -> Result<T, Violation> {
    result.map_err(|error| Violation::new(format!("{what} failed with {:?}: {error}", error.kind)))
}

/// Holds a refusal to its kind.
pub(super) fn refused<T>(
    result: Result<T, MailboxError>,
    kind: MailboxErrorKind,
    what: &str,
) -> Checked {
    let Err(error) = result else {
        let words = format!("{what} succeeded and must be refused as {kind:?}");
        return Err(Violation::new(words));
    };
    ensure!(
        error.kind == kind && !error.context.is_empty(),
        "{what} must be refused as {kind:?} with words, and was as {:?}: {error}",
        error.kind
    );
    Ok(())
}

/// Claims a session.
pub(super) async fn claim(node: &Opened, session: &SessionId) -> Result<Epoch, Violation> {
    let claimed = stored(node.store.claim(session).await, "claiming")?;
    Ok(claimed.epoch)
}

/// Gives a session back.
pub(super) async fn release(node: &Opened, session: &SessionId, epoch: Epoch) -> Checked {
    stored(node.store.release(session, epoch).await, "releasing")
}

/// Leaves a letter, which must be taken in.
pub(super) async fn leave(node: &Opened, session: &SessionId, letter: &MailboxCommand) -> Checked {
    let what = format!("leaving letter {} for {session}", letter.id);
    done(node.inbox.send(session, letter).await, &what)
}

/// The ids of the letters that wait.
pub(super) async fn ids(
    node: &Opened,
    session: &SessionId,
    epoch: Epoch,
) -> Result<Vec<String>, Violation> {
    let letters = node.inbox.pending(session, epoch, usize::MAX).await;
    let letters = done(letters, &format!("taking the letters of {session}"))?;
    Ok(letters.iter().map(|letter| letter.id.to_string()).collect())
}

/// Replies to a letter.
pub(super) async fn reply(
    node: &Opened,
    session: &SessionId,
    epoch: Epoch,
    id: &str,
    says: &str,
) -> Checked {
    let given = node.inbox.acknowledge(session, epoch, &letter_id(id)?, says.as_bytes()).await;
    done(given, &format!("replying to letter {id} of {session}"))
}

/// The reply to a letter as it is there now.
pub(super) async fn look(
    node: &Opened,
    session: &SessionId,
    id: &str,
) -> Result<Option<String>, Violation> {
    let looked = node.inbox.acknowledgement(session, &letter_id(id)?, Duration::ZERO).await;
    let reply = done(looked, &format!("looking for the reply to letter {id}"))?;
    Ok(reply.map(|reply| String::from_utf8_lossy(&reply).into_owned()))
}

/// Waits until a session is told.
pub(super) async fn told(
    news: &mut LogSignal,
    session: &SessionId,
    within: Duration,
    when: &str,
) -> Checked {
    let told = tokio::time::timeout(within, async {
        while let Some(told) = news.next().await {
            if told == *session {
                return Ok(());
            }
        }
        Err(Violation::new(format!("the news ended {when}")))
    });
    told.await.unwrap_or_else(|_| {
        Err(Violation::new(format!("{session} was not told within {within:?} {when}")))
    })
}
