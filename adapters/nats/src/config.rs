//! The configuration: which server, which place on it, how it is spread and what is known of it.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use url::Url;
use windlass_ports::{Durability, StoreError, StoreErrorKind};

use crate::names::is_place;

/// The most streams that logs are spread over.
pub const MOST_SHARDS: u32 = 64;

/// Address of a place on NATS servers, with its options. [`parse`](Self::parse) reads it from a
/// URL.
#[derive(Debug, Clone)]
pub struct NatsConfig {
    /// Servers as `nats://host:port` or `tls://host:port`, without credentials; at least one.
    pub servers: Vec<String>,
    /// Credentials of the connection.
    pub login: Login,
    /// Root certificates in PEM to trust beside those of the system.
    pub root_certificates: Option<PathBuf>,
    /// The place: what keeps several stores on one server apart. 1 to 32 characters of
    /// A-Z a-z 0-9 _ -.
    pub place: String,
    /// Over how many streams the logs are spread, up to [`MOST_SHARDS`], when the place is made. A
    /// place that is there keeps what it has; another number than that is then refused. `None`: as
    /// the place has it, 4 for a new one.
    pub shards: Option<u32>,
    /// Number of servers that hold each stream, 1 to 5, for a new place. `None`: the place's own
    /// number, 1 for a new one.
    pub replicas: Option<usize>,
    /// Durability of an acknowledged append, as the operator of the servers states it. `None`: the
    /// durability that can be observed, else `Process`.
    pub durability: Option<Durability>,
    /// URL with credentials of the system account, used to check that the servers sync before they
    /// answer. Only the credentials are used.
    pub system: Option<Login>,
    /// Remains that erasing may leave where more than one server holds a stream.
    pub erasing: ErasurePolicy,
    /// The name of this node: of those that are connected at the same time, no two may have the same.
    /// 1 to 64 characters of A-Z a-z 0-9 _ -. `None`: a new name for each store object.
    pub node: Option<String>,
    /// Time for which the claims of a node outlive it, in milliseconds: 1,000 to 600,000.
    pub lease_ms: u64,
    /// Longest time that a claim waits for another node to release a session, in milliseconds.
    pub claim_wait_ms: u64,
    /// Time-out of an operation on the server, including retries, in milliseconds.
    pub timeout_ms: u64,
    /// For how long the inbox keeps a reply at least, in milliseconds: 500 to 86,400,000.
    pub replies_ms: u64,
    /// For how long a session counts as heard live after the last one who heard it went, in
    /// milliseconds: 300 to 600,000. The same on all nodes.
    pub linger_ms: u64,
}

/// Remains that erasing may leave where more than one server holds a stream: the servers agree on
/// messages in a log of their own, which holds erased messages until the server truncates it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ErasurePolicy {
    /// Nothing: with more than one replica, the store does not declare that it erases.
    #[default]
    Strict,
    /// Tolerates messages in the servers' own log until it is truncated.
    Late,
}

/// Credentials of the connection. They are never shown.
#[derive(Clone, Default)]
pub enum Login {
    /// Connects without credentials.
    #[default]
    None,
    /// A user with a password.
    Password {
        /// Name of the user.
        user: String,
        /// Password of the user.
        password: String,
    },
    /// Authenticates with a token.
    Token(String),
    /// A file with a JWT and its key, as `nsc` writes it.
    File(PathBuf),
}

impl fmt::Debug for Login {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "None",
            Self::Password { .. } => "Password(..)",
            Self::Token(_) => "Token(..)",
            Self::File(_) => "File(..)",
        })
    }
}

impl NatsConfig {
    /// A place on one server, with what is usual.
    #[must_use]
    pub fn new(server: impl Into<String>, place: impl Into<String>) -> Self {
        Self {
            servers: vec![server.into()],
            login: Login::None,
            root_certificates: None,
            place: place.into(),
            shards: None,
            replicas: None,
            durability: None,
            system: None,
            erasing: ErasurePolicy::Strict,
            node: None,
            lease_ms: 10_000,
            claim_wait_ms: 500,
            timeout_ms: 10_000,
            replies_ms: 600_000,
            linger_ms: 15_000,
        }
    }

