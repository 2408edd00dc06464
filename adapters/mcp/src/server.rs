//! One server over its connections: its state, its tools, and the way back to it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use rmcp::service::{Peer, RoleClient, Subscription};
use tokio::sync::{Notify, watch};
use tokio::task::JoinHandle;
use tokio::time::timeout;
use windlass_core::Timestamp;

use crate::catalogue::{Catalogue, CheckTool};
use crate::config::McpServer;
use crate::connection::{Connection, Target, connect};
use crate::era::attempts;
use crate::handler::Handler;
use crate::name::ServerName;
use crate::oauth::Login;
use crate::record::McpRecord;

/// Pause before the first attempt to connect again; it doubles up to the longest.
const FIRST_PAUSE: Duration = Duration::from_millis(250);
/// Longest pause between attempts.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
/// Attempts in a row that fail, after which only a call leads to another one.
const MAX_FAILURES: u32 = 8;
/// A connection that ends sooner counts as a failure.
const STEADY: Duration = Duration::from_secs(10);

/// State of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServerState {
    /// It is being started for the first time.
    Connecting,
    /// It is there.
    Ready,
    /// It was there, and cannot be used or listed by now. Its last good list stays.
    Degraded {
        /// Cause and remedy.
        reason: String,
    },
    /// It has not been there.
    Failed {
        /// Cause and remedy.
        reason: String,
    },
}

/// State of the login at a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoginStatus {
    /// It asks for a login, or for one with more scopes.
    Needed,
    /// There is a login.
    LoggedIn {
        /// Time at which its token expires, if it does. A token that can be renewed is renewed before.
        until: Option<Timestamp>,
    },
}

/// Report on a server.
#[derive(Debug, Clone)]
pub struct ServerReport {
    /// Name of the server.
    pub name: ServerName,
    /// State of the server.
    pub state: ServerState,
    /// Names of its tools, as models see them.
    pub tools: Vec<String>,
    /// Its tools that cannot be offered, each with the reason.
    pub left_out: Vec<String>,
    /// Version of the protocol, while it is connected.
    pub protocol: Option<String>,
    /// State of the login; `None` if it asked for none.
    pub login: Option<LoginStatus>,
}

/// What is known of a server at a time.
#[derive(Clone)]
pub(crate) struct Snapshot {
    pub(crate) state: ServerState,
    pub(crate) catalogue: Arc<Catalogue>,
    /// The connection, if there is one.
    pub(crate) link: Option<Link>,
    /// Attempts to connect that have ended.
    pub(crate) attempts: u64,
}

/// Use of a connection for calls.
#[derive(Clone)]
pub(crate) struct Link {
    pub(crate) peer: Peer<RoleClient>,
    pub(crate) handler: Handler,
    pub(crate) protocol: Option<String>,
    pub(crate) login: Option<Arc<Login>>,
    /// Number of the connection, from 1.
    number: u64,
}

/// A server that is used. Dropping it ends its connection and its process.
pub(crate) struct Server {
    pub(crate) name: ServerName,
    pub(crate) config: McpServer,
    pub(crate) identity: String,
    login: Option<Arc<Login>>,
    seen: watch::Receiver<Snapshot>,
    wake: Arc<Wake>,
    task: JoinHandle<()>,
}

/// Signals to the task of a server.
#[derive(Default)]
struct Wake {
    /// A call needs the server.
    needed: Notify,
    /// Number of the last connection that a call found broken.
    broken: watch::Sender<u64>,
}

