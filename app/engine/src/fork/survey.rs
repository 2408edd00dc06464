//! Survey: whether a log may be forked at a position, and where it may be instead.

use std::sync::Arc;

use windlass_core::{Lineage, Recorded, Scope, Seq, Session, opened};
use windlass_ports::LogStore;

use super::PAGE;
use super::{ForkAt, ForkError, first, text};

/// A log that may be forked as it is asked.
pub(super) struct Survey {
    /// First fact of the source.
    pub(super) first: Recorded,
    /// Owner of the fork.
    pub(super) owner: Arc<Scope>,
}

/// Folds a log as far as it must be, and says whether it may be forked.
pub(super) async fn survey(store: &dyn LogStore, asked: &ForkAt) -> Result<Survey, ForkError> {
    let unknown = || ForkError::Unknown(asked.of.clone());
    let first_ = first(store, &asked.of, Seq::ZERO)
        .await?
        .ok_or_else(unknown)?;
    let misfit = |misfit| ForkError::Misfit {
        session: asked.of.clone(),
        misfit,
    };
    let session = opened(&first_).map_err(misfit)?;
    if !asked.scope.sees(&session.owner) {
        return Err(unknown());
    }
    whole(store, asked, &session).await?;
    let owner = match &asked.scope {
        Scope::Principal { .. } => Arc::new(asked.scope.clone()),
        Scope::System { .. } => session.owner.clone(),
    };
    let walk = Walk {
        asked,
        longer: asked
            .id
            .as_str()
            .len()
            .saturating_sub(asked.of.as_str().len()),
        most: store.capabilities().max_fact_bytes,
        session,
        before: Seq::ZERO.next(),
    };
    walk.go(store).await?;
    Ok(Survey {
        first: first_,
        owner,
    })
}

/// A fork that is not whole is no session yet, and nothing that could be forked.
async fn whole(store: &dyn LogStore, asked: &ForkAt, session: &Session) -> Result<(), ForkError> {
    let Lineage::Fork { at, .. } = *session.lineage else {
        return Ok(());
    };
    let before = Seq(at.0.saturating_sub(1));
    match first(store, &asked.of, before).await? {
        Some(_) => Ok(()),
        None => Err(ForkError::Unfinished(asked.of.clone())),
    }
}

/// A log that is being folded.
struct Walk<'a> {
    asked: &'a ForkAt,
    /// Bytes by which each fact becomes longer under the new id.
    longer: usize,
    /// The most bytes of a fact.
    most: usize,
    session: Session,
    /// The latest position before the one that is asked for at which it may be forked.
    before: Seq,
}

impl Walk<'_> {
    async fn go(mut self, store: &dyn LogStore) -> Result<(), ForkError> {
        let at = self.asked.at;
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
            let facts = store.read(&self.asked.of, last, limit).await?;
            for fact in &facts {
                if let Some(answer) = self.look(fact)? {
                    return answer;
                }
            }
            if facts.len() < limit {
                return Err(self.ended());
            }
        }
    }

    /// Folds a fact, and answers once it is known whether the log may be forked.
    fn look(&mut self, fact: &Recorded) -> Result<Option<Result<(), ForkError>>, ForkError> {
        let (at, seq) = (self.asked.at, fact.seq);
        if seq <= at && self.longer > 0 && text(fact)?.len().saturating_add(self.longer) > self.most
        {
            let session = self.asked.of.clone();
            return Err(ForkError::TooLarge { session, seq });
        }
        let applied = self.session.apply(fact);
        applied.map_err(|misfit| ForkError::Misfit {
            session: self.asked.of.clone(),
            misfit,
        })?;
        if at == Seq::ZERO || !self.session.forks() {
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

    /// The log is at its end, and nothing was found.
    fn ended(&self) -> ForkError {
        let last = Seq(self.session.next.0.saturating_sub(1));
        if self.asked.at == Seq::ZERO || last < self.asked.at {
            return ForkError::NoPosition {
                session: self.asked.of.clone(),
                at: self.asked.at,
                last,
            };
        }
        self.under_way(None)
    }

    fn under_way(&self, after: Option<Seq>) -> ForkError {
        ForkError::UnderWay {
            session: self.asked.of.clone(),
            at: self.asked.at,
            before: self.before,
            after,
        }
    }
}
