//! A log as a stream of facts, with one page of them in memory.

use std::collections::VecDeque;
use std::sync::Arc;

use windlass_core::{RecordedFact, Seq, SessionId};

use crate::store::{LogStore, StoreError};

/// Number of facts read at a time.
const PAGE_FACTS: usize = 128;

/// Reads a session's log from a position, oldest fact first. After an error it continues at the
/// same position.
pub struct LogReader {
    store: Arc<dyn LogStore>,
    session: SessionId,
    after: Seq,
    left: usize,
    page: VecDeque<RecordedFact>,
    /// True if the log ended with the current page.
    ended: bool,
}

impl LogReader {
    /// Reads up to `limit` facts after position `after`.
    #[must_use]
    pub fn new(store: Arc<dyn LogStore>, session: SessionId, after: Seq, limit: usize) -> Self {
        Self { store, session, after, left: limit, page: VecDeque::new(), ended: false }
    }

    /// Returns the session of the log.
    #[must_use]
    pub fn session(&self) -> &SessionId {
        &self.session
    }

    /// Returns the position of the last returned fact, or the start position.
    #[must_use]
    pub fn position(&self) -> Seq {
        self.after
    }

    /// Returns the next fact; `None` at the end of the log or at the limit. A later call at the end
    /// of the log reads facts appended since.
    ///
    /// # Errors
    /// As [`LogStore::read`].
    pub async fn next(&mut self) -> Result<Option<RecordedFact>, StoreError> {
        if self.page.is_empty() && self.left > 0 {
            if std::mem::take(&mut self.ended) {
                return Ok(None);
            }
            let count = self.left.min(PAGE_FACTS);
            let page = self.store.read(&self.session, self.after, count).await?;
            self.ended = page.len() < count && !page.is_empty();
            self.page = page.into();
        }
        let fact = self.page.pop_front();
        if let Some(fact) = &fact {
            self.after = fact.seq;
            self.left = self.left.saturating_sub(1);
        }
        Ok(fact)
    }
}
