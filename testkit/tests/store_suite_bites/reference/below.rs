//! What other store objects did, and what became of the bytes: the faults of both.

use std::sync::Arc;
use std::time::Instant;

use async_trait::async_trait;
use windlass_core::{RecordedFact, Seq, SessionId};
use windlass_ports::{LogStore, StoreError, StoreErrorKind, codec};
use windlass_testkit::store::{FactDamage, FactDamageKind, Inspection};

use super::{Fault, Kept, Log, PATIENCE, Place, Reference, error};

impl Reference {
    /// How many facts of a log this object thinks that there are.
    pub(super) fn looked(&self, session: &SessionId, log: &Log) -> usize {
        let mut looks = self.looks.lock().unwrap();
        *looks.entry(session.clone()).or_insert(log.facts.len())
    }

    /// Remembers how far this object appended.
    pub(super) fn appended(&self, session: &SessionId, facts: usize) {
        self.looks.lock().unwrap().insert(session.clone(), facts);
    }

    /// Fails if another append is under way, for which it waits a little.
    pub(super) async fn fail_while_busy(&self) -> Result<(), StoreError> {
        if !self.is(Fault::FailsWhileBusy) {
            return Ok(());
        }
        self.kept().writing += 1;
        let begun = Instant::now();
        while self.kept().writing < 2 && begun.elapsed() < PATIENCE {
            tokio::task::yield_now().await;
        }
        let mut kept = self.kept();
        let is_busy = kept.writing > 1;
        // The first to see it leaves it so for the next one.
        kept.writing = usize::from(is_busy);
        if is_busy { Err(error(StoreErrorKind::Unavailable)) } else { Ok(()) }
    }

    /// A page of a log with damage in it.
    pub(super) fn damaged_page(
        &self,
        log: &Log,
        after: Seq,
        page: Vec<RecordedFact>,
    ) -> Result<Vec<RecordedFact>, StoreError> {
        let Some((seq, kind)) = log.damage.filter(|(seq, _)| *seq > after) else {
            return Ok(page);
        };
        let is_hurt = |fact: &RecordedFact| fact.seq == seq;
        let gone = |(_, fact): (usize, RecordedFact)| (fact.seq != seq).then_some(fact);
        match (self.fault, kind) {
            _ if !page.iter().any(is_hurt) => Ok(page),
            (Some(Fault::EndsAtDamage), _) => {
                Ok(page.into_iter().take_while(|fact| fact.seq < seq).collect())
            }
            (Some(Fault::ReadsWhatWasChanged), FactDamageKind::Changed) => Ok(page
                .into_iter()
                .map(|it| if is_hurt(&it) { changed(&it) } else { it })
                .collect()),
            (Some(Fault::SkipsGaps), FactDamageKind::Removed) => {
                Ok(page.into_iter().enumerate().filter_map(gone).collect())
            }
            _ => Err(log.corrupt(seq)),
        }
    }

    /// Fails if a log has damage and this store looks for it.
    pub(super) fn sound(&self, log: &Log) -> Result<(), StoreError> {
        match log.damage {
            Some((seq, _)) if !self.is(Fault::VerifiesTheEndAlone) => Err(log.corrupt(seq)),
            Some(_) | None => Ok(()),
        }
    }

    /// Where a claim takes a log to end.
    pub(super) fn claimed_end(&self, session: &SessionId, log: &Log) -> Seq {
        match self.fault {
            Some(Fault::ClaimsAtZero) => Seq::ZERO,
            Some(Fault::ClaimsFromAnOldLook) => Seq(self.looked(session, log) as u64),
            Some(Fault::ClaimsUpToDamage) => {
                log.damage.map_or(log.last(), |(seq, _)| Seq(seq.0 - 1))
            }
            _ => log.last(),
        }
    }
}

impl Log {
    fn corrupt(&self, seq: Seq) -> StoreError {
        error(StoreErrorKind::Corrupt { after: Seq(seq.0 - 1), offset: None })
    }

    fn bytes(&self) -> Vec<u8> {
        let facts = self.facts.iter().flat_map(|fact| codec::encode(fact).unwrap());
        let snapshot = self.snapshot.iter().flat_map(|(snapshot, _)| snapshot.bytes.clone());
        facts.chain(snapshot).collect()
    }
}

/// The fact with other text.
fn changed(fact: &RecordedFact) -> RecordedFact {
    let text = String::from_utf8(codec::encode(fact).unwrap()).unwrap();
    let other = text.replacen(r#""text":""#, r#""text":"~"#, 1);
    assert_ne!(other, text);
    codec::decode(other.as_bytes()).unwrap()
}

#[async_trait]
pub(super) trait Below {
    async fn hurt(
        &self,
        damage: FactDamage<'_>,
    ) -> Inspection<Result<Arc<dyn LogStore>, StoreError>>;
    fn all_bytes(&self) -> Inspection<Vec<u8>>;
}

#[async_trait]
impl Below for Place {
    async fn hurt(
        &self,
        damage: FactDamage<'_>,
    ) -> Inspection<Result<Arc<dyn LogStore>, StoreError>> {
        if self.fault == Some(Fault::HasNoDamage) {
            return Inspection::Missing;
        }
        let kept = self.kept.lock().unwrap();
        let mut copy = Kept::default();
        for (id, log) in &kept.logs {
            let mut log = Log { facts: log.facts.clone(), ..Log::default() };
            if id == damage.session {
                log.damage = Some((damage.seq, damage.kind));
            }
            copy.logs.insert(id.clone(), log);
        }
        let copy = Arc::new(std::sync::Mutex::new(copy));
        Inspection::Found(Ok(Arc::new(Reference::new(self.fault, copy, Arc::default()))))
    }

    fn all_bytes(&self) -> Inspection<Vec<u8>> {
        let kept = self.kept.lock().unwrap();
        let was_erased = kept.logs.values().any(|log| log.facts.is_empty());
        match self.fault {
            Some(Fault::HasNoBytes) => return Inspection::Missing,
            Some(Fault::ErasesAllBytes) if was_erased => return Inspection::Found(Vec::new()),
            _ => {}
        }
        let logs = kept.logs.values().chain(kept.erased.values());
        Inspection::Found(logs.flat_map(Log::bytes).collect())
    }
}
