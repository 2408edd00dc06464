//! The connections that wait for the next request of their session: at most one a session, few in
//! all, none for long. Who takes one has it alone.

use std::collections::VecDeque;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use tokio::time::Instant;
use windlass_core::SessionId;
use windlass_ports::WireSocket;
use windlass_ports::sync::Mutex;

use super::server_context::{ResendReason, ServerContext};

/// Most idle connections.
const MOST: usize = 32;

/// Longest time that a connection stays idle.
const IDLE: Duration = Duration::from_secs(5 * 60);

/// Oldest connection that is used. OpenAI ends one after 60 minutes, also in the middle of an
/// answer.
const AGE: Duration = Duration::from_secs(50 * 60);

/// Time for which a session avoids sockets after a failure.
const AVOID_FOR: Duration = Duration::from_secs(60);

/// Most sessions with failed sockets that are remembered.
const MAX_AVOIDED: usize = 256;

/// A connection that waits.
pub(super) struct IdleConnection {
    pub(super) socket: Box<dyn WireSocket>,
    pub(super) opened: Instant,
    /// The last response over it.
    pub(super) last: Option<String>,
    pub(super) known: Option<ServerContext>,
}

/// The connections of one provider.
#[derive(Default)]
pub(super) struct ConnectionPool(Mutex<PoolState>);

#[derive(Default)]
struct PoolState {
    /// The one that has waited longest is in front.
    idle: VecDeque<(SessionId, Instant, IdleConnection)>,
    /// Sessions whose sockets failed, and until when they go another way.
    avoided: VecDeque<(SessionId, Instant)>,
    /// Reason for using no sockets, and the time at which it ends.
    closed: Option<(String, Option<Instant>)>,
    reaping: bool,
}

impl ConnectionPool {
    /// Returns the reason for not sending this request over a socket, if there is one. A retried
    /// request avoids sockets for as long as its session does, however long ago the failure was.
    pub(super) fn unavailable_reason(&self, session: &SessionId, retried: bool) -> Option<String> {
        let mut inner = self.0.lock();
        let now = Instant::now();
        if let Some((why, until)) = &inner.closed {
            if until.is_none_or(|until| now < until) {
                return Some(why.clone());
            }
            inner.closed = None;
        }
        let at = inner.avoided.iter().position(|(other, _)| other == session)?;
        let until = inner.avoided.get(at).map(|(_, until)| *until)?;
        if now < until || retried {
            return Some("the last request over a WebSocket failed".into());
        }
        inner.avoided.remove(at);
        None
    }

    /// No socket is asked for, for a while or, where there never is one, at all.
    pub(super) fn close(&self, why: &str, ever: bool) {
        let until = (!ever).then(|| Instant::now() + AVOID_FOR);
        self.0.lock().closed = Some((why.to_owned(), until));
    }

    /// The next requests of a session go another way for a while.
    pub(super) fn avoid(&self, session: &SessionId) {
        let mut inner = self.0.lock();
        inner.avoided.retain(|(other, _)| other != session);
        inner.avoided.push_back((session.clone(), Instant::now() + AVOID_FOR));
        if inner.avoided.len() > MAX_AVOIDED {
            inner.avoided.pop_front();
        }
    }

    /// Takes the connection of a session, if it is open and quiet.
    pub(super) fn take(&self, session: &SessionId) -> Result<IdleConnection, ResendReason> {
        let taken = {
            let mut inner = self.0.lock();
            inner.purge();
            let at = inner.idle.iter().position(|(other, ..)| other == session);
            at.and_then(|at| inner.idle.remove(at))
        };
        let (.., mut idle) = taken.ok_or("no connection of this session was open")?;
        if idle.opened.elapsed() >= AGE {
            idle.socket.close();
            return Err("the connection of this session was too old");
        }
        // Whatever has come belongs to no request.
        match idle.socket.poll_text(&mut Context::from_waker(Waker::noop())) {
            Poll::Pending => Ok(idle),
            Poll::Ready(_) => Err("the connection of this session was closed"),
        }
    }

    /// Has a connection wait for the next request of its session.
    pub(super) fn put(self: &Arc<Self>, session: SessionId, idle: IdleConnection) {
        let over = {
            let mut inner = self.0.lock();
            let at = inner.idle.iter().position(|(other, ..)| *other == session);
            let mut over: Vec<_> = at.and_then(|at| inner.idle.remove(at)).into_iter().collect();
            inner.idle.push_back((session, Instant::now() + IDLE, idle));
            if inner.idle.len() > MOST {
                over.extend(inner.idle.pop_front());
            }
            if !std::mem::replace(&mut inner.reaping, true) {
                tokio::spawn(reap(ReaperGuard(Arc::downgrade(self))));
            }
            over
        };
        for (.., idle) in over {
            idle.socket.close();
        }
    }
}

impl PoolState {
    /// Closes what has waited too long.
    fn purge(&mut self) {
        let now = Instant::now();
        while let Some((.., idle)) = self.idle.pop_front_if(|(_, until, _)| *until <= now) {
            idle.socket.close();
        }
    }
}

/// Closes connections that were idle too long; another reaper may start once it is dropped.
struct ReaperGuard(Weak<ConnectionPool>);

impl Drop for ReaperGuard {
    fn drop(&mut self) {
        if let Some(pool) = self.0.upgrade() {
            pool.0.lock().reaping = false;
        }
    }
}

/// Closes what has waited too long, for as long as anything waits.
async fn reap(reaping: ReaperGuard) {
    loop {
        let next = match reaping.0.upgrade() {
            None => return,
            Some(pool) => {
                let mut inner = pool.0.lock();
                inner.purge();
                let next = inner.idle.front().map(|(_, until, _)| *until);
                // Said under the lock, so that who puts the next one begins anew.
                inner.reaping = next.is_some();
                next
            }
        };
        match next {
            None => return,
            Some(until) => tokio::time::sleep_until(until).await,
        }
    }
}

#[cfg(test)]
#[path = "pool_tests.rs"]
mod tests;