    /// Reads `nats://[USER:PASSWORD@|TOKEN@]HOST[:PORT]/PLACE?NAME=VALUE&..`, or the same with `tls`.
    ///
    /// The names: `server` (a further `HOST:PORT` of the same cluster, may be repeated), `creds` and
    /// `ca` (files), `shards`, `replicas`, `durability` (`process` or `power`), `system`
    /// (`USER:PASSWORD`, percent-encoded), `erase` (`strict` or `late`), `node`, `lease_ms`, `claim_wait_ms`,
    /// `timeout_ms`, `replies_ms`, `linger_ms`.
    ///
    /// # Errors
    /// `Invalid`, without anything of the credentials.
    pub fn parse(text: &str) -> Result<Self, StoreError> {
        let url = Url::parse(text).map_err(|error| invalid(&format!("it is no URL: {error}")))?;
        let scheme = match url.scheme() {
            "nats" => "nats",
            "tls" => "tls",
            _ => return Err(invalid("it begins with neither nats:// nor tls://")),
        };
        let host = url.host_str().filter(|host| !host.is_empty());
        let host = host.ok_or_else(|| invalid("it names no host"))?;
        let port = url.port().unwrap_or(4222);
        let place = match url.path().trim_matches('/') {
            "" => "windlass",
            place => place,
        };
        let mut config = Self::new(format!("{scheme}://{host}:{port}"), place);
        config.login = login(url.username(), url.password())?;
        for (name, value) in url.query_pairs() {
            config.set(scheme, &name, &value)?;
        }
        config.check()?;
        Ok(config)
    }

    fn set(&mut self, scheme: &str, name: &str, value: &str) -> Result<(), StoreError> {
        match name {
            "server" => self.servers.push(format!("{scheme}://{value}")),
            "creds" => self.login = Login::File(value.into()),
            "ca" => self.root_certificates = Some(value.into()),
            "shards" => self.shards = Some(number(name, value)?),
            "replicas" => self.replicas = Some(number(name, value)?),
            "durability" => {
                self.durability = Some(match value {
                    "process" => Durability::Process,
                    "power" => Durability::Power,
                    _ => return Err(invalid("durability is process or power")),
                });
            }
            "system" => {
                let (user, password) =
                    value.split_once(':').ok_or_else(|| invalid("system is USER:PASSWORD"))?;
                self.system =
                    Some(Login::Password { user: user.to_owned(), password: password.to_owned() });
            }
            "erase" => {
                self.erasing = match value {
                    "strict" => ErasurePolicy::Strict,
                    "late" => ErasurePolicy::Late,
                    _ => return Err(invalid("erase is strict or late")),
                };
            }
            "node" => self.node = Some(value.to_owned()),
            "lease_ms" => self.lease_ms = number(name, value)?,
            "claim_wait_ms" => self.claim_wait_ms = number(name, value)?,
            "timeout_ms" => self.timeout_ms = number(name, value)?,
            "replies_ms" => self.replies_ms = number(name, value)?,
            "linger_ms" => self.linger_ms = number(name, value)?,
            _ => return Err(invalid(&format!("{name:?} is no setting of a NATS store"))),
        }
        Ok(())
    }

    /// Holds the numbers and names to their bounds.
    ///
    /// # Errors
    /// `Invalid`.
    pub(crate) fn check(&self) -> Result<(), StoreError> {
        let all = [
            (!self.servers.is_empty(), "it names no server"),
            (is_place(&self.place), "the place must be 1 to 32 characters of A-Z a-z 0-9 _ -"),
            (
                self.shards.is_none_or(|shards| (1..=MOST_SHARDS).contains(&shards)),
                "shards is 1 to 64",
            ),
            (
                self.replicas.is_none_or(|replicas| (1..=5).contains(&replicas)),
                "replicas is 1 to 5",
            ),
            (self.durability != Some(Durability::Memory), "durability is process or power"),
            (
                self.node.as_deref().is_none_or(is_node),
                "node must be 1 to 64 characters of A-Z a-z 0-9 _ -",
            ),
            ((1_000..=600_000).contains(&self.lease_ms), "lease_ms is 1000 to 600000"),
            (self.claim_wait_ms <= 60_000, "claim_wait_ms is at most 60000"),
            ((100..=600_000).contains(&self.timeout_ms), "timeout_ms is 100 to 600000"),
            ((500..=86_400_000).contains(&self.replies_ms), "replies_ms is 500 to 86400000"),
            ((300..=600_000).contains(&self.linger_ms), "linger_ms is 300 to 600000"),
        ];
        match all.iter().find(|(holds, _)| !holds) {
            Some((_, what)) => Err(invalid(what)),
            None => Ok(()),
        }
    }

    pub(crate) fn timeout(&self) -> Duration {
        Duration::from_millis(self.timeout_ms)
    }

