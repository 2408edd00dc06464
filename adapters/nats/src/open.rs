//! Opening: the connection, and the streams of a place, made where they are missing and held to
//! what a log needs where they are there.

use std::time::Duration;

use async_nats::jetstream::stream::{
    Compression, Config, DiscardPolicy, Info, PersistenceMode, RetentionPolicy, StorageType,
};
use async_nats::{Client, ConnectOptions};
use windlass_ports::{StoreError, StoreErrorKind};

use crate::config::{Login, NatsConfig};
use crate::names::SubjectNames;
use crate::server::{NO_STREAM, Server};
use crate::server_error::ServerError;

/// The oldest server that is taken.
const OLDEST: (u64, u64) = (2, 15);

/// The code of JetStream's error for a stream that is there with another configuration.
const OTHER_CONFIG: u64 = 10_058;

/// The format of the streams, in their metadata.
const FORMAT: (&str, &str) = ("windlass.format", "1");

/// Metadata key for the number of streams that hold the logs of a place.
const SHARDS: &str = "windlass.shards";

/// The shards of a new place, where the configuration leaves it open.
const USUAL_SHARDS: u32 = 4;

/// Time for which the server remembers message ids.
const REMEMBERED: Duration = Duration::from_secs(120);

/// The longest pause between two attempts to connect again.
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// Connects.
///
/// # Errors
/// `Unavailable`; `Invalid` where the server takes neither this user nor these certificates;
/// `Unsupported` for a server that is too old or has no JetStream.
pub(crate) async fn connect(config: &NatsConfig, login: &Login) -> Result<Server, StoreError> {
    let shown = config.shown();
    let failed = |kind, what: &str| StoreError::new(kind, format!("connecting to {shown}: {what}"));
    let invalid = |what: &str| failed(StoreErrorKind::Invalid, what);
    let options = options(config, login).await?;
    let client = options.connect(config.servers.as_slice()).await;
    let client = client.map_err(|error| {
        use async_nats::ConnectErrorKind as Kind;
        match error.kind() {
            Kind::Authentication | Kind::AuthorizationViolation => {
                invalid("the server does not take these credentials; look at the user's rights")
            }
            Kind::ServerParse => invalid("a server's address cannot be read"),
            Kind::Tls => invalid("TLS could not be set up; look at ca, tls:// and the certificate"),
            Kind::Dns | Kind::TimedOut | Kind::Io | Kind::MaxReconnects => failed(
                StoreErrorKind::Unavailable,
                &format!("{}; look at the server and the network", error.kind()),
            ),
        }
    })?;
    let told = client.server_info();
    let unfit = |what: String| failed(StoreErrorKind::Unsupported, &what);
    if version(&told.version).is_none_or(|version| version < OLDEST) {
        return Err(unfit(format!(
            "the server has version {}; use {}.{} or later",
            told.version, OLDEST.0, OLDEST.1
        )));
    }
    Ok(server(client, config))
}

/// The same for servers that are away: it is tried on and on, and what they are is not looked at.
///
/// # Errors
/// `Invalid`.
pub(crate) async fn connect_later(config: &NatsConfig) -> Result<Server, StoreError> {
    let options = options(config, &config.login).await?;
    let client = options.retry_on_initial_connect();
    let client = client.connect(config.servers.as_slice()).await;
    let client = client.map_err(|error| {
        let context = format!("connecting to {}: {}", config.shown(), error.kind());
        StoreError::new(StoreErrorKind::Invalid, context)
    })?;
    Ok(server(client, config))
}

fn server(client: Client, config: &NatsConfig) -> Server {
    Server {
        js: async_nats::jetstream::new(client.clone()),
        client,
        names: SubjectNames::new(&config.place, config.shards.unwrap_or(USUAL_SHARDS)),
        patience: config.timeout(),
    }
}

