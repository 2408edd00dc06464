//! Configuration of a store: server, schema and time-outs.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use tokio_postgres::config::{Host, SslMode};
use url::form_urlencoded;
use windlass_ports::{Durability, StoreError, StoreErrorKind};

/// The least time that one answer is waited for where nothing is said: also one who has no patience is to
/// be answered once.
const LEAST_ANSWER: Duration = Duration::from_secs(3);
/// The longest name of a schema that PostgreSQL keeps.
const SCHEMA_BYTES: usize = 63;
/// The longest name of a node.
const NODE_BYTES: usize = 128;

/// Settings of a [`PostgresStore`](crate::PostgresStore). Its `Debug` form has no password.
#[derive(Clone)]
pub struct PostgresConfig {
    pub(crate) server: tokio_postgres::Config,
    pub(crate) schema: String,
    pub(crate) pool: usize,
    pub(crate) writers: usize,
    pub(crate) prepared: bool,
    pub(crate) node: Option<String>,
    pub(crate) lease_ms: u64,
    pub(crate) listen: ListenMode,
    pub(crate) poll_ms: u64,
    pub(crate) durability: Durability,
    pub(crate) root_cert: Option<PathBuf>,
    pub(crate) patience: Duration,
    pub(crate) answer: Option<Duration>,
    pub(crate) blob_bytes: u64,
    pub(crate) replies_ms: u64,
    pub(crate) linger_ms: u64,
}

/// Way in which a store learns of appends by other nodes.
#[derive(Clone)]
pub(crate) enum ListenMode {
    /// By a connection to the same address.
    Here,
    /// By a connection to another address, which is the server's own and no pooler's.
    At(Box<tokio_postgres::Config>),
    /// Polls, and does not listen.
    Never,
}

impl PostgresConfig {
    /// Reads `postgres://USER[:PASSWORD]@HOST[:PORT]/DATABASE[?OPTION=VALUE&...]`.
    ///
    /// Options are those of tokio-postgres (`host`, `sslmode`, `connect_timeout`, ...) and, with
    /// their defaults:
    ///
    /// | option | meaning |
    /// |---|---|
    /// | `schema=windlass` | the schema that the tables are in |
    /// | `pool=8` | the most connections, without the one that listens and the one that the lease is renewed by |
    /// | `writers=2` | how many groups of appends are under way at once |
    /// | `prepared=no` | `yes` has appends sent as a prepared statement, which is faster: where no pooler stands between, or one that keeps such statements apart |
    /// | `node=NAME` | the name of this node; a random one when left out |
    /// | `lease_ms=10000` | how long the node's lease lasts without a renewal |
    /// | `listen=here` | `never`, or the URL of the server itself, where `HOST` is a pooler |
    /// | `poll_ms=500` | how often it is asked for what others appended |
    /// | `durability=power` | `process` where the server does not sync |
    /// | `sslrootcert=FILE` | certificates to trust, instead of the system's |
    /// | `patience_ms=15000` | how long a server that is away is waited for |
    /// | `answer_ms` | how long one answer is waited for before it is asked for by another connection; a third of `patience_ms` when left out, and 3 s at least |
    /// | `blob_bytes=67108864` | the most bytes that are kept of a blob |
    /// | `replies_ms=600000` | for how long the inbox keeps a reply at least |
    /// | `linger_ms=15000` | for how long a session counts as heard live after the last one who heard it; the same on all nodes |
    ///
    /// # Errors
    /// `Invalid`, without the URL in its words.
    pub fn parse(url: &str) -> Result<Self, StoreError> {
        let (head, query) = url.split_once('?').unwrap_or((url, ""));
        let mut ours = Vec::new();
        let mut theirs = Vec::new();
        for part in query.split('&').filter(|part| !part.is_empty()) {
            let pair = form_urlencoded::parse(part.as_bytes()).next();
            let (key, value) = pair.unwrap_or_default();
            match &*key {
                "sslmode" if value.starts_with("verify-") => {
                    theirs.push("sslmode=require".to_owned());
                }
                key if OURS.contains(&key) => ours.push((key.to_owned(), value.into_owned())),
                _ => theirs.push(part.to_owned()),
            }
        }
        let mut config = Self::of(server(&format!("{head}?{}", theirs.join("&")), "the URL")?);
        for (key, value) in ours {
            config.set(&key, &value)?;
        }
        if config.lease_ms < 300 || config.pool == 0 || config.writers == 0 {
            return Err(invalid("lease_ms is at least 300, pool and writers at least 1"));
        }
        config.writers = config.writers.min(config.pool);
        Ok(config)
    }