    /// Returns the interval of pings to an idle server. A server that misses two of them is
    /// replaced before the node's lease is over.
    pub(crate) fn ping(&self) -> Duration {
        Duration::from_millis((self.lease_ms / 5).clamp(1_000, 10_000))
    }

    /// Returns the time-out of a new connection, after which another server is tried.
    pub(crate) fn connecting(&self) -> Duration {
        let of_lease = Duration::from_millis((self.lease_ms / 4).max(2_000));
        (self.timeout() / 2).min(of_lease)
    }

    /// The server and the place, for what is said of an error.
    pub(crate) fn shown(&self) -> String {
        let server = self.servers.first().map_or("nats://", String::as_str);
        format!("{server}/{}", self.place)
    }
}

fn is_node(text: &str) -> bool {
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-');
    (1..=64).contains(&text.len()) && text.bytes().all(plain)
}

fn login(user: &str, password: Option<&str>) -> Result<Login, StoreError> {
    let plain = |text: &str| {
        // A form has spaces as plus signs, and an address has not.
        let pair = format!("={}", text.replace('+', "%2B"));
        let (_, text) = url::form_urlencoded::parse(pair.as_bytes()).next()?;
        Some(text.into_owned())
    };
    let unreadable = || invalid("its credentials cannot be read");
    Ok(match (user, password) {
        ("", _) => Login::None,
        (token, None) => Login::Token(plain(token).ok_or_else(unreadable)?),
        (user, Some(password)) => Login::Password {
            user: plain(user).ok_or_else(unreadable)?,
            password: plain(password).ok_or_else(unreadable)?,
        },
    })
}

fn number<N: std::str::FromStr>(name: &str, value: &str) -> Result<N, StoreError> {
    let number = value.parse();
    number.map_err(|_| invalid(&format!("{name} is a number that is not too large")))
}

fn invalid(what: &str) -> StoreError {
    let context = format!(
        "reading the URL of a NATS store: {what}; it is like \
         nats://HOST:4222/PLACE?shards=4&replicas=3"
    );
    StoreError::new(StoreErrorKind::Invalid, context)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_says_all_of_it() {
        let config = NatsConfig::parse(
            "tls://me:s%40c+ret@a.example:4333/prod?server=b.example:4222&shards=8&replicas=3\
             &durability=power&erase=late&node=n1&lease_ms=5000&ca=ca.pem&system=sys%3Apw",
        )
        .unwrap();
        assert_eq!(config.servers, ["tls://a.example:4333", "tls://b.example:4222"]);
        assert!(matches!(
            &config.login,
            Login::Password { user, password } if user == "me" && password == "s@c+ret"
        ));
        assert!(matches!(
            &config.system,
            Some(Login::Password { user, password }) if user == "sys" && password == "pw"
        ));
        assert_eq!((config.shards, config.replicas), (Some(8), Some(3)));
        assert_eq!(config.durability, Some(Durability::Power));
        assert_eq!((config.node.as_deref(), config.lease_ms), (Some("n1"), 5_000));
        assert_eq!(config.erasing, ErasurePolicy::Late);
        let shown = format!("{config:?} {}", config.shown());
        assert!(!shown.contains("c+ret") && !shown.contains("\"sys\""), "{shown}");
    }

    #[test]
    fn what_is_left_out_is_usual() {
        let config = NatsConfig::parse("nats://localhost").unwrap();
        assert_eq!(config.servers, ["nats://localhost:4222"]);
        assert_eq!(config.place, "windlass");
        assert_eq!(config.durability, None);
    }

    #[test]
    fn what_cannot_be_is_refused_without_its_secrets() {
        for text in [
            "",
            "http://h",
            "nats://",
            "nats://u:secret@h/a.b",
            "nats://u:secret@h/p?shards=0",
            "nats://u:secret@h/p?shards=65",
            "nats://u:secret@h/p?replicas=9",
            "nats://u:secret@h/p?durability=memory",
            "nats://u:secret@h/p?node=a.b",
            "nats://u:secret@h/p?erase=yes",
            "nats://u:secret@h/p?lease_ms=1",
            "nats://u:secret@h/p?timeout_ms=x",
            "nats://u:secret@h/p?replies_ms=1",
            "nats://u:secret@h/p?linger_ms=1",
            "nats://u:secret@h/p?sharts=1",
            "nats://u:secret@h/p?system=secret",
        ] {
            let error = NatsConfig::parse(text).unwrap_err();
            assert_eq!(error.kind, StoreErrorKind::Invalid, "{text}");
            assert!(!error.context.contains("secret"), "{error}");
        }
    }
}
