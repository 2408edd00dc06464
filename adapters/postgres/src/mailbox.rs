//! The inbox: a letter is a row, and a reply is a row in its place.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use tokio_postgres::Row;
use tokio_postgres::types::Type;
use windlass_core::{Epoch, SessionId};
use windlass_ports::{
    Durability, LogSignal, Mailbox, MailboxCapabilities, MailboxCommand, MailboxCommandId,
    MailboxError, MailboxErrorKind, StoreError,
};

use crate::background::StoreLeaseGuard;
use crate::database::Param;
use crate::mailbox_waiters;

/// The most bytes of a letter, and of a reply.
const MAX_COMMAND_BYTES: usize = 1024 * 1024;
/// The most letters that wait in a session.
const MAX_COMMANDS: i32 = 64;

/// An inbox in PostgreSQL, beside the logs of a [`PostgresStore`](crate::PostgresStore).
#[derive(Clone)]
pub struct PostgresMailbox {
    presence: Arc<StoreLeaseGuard>,
    capabilities: MailboxCapabilities,
}

impl PostgresMailbox {
    pub(crate) fn new(
        presence: &Arc<StoreLeaseGuard>,
        durability: Durability,
        poll_ms: u64,
        replies_ms: u64,
    ) -> Self {
        Self {
            presence: Arc::clone(presence),
            capabilities: MailboxCapabilities {
                durability,
                max_command_bytes: MAX_COMMAND_BYTES,
                max_commands: usize::try_from(MAX_COMMANDS).unwrap_or_default(),
                notify_within_ms: poll_ms.saturating_mul(2),
                retain_acks_ms: replies_ms,
            },
        }
    }

    async fn asked(
        &self,
        doing: &str,
        sql: &str,
        params: &[Param<'_>],
    ) -> Result<Vec<Row>, MailboxError> {
        let rows = self.presence.shared.database.rows(doing, sql, params).await;
        rows.map_err(mailbox_error)
    }

    fn mail(&self) -> &Arc<mailbox_waiters::MailboxWaiters> {
        &self.presence.shared.mailbox_waiters
    }

    async fn look_up(
        &self,
        session: &SessionId,
        letter: &MailboxCommandId,
    ) -> Result<Option<Bytes>, MailboxError> {
        const SQL: &str = "select body from SCHEMA.replies where session = $1 and id = $2";
        let doing = format!("looking for the reply to a letter of session {session}");
        let params = &[(&session.as_str() as _, Type::TEXT), (&letter.as_str() as _, Type::TEXT)];
        let rows = self.asked(&doing, SQL, params).await?;
        Ok(rows.first().map(|row| row.get::<_, Vec<u8>>(0).into()))
    }
}

#[async_trait]
impl Mailbox for PostgresMailbox {
    fn capabilities(&self) -> MailboxCapabilities {
        self.capabilities
    }

    async fn send(&self, session: &SessionId, letter: &MailboxCommand) -> Result<(), MailboxError> {
        const SQL: &str = "select SCHEMA.leave($1, $2, $3, $4)";
        fits(session, &letter.bytes)?;
        let doing = format!("leaving a letter for session {session}");
        let params = &[
            (&session.as_str() as _, Type::TEXT),
            (&letter.id.as_str() as _, Type::TEXT),
            (&&letter.bytes[..] as _, Type::BYTEA),
            (&MAX_COMMANDS as _, Type::INT4),
        ];
        let rows = self.asked(&doing, SQL, params).await?;
        match rows.first().map(|row| row.get::<_, &str>(0)) {
            Some("full") => Err(MailboxError::full(session, self.capabilities.max_commands)),
            // Known, perhaps from a try whose answer was lost: others may not have been told.
            Some(_) => {
                self.mail().notify_arrival(session);
                Ok(())
            }
            None => Err(MailboxError::new(MailboxErrorKind::Io, format!("{doing}: no answer"))),
        }
    }

