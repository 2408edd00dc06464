//! Keeping: snapshots of what the log folds to, beside the driver's work and never in its way.

use std::time::Duration;

use futures_util::FutureExt as _;
use tokio::task::JoinSet;
use tokio::time::timeout;
use windlass_core::{Folded, Seq};

use super::Driver;
use crate::config::Config;
use crate::snapshot::{self, Kept};

/// How many bytes of a snapshot a fact has to pay for.
const BYTES_A_FACT: u64 = 256;
/// A session that is let go keeps a snapshot for this part of the facts that one that runs does.
const SOONER: u64 = 8;
/// How long a session that is let go waits for a snapshot.
const PATIENCE: Duration = Duration::from_secs(1);

/// When a snapshot is kept next.
pub(super) struct Keeping {
    /// The most bytes of one; `None` when none is kept.
    limit: Option<usize>,
    /// After how many facts.
    every: u64,
    /// The position of the last that was kept, or tried.
    last: Seq,
    /// The one that is being kept.
    under_way: JoinSet<Kept>,
}

impl Keeping {
    pub(super) fn new(config: &Config, snapshots: Option<usize>, last: Seq) -> Self {
        Self {
            limit: snapshots.filter(|_| config.snapshot_every > 0),
            every: config.snapshot_every,
            last,
            under_way: JoinSet::new(),
        }
    }

    fn learn(&mut self, every: u64, kept: Kept) {
        self.every = match kept {
            Kept::Bytes(bytes) => every.max(bytes as u64 / BYTES_A_FACT),
            Kept::TooLarge | Kept::Failed => self.every.saturating_mul(2),
        };
    }
}

impl Driver {
    /// Begins to keep a snapshot, if it is time, the log is durable as far as it was decided, and
    /// none is under way.
    pub(super) fn keep(&mut self) {
        while let Some(Some(kept)) = self.keeping.under_way.join_next().now_or_never() {
            self.learn(kept.unwrap_or(Kept::Failed));
        }
        let facts = self.durable.0.saturating_sub(self.keeping.last.0);
        if facts >= self.keeping.every && self.keeping.under_way.is_empty() {
            self.begin();
        }
    }

    fn begin(&mut self) {
        let Some(limit) = self.keeping.limit else {
            return;
        };
        // Only what is durable may be kept: facts that are lost would come back with it.
        if self.writing.is_some() || !self.unsent.is_empty() {
            return;
        }
        self.keeping.last = self.durable;
        let folded = Folded {
            session: self.session.clone(),
            history: self.history.clone(),
        };
        let store = self.ports.store.clone();
        self.keeping
            .under_way
            .spawn(snapshot::keep(store, folded, limit));
    }

    fn learn(&mut self, kept: Kept) {
        self.keeping.learn(self.config.snapshot_every, kept);
    }

    /// Keeps a last snapshot before the session is let go, if enough was added; for a bounded time.
    pub(super) async fn keep_last(&mut self) {
        let keeping = async {
            while self.keeping.under_way.join_next().await.is_some() {}
            let facts = self.durable.0.saturating_sub(self.keeping.last.0);
            if facts >= (self.config.snapshot_every / SOONER).max(1) {
                self.begin();
            }
            while self.keeping.under_way.join_next().await.is_some() {}
        };
        if timeout(PATIENCE, keeping).await.is_err() {
            tracing::warn!(session = %self.session.id, "let go before its snapshot was kept");
        }
    }
}
