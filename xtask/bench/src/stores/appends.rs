//! Concurrent sessions that append to a store or to a bare loop, each waiting for its
//! acknowledgement.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use async_trait::async_trait;
use clap::Args;
use serde::{Deserialize, Serialize};
use windlass_core::{
    Delivery, Draft, Epoch, Fact, InputQueued, RecordedFact, Scope, Seq, SessionId, Timestamp,
};
use windlass_ports::{LogStore, codec};

use super::{FACT_BYTES, Kind, bare_file, bare_postgres, bare_sled, bare_sqlite};
use crate::kit;
use xtask::say::say;

/// Course of appends that a process runs.
#[derive(Debug, Clone, Args)]
pub(crate) struct Course {
    /// Store to append to.
    #[arg(long, value_enum)]
    pub(crate) kind: Kind,
    /// Run the bare loop instead.
    #[arg(long)]
    pub(crate) bare: bool,
    /// Sessions that append at once.
    #[arg(long)]
    pub(crate) sessions: usize,
    /// Duration in milliseconds.
    #[arg(long)]
    pub(crate) ms: u64,
    /// Empty folder for the store.
    #[arg(long)]
    pub(crate) dir: PathBuf,
    /// Address of the server, for a store that needs one.
    #[arg(long)]
    pub(crate) url: Option<String>,
}

/// Result of a course.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Took {
    appends: u64,
    wall_ns: u64,
}

impl Took {
    /// Returns the appends per second.
    pub(crate) fn rate(&self) -> f64 {
        self.appends as f64 * 1e9 / self.wall_ns.max(1) as f64
    }
}

/// Appends single facts and returns once they are durable.
#[async_trait]
pub(crate) trait Appender: Send + Sync + 'static {
    /// Begins a session and returns the epoch for its appends.
    async fn begin(&self, session: &SessionId) -> anyhow::Result<Epoch>;

    /// Appends one fact to a session.
    async fn append(
        &self,
        session: &SessionId,
        epoch: Epoch,
        after: Seq,
        fact: Arc<RecordedFact>,
    ) -> anyhow::Result<()>;
}

#[async_trait]
impl Appender for Arc<dyn LogStore> {
    async fn begin(&self, session: &SessionId) -> anyhow::Result<Epoch> {
        Ok(self.claim(session).await?.epoch)
    }

    async fn append(
        &self,
        session: &SessionId,
        epoch: Epoch,
        after: Seq,
        fact: Arc<RecordedFact>,
    ) -> anyhow::Result<()> {
        Ok(LogStore::append(self.as_ref(), session, epoch, after, &[fact]).await?)
    }
}

/// Runs in a process of its own.
///
/// # Errors
/// When it fails.
pub(crate) fn spawn(course: &Course) -> anyhow::Result<Took> {
    let mut command = Command::new(std::env::current_exe()?);
    command
        .args(["appends", "--kind", course.kind.name()])
        .args(["--sessions", &course.sessions.to_string()])
        .args(["--ms", &course.ms.to_string()])
        .arg("--dir")
        .arg(&course.dir);
    if course.bare {
        command.arg("--bare");
    }
    if let Some(url) = &course.url {
        command.args(["--url", url]);
    }
    let output = command.stderr(Stdio::inherit()).output().context("starting a contestant")?;
    anyhow::ensure!(output.status.success(), "a contestant failed: {course:?}");
    serde_json::from_slice(&output.stdout).context("a contestant's report does not read")
}

/// Runs a course in this process and prints the cost.
///
/// # Errors
/// At the first thing that goes wrong.
pub(crate) fn run(course: &Course) -> anyhow::Result<()> {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let took = runtime.block_on(async {
        let appender = appender(course).await?;
        go(appender, course).await
    })?;
    say(serde_json::to_string(&took)?);
    Ok(())
}

async fn appender(course: &Course) -> anyhow::Result<Arc<dyn Appender>> {
    let dir = &course.dir;
    Ok(match (course.kind, course.bare) {
        (Kind::File, false) => Arc::new(kit::file(dir)?),
        (Kind::File, true) => Arc::new(bare_file::BareFile::start(dir)?),
        (Kind::Sled, false) => Arc::new(kit::sled(dir)?),
        (Kind::Sled, true) => Arc::new(bare_sled::BareSled::start(dir)?),
        (Kind::Sqlite, false) => Arc::new(kit::sqlite(dir)?),
        (Kind::Sqlite, true) => Arc::new(bare_sqlite::BareSqlite::start(dir)?),
        (Kind::Postgres | Kind::PostgresUnprepared, bare) => {
            let url = course.url.as_ref().context("no server is named")?;
            let schema = format!("bench_{}", std::process::id());
            match bare {
                true => Arc::new(bare_postgres::BarePostgres::start(url, &schema).await?),
                false => {
                    let prepared = match course.kind {
                        Kind::PostgresUnprepared => "no",
                        Kind::File | Kind::Sled | Kind::Sqlite | Kind::Postgres => "yes",
                    };
                    let url = format!("{url}?schema={schema}&prepared={prepared}");
                    Arc::new(kit::postgres(&url).await?)
                }
            }
        }
    })
}

/// Appends to all sessions until time is up.
async fn go(appender: Arc<dyn Appender>, course: &Course) -> anyhow::Result<Took> {
    let mut ready = Vec::new();
    for number in 0..course.sessions {
        let session = SessionId::new(&format!("session-{number:05}"))?;
        let epoch = appender.begin(&session).await?;
        // The first append of a session makes files; it is not what is measured.
        let fact = fact(&session, Seq::ZERO)?;
        appender.append(&session, epoch, Seq::ZERO, fact).await?;
        ready.push((session, epoch));
    }
    let start = Instant::now();
    let end = start + Duration::from_millis(course.ms);
    let tasks: Vec<_> = ready
        .into_iter()
        .map(|(session, epoch)| {
            let appender = appender.clone();
            tokio::spawn(async move {
                let mut after = Seq(1);
                while Instant::now() < end {
                    let fact = fact(&session, after)?;
                    appender.append(&session, epoch, after, fact).await?;
                    after = after.next();
                }
                anyhow::Ok(after.0.saturating_sub(1))
            })
        })
        .collect();
    let mut appends = 0;
    for task in tasks {
        appends += task.await??;
    }
    Ok(Took { appends, wall_ns: u64::try_from(start.elapsed().as_nanos())? })
}

/// Creates the fact behind a position, with a text of at least [`FACT_BYTES`] bytes.
pub(crate) fn fact(session: &SessionId, after: Seq) -> anyhow::Result<Arc<RecordedFact>> {
    let queued = |text: String| {
        let fact = Fact::InputQueued(InputQueued {
            scope: Scope::local("bench").into(),
            text: text.into(),
            delivery: Delivery::Turn,
            context: Vec::new(),
            images: Vec::new(),
            key: None,
            dry_run: false,
            command_key: None,
            result_of: None,
            command: None,
        });
        let draft = Draft { turn: None, ts: Timestamp(1_700_000_000_000), cause: None, fact };
        draft.number(session, after.next())
    };
    // The envelope around an empty text is measured once: numbers grow by a digit now and then.
    static AROUND: std::sync::OnceLock<usize> = std::sync::OnceLock::new();
    let around = match AROUND.get() {
        Some(around) => *around,
        None => {
            let bytes = codec::encode(&queued(String::new()))?.len();
            *AROUND.get_or_init(|| bytes)
        }
    };
    let filling = FACT_BYTES.saturating_sub(around);
    Ok(Arc::new(queued("x".repeat(filling))))
}