    async fn pending(
        &self,
        session: &SessionId,
        epoch: Epoch,
        limit: usize,
    ) -> Result<Vec<MailboxCommand>, MailboxError> {
        // One statement sees the claim and the letters as they were at one moment.
        const SQL: &str = "select l.id, l.body from SCHEMA.sessions s left join lateral (\
                select t.id, t.body, t.place from SCHEMA.letters t where t.session = s.id \
                order by t.place limit $3\
            ) l on true \
            where s.id = $1 and s.epoch = $2 and SCHEMA.alive(s.owner) order by l.place";
        let doing = format!("taking the letters of session {session}");
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let params = &[
            (&session.as_str() as _, Type::TEXT),
            (&epoch.0.cast_signed() as _, Type::INT8),
            (&limit as _, Type::INT8),
        ];
        let rows = self.asked(&doing, SQL, params).await?;
        if rows.is_empty() {
            return Err(MailboxError::not_claimed(session, epoch, "taking"));
        }
        let mut letters = Vec::with_capacity(rows.len());
        for row in &rows {
            let Some(id) = row.get::<_, Option<&str>>(0) else {
                continue;
            };
            let id = MailboxCommandId::new(id).map_err(|error| {
                let context = format!("{doing}: {id:?} is {error}; look at what else writes there");
                MailboxError::new(MailboxErrorKind::Io, context)
            })?;
            letters.push(MailboxCommand { id, bytes: row.get::<_, Vec<u8>>(1).into() });
        }
        Ok(letters)
    }

    async fn acknowledge(
        &self,
        session: &SessionId,
        epoch: Epoch,
        letter: &MailboxCommandId,
        reply: &[u8],
    ) -> Result<(), MailboxError> {
        const SQL: &str = "select SCHEMA.reply($1, $2, $3, $4)";
        fits(session, reply)?;
        let doing = format!("replying to a letter of session {session}");
        let params = &[
            (&session.as_str() as _, Type::TEXT),
            (&epoch.0.cast_signed() as _, Type::INT8),
            (&letter.as_str() as _, Type::TEXT),
            (&reply as _, Type::BYTEA),
        ];
        let rows = self.asked(&doing, SQL, params).await?;
        if !rows.first().is_some_and(|row| row.get(0)) {
            return Err(MailboxError::not_claimed(session, epoch, "replying to"));
        }
        self.mail().notify_acknowledged(session, letter);
        Ok(())
    }

    async fn acknowledgement(
        &self,
        session: &SessionId,
        letter: &MailboxCommandId,
        patience: Duration,
    ) -> Result<Option<Bytes>, MailboxError> {
        let mut waits = self.mail().wait(session, letter);
        if let Some(reply) = self.look_up(session, letter).await? {
            return Ok(Some(reply));
        }
        let given = waits.reply.wait_for(Option::is_some);
        match tokio::time::timeout(patience, given).await {
            Ok(Ok(reply)) => Ok(reply.clone()),
            // The sender lives as long as this wait does.
            Ok(Err(_)) | Err(_) => Ok(None),
        }
    }

    fn arrivals(&self) -> LogSignal {
        self.mail().arrivals()
    }

    async fn pending_sessions(
        &self,
        after: Option<&SessionId>,
        limit: usize,
    ) -> Result<Vec<SessionId>, MailboxError> {
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let waiting = mailbox_waiters::waiting(&self.presence.shared.database, after, limit).await;
        waiting.map_err(mailbox_error)
    }
}

fn fits(session: &SessionId, bytes: &[u8]) -> Result<(), MailboxError> {
    if bytes.len() > MAX_COMMAND_BYTES {
        return Err(MailboxError::too_large(session, bytes.len(), MAX_COMMAND_BYTES));
    }
    Ok(())
}

fn mailbox_error(error: StoreError) -> MailboxError {
    error.into_kind()
}
