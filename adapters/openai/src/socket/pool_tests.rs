//! Tests of the connections that wait, by a clock that is moved.

use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use bytes::Bytes;
use windlass_ports::{Segments, WireError};

use super::*;

/// A socket that counts how many like it are open, and may have something to say.
struct Counted(Arc<AtomicUsize>, Option<Bytes>);

impl Counted {
    fn idle(open: &Arc<AtomicUsize>) -> IdleConnection {
        open.fetch_add(1, Ordering::SeqCst);
        IdleConnection {
            socket: Box::new(Self(open.clone(), None)),
            opened: Instant::now(),
            last: None,
            known: None,
        }
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

#[async_trait]
impl WireSocket for Counted {
    async fn send(&mut self, _: Segments) -> Result<(), WireError> {
        Ok(())
    }

    fn poll_text(&mut self, _: &mut Context<'_>) -> Poll<Result<Option<Bytes>, WireError>> {
        match self.1.take() {
            Some(text) => Poll::Ready(Ok(Some(text))),
            None => Poll::Pending,
        }
    }

    fn close(self: Box<Self>) {}
}

fn session(name: &str) -> SessionId {
    SessionId::new(name).unwrap()
}

fn open(count: &Arc<AtomicUsize>) -> usize {
    count.load(Ordering::SeqCst)
}

#[tokio::test(start_paused = true)]
async fn a_connection_is_taken_once_and_only_by_its_session() {
    let (pool, count) = (Arc::new(ConnectionPool::default()), Arc::default());
    pool.put(session("a"), Counted::idle(&count));
    assert!(pool.take(&session("b")).is_err());
    let taken = pool.take(&session("a"));
    assert!(taken.is_ok() && pool.take(&session("a")).is_err());
    pool.put(session("a"), Counted::idle(&count));
    pool.put(session("a"), Counted::idle(&count));
    drop(taken);
    assert_eq!(open(&count), 1);
}

#[tokio::test(start_paused = true)]
async fn what_waits_too_long_is_closed_though_nobody_asks() {
    let (pool, count) = (Arc::new(ConnectionPool::default()), Arc::default());
    for round in 0..2 {
        pool.put(session("a"), Counted::idle(&count));
        tokio::time::sleep(IDLE - Duration::from_secs(1)).await;
        assert_eq!(open(&count), 1, "round {round}");
        tokio::time::sleep(Duration::from_secs(2)).await;
        assert_eq!(open(&count), 0, "round {round}");
    }
}

#[tokio::test(start_paused = true)]
async fn few_wait_and_none_beyond_its_age() {
    let (pool, count) = (Arc::new(ConnectionPool::default()), Arc::default());
    for n in 0..MOST + 5 {
        pool.put(session(&format!("s{n}")), Counted::idle(&count));
    }
    assert_eq!(open(&count), MOST);
    assert!(pool.take(&session("s4")).is_err() && pool.take(&session("s5")).is_ok());
    let idle = Counted::idle(&count);
    tokio::time::sleep(AGE).await;
    pool.put(session("old"), idle);
    assert_eq!(
        pool.take(&session("old")).err(),
        Some("the connection of this session was too old")
    );
    assert_eq!(open(&count), 0);
    pool.put(session("a"), Counted::idle(&count));
    drop(pool);
    assert_eq!(open(&count), 0);
}

#[tokio::test(start_paused = true)]
async fn a_connection_with_something_to_say_is_not_used_again() {
    let (pool, count) = (Arc::new(ConnectionPool::default()), Arc::default());
    let mut idle = Counted::idle(&count);
    count.fetch_add(1, Ordering::SeqCst);
    idle.socket = Box::new(Counted(count.clone(), Some(Bytes::from_static(b"{}"))));
    pool.put(session("a"), idle);
    assert!(pool.take(&session("a")).is_err());
    assert_eq!(open(&count), 0);
}

#[tokio::test(start_paused = true)]
async fn who_failed_goes_another_way_for_a_while_and_for_all_of_its_attempts() {
    let pool = ConnectionPool::default();
    let (a, b) = (session("a"), session("b"));
    assert_eq!(pool.unavailable_reason(&a, false), None);
    pool.avoid(&a);
    assert!(
        pool.unavailable_reason(&a, false).is_some()
            && pool.unavailable_reason(&b, false).is_none()
    );
    tokio::time::sleep(AVOID_FOR).await;
    assert!(pool.unavailable_reason(&a, true).is_some());
    assert!(
        pool.unavailable_reason(&a, false).is_none() && pool.unavailable_reason(&a, true).is_none()
    );
    pool.close("no", false);
    assert_eq!(pool.unavailable_reason(&b, false).as_deref(), Some("no"));
    tokio::time::sleep(AVOID_FOR).await;
    assert_eq!(pool.unavailable_reason(&b, false), None);
    pool.close("never", true);
    tokio::time::sleep(AVOID_FOR * 1_000).await;
    assert_eq!(pool.unavailable_reason(&b, false).as_deref(), Some("never"));
    for n in 0..MAX_AVOIDED + 10 {
        pool.avoid(&session(&format!("s{n}")));
    }
    assert_eq!(pool.0.lock().avoided.len(), MAX_AVOIDED);
}
