//! The bare loop over sled: one thread that gathers waiting facts into one batch, flushes it and
//! syncs the database's file. One row per fact; no claims, no chain, no head index.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

use anyhow::Context as _;
use async_trait::async_trait;
use tokio::sync::oneshot;
use windlass_core::{Epoch, RecordedFact, Seq, SessionId};
use windlass_ports::codec;

use super::appends::Appender;

/// Most appends of a group.
const GROUP: usize = 1_024;

struct Request {
    key: Vec<u8>,
    text: Vec<u8>,
    done: oneshot::Sender<bool>,
}

/// Bare loop over one sled tree.
pub(super) struct BareSled {
    requests: Sender<Request>,
}

impl BareSled {
    pub(super) fn start(dir: &Path) -> anyhow::Result<Self> {
        let path = dir.join("bare");
        let db = sled::Config::new().path(&path).segment_size(8 * 1024 * 1024).open()?;
        db.flush()?;
        let data = File::options().read(true).write(true).open(path.join("db"))?;
        data.sync_all()?;
        let (requests, waiting) = channel();
        std::thread::spawn(move || work(&db, &data, &waiting));
        Ok(Self { requests })
    }
}

#[async_trait]
impl Appender for BareSled {
    async fn begin(&self, _: &SessionId) -> anyhow::Result<Epoch> {
        Ok(Epoch(1))
    }

    async fn append(
        &self,
        session: &SessionId,
        _: Epoch,
        after: Seq,
        fact: Arc<RecordedFact>,
    ) -> anyhow::Result<()> {
        let text = codec::encode(&fact)?;
        let mut key = session.as_str().as_bytes().to_vec();
        key.push(0);
        key.extend_from_slice(&after.next().0.to_be_bytes());
        let (done, wait) = oneshot::channel();
        self.requests.send(Request { key, text, done }).context("the loop ended")?;
        anyhow::ensure!(wait.await?, "a write failed");
        Ok(())
    }
}

fn work(db: &sled::Db, data: &File, waiting: &Receiver<Request>) {
    let mut answers = Vec::new();
    while let Ok(first) = waiting.recv() {
        let mut batch = sled::Batch::default();
        let mut next = Some(first);
        while let Some(Request { key, text, done }) = next {
            batch.insert(key, text);
            answers.push(done);
            next = if answers.len() < GROUP { waiting.try_recv().ok() } else { None };
        }
        let kept = db.apply_batch(batch).is_ok() && db.flush().is_ok() && data.sync_data().is_ok();
        for answer in answers.drain(..) {
            let _ = answer.send(kept);
        }
    }
}
