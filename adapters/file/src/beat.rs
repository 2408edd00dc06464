//! The beat: one look for all who follow logs at whether another process has written anything. Each of
//! them looking for itself would be a read of the disk for each, ten times a second.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use windlass_kit_log::Wake;

use crate::reader::Reader;

/// Looks while somebody follows a log.
pub(crate) struct Beat {
    reader: Arc<Reader>,
    wake: Wake,
    every: Duration,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    followers: usize,
    looking: bool,
}

/// One who follows a log, until it is dropped.
pub(crate) struct Following(Arc<Beat>);

impl Beat {
    pub(crate) fn new(reader: Arc<Reader>, wake: Wake, every: Duration) -> Arc<Self> {
        Arc::new(Self {
            reader,
            wake,
            every,
            state: Mutex::default(),
        })
    }

    /// Has whoever follows a log woken for as long as the answer is kept.
    pub(crate) fn follow(self: &Arc<Self>) -> Following {
        let mut state = self.state();
        state.followers += 1;
        if !state.looking {
            state.looking = true;
            tokio::spawn(self.clone().looks());
        }
        Following(self.clone())
    }

    async fn looks(self: Arc<Self>) {
        // Whoever began to follow has looked, or will: the first look only tells later ones apart.
        // What came before it is told, for it may have come after theirs.
        let mut before = None;
        loop {
            let reader = self.reader.clone();
            let looked = tokio::task::spawn_blocking(move || reader.signs()).await;
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

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Following {
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
        store
            .append(&id, claim.epoch, Seq::ZERO, &facts)
            .await
            .unwrap();
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
        there
            .append(&id, claim.epoch, Seq(1), &second)
            .await
            .unwrap();
        let told = following.remove(7).await.unwrap();
        assert_eq!(told.unwrap(), Seq(2));
        assert!(here.beat().state().looking);
        for follows in following {
            follows.abort();
            let _ = follows.await;
        }
        while here.beat().state().looking {
            tokio::task::yield_now().await;
        }
    }
}
