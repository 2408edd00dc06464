//! Survey: checks that a log may be forked at a position, and finds the nearest positions if not.

use std::sync::Arc;

use windlass_core::{Lineage, RecordedFact, Scope, Seq, Session, evolve_first};
use windlass_ports::LogStore;

use super::PAGE;
use super::{ForkError, ForkRequest, first, text};

/// Log that may be forked at the requested position.
pub(super) struct ForkSurvey {
    /// First fact of the source.
    pub(super) first: RecordedFact,
    /// Owner of the fork.
    pub(super) owner: Arc<Scope>,
}

/// Folds a log as far as necessary, and checks that it may be forked.
pub(super) async fn survey(
    store: &dyn LogStore,
    asked: &ForkRequest,
) -> Result<ForkSurvey, ForkError> {
    let unknown = || ForkError::Unknown(asked.source.clone());
    let first_ = first(store, &asked.source, Seq::ZERO).await?.ok_or_else(unknown)?;
    let invalid = |cause| ForkError::InvalidFact { session: asked.source.clone(), cause };
    let session = evolve_first(&first_).map_err(invalid)?;
    if !asked.scope.can_access(&session.owner) {
        return Err(unknown());
    }
    check_complete(store, asked, &session).await?;
    let owner = match &asked.scope {
        Scope::Principal { .. } => Arc::new(asked.scope.clone()),
        Scope::System { .. } => session.owner.clone(),
    };
    let mut walk = SurveyFold {
        request: asked,
        extra_bytes: asked.id.as_str().len().saturating_sub(asked.source.as_str().len()),
        max_bytes: store.capabilities().max_fact_bytes,
        bytes: 0,
        session,
        before: Seq::ZERO.next(),
    };
    walk.count(&first_)?;
    walk.run(store).await?;
    Ok(ForkSurvey { first: first_, owner })
}

/// Returns an error for an incomplete fork, which cannot be forked itself.
async fn check_complete(
    store: &dyn LogStore,
    asked: &ForkRequest,
    session: &Session,
) -> Result<(), ForkError> {
    let Lineage::Fork { at, .. } = *session.lineage else {
        return Ok(());
    };
    let before = Seq(at.0.saturating_sub(1));
    match first(store, &asked.source, before).await? {
        Some(_) => Ok(()),
        None => Err(ForkError::Unfinished(asked.source.clone())),
    }
}

/// Log that is being folded.
struct SurveyFold<'a> {
    request: &'a ForkRequest,
    /// Bytes that the new id adds to each fact.
    extra_bytes: usize,
    /// Most bytes of a fact.
    max_bytes: usize,
    /// Bytes of the copy so far.
    bytes: u64,
    session: Session,
    /// Latest position before the requested one at which the log may be forked.
    before: Seq,
}

impl SurveyFold<'_> {
    async fn run(mut self, store: &dyn LogStore) -> Result<(), ForkError> {
        let at = self.request.at;
        if at == self.before {
            return Ok(());
        }
        loop {
            let last = Seq(self.session.next.0.saturating_sub(1));
            let left = usize::try_from(at.0.saturating_sub(last.0)).unwrap_or(PAGE);
            let limit = match left {
                0 => PAGE,
                left => left.min(PAGE),
            };
            let facts = store.read(&self.request.source, last, limit).await?;
            for fact in &facts {
                if let Some(answer) = self.apply(fact)? {
                    return answer;
                }
            }
            if facts.len() < limit {
                return Err(self.ended());
            }
        }
    }

    /// Folds a fact. Returns the result once it is known.
    fn apply(&mut self, fact: &RecordedFact) -> Result<Option<Result<(), ForkError>>, ForkError> {
        let (at, seq) = (self.request.at, fact.seq);
        if seq <= at {
            self.count(fact)?;
        }
        let applied = self.session.apply(fact);
        applied.map_err(|cause| ForkError::InvalidFact {
            session: self.request.source.clone(),
            cause,
        })?;
        if at == Seq::ZERO || !self.session.can_fork() {
            return Ok(None);
        }
        if seq < at {
            self.before = seq;
            return Ok(None);
        }
        if seq == at {
            return Ok(Some(Ok(())));
        }
        Ok(Some(Err(self.under_way(Some(seq)))))
    }

    /// Counts the bytes of a fact that is to be copied, and of the blobs that it names.
    fn count(&mut self, fact: &RecordedFact) -> Result<(), ForkError> {
        let (session, seq) = (&self.request.source, fact.seq);
        let size = text(fact)?.len().saturating_add(self.extra_bytes);
        if self.extra_bytes > 0 && size > self.max_bytes {
            return Err(ForkError::TooLarge { session: session.clone(), seq });
        }
        let blobs = fact.fact.blobs().map(|(_, bytes)| bytes);
        let size = blobs.fold(size as u64, u64::saturating_add);
        self.bytes = self.bytes.saturating_add(size);
        let max_bytes = self.request.max_bytes;
        if self.bytes > max_bytes {
            let (session, at) = (session.clone(), self.request.at);
            return Err(ForkError::TooManyBytes { session, at, max_bytes });
        }
        Ok(())
    }

    /// Returns the error for a log that has ended without a suitable position.
    fn ended(&self) -> ForkError {
        let last = Seq(self.session.next.0.saturating_sub(1));
        if self.request.at == Seq::ZERO || last < self.request.at {
            return ForkError::NoPosition {
                session: self.request.source.clone(),
                at: self.request.at,
                last,
            };
        }
        self.under_way(None)
    }

    fn under_way(&self, after: Option<Seq>) -> ForkError {
        ForkError::UnderWay {
            session: self.request.source.clone(),
            at: self.request.at,
            before: self.before,
            after,
        }
    }
}