    fn of(server: tokio_postgres::Config) -> Self {
        Self {
            server,
            schema: "windlass".to_owned(),
            pool: 8,
            writers: 2,
            prepared: false,
            node: None,
            lease_ms: 10_000,
            listen: ListenMode::Here,
            poll_ms: 500,
            durability: Durability::Power,
            root_cert: None,
            patience: Duration::from_secs(15),
            answer: None,
            blob_bytes: 64 * 1024 * 1024,
            replies_ms: 600_000,
            linger_ms: 15_000,
        }
    }

    fn set(&mut self, key: &str, value: &str) -> Result<(), StoreError> {
        let wrong = || invalid(&format!("{key} is not what it may be"));
        let number = || value.parse::<u64>().map_err(|_| wrong());
        let count = || value.parse::<usize>().map_err(|_| wrong());
        match key {
            "schema" => {
                let letter = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_';
                let first = value.bytes().next().is_some_and(|b| !b.is_ascii_digit());
                if !first || value.len() > SCHEMA_BYTES || !value.bytes().all(letter) {
                    return Err(invalid(
                        "schema is 1 to 63 characters of a-z 0-9 _, not starting with a digit",
                    ));
                }
                value.clone_into(&mut self.schema);
            }
            "pool" => self.pool = count()?.min(1_000),
            "writers" => self.writers = count()?,
            "prepared" => {
                self.prepared = match value {
                    "yes" => true,
                    "no" => false,
                    _ => return Err(wrong()),
                }
            }
            "node" => {
                if value.is_empty() || value.len() > NODE_BYTES || value.contains('\0') {
                    return Err(wrong());
                }
                self.node = Some(value.to_owned());
            }
            "lease_ms" => self.lease_ms = number()?.min(86_400_000),
            "listen" => {
                self.listen = match value {
                    "here" => ListenMode::Here,
                    "never" => ListenMode::Never,
                    url => ListenMode::At(Box::new(server(url, "listen")?)),
                }
            }
            "poll_ms" => self.poll_ms = number()?.clamp(10, 3_600_000),
            "durability" => {
                self.durability = match value {
                    "power" => Durability::Power,
                    "process" => Durability::Process,
                    _ => return Err(wrong()),
                }
            }
            "sslrootcert" => self.root_cert = Some(PathBuf::from(value)),
            "patience_ms" => self.patience = Duration::from_millis(number()?.min(3_600_000)),
            "answer_ms" => {
                self.answer = Some(Duration::from_millis(number()?.clamp(10, 3_600_000)));
            }
            "blob_bytes" => self.blob_bytes = number()?,
            "replies_ms" => self.replies_ms = number()?.clamp(500, 86_400_000),
            "linger_ms" => self.linger_ms = number()?.clamp(300, 600_000),
            _ => return Err(wrong()),
        }
        Ok(())
    }

    /// Returns the time-out of one answer: it leaves time to ask again over another connection.
    pub(crate) fn answer(&self) -> Duration {
        let usual = (self.patience / 3).max(LEAST_ANSWER);
        self.answer.unwrap_or(usual)
    }

    /// Returns the time-out of a renewal: two fit between this renewal and the next.
    pub(crate) fn renewal(&self) -> Duration {
        Duration::from_millis((self.lease_ms / 6).max(50))
    }

    /// The store in words, for errors: without a password.
    pub(crate) fn location(&self) -> String {
        let hosts = self.server.get_hosts().iter().map(|host| match host {
            Host::Tcp(name) => name.clone(),
            #[cfg(unix)]
            Host::Unix(path) => path.display().to_string(),
        });
        let hosts: Vec<String> = hosts.collect();
        let ports: Vec<String> = self.server.get_ports().iter().map(u16::to_string).collect();
        let ports = match ports.is_empty() {
            true => "5432".to_owned(),
            false => ports.join(","),
        };
        format!(
            "the PostgreSQL store at {} port {ports}, database {}, schema {}",
            hosts.join(","),
            self.server.get_dbname().unwrap_or("of the user's name"),
            self.schema
        )
    }

