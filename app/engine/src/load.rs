//! Load: folds a session's log, from a checkpoint if a usable one exists.
//!
//! A checkpoint is a cache. If it has any fault, the whole log is folded instead.

use windlass_core::{Checkpoint, RecordedFact, Seq, SessionId};
use windlass_ports::{LogStore, StoreError, StoreErrorKind};

use crate::checkpoint::{self, CheckpointLookup};
use crate::error::StartError;

/// State of a session, loaded from its log.
pub type Loaded = Checkpoint;

/// Loads and folds a session's log. Reads only the facts after a matching checkpoint if the store
/// has one, else all facts, `page` at a time. Needs no claim and changes nothing.
///
/// # Errors
/// [`StartError::Unknown`] for a session without a fact, [`StartError::InvalidFact`] for a readable
/// log with an invalid fact, and the store's errors.
pub async fn load(store: &dyn LogStore, id: &SessionId, page: usize) -> Result<Loaded, StartError> {
    Ok(load_from_checkpoint(store, id, page).await?.0)
}

/// As [`load`], but always folds the whole log and uses no checkpoint.
///
/// # Errors
/// As [`load`].
pub async fn fold(store: &dyn LogStore, id: &SessionId, page: usize) -> Result<Loaded, StartError> {
    let mut folding = LogFold::new(id);
    while folding.read(store, page).await? {}
    folding.end()
}

/// As [`fold`], but up to a position: the state of the session when that fact was its last one. It
/// includes nothing that followed. A log that is damaged behind the position can be folded.
///
/// # Errors
/// As [`load`], and [`StartError::Store`] of kind `Invalid` when the log has no such position.
pub async fn load_at(
    store: &dyn LogStore,
    id: &SessionId,
    at: Seq,
    page: usize,
) -> Result<Loaded, StartError> {
    let mut folding = LogFold::new(id);
    while folding.position() < at {
        let last = folding.position();
        let left = usize::try_from(at.0.saturating_sub(last.0)).unwrap_or(page);
        folding.read(store, page.min(left)).await?;
        if folding.position() == last {
            return Err(no_position(id, at, last));
        }
    }
    match at {
        Seq::ZERO => Err(no_position(id, at, at)),
        _ => folding.end(),
    }
}

fn no_position(id: &SessionId, at: Seq, last: Seq) -> StartError {
    let context = match at {
        Seq::ZERO => format!("reading session {id} as of position 0: the first position is 1"),
        _ => format!(
            "reading session {id} as of position {at}: its log ends at {last}; use a position \
             that it has"
        ),
    };
    StartError::Store(StoreError::new(StoreErrorKind::Invalid, context))
}

/// As [`load`], with the position of the checkpoint that was used; [`Seq::ZERO`] without one.
pub(crate) async fn load_from_checkpoint(
    store: &dyn LogStore,
    id: &SessionId,
    page: usize,
) -> Result<(Loaded, Seq), StartError> {
    let kept = match checkpoint::find(store, id).await {
        CheckpointLookup::Valid(kept) => kept,
        CheckpointLookup::None => return Ok((fold(store, id, page).await?, Seq::ZERO)),
        CheckpointLookup::Unusable { at, why } => {
            tracing::warn!(
                session = %id, %at, why,
                "a checkpoint cannot be used, which is a defect: the whole log is read"
            );
            return Ok((fold(store, id, page).await?, Seq::ZERO));
        }
    };
    let at = kept.last();
    match fold_rest(store, *kept, page).await? {
        Ok(loaded) => Ok((loaded, at)),
        Err(why) => {
            tracing::warn!(
                session = %id, %at, why,
                "a checkpoint does not fit its log, which is a defect: the whole log is read"
            );
            Ok((fold(store, id, page).await?, Seq::ZERO))
        }
    }
}

/// Folds the rest of the log onto a checkpoint, or returns the reason why the checkpoint does not
/// match.
async fn fold_rest(
    store: &dyn LogStore,
    kept: Checkpoint,
    page: usize,
) -> Result<Result<Checkpoint, String>, StartError> {
    let (id, at) = (kept.session.id.clone(), kept.last());
    // The log must reach at least the position of the checkpoint.
    let before = Seq(at.0.saturating_sub(1));
    let there = store.read(&id, before, 1).await?;
    if there.first().map(|fact| fact.seq) != Some(at) {
        return Ok(Err(format!("the log ends before position {at}")));
    }
    let mut folding = LogFold::from(kept);
    loop {
        match folding.read(store, page).await {
            Ok(true) => {}
            Ok(false) => return folding.end().map(Ok),
            Err(StartError::InvalidFact { cause, .. }) => return Ok(Err(cause.to_string())),
            Err(error) => return Err(error),
        }
    }
}

/// Log that is being folded.
pub(crate) struct LogFold {
    id: SessionId,
    checkpoint: Option<Checkpoint>,
}

impl LogFold {
    pub(crate) fn new(id: &SessionId) -> Self {
        Self { id: id.clone(), checkpoint: None }
    }

    /// Returns the fold of the facts so far.
    pub(crate) fn folded(&self) -> Option<&Checkpoint> {
        self.checkpoint.as_ref()
    }

    /// Returns the position of the last fact so far.
    pub(crate) fn position(&self) -> Seq {
        self.checkpoint.as_ref().map_or(Seq::ZERO, Checkpoint::last)
    }

    /// Folds up to `page` further facts, and returns true if more may follow.
    pub(crate) async fn read(
        &mut self,
        store: &dyn LogStore,
        page: usize,
    ) -> Result<bool, StartError> {
        let page = page.max(1);
        let facts = store.read(&self.id, self.position(), page).await?;
        for fact in &facts {
            self.apply(fact)?;
        }
        Ok(facts.len() == page)
    }

    /// Folds the next fact.
    pub(crate) fn apply(&mut self, fact: &RecordedFact) -> Result<(), StartError> {
        let invalid = |cause| StartError::InvalidFact { session: self.id.clone(), cause };
        match &mut self.checkpoint {
            None => self.checkpoint = Some(Checkpoint::open(fact).map_err(invalid)?),
            Some(folded) => folded.apply(fact).map_err(invalid)?,
        }
        Ok(())
    }

    pub(crate) fn end(self) -> Result<Checkpoint, StartError> {
        self.checkpoint.ok_or(StartError::Unknown(self.id))
    }
}

impl From<Checkpoint> for LogFold {
    fn from(kept: Checkpoint) -> Self {
        Self { id: kept.session.id.clone(), checkpoint: Some(kept) }
    }
}
