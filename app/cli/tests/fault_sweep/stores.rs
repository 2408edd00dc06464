//! Stores that are swept, and servers of those that need one.

use std::sync::atomic::{AtomicU64, Ordering};

use windlass_testkit::nats::NatsServer;
use windlass_testkit::postgres::PostgresServer;

/// Number of the next place on a server.
static PLACES: AtomicU64 = AtomicU64::new(0);

/// A kind of store.
pub(crate) enum Kept {
    File,
    Sled,
    Sqlite,
    /// On the server with this URL.
    Postgres(String),
    Nats(String),
}

impl Kept {
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::File => "file",
            Self::Sled => "sled",
            Self::Sqlite => "sqlite",
            Self::Postgres(_) => "postgres",
            Self::Nats(_) => "nats",
        }
    }

    /// Its place in a sample, which differs from store to store. Those in files differ by their remainder of
    /// 3 too.
    pub(crate) fn number(&self) -> usize {
        match self {
            Self::File => 0,
            Self::Sled => 1,
            Self::Postgres(_) => 2,
            Self::Nats(_) => 3,
            Self::Sqlite => 5,
        }
    }

    /// The URL of a store of its own for one life. Stores in files are below its workspace.
    pub(crate) fn fresh(&self) -> String {
        let number = PLACES.fetch_add(1, Ordering::SeqCst);
        let place = format!("faults_{}_{number}", std::process::id());
        match self {
            Self::File => "file:kept".to_owned(),
            Self::Sled => "sled:kept".to_owned(),
            Self::Sqlite => "sqlite:kept".to_owned(),
            Self::Postgres(url) => format!("{url}?schema={place}&lease_ms=2000"),
            Self::Nats(url) => format!("{}/{place}?lease_ms=2000", url.trim_end_matches('/')),
        }
    }
}

/// A server for tests: the one that is named, or one of its own. `None` is said by name.
pub(crate) fn postgres() -> Option<(Kept, Option<PostgresServer>)> {
    if let Ok(url) = std::env::var(windlass_testkit::postgres::URL) {
        return Some((Kept::Postgres(url), None));
    }
    match PostgresServer::start() {
        Ok(server) => Some((Kept::Postgres(server.url()), Some(server))),
        Err(error) => {
            eprintln!("postgres: SKIPPED, {} ({error})", windlass_testkit::postgres::MISSING);
            None
        }
    }
}

pub(crate) fn nats() -> Option<(Kept, Option<NatsServer>)> {
    if let Ok(url) = std::env::var(windlass_testkit::nats::URL) {
        return Some((Kept::Nats(url), None));
    }
    match NatsServer::start() {
        Ok(server) => Some((Kept::Nats(server.url()), Some(server))),
        Err(error) => {
            eprintln!("nats: SKIPPED, {} ({error})", windlass_testkit::nats::MISSING);
            None
        }
    }
}
