//! The bare loop over SQLite: one thread that gathers waiting facts into one transaction with a
//! write-ahead log that is synced. One row per fact; no claims, no chain, no summaries.

use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

use anyhow::Context as _;
use async_trait::async_trait;
use rusqlite::Connection;
use tokio::sync::oneshot;
use windlass_core::{Epoch, RecordedFact, Seq, SessionId};
use windlass_ports::codec;

use super::appends::Appender;

/// Most appends of a group.
const GROUP: usize = 1_024;

struct Request {
    key: i64,
    text: Vec<u8>,
    done: oneshot::Sender<bool>,
}

/// Bare loop over one SQLite table.
pub(super) struct BareSqlite {
    requests: Sender<Request>,
}

impl BareSqlite {
    pub(super) fn start(dir: &Path) -> anyhow::Result<Self> {
        let db = Connection::open(dir.join("bare.sqlite3"))?;
        db.query_row("pragma journal_mode = wal", [], |_| Ok(()))?;
        db.pragma_update(None, "synchronous", 2)?;
        db.execute_batch(
            "create table facts (fact integer primary key, body text not null) strict",
        )?;
        let (requests, waiting) = channel();
        std::thread::spawn(move || work(db, &waiting));
        Ok(Self { requests })
    }
}

#[async_trait]
impl Appender for BareSqlite {
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
        let mut log = 0;
        for byte in session.as_str().bytes().filter(u8::is_ascii_digit) {
            log = log * 10 + i64::from(byte - b'0');
        }
        let key = log << 32 | after.next().0.cast_signed();
        let (done, wait) = oneshot::channel();
        self.requests.send(Request { key, text, done }).context("the loop ended")?;
        anyhow::ensure!(wait.await?, "a write failed");
        Ok(())
    }
}

fn work(mut db: Connection, waiting: &Receiver<Request>) {
    let mut answers = Vec::new();
    while let Ok(first) = waiting.recv() {
        let mut batch = Vec::new();
        let mut next = Some(first);
        while let Some(Request { key, text, done }) = next {
            batch.push((key, text));
            answers.push(done);
            next = if answers.len() < GROUP { waiting.try_recv().ok() } else { None };
        }
        let kept = write(&mut db, &batch).is_ok();
        for answer in answers.drain(..) {
            let _ = answer.send(kept);
        }
    }
}

fn write(db: &mut Connection, batch: &[(i64, Vec<u8>)]) -> anyhow::Result<()> {
    let step = db.transaction()?;
    let mut insert = step.prepare_cached("insert into facts (fact, body) values (?1, ?2)")?;
    for (key, text) in batch {
        insert.execute((key, std::str::from_utf8(text)?))?;
    }
    drop(insert);
    Ok(step.commit()?)
}
