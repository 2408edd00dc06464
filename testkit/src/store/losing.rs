//! A case of stored data that is lost behind the store's back: unreadable is never absent.

use std::fs::{self, OpenOptions};
use std::io;
use std::path::Path;
use std::sync::Arc;

use windlass_core::{RecordedFact, Seq, SessionId};
use windlass_ports::{Durability, LogStore, SessionFilter, StoreError, StoreErrorKind};

use super::StoreFixture;
use super::violation::{Checked, Violation, ensure, run};
use super::writer::Writer;

/// Damage to the file that holds the facts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Loss {
    /// It is removed.
    Removed,
    /// All of its bytes are gone.
    Emptied,
    /// Its second half is gone.
    Cut,
}

impl Loss {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Removed, Self::Emptied, Self::Cut];

    /// Has this happen to a file.
    ///
    /// # Errors
    /// What the file system says.
    pub fn happen_to(self, path: &Path) -> io::Result<()> {
        match self {
            Self::Removed => fs::remove_file(path),
            Self::Emptied => OpenOptions::new().write(true).open(path)?.set_len(0),
            Self::Cut => {
                let file = OpenOptions::new().write(true).open(path)?;
                let len = file.metadata()?.len();
                file.set_len(len / 2)
            }
        }
    }
}

/// Stored data of which a part is lost is never told as all there was: a session that lost facts is
/// `Corrupt`, or the whole store is. It is not `Unknown`, it is not shorter, and
/// it does not begin anew. Nothing is asked of a store that declares [`Durability::Memory`], nor of
/// one whose fixture has no [`damaged`](StoreFixture::damaged) copy, as of a server that keeps the
/// data.
///
/// # Errors
/// A violation when what is lost is told as absent.
pub fn what_is_lost_is_not_absent(at: &dyn StoreFixture) -> Checked {
    run(async {
        let store = at.open().await;
        if store.capabilities().durability == Durability::Memory {
            return Ok(());
        }
        let mut logs = Vec::new();
        for name in ["one", "two"] {
            let mut writer = Writer::new(&store, name).await?;
            for count in [1, 4, 2] {
                writer.append(writer.next(count)).await?;
            }
            logs.push((writer.id, writer.log));
        }
        drop(store);
        for loss in Loss::ALL {
            let Some(opened) = at.damaged(loss).await else {
                continue;
            };
            let found = match opened {
                Err(error) => corrupt(&error, "opening the store"),
                Ok(store) => whole_or_corrupt(&*store, &logs).await,
            };
            found.map_err(|absent| Violation::new(format!("{loss:?}: {absent}")))?;
        }
        Ok(())
    })
}

/// Holds each session to being whole or damaged.
async fn whole_or_corrupt(
    store: &dyn LogStore,
    logs: &[(SessionId, Vec<Arc<RecordedFact>>)],
) -> Checked {
    match store.sessions(SessionFilter::ALL_TENANTS, None, 10).await {
        Err(error) => corrupt(&error, "listing")?,
        Ok(listed) => {
            let is_listed = |id: &SessionId| listed.iter().any(|listing| listing.id == *id);
            let absent = logs.iter().find(|(id, _)| !is_listed(id));
            ensure!(absent.is_none(), "{:?} is not listed", absent.map(|(id, _)| id));
        }
    }
    for (id, log) in logs {
        let last = log.last().map_or(Seq::ZERO, |fact| fact.seq);
        match store.verify(id).await {
            Err(error) => corrupt(&error, &format!("verifying {id}"))?,
            Ok(found) => ensure!(found.last == last, "{id} verifies up to {}", found.last),
        }
        match store.read(id, Seq::ZERO, usize::MAX).await {
            Err(error) => corrupt(&error, &format!("reading {id}"))?,
            Ok(read) => ensure!(read.len() == log.len(), "{id} reads with {} facts", read.len()),
        }
        match store.claim(id).await {
            Err(error) => corrupt(&error, &format!("claiming {id}"))?,
            Ok(claimed) => ensure!(claimed.last == last, "{id} is claimed at {}", claimed.last),
        }
    }
    Ok(())
}

fn corrupt(error: &StoreError, what: &str) -> Checked {
    ensure!(
        matches!(error.kind, StoreErrorKind::Corrupt { .. }),
        "{what} must be refused as Corrupt and was as {:?}: {}",
        error.kind,
        error.context
    );
    Ok(())
}