impl Wake {
    fn report_broken(&self, connection: u64) {
        self.broken.send_modify(|broken| *broken = connection.max(*broken));
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Server {
    /// Begins to connect.
    pub(crate) fn start(
        name: ServerName,
        config: McpServer,
        target: Target,
        (record, check): (Arc<McpRecord>, CheckTool),
    ) -> Self {
        let identity = format!("{name} {}", config.transport.identity());
        let (snapshots, seen) = watch::channel(Snapshot {
            state: ServerState::Connecting,
            catalogue: Arc::default(),
            link: None,
            attempts: 0,
        });
        let wake = Arc::new(Wake::default());
        let login = target.login.clone();
        let driver = Driver {
            name: name.clone(),
            config: config.clone(),
            target,
            record,
            check,
            identity: identity.clone(),
            snapshots,
            wake: wake.clone(),
        };
        let task = tokio::spawn(driver.run());
        Self { name, config, identity, login, seen, wake, task }
    }

    /// Returns what is known now.
    pub(crate) fn snapshot(&self) -> Snapshot {
        self.seen.borrow().clone()
    }

    /// Waits until the first attempt to connect has ended.
    pub(crate) async fn settled(&self) -> Snapshot {
        let mut seen = self.seen.clone();
        let settled = seen.wait_for(|snapshot| snapshot.attempts > 0).await;
        settled.map_or_else(|_| self.snapshot(), |snapshot| snapshot.clone())
    }

    /// Returns the connection, after an attempt to make one if there is none.
    ///
    /// # Errors
    /// When the attempt failed; in words.
    pub(crate) async fn link(&self) -> Result<(Link, Arc<Catalogue>), String> {
        let mut seen = self.seen.clone();
        let before = seen.borrow().attempts;
        loop {
            let snapshot = seen.borrow_and_update().clone();
            if let Some(link) = snapshot.link {
                let broken = *self.wake.broken.borrow() >= link.number;
                if !broken && !link.peer.is_transport_closed() {
                    return Ok((link, snapshot.catalogue));
                }
                self.wake.report_broken(link.number);
            } else if snapshot.attempts > before {
                return Err(match snapshot.state {
                    ServerState::Degraded { reason } | ServerState::Failed { reason } => reason,
                    ServerState::Connecting | ServerState::Ready => "it is not connected".into(),
                });
            }
            self.wake.needed.notify_one();
            if seen.changed().await.is_err() {
                return Err("it was ended".into());
            }
        }
    }

    /// Says that a call found the connection broken.
    pub(crate) fn report_broken(&self, link: &Link) {
        self.wake.report_broken(link.number);
    }

    pub(crate) fn report(&self) -> ServerReport {
        let Snapshot { state, catalogue, link, .. } = self.snapshot();
        ServerReport {
            name: self.name.clone(),
            state,
            tools: catalogue.tools.iter().map(|tool| tool.spec.name.clone()).collect(),
            left_out: catalogue.left_out.clone(),
            protocol: link.and_then(|link| link.protocol),
            login: self.login.as_ref().and_then(|login| login.status()),
        }
    }
}

/// Task of a server.
struct Driver {
    name: ServerName,
    config: McpServer,
    target: Target,
    record: Arc<McpRecord>,
    check: CheckTool,
    identity: String,
    snapshots: watch::Sender<Snapshot>,
    wake: Arc<Wake>,
}

impl Driver {
    async fn run(self) {
        let mut failures = 0_u32;
        loop {
            match self.connect().await {
                Ok((connection, catalogue)) => {
                    let begun = Instant::now();
                    self.hold(connection, catalogue).await;
                    failures = if begun.elapsed() < STEADY { failures + 1 } else { 0 };
                }
                Err(reason) => {
                    failures += 1;
                    self.lost(reason);
                    self.snapshots.send_modify(|snapshot| snapshot.attempts += 1);
                }
            }
            self.pause(failures).await;
        }
    }

    /// Waits before the next attempt. A call ends the wait.
    async fn pause(&self, failures: u32) {
        let needed = self.wake.needed.notified();
        if failures >= MAX_FAILURES {
            return needed.await;
        }
        let pause = FIRST_PAUSE.saturating_mul(1 << failures.min(16)).min(LONGEST_PAUSE);
        // Either leads to the next attempt.
        let _ = timeout(pause, needed).await;
    }

    /// Connects and lists the tools.
    async fn connect(&self) -> Result<(Connection, Catalogue), String> {
        let within = self.config.startup_timeout;
        let known = self.record.era(&self.identity);
        let (begun, mut reason) = (Instant::now(), String::new());
        for attempt in attempts(known, within) {
            match connect(&self.target, &attempt).await {
                Ok(connection) => {
                    let left = within.saturating_sub(begun.elapsed());
                    return self.listed(connection, left).await;
                }
                Err(failure) => {
                    reason = failure.words;
                    if !failure.other_way {
                        break;
                    }
                }
            }
        }
        if known.is_some() {
            // It may speak another era by now.
            self.record.set_era(&self.identity, None);
        }
        Err(reason)
    }

    async fn listed(
        &self,
        connection: Connection,
        within: Duration,
    ) -> Result<(Connection, Catalogue), String> {
        match self.list(&connection, within).await {
            Ok(catalogue) => {
                self.record.set_era(&self.identity, Some(connection.era()));
                Ok((connection, catalogue))
            }
            Err(reason) => {
                connection.close().await;
                Err(reason)
            }
        }
    }

    async fn list(&self, connection: &Connection, within: Duration) -> Result<Catalogue, String> {
        let listed = timeout(within, connection.list()).await;
        let listed = listed.map_err(|_| "it did not list its tools in time".to_owned())?;
        let login = self.target.login.as_deref();
        let listed = listed.map_err(|words| login.and_then(Login::demand).unwrap_or(words))?;
        Ok(Catalogue::new(&self.name, &self.config, &self.check, listed))
    }

    /// Holds a connection until it ends.
    async fn hold(&self, mut connection: Connection, catalogue: Catalogue) {
        let number = self.snapshots.borrow().attempts + 1;
        let link = Link {
            peer: connection.peer.clone(),
            handler: connection.handler.clone(),
            protocol: connection.version().map(|version| version.to_string()),
            login: self.target.login.clone(),
            number,
        };
        self.snapshots.send_modify(|snapshot| {
            snapshot.state = ServerState::Ready;
            snapshot.catalogue = Arc::new(catalogue);
            snapshot.link = Some(link);
            snapshot.attempts += 1;
        });
        let mut changes = connection.subscribe().await;
        let changed = connection.handler.changed.clone();
        let mut broken = self.wake.broken.subscribe();
        loop {
            tokio::select! {
                () = connection.ended() => break,
                () = found_broken(&mut broken, number) => break,
                () = changed.notified() => self.refresh(&connection).await,
                again = next_change(&mut changes) => match again {
                    true => self.refresh(&connection).await,
                    false => changes = None,
                },
            }
        }
        self.lost("the connection ended".into());
        let reason = connection.close().await;
        self.lost(reason);
    }

    /// Lists the tools again. The last list stays where that fails.
    async fn refresh(&self, connection: &Connection) {
        let listed = self.list(connection, self.config.startup_timeout).await;
        self.snapshots.send_modify(|snapshot| match listed {
            Ok(catalogue) => {
                snapshot.state = ServerState::Ready;
                snapshot.catalogue = Arc::new(catalogue);
            }
            Err(reason) => snapshot.state = ServerState::Degraded { reason },
        });
    }

    /// Says that there is no connection.
    fn lost(&self, reason: String) {
        tracing::debug!(server = %self.name, %reason, "an MCP server is not connected");
        self.snapshots.send_modify(|snapshot| {
            snapshot.state = match snapshot.state {
                ServerState::Connecting | ServerState::Failed { .. } => {
                    ServerState::Failed { reason }
                }
                ServerState::Ready | ServerState::Degraded { .. } => {
                    ServerState::Degraded { reason }
                }
            };
            snapshot.link = None;
        });
    }
}

/// Waits until a call has found a connection broken.
async fn found_broken(broken: &mut watch::Receiver<u64>, number: u64) {
    // The sender lives as long as the task that waits.
    drop(broken.wait_for(|broken| *broken >= number).await);
}

/// Waits for a change that a subscription tells: false once it has ended, and for ever without one.
async fn next_change(changes: &mut Option<Subscription>) -> bool {
    match changes {
        Some(changes) => matches!(changes.next().await, Ok(Some(_))),
        None => std::future::pending().await,
    }
}
