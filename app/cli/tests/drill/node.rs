//! One process of `windlass serve`, with its own way to the store.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Child, ExitStatus, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use crate::common::server::sha256;
use crate::common::{Place, signal};
use crate::effects::Effects;
use crate::http::TOKEN;
use crate::proxy::Proxy;
use crate::store::Store;
use crate::world::PATIENCE;

/// How long a node that is told to end lets its effects run.
pub(crate) const DRAIN_MS: u64 = 1_000;
/// The most sessions that a node drives: two of three nodes have room for all.
const MOST: usize = 40;
/// How often a stream on which nothing happens says that it is there.
const HEARTBEAT_MS: u64 = 250;

/// A process.
pub(crate) struct Node {
    pub(crate) name: String,
    pub(crate) at: SocketAddr,
    pub(crate) proxy: Proxy,
    child: Child,
    /// What it says on standard error.
    said: PathBuf,
}

/// What each node is started with.
pub(crate) struct Start<'a> {
    pub(crate) place: &'a Place,
    pub(crate) store: &'a Store,
    /// Where the model is.
    pub(crate) model: String,
}

impl Start<'_> {
    fn configuration(&self, node: &str) -> String {
        format!(
            "most_sessions = {MOST}\n\n[bounds]\nheartbeat_ms = {HEARTBEAT_MS}\ndrain_ms = {DRAIN_MS}\n\n\
             [[tenant]]\nname = \"local\"\nworkspace = \"work\"\nprovider = \"openai-chat\"\n\
             base_url = \"{}\"\nmodel = \"scripted\"\ntools = \"{node}.tools.json\"\nagents = false\n\
             sandbox = \"off\"\npermissions = \"auto\"\n\n\
             [tenant.quota]\nrequests_per_second = 10000\nburst = 10000\n\n\
             [[token]]\nsha256 = \"{}\"\ntenant = \"local\"\nprincipal = \"ann\"\n\
             rights = [\"read\", \"run\"]\n",
            self.model,
            sha256(TOKEN),
        )
    }

    /// Starts a node, and waits until it listens.
    pub(crate) async fn node(&self, name: &str) -> Node {
        let write = |file: String, text: String| {
            std::fs::write(self.place.file(&file), text).unwrap();
            file
        };
        write(format!("{name}.tools.json"), Effects::tools(name));
        let file = write(format!("{name}.toml"), self.configuration(name));
        let proxy = Proxy::to(self.store.server).await;
        let url = self.store.url(proxy.at, name);
        let words = ["serve", "--listen", "127.0.0.1:0", "--config", &file];
        let mut command = self.place.command(&[&words[..], &["--store", &url]].concat());
        let log = std::env::var("WINDLASS_LOG").unwrap_or_else(|_| "info".to_owned());
        let command = command.env("WINDLASS_LOG", log).stdout(Stdio::null());
        let mut child = command.spawn().unwrap();
        let said = self.place.file(&format!("{name}.said"));
        let mut kept = std::fs::File::create(&said).unwrap();
        let lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let (sent, link) = mpsc::channel();
        std::thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                writeln!(kept, "{line}").unwrap();
                if let Some(link) = line.strip_prefix("http://") {
                    // Nobody listens any more for what only looks like it.
                    let _ = sent.send(link.trim_end_matches('/').to_owned());
                }
            }
        });
        let link = tokio::task::spawn_blocking(move || link.recv_timeout(PATIENCE)).await;
        let Ok(link) = link.unwrap() else {
            let _ = child.kill();
            panic!("{name} does not start: {}", tail(&said));
        };
        Node { name: name.to_owned(), at: link.parse().unwrap(), proxy, child, said }
    }
}

impl Node {
    /// Ends it as `kill -9` does.
    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    pub(crate) fn signal(&self, name: &str) {
        signal(&self.child, name);
    }

    /// Waits until it has ended, and tells how.
    pub(crate) async fn ended(&mut self) -> ExitStatus {
        let until = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            assert!(Instant::now() < until, "{} does not end: {}", self.name, self.told());
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    /// The last of what it said.
    pub(crate) fn told(&self) -> String {
        tail(&self.said)
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("{} said at last:\n{}", self.name, self.told());
        }
        // It may have ended already. One that is paused is killed too.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn tail(path: &std::path::Path) -> String {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(30)..].join("\n")
}