/// Returns the options of a connection.
///
/// # Errors
/// `Invalid`.
async fn options(config: &NatsConfig, login: &Login) -> Result<ConnectOptions, StoreError> {
    config.check()?;
    let mut options = ConnectOptions::new()
        .name("windlass")
        .connection_timeout(config.connecting())
        .ping_interval(config.ping())
        .request_timeout(Some(config.timeout() / 3))
        .reconnect_delay_callback(|attempt| {
            let doubled = 1_u64 << attempt.min(8);
            Duration::from_millis(20 * doubled).min(LONGEST_PAUSE)
        });
    if let Some(path) = &config.root_certificates {
        options = options.add_root_certificates(path.clone());
    }
    Ok(match login.clone() {
        Login::None => options,
        Login::Password { user, password } => options.user_and_password(user, password),
        Login::Token(token) => options.token(token),
        Login::File(path) => {
            let read = options.credentials_file(&path).await;
            read.map_err(|error| {
                let context = format!(
                    "connecting to {}: the credentials in {} cannot be read: {error}; name a file \
                     that nsc wrote",
                    config.shown(),
                    path.display()
                );
                StoreError::new(StoreErrorKind::Invalid, context)
            })?
        }
    })
}

/// The major and the minor version.
fn version(text: &str) -> Option<(u64, u64)> {
    let mut numbers = text.split('.').map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

/// Makes what is missing of a place, looks at what is there, and answers the streams of the logs and of
/// the letters. Many
/// may do so at once.
///
/// # Errors
/// `Unavailable`; `Invalid` where the place is otherwise than configured; `Newer`; `Full`; `Io`.
pub(crate) async fn place(
    server: &mut Server,
    config: &NatsConfig,
) -> Result<Vec<Info>, StoreError> {
    let shown = config.shown();
    let wrong = |kind, what: String| StoreError::new(kind, format!("opening {shown}: {what}"));
    let first = server.names.log_stream(0);
    let known = info(server, &first).await;
    let known = known.map_err(|trouble| trouble.in_store(&format!("opening {shown}")))?;
    let replicas = match (&known, config.replicas) {
        (Some(known), None) => known.config.num_replicas,
        (_, wanted) => wanted.unwrap_or(1),
    };
    let made = match known {
        Some(known) => known,
        None => {
            let wanted = log_config(&server.names, 0, replicas);
            make(server, wanted, &shown).await?
        }
    };
    if made.config.metadata.get(FORMAT.0).map(String::as_str) != Some(FORMAT.1) {
        return Err(wrong(
            StoreErrorKind::Newer,
            format!(
                "stream {first} has not the format {}: a newer engine or another program made it",
                FORMAT.1
            ),
        ));
    }
    let shards = made.config.metadata.get(SHARDS);
    let shards = shards.and_then(|shards| shards.parse::<u32>().ok());
    let shards = shards.filter(|shards| *shards > 0).ok_or_else(|| {
        let what = format!("stream {first} does not say how many shards there are");
        wrong(StoreErrorKind::Invalid, what)
    })?;
    if config.shards.is_some_and(|wanted| wanted != shards) {
        let what = format!("the place has {shards} shards: say that, or copy it to a new place");
        return Err(wrong(StoreErrorKind::Invalid, what));
    }
    if config.replicas.is_some_and(|wanted| wanted != made.config.num_replicas) {
        let have = made.config.num_replicas;
        let what = format!("its streams have {have} replicas: say that, or change the streams");
        return Err(wrong(StoreErrorKind::Invalid, what));
    }
    server.names.shards = shards;
    let mut logs = vec![made];
    for shard in 1..shards {
        let wanted = log_config(&server.names, shard, replicas);
        logs.push(make(server, wanted, &shown).await?);
    }
    let names = &server.names;
    let leases = Config {
        subjects: names.lease_subjects(),
        max_messages_per_subject: 1,
        ..basic(names.lease_stream(), replicas)
    };
    let snapshots = Config {
        subjects: vec![names.checkpoint_subjects()],
        ..basic(names.checkpoint_stream(), replicas)
    };
    let blobs = Config {
        subjects: vec![names.blob_subjects()],
        discard: DiscardPolicy::New,
        ..basic(names.blob_stream(), replicas)
    };
    let inbox = Config {
        subjects: vec![names.mailbox_subjects()],
        discard: DiscardPolicy::New,
        ..basic(names.mailbox_stream(), replicas)
    };
    // Letters are to last as facts do, so their stream is held to the same.
    logs.push(make(server, inbox, &shown).await?);
    for config in [leases, snapshots, blobs] {
        make(server, config, &shown).await?;
    }
    for info in &logs {
        fits(&info.config).map_err(|what| {
            let what = format!("stream {} {what}", info.config.name);
            wrong(StoreErrorKind::Invalid, what)
        })?;
    }
    Ok(logs)
}

fn basic(name: String, replicas: usize) -> Config {
    Config {
        name,
        retention: RetentionPolicy::Limits,
        storage: StorageType::File,
        num_replicas: replicas,
        max_messages: -1,
        max_bytes: -1,
        max_messages_per_subject: -1,
        max_message_size: -1,
        allow_direct: true,
        allow_rollup: false,
        duplicate_window: REMEMBERED,
        description: Some(String::from("Windlass: see windlass-nats before you change it")),
        metadata: [(FORMAT.0.to_owned(), FORMAT.1.to_owned())].into(),
        ..Config::default()
    }
}

fn log_config(names: &SubjectNames, shard: u32, replicas: usize) -> Config {
    let mut config = Config {
        subjects: vec![names.log_subjects(shard)],
        discard: DiscardPolicy::New,
        compression: Some(Compression::S2),
        ..basic(names.log_stream(shard), replicas)
    };
    let shards = names.shards.to_string();
    config.metadata.insert(SHARDS.to_owned(), shards);
    config
}

/// Checks that a stream can hold logs: none of its messages expires.
fn fits(config: &Config) -> Result<(), &'static str> {
    let holds = [
        (
            config.retention == RetentionPolicy::Limits,
            "does not keep what was read: set its retention to limits",
        ),
        (config.storage == StorageType::File, "is in memory: make it anew with file storage"),
        (
            config.persist_mode != Some(PersistenceMode::Async),
            "answers before it has written: set its persist mode to default",
        ),
        (config.max_age.is_zero(), "forgets messages with time: set its max age to 0"),
        (
            config.max_messages_per_subject <= 0,
            "forgets messages of a subject: set its limit of messages a subject to -1",
        ),
        (
            config.discard == DiscardPolicy::New,
            "forgets old messages when it is full: set its discard policy to new",
        ),
        (config.allow_direct, "cannot be read directly: allow direct gets"),
        (!config.no_ack, "does not acknowledge: allow that"),
        (!config.sealed, "is sealed: copy it to a new place"),
    ];
    match holds.iter().find(|(holds, _)| !holds) {
        Some((_, what)) => Err(what),
        None => Ok(()),
    }
}

