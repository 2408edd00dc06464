//! Listening: accepts connections with their limits, and shuts them down.

mod connection;
mod phase;
mod slots;
mod timed_stream;

use std::future::Future;
use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::pin::pin;
use std::time::Duration;

use futures_util::future::{join, join_all};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::OwnedSemaphorePermit;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout_at};

use self::slots::ConnectionSlots;
use crate::app::{App, Server};

/// Shortest and longest pause after a connection could not be accepted.
const PAUSE: (Duration, Duration) = (Duration::from_millis(10), Duration::from_secs(1));
/// Reason for releasing sessions, for their logs.
const REASON: &str = "the server is going away";
/// Share of the time limit in which steps that run too long must stop, and then the rest of the
/// process.
const STOP_SHARE: u64 = 10;
/// Shortest interval between two reports of such failures.
const REPORT_INTERVAL: Duration = Duration::from_secs(10);

impl Server {
    /// Serves connections until told to stop. Then it accepts no further connection and ends
    /// streams and idle connections. Sessions that a failure of the store ends are opened again once
    /// it works ([`Engine::supervise`]). Running steps have 8 tenths of [`ServerLimits::drain_ms`] to
    /// end, and another tenth to stop. Remaining steps are dropped, and continue when their session is
    /// opened again. A store that does not answer changes none of this.
    ///
    /// The address of the listener is one of the server's names.
    ///
    /// [`Engine::supervise`]: windlass_engine::Engine::supervise
    /// [`ServerLimits::drain_ms`]: crate::ServerLimits::drain_ms
    ///
    /// # Errors
    /// When no further connections can be accepted.
    pub async fn serve(
        self,
        listener: TcpListener,
        stop: impl Future<Output = ()> + Send + 'static,
    ) -> io::Result<()> {
        let app = self.app.clone();
        // A server with several addresses is named by the first of them, and by its hosts.
        let _ = app.address.set(listener.local_addr()?);
        for tenant in app.tenants.values() {
            tenant.engine.supervise();
        }
        let router = self.router();
        let places = ConnectionSlots::new(&app.bounds);
        let mut connections = JoinSet::new();
        let mut accepting = Acceptor::default();
        let mut stop = pin!(stop);
        let ended = loop {
            tokio::select! {
                biased;
                () = &mut stop => break Ok(()),
                Some(ended) = connections.join_next(), if !connections.is_empty() => report_end(ended),
                accepted = accepting.next(&listener, &places) => {
                    let (room, stream, from) = match accepted {
                        Ok(accepted) => accepted,
                        Err(error) => break Err(error),
                    };
                    // A connection without a slot is closed at once.
                    if let Some(place) = places.assign(room, from.ip()) {
                        let serving = connection::serve(stream, router.clone(), app.clone(), place);
                        connections.spawn(serving);
                    }
                }
            }
        };
        drop(listener);
        leave(&app, &places).await;
        connections.shutdown().await;
        ended
    }
}

/// Ends running work within its time limit.
async fn leave(app: &App, places: &ConnectionSlots) {
    let until = drain_end(app);
    let going = async {
        if timeout_at(until, places.wait_all_free()).await.is_err() {
            tracing::warn!("not all clients disconnected in time: their connections are closed");
        }
    };
    join(hand_off(app), going).await;
}

/// Returns the time at which what still runs is dropped.
fn drain_end(app: &App) -> Instant {
    let share_ms = app.bounds.drain_ms / STOP_SHARE;
    Instant::now() + Duration::from_millis(app.bounds.drain_ms - share_ms)
}

/// Drains the server, and releases its sessions within the time limit.
pub(crate) async fn hand_off(app: &App) {
    let until = drain_end(app);
    app.drain();
    let steps_ms = app.bounds.drain_ms - 2 * (app.bounds.drain_ms / STOP_SHARE);
    let tenants = app.tenants.values();
    let parting = tenants.map(|tenant| async {
        let released = timeout_at(until, tenant.engine.hand_off(steps_ms, REASON)).await;
        // A store that does not answer keeps the end waiting no longer than a step may.
        let dropped =
            released.map_or_else(|_| tenant.engine.abandon(), |released| released.dropped);
        for session in dropped {
            tracing::warn!(
                tenant = tenant.name, %session,
                "running effects did not end in time: they continue when the session is opened \
                 again"
            );
        }
    });
    join_all(parting).await;
}

/// Accepts connections, and backs off after failures.
#[derive(Debug, Default)]
struct Acceptor {
    /// Delay before the next connection is accepted.
    pause: Duration,
    reported: Option<Instant>,
}

impl Acceptor {
    /// Accepts the next connection, with its permit. Cancel safe.
    async fn next(
        &mut self,
        listener: &TcpListener,
        places: &ConnectionSlots,
    ) -> io::Result<(OwnedSemaphorePermit, TcpStream, SocketAddr)> {
        loop {
            if !self.pause.is_zero() {
                sleep(self.pause).await;
            }
            let room = places.acquire().await;
            match listener.accept().await {
                Ok((stream, from)) => {
                    self.pause = Duration::ZERO;
                    return Ok((room, stream, from));
                }
                // The client disconnected before it was accepted.
                Err(error) if is_the_clients(&error) => {}
                Err(error) if error.kind() == ErrorKind::InvalidInput => return Err(error),
                Err(error) => self.failed(&error),
            }
        }
    }

    /// Handles a failure such as too many open files. It may pass, and an immediate retry would
    /// only spin.
    fn failed(&mut self, error: &io::Error) {
        let (shortest, longest) = PAUSE;
        self.pause = (self.pause * 2).clamp(shortest, longest);
        if self.reported.is_none_or(|told| told.elapsed() >= REPORT_INTERVAL) {
            self.reported = Some(Instant::now());
            tracing::error!(
                %error,
                "connections cannot be accepted: raise the limit of open files, or lower the bound \
                 connections"
            );
        }
    }
}

fn is_the_clients(error: &io::Error) -> bool {
    let kinds =
        [ErrorKind::ConnectionAborted, ErrorKind::ConnectionReset, ErrorKind::ConnectionRefused];
    kinds.contains(&error.kind())
}

fn report_end(ended: Result<(), tokio::task::JoinError>) {
    if let Err(error) = ended {
        tracing::error!(%error, "a connection ended in a panic: this is a defect");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_to_accept_pause_longer_and_longer_up_to_a_second() {
        let mut accepting = Acceptor::default();
        let mut pauses = Vec::new();
        for _ in 0..9 {
            accepting.failed(&io::Error::from_raw_os_error(24));
            pauses.push(accepting.pause.as_millis());
        }
        assert_eq!(pauses, [10, 20, 40, 80, 160, 320, 640, 1_000, 1_000]);
        assert!(is_the_clients(&ErrorKind::ConnectionAborted.into()));
        assert!(!is_the_clients(&io::Error::from_raw_os_error(24)));
    }
}
