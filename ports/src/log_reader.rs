//! A log as a stream of facts, with one page of them in memory.

use std::collections::VecDeque;
use std::sync::Arc;

use windlass_core::{RecordedFact, Seq, SessionId};

use crate::store::{LogStore, StoreError, StoreErrorKind};

/// Number of facts read at a time.
const PAGE_FACTS: usize = 128;

/// Reads a session's log from a position, oldest fact first. After an error it continues at the
/// same position. Of a damaged log it returns the facts before the damage, and then the error.
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
            let (page, damaged) = self.read(count).await?;
            self.ended = page.len() < count && !page.is_empty() && !damaged;
            self.page = page.into();
        }
        let fact = self.page.pop_front();
        if let Some(fact) = &fact {
            self.after = fact.seq;
            self.left = self.left.saturating_sub(1);
        }
        Ok(fact)
    }

    /// Reads a page. If it is damaged, reads the part of it before the damage, and returns true.
    async fn read(&self, count: usize) -> Result<(Vec<RecordedFact>, bool), StoreError> {
        let error = match self.store.read(&self.session, self.after, count).await {
            Ok(page) => return Ok((page, false)),
            Err(error) => error,
        };
        let StoreErrorKind::Corrupt { after, .. } = error.kind else {
            return Err(error);
        };
        let sound = after.0.saturating_sub(self.after.0);
        let sound = usize::try_from(sound).unwrap_or(usize::MAX).min(count);
        if sound == 0 {
            return Err(error);
        }
        // The part before the damage may be unreadable too.
        let page = self.store.read(&self.session, self.after, sound).await.map_err(|_| error)?;
        Ok((page, true))
    }
}
