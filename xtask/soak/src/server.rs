//! The server under test, and commands on its store.

use std::fs::{File, OpenOptions};
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::Arc;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tempfile::TempDir;
use windlass_server::TokenHash;
use windlass_testkit::faults::RandomFaults;

use crate::http::TOKEN;
use crate::program;
use crate::tally::Tally;
use crate::tools;

/// Longest time of a start, and of an end in good order on a busy machine.
const WAIT: Duration = Duration::from_secs(60);
/// Lines of its output that a report shows.
const TAIL: usize = 20;
/// Wait between two looks at a process.
const LOOK: Duration = Duration::from_millis(20);

/// Store of the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Store {
    File,
    Sled,
    Sqlite,
}

/// Folder of a soak.
pub(crate) struct Site {
    dir: TempDir,
    pub(crate) store: Store,
    model: String,
}

/// A server process. It is killed when this is dropped.
pub(crate) struct Served {
    child: Child,
    pub(crate) at: SocketAddr,
    log: PathBuf,
}

impl Store {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::File => "file",
            Self::Sled => "sled",
            Self::Sqlite => "sqlite",
        }
    }

    /// Returns true if sessions can be erased.
    pub(crate) fn erases(self) -> bool {
        match self {
            Self::File | Self::Sqlite => true,
            Self::Sled => false,
        }
    }

    /// Returns true if it has maintenance that a command runs.
    pub(crate) fn has_maintenance(self) -> bool {
        match self {
            Self::File => true,
            Self::Sled | Self::Sqlite => false,
        }
    }
}

impl Site {
    pub(crate) fn new(store: Store, model: String) -> anyhow::Result<Self> {
        let site = Self { dir: TempDir::with_prefix("windlass-soak-")?, store, model };
        for folder in tools::FOLDERS {
            std::fs::create_dir_all(site.work().join(folder))?;
        }
        std::fs::write(site.file("tools.json"), tools::definitions())?;
        std::fs::write(site.file("server.toml"), site.configuration())?;
        Ok(site)
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Workspace of the server.
    pub(crate) fn work(&self) -> PathBuf {
        self.file("work")
    }

    /// Folder of the store.
    pub(crate) fn stored(&self) -> PathBuf {
        self.file("store")
    }

    /// Leaves the folder where it is, and returns its path.
    pub(crate) fn keep(self) -> PathBuf {
        self.dir.keep()
    }

    fn configuration(&self) -> String {
        format!(
            "[bounds]\nheartbeat_ms = 1000\ndrain_ms = 5000\n\n\
             [[tenant]]\nname = \"local\"\nworkspace = \"work\"\nprovider = \"openai-chat\"\n\
             base_url = \"{}\"\nmodel = \"scripted\"\ntools = \"tools.json\"\nagents = false\n\
             sandbox = \"off\"\npermissions = \"auto\"\n\
             timeouts = {{ connect = \"5s\", header = \"3s\", first_event = \"3s\", idle = \"3s\", \
             sample = \"30s\", retry_after = \"5s\" }}\n\n\
             [tenant.quota]\nrequests_per_second = 10000\nburst = 10000\nsessions = 1000000\n\n\
             [[token]]\nsha256 = \"{}\"\ntenant = \"local\"\nprincipal = \"ann\"\n\
             rights = [\"read\", \"run\", \"approve\"]\n",
            self.model,
            TokenHash::of(TOKEN),
        )
    }

    /// The command on the store, in an environment without anything of the user.
    fn command(&self, words: &[&str]) -> anyhow::Result<Command> {
        let mut command = Command::new(std::env::current_exe()?);
        command
            .args(words)
            .args(["--store", &format!("{}:{}", self.store.name(), self.stored().display())])
            .current_dir(self.dir.path())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.file("home"))
            .env("WINDLASS_HOME", self.file("home"))
            .env("WINDLASS_LOG", "warn")
            .env(program::SERVED, "")
            .stdin(Stdio::null());
        Ok(command)
    }

    /// Runs a command on the store to its end.
    pub(crate) async fn run(&self, words: &[&str]) -> anyhow::Result<Output> {
        let mut command = self.command(words)?;
        let done = tokio::task::spawn_blocking(move || command.output()).await??;
        Ok(done)
    }

    /// Starts the server with faults of its store, and waits until it listens.
    pub(crate) async fn serve(
        &self,
        faults: RandomFaults,
        tally: &Arc<Tally>,
    ) -> anyhow::Result<Served> {
        let file = self.file("server.toml");
        let config = file.to_string_lossy();
        let mut command =
            self.command(&["serve", "--listen", "127.0.0.1:0", "--config", &config])?;
        command.env(program::FAULTS, faults.to_string());
        command.stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().context("the server cannot be started")?;
        let log = self.file("server.log");
        let mut kept = OpenOptions::new().create(true).append(true).open(&log)?;
        let lines = BufReader::new(child.stderr.take().context("no output")?).lines();
        let (sent, address) = mpsc::channel();
        let tally = tally.clone();
        std::thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                note(&line, &mut kept, &tally);
                if let Some(at) = line.strip_prefix("http://") {
                    // Nobody listens any more for what only looks like an address.
                    let _ = sent.send(at.trim_end_matches('/').to_owned());
                }
            }
        });
        let at = tokio::task::spawn_blocking(move || address.recv_timeout(WAIT)).await?;
        let mut served = Served { child, at: ([127, 0, 0, 1], 0).into(), log };
        let at = at.with_context(|| format!("the server does not start: {}", served.said()))?;
        served.at = at.parse().with_context(|| format!("no address: {at}"))?;
        Ok(served)
    }
}

/// Keeps a line of the server, and counts what it says of faults and defects.
fn note(line: &str, kept: &mut File, tally: &Tally) {
    if line.contains("a test has planned") {
        tally.fault("store: reported");
    }
    if line.contains("a defect") {
        tally.wrong(format!("the server says: {line}"));
    }
    // The line is lost if the disk is full.
    let _ = writeln!(kept, "{line}");
}

impl Served {
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Returns the status of a process that has ended.
    pub(crate) fn ended(&mut self) -> anyhow::Result<Option<ExitStatus>> {
        Ok(self.child.try_wait()?)
    }

    /// Ends it as `kill -9` does.
    pub(crate) fn kill(&mut self) -> anyhow::Result<()> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }

    /// Asks it to end, and waits until it has.
    pub(crate) async fn stop(&mut self) -> anyhow::Result<()> {
        kill(Pid::from_raw(i32::try_from(self.pid())?), Signal::SIGTERM)?;
        let until = Instant::now() + WAIT;
        loop {
            if let Some(status) = self.ended()? {
                ensure!(status.success(), "the server ended with {status}: {}", self.said());
                return Ok(());
            }
            ensure!(Instant::now() < until, "the server does not end: {}", self.said());
            tokio::time::sleep(LOOK).await;
        }
    }

    /// The last of what it said.
    pub(crate) fn said(&self) -> String {
        let text = std::fs::read_to_string(&self.log).unwrap_or_default();
        let lines: Vec<&str> = text.lines().rev().take(TAIL).collect();
        lines.into_iter().rev().collect::<Vec<_>>().join("\n")
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