/// A stream as it is, if there is one.
pub(crate) async fn info(server: &Server, name: &str) -> Result<Option<Info>, ServerError> {
    let subject = format!("STREAM.INFO.{name}");
    match server.call::<Info>(&subject, &()).await {
        Ok(info) => Ok(Some(info)),
        Err(ServerError::Refused(NO_STREAM, _)) => Ok(None),
        Err(trouble) => Err(trouble),
    }
}

/// A stream, made where it is missing. One that is there stays as it is.
async fn make(server: &Server, config: Config, shown: &str) -> Result<Info, StoreError> {
    let name = config.name.clone();
    let failed =
        |trouble: ServerError| trouble.in_store(&format!("making stream {name} of {shown}"));
    if let Some(info) = info(server, &name).await.map_err(failed)? {
        return Ok(info);
    }
    let subject = format!("STREAM.CREATE.{name}");
    match server.call::<Info>(&subject, &config).await {
        Ok(info) => Ok(info),
        Err(ServerError::Refused(OTHER_CONFIG, text)) => {
            let again = info(server, &name).await.map_err(failed)?;
            again.ok_or_else(|| failed(ServerError::Refused(OTHER_CONFIG, text)))
        }
        Err(trouble) => Err(failed(trouble)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_by_number() {
        assert_eq!(version("2.15.1"), Some((2, 15)));
        assert!(version("2.9.10").unwrap() < OLDEST);
        assert!(version("3.0.0-rc.1").unwrap() > OLDEST);
        assert_eq!(version("two"), None);
    }

    #[test]
    fn a_stream_that_forgets_is_refused() {
        let names = SubjectNames::new("p", 1);
        let good = log_config(&names, 0, 1);
        assert_eq!(fits(&good), Ok(()));
        let bad: [fn(&mut Config); 8] = [
            |config| config.retention = RetentionPolicy::WorkQueue,
            |config| config.storage = StorageType::Memory,
            |config| config.persist_mode = Some(PersistenceMode::Async),
            |config| config.max_age = Duration::from_secs(1),
            |config| config.max_messages_per_subject = 1,
            |config| config.discard = DiscardPolicy::Old,
            |config| config.allow_direct = false,
            |config| config.no_ack = true,
        ];
        for change in bad {
            let mut config = good.clone();
            change(&mut config);
            assert!(fits(&config).is_err(), "{config:?}");
        }
    }
}
