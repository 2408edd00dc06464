//! State that clients, watchers and faults share: where the server is, and when all is over.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, bail};
use serde_json::Value;
use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout};
use windlass_ports::sync::Mutex;

use crate::http::{Answer, Ask};
use crate::random::Random;
use crate::tally::Tally;

/// Longest time in which a request is answered, with all restarts of the server.
pub(crate) const PATIENCE: Duration = Duration::from_secs(180);
/// Longest time between two attempts of a request.
const AGAIN: Duration = Duration::from_secs(1);

/// What is shared.
pub(crate) struct World {
    pub(crate) seed: u64,
    pub(crate) tally: Arc<Tally>,
    /// Workspace of the server.
    pub(crate) work: PathBuf,
    /// Longest time that a person thinks.
    pub(crate) think: Duration,
    server: watch::Sender<Option<SocketAddr>>,
    over: watch::Sender<bool>,
    /// Sessions that nobody uses any more, the oldest first.
    old: Mutex<VecDeque<String>>,
}

impl World {
    pub(crate) fn new(seed: u64, tally: Arc<Tally>, work: PathBuf, think: Duration) -> Self {
        Self {
            seed,
            tally,
            work,
            think,
            server: watch::Sender::new(None),
            over: watch::Sender::new(false),
            old: Mutex::default(),
        }
    }

    /// Tells clients where the server is, or that it is away.
    pub(crate) fn publish(&self, at: Option<SocketAddr>) {
        self.server.send_replace(at);
    }

    /// Waits until there is a server.
    ///
    /// # Errors
    /// When there is none for too long.
    pub(crate) async fn server(&self) -> anyhow::Result<SocketAddr> {
        let mut seen = self.server.subscribe();
        let there = timeout(PATIENCE, seen.wait_for(Option::is_some)).await;
        let at = *there.context("there is no server")??;
        at.context("there is no server")
    }

    /// Tells clients to begin nothing more.
    pub(crate) fn end(&self) {
        self.over.send_replace(true);
    }

    pub(crate) fn is_over(&self) -> bool {
        *self.over.borrow()
    }

    /// Waits as a person who thinks, or until all is over.
    pub(crate) async fn think(&self, random: &mut Random) {
        let mut over = self.over.subscribe();
        let time = random.between(self.think / 20, self.think);
        tokio::select! {
            () = sleep(time) => {}
            _ = over.wait_for(|over| *over) => {}
        }
    }

    /// Leaves a session that nobody uses any more.
    pub(crate) fn leave(&self, session: String) {
        self.old.lock().push_back(session);
    }

    /// The oldest session that nobody uses any more.
    pub(crate) fn oldest(&self) -> Option<String> {
        self.old.lock().pop_front()
    }

    /// Sends a request until an answer counts.
    ///
    /// # Errors
    /// When there is none within the patience, or it is an error of the server.
    pub(crate) async fn insist(&self, ask: &Ask) -> anyhow::Result<Answer> {
        let until = Instant::now() + PATIENCE;
        loop {
            let sent = ask.send(self.server().await?).await;
            let wait = match &sent {
                Ok(answer) if !is_transient(answer) => {
                    if answer.status >= 500 {
                        bail!("{} {}: {answer:?}", ask.method, ask.path);
                    }
                    return sent;
                }
                Ok(answer) => answer.retry_after.map_or(AGAIN / 10, Duration::from_secs),
                Err(_) => AGAIN / 10,
            };
            if Instant::now() > until {
                bail!("{} {} {}: no answer counts: {sent:?}", ask.method, ask.path, ask.body);
            }
            sleep(wait.min(AGAIN)).await;
        }
    }

    /// Reads something that exists.
    ///
    /// # Errors
    /// When the answer is not 200.
    pub(crate) async fn get(&self, path: &str) -> anyhow::Result<Value> {
        let answer = self.insist(&Ask::get(path)).await?;
        anyhow::ensure!(answer.status == 200, "GET {path}: {answer:?}");
        Ok(answer.body)
    }
}

/// Returns true if the answer says to ask again.
pub(crate) fn is_transient(answer: &Answer) -> bool {
    matches!(answer.status, 429 | 503 | 504 | 507) || answer.body["code"] == "held_elsewhere"
}
