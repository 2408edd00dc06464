//! Errors: one mapping of what the server and the connection say, so that every message names the
//! store and the remedy. None has a password: those of the server and of the client never do.

use std::error::Error as _;

use tokio_postgres::error::SqlState;
use windlass_core::{Seq, SessionId};
use windlass_ports::{StoreError, StoreErrorKind};

/// Meaning of an error of the client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ErrorMeaning {
    pub(crate) kind: StoreErrorKind,
    /// True if the same statement may succeed in a moment.
    pub(crate) passing: bool,
    pub(crate) remedy: &'static str,
}

const fn lasting(kind: StoreErrorKind, remedy: &'static str) -> ErrorMeaning {
    ErrorMeaning { kind, passing: false, remedy }
}

const fn passing(remedy: &'static str) -> ErrorMeaning {
    ErrorMeaning { kind: StoreErrorKind::Unavailable, passing: true, remedy }
}

pub(crate) const AWAY: ErrorMeaning =
    passing("see that the server runs and can be reached from here, then ask again");

/// Maps an error, by the server's code if it has one.
pub(crate) fn meaning(error: &tokio_postgres::Error) -> ErrorMeaning {
    let Some(code) = error.code() else {
        return without_code(error);
    };
    let of_class = |class: &str| code.code().starts_with(class);
    if *code == SqlState::INVALID_PASSWORD || of_class("28") {
        return lasting(
            StoreErrorKind::Io,
            "the server does not let this user in: correct the user and the password in the URL, \
             or the server's pg_hba.conf",
        );
    }
    if *code == SqlState::UNDEFINED_DATABASE {
        return lasting(
            StoreErrorKind::Io,
            "there is no such database: create it (createdb NAME), or correct its name in the URL",
        );
    }
    if *code == SqlState::READ_ONLY_SQL_TRANSACTION {
        return lasting(
            StoreErrorKind::ReadOnly,
            "the server takes no writes: it is a standby, or read-only by its settings; name the \
             primary in the URL (several hosts and target_session_attrs=read-write find it)",
        );
    }
    if *code == SqlState::INSUFFICIENT_PRIVILEGE {
        return lasting(
            StoreErrorKind::ReadOnly,
            "this user may not do that: grant it the schema and its tables, or name their owner",
        );
    }
    if *code == SqlState::DISK_FULL {
        return lasting(StoreErrorKind::Full, "free space on the server's disk, then ask again");
    }
    if *code == SqlState::UNDEFINED_TABLE
        || *code == SqlState::UNDEFINED_FUNCTION
        || *code == SqlState::INVALID_SCHEMA_NAME
    {
        return lasting(
            StoreErrorKind::Io,
            "the store's tables are gone or are another version's: restore the schema, then open \
             the store again",
        );
    }
    if *code == SqlState::INVALID_SQL_STATEMENT_NAME || *code == SqlState::DUPLICATE_PSTATEMENT {
        return lasting(
            StoreErrorKind::Io,
            "a pooler stands between that does not keep prepared statements: take prepared=yes out \
             of the URL, or have it keep them (PgBouncer 1.21 or later: max_prepared_statements)",
        );
    }
    if of_class("XX") {
        return lasting(
            StoreErrorKind::Io,
            "the server found its own files damaged or met a bug: look to its log, its disk, and \
             your backups",
        );
    }
    if *code == SqlState::TOO_MANY_CONNECTIONS {
        return passing("the server has no connection left: lower pool, or raise max_connections");
    }
    let busy = [
        SqlState::T_R_DEADLOCK_DETECTED,
        SqlState::T_R_SERIALIZATION_FAILURE,
        SqlState::LOCK_NOT_AVAILABLE,
        SqlState::QUERY_CANCELED,
        SqlState::OUT_OF_MEMORY,
    ];
    if busy.contains(code) {
        return passing("the server is overloaded or gave up on a lock: look to its log");
    }
    if of_class("08") || of_class("57P") || of_class("53") || of_class("58") {
        return AWAY;
    }
    lasting(StoreErrorKind::Io, "look to the server's log")
}

/// Errors of the connection: it ended, could not be made, or what came is not the protocol.
fn without_code(error: &tokio_postgres::Error) -> ErrorMeaning {
    let words = describe(error);
    if words.contains("TLS") {
        return lasting(
            StoreErrorKind::Io,
            "the server's certificate is not trusted, or it has none: name its authority with \
             sslrootcert=FILE, or, on a network that you trust, set sslmode=disable",
        );
    }
    if words.contains("password missing") || words.contains("authentication") {
        return lasting(
            StoreErrorKind::Io,
            "the server wants a password, or another way to authenticate: put it into the URL",
        );
    }
    if words.contains("serializ") {
        return lasting(StoreErrorKind::Io, "this is a bug of the adapter: report it");
    }
    AWAY
}

/// The words of an error: those of its causes too, for the client's own say only what was done.
pub(crate) fn describe(error: &tokio_postgres::Error) -> String {
    if let Some(said) = error.as_db_error() {
        return format!("the server says: {} ({})", said.message(), said.code().code());
    }
    match error.source() {
        Some(cause) => format!("{error}: {cause}"),
        None => error.to_string(),
    }
}

/// An error of the client while `doing` something in `place`.
pub(crate) fn failed(doing: &str, place: &str, error: tokio_postgres::Error) -> StoreError {
    let ErrorMeaning { kind, remedy, .. } = meaning(&error);
    let context = format!("{doing} in {place}: {}; {remedy}", describe(&error));
    StoreError::new(kind, context).caused_by(error)
}

/// A log of a session is not what was written.
pub(crate) fn corrupt(place: &str, session: &SessionId, after: Seq, what: &str) -> StoreError {
    let kind = StoreErrorKind::Corrupt { after, offset: None };
    let context = format!(
        "the log of session {session} in {place} is damaged after position {after}: {what}; \
         restore the database from a backup; positions before the damage can still be exported"
    );
    StoreError::new(kind, context)
}

/// There is no such session.
pub(crate) fn unknown(place: &str, session: &SessionId) -> StoreError {
    let context = format!("there is no session {session} in {place}");
    StoreError::new(StoreErrorKind::Unknown, context)
}

/// The claim is not the latest, or its node's lease is over.
pub(crate) fn not_claimed(place: &str, session: &SessionId, doing: &str) -> StoreError {
    let context = format!(
        "{doing} session {session} in {place}: the claim is not the latest, was given back, or \
         this node's lease is over; claim the session again"
    );
    StoreError::new(StoreErrorKind::NotClaimed, context)
}

/// The same error for another caller of the same group.
pub(crate) fn again(error: &StoreError) -> StoreError {
    StoreError::new(error.kind.clone(), error.context.clone())
}
