//! The tail poller: checks once for all tails if another process has written, instead of once per
//! tail.

use std::sync::Arc;
use std::time::Duration;

use windlass_kit_log::TailWaker;

use windlass_ports::sync::{Mutex, MutexGuard};

use crate::reader::StoreReader;

/// Polls while a tail is open.
pub(crate) struct TailPoller {
    reader: Arc<StoreReader>,
    wake: TailWaker,
    every: Duration,
    state: Mutex<PollState>,
}

#[derive(Debug, Default)]
struct PollState {
    followers: usize,
    looking: bool,
}

/// An open tail. Dropping it ends it.
pub(crate) struct OpenTail(Arc<TailPoller>);

impl TailPoller {
    pub(crate) fn new(reader: Arc<StoreReader>, wake: TailWaker, every: Duration) -> Arc<Self> {
        Arc::new(Self { reader, wake, every, state: Mutex::default() })
    }

    /// Keeps polling until the returned value is dropped.
    pub(crate) fn follow(self: &Arc<Self>) -> OpenTail {
        let mut state = self.state();
        state.followers += 1;
        if !state.looking {
            state.looking = true;
            tokio::spawn(self.clone().reading());
        }
        OpenTail(self.clone())
    }

    async fn reading(self: Arc<Self>) {
        // Whoever began to follow has looked, or will: the first look only tells later ones apart.
        // What came before it is told, for it may have come after theirs.
        let mut before = None;
        loop {
            let reader = self.reader.clone();
            let looked = tokio::task::spawn_blocking(move || reader.fingerprint()).await;
            // What cannot be read is for those who follow to say.
            let now = looked.ok().and_then(Result::ok);
            if now.is_none() || now != before {
                self.wake.all();
            }
            before = now;
            tokio::time::sleep(self.every).await;
            if self.nobody_follows() {
                return;
            }
        }
    }

    fn nobody_follows(&self) -> bool {
        let mut state = self.state();
        state.looking = state.followers > 0;
        !state.looking
    }

    fn state(&self) -> MutexGuard<'_, PollState> {
        self.state.lock()
    }
}

impl Drop for OpenTail {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.followers = state.followers.saturating_sub(1);
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use windlass_core::{Seq, SessionId};
    use windlass_ports::LogStore;
    use windlass_testkit::store::numbered_facts;

    use super::*;
    use crate::store::FileStore;

    const PATIENCE: Duration = Duration::from_secs(60);

    async fn begun(store: &FileStore, name: &str) -> SessionId {
        let id = SessionId::new(name).unwrap();
        let claim = store.claim(&id).await.unwrap();
        let facts = numbered_facts(&id, Seq::ZERO, 1);
        store.append(&id, claim.epoch, Seq::ZERO, &facts).await.unwrap();
        store.release(&id, claim.epoch).await.unwrap();
        id
    }

    fn open(dir: &Path) -> Arc<FileStore> {
        Arc::new(FileStore::open(dir.to_owned()).unwrap())
    }

    #[tokio::test]
    async fn one_look_tells_all_who_follow_what_another_appends_and_ends_with_them() {
        let dir = tempfile::TempDir::new().unwrap();
        let (here, there) = (open(dir.path()), open(dir.path()));
        let mut following = Vec::new();
        for number in 0..50 {
            let id = begun(&there, &format!("s{number}")).await;
            let here = here.clone();
            let follows = async move { here.tail(&id, Seq(1), PATIENCE).await };
            following.push(tokio::spawn(follows));
        }
        let id = SessionId::new("s7").unwrap();
        let claim = there.claim(&id).await.unwrap();
        let second = numbered_facts(&id, Seq(1), 1);
        there.append(&id, claim.epoch, Seq(1), &second).await.unwrap();
        let told = following.remove(7).await.unwrap();
        assert_eq!(told.unwrap(), Seq(2));
        assert!(here.tail_poller().state().looking);
        for follows in following {
            follows.abort();
            let _ = follows.await;
        }
        while here.tail_poller().state().looking {
            tokio::task::yield_now().await;
        }
    }
}