    pub(crate) fn plain(&self) -> bool {
        self.server.get_ssl_mode() == SslMode::Disable
    }
}

impl fmt::Debug for PostgresConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostgresConfig")
            .field("place", &self.location())
            .field("node", &self.node)
            .field("lease_ms", &self.lease_ms)
            .finish_non_exhaustive()
    }
}

/// Options that are not for tokio-postgres.
const OURS: [&str; 15] = [
    "schema",
    "pool",
    "writers",
    "prepared",
    "node",
    "lease_ms",
    "listen",
    "poll_ms",
    "durability",
    "sslrootcert",
    "patience_ms",
    "answer_ms",
    "blob_bytes",
    "replies_ms",
    "linger_ms",
];

fn server(url: &str, what: &str) -> Result<tokio_postgres::Config, StoreError> {
    let scheme = url.starts_with("postgres://") || url.starts_with("postgresql://");
    // What the parser says may quote a part of the URL, and so of the password.
    let Some(mut config) = url.parse::<tokio_postgres::Config>().ok().filter(|_| scheme) else {
        return Err(invalid(&format!(
            "{what} does not read: write postgres://USER:PASSWORD@HOST:PORT/DATABASE?OPTION=VALUE, \
             and percent-encode what is special in USER and PASSWORD"
        )));
    };
    if config.get_hosts().is_empty() {
        return Err(invalid(&format!("{what} names no host")));
    }
    if config.get_application_name().is_none() {
        config.application_name("windlass");
    }
    if config.get_connect_timeout().is_none() {
        config.connect_timeout(Duration::from_secs(5));
    }
    // The client's own two hours would leave a connection that is gone standing for as long.
    if !url.contains("keepalives_idle=") {
        config.keepalives_idle(Duration::from_secs(15));
    }
    if config.get_keepalives_interval().is_none() {
        config.keepalives_interval(Duration::from_secs(5));
    }
    if config.get_keepalives_retries().is_none() {
        config.keepalives_retries(3);
    }
    if config.get_tcp_user_timeout().is_none() {
        config.tcp_user_timeout(Duration::from_secs(30));
    }
    Ok(config)
}

fn invalid(what: &str) -> StoreError {
    let context = format!("reading the settings of a PostgreSQL store: {what}");
    StoreError::new(StoreErrorKind::Invalid, context)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_read_and_the_rest_is_handed_on() {
        let url = "postgres://u:p%40ss@h:1/db?schema=s_1&connect_timeout=7&lease_ms=900\
                   &listen=postgres%3A%2F%2Fu%40direct%2Fdb&sslmode=verify-full&prepared=yes";
        let config = PostgresConfig::parse(url).unwrap();
        assert!(config.prepared);
        assert_eq!((config.schema.as_str(), config.lease_ms), ("s_1", 900));
        assert_eq!(config.server.get_password(), Some(&b"p@ss"[..]));
        let timeout = config.server.get_connect_timeout();
        assert_eq!(timeout, Some(&Duration::from_secs(7)));
        assert_eq!(config.server.get_ssl_mode(), SslMode::Require);
        assert_eq!(config.server.get_keepalives_idle(), Duration::from_secs(15));
        assert_eq!(config.answer(), Duration::from_secs(5));
        assert!(matches!(config.listen, ListenMode::At(_)));
        let place = "the PostgreSQL store at h port 1, database db, schema s_1";
        assert_eq!(config.location(), place);
    }

    #[test]
    fn no_password_is_in_words() {
        for url in [
            "postgres://u:secret@h/db?nothing=1",
            "postgres://u:secret@h:port/db",
            "postgres://u:se/cret@h/db?x",
            "mysql://u:secret@h/db",
            "postgres://u:secret@h/db?schema=A",
            "postgres://u:secret@h/db?prepared=secret",
            "postgres://u:secret@h/db?listen=postgres://x:secret@:::",
        ] {
            let error = PostgresConfig::parse(url).unwrap_err();
            assert_eq!(error.kind, StoreErrorKind::Invalid, "{url}");
            let words = format!("{error} {error:?}");
            assert!(!words.contains("cret"), "{words}");
        }
        let config = PostgresConfig::parse("postgres://u:secret@h/db").unwrap();
        assert!(!format!("{config:?} {}", config.location()).contains("cret"));
    }
}
