//! Cases of damage between good facts: a log that was damaged is `Corrupt`, and never a shorter one.

#![expect(clippy::missing_errors_doc, reason = "each case answers a violation of its promise")]

use std::sync::Arc;

use windlass_core::{RecordedFact, Seq, SessionId};
use windlass_ports::{LogStore, SessionFilter, StoreError, StoreErrorKind};

use super::StoreFixture;
use super::facts::{letters, queued};
use super::inspecting::{FactDamage, FactDamageKind};
use super::violation::{Checked, Violation, ensure, run};
use super::writer::{Writer, check_facts};

/// Facts of the appends of a log.
const APPENDS: [u64; 4] = [1, 2, 1, 3];
/// Positions that are changed: within the log, at its beginning, at its end.
const CHANGED: &[Seq] = &[Seq(4), Seq(2), Seq(1), Seq(7)];
/// Positions that are removed, before facts that stay.
const REMOVED: &[Seq] = &[Seq(4), Seq(2), Seq(1)];

/// A log on which damage is tried.
struct Subject {
    id: SessionId,
    log: Vec<Arc<RecordedFact>>,
}

/// Text that only the fact at a position has. All of its bytes are letters or digits.
fn text(kind: FactDamageKind, seq: Seq) -> String {
    // Stores that compress have it as it is, too, since no part of it stands elsewhere.
    let seed = match kind {
        FactDamageKind::Changed => seq.0,
        FactDamageKind::Removed => seq.0 + 1_000,
    };
    letters(seed, 24)
}

/// Damages facts, each in a copy of its own, and has a check look at each copy.
async fn damaged<F>(
    at: &dyn StoreFixture,
    case: &str,
    kind: FactDamageKind,
    check: impl Fn(Result<Arc<dyn LogStore>, StoreError>, Arc<Subject>, Seq) -> F,
) -> Checked
where
    F: Future<Output = Checked>,
{
    let store = at.open().await;
    let declared = store.capabilities().durability;
    let mut writer = Writer::new(&store, &format!("{kind:?}")).await?;
    for count in APPENDS {
        let numbers = (1..=count).map(|number| writer.last().plus(number));
        let facts = numbers.map(|seq| Arc::new(queued(&writer.id, seq, text(kind, seq)))).collect();
        writer.append(facts).await?;
    }
    let subject = Arc::new(Subject { id: writer.id.clone(), log: writer.log.clone() });
    drop((writer, store));
    let positions = match kind {
        FactDamageKind::Changed => CHANGED,
        FactDamageKind::Removed => REMOVED,
    };
    for seq in positions.iter().copied() {
        let damage = FactDamage { session: &subject.id, seq, text: &text(kind, seq), kind };
        let opened = at.damage(damage).await.found(case, "damage", declared)?;
        let Some(opened) = opened else {
            return Ok(());
        };
        check(opened, subject.clone(), seq).await.map_err(|broken| {
            Violation::new(format!("{kind:?} at {seq} of a log of {}: {broken}", subject.log.len()))
        })?;
    }
    Ok(())
}

/// A stored fact of which a byte was changed makes its log `Corrupt`, wherever it stands: reading does
/// not end there as if the log did, and answers no other fact than was appended.
pub fn a_changed_fact_is_corrupt(at: &dyn StoreFixture) -> Checked {
    let case = "a_changed_fact_is_corrupt";
    run(damaged(at, case, FactDamageKind::Changed, is_corrupt))
}

/// A log without one of its records is `Corrupt`: positions are contiguous, so it is neither a
/// shorter log nor one with a gap.
pub fn a_missing_fact_is_corrupt(at: &dyn StoreFixture) -> Checked {
    let case = "a_missing_fact_is_corrupt";
    run(damaged(at, case, FactDamageKind::Removed, is_corrupt))
}

/// Verifying reads each fact, not only the end of the log: it finds a fact that was changed, and one
/// that is missing.
pub fn verifying_reads_every_fact(at: &dyn StoreFixture) -> Checked {
    run(async {
        for kind in [FactDamageKind::Changed, FactDamageKind::Removed] {
            let case = "verifying_reads_every_fact";
            damaged(at, case, kind, |opened, subject, _| async move {
                match opened {
                    Err(error) => corrupt(&error, "opening the store").map(drop),
                    Ok(store) => match store.verify(&subject.id).await {
                        Err(error) => corrupt(&error, "verifying").map(drop),
                        Ok(found) => Err(Violation::new(format!("it verifies as {found:?}"))),
                    },
                }
            })
            .await?;
        }
        Ok(())
    })
}

async fn is_corrupt(
    opened: Result<Arc<dyn LogStore>, StoreError>,
    subject: Arc<Subject>,
    seq: Seq,
) -> Checked {
    let store = match opened {
        Err(error) => return corrupt(&error, "opening the store").map(drop),
        Ok(store) => store,
    };
    let Subject { id, log } = &*subject;
    for limit in [usize::MAX, 1, 2] {
        reads_up_to(&*store, id, log, seq, limit).await?;
    }
    // Behind the damage, a read gives what stands there or fails.
    for after in log.iter().map(|fact| fact.seq).filter(|after| *after >= seq) {
        match store.read(id, after, usize::MAX).await {
            Err(error) => corrupt(&error, "reading behind it").map(drop)?,
            Ok(read) => {
                let rest: Vec<_> = log.iter().filter(|fact| fact.seq > after).cloned().collect();
                ensure!(read.len() == rest.len(), "after {after} it reads {} facts", read.len());
                check_facts(&read, &rest)?;
            }
        }
    }
    let last = log.last().map_or(Seq::ZERO, |fact| fact.seq);
    match store.claim(id).await {
        Err(error) => corrupt(&error, "claiming").map(drop)?,
        Ok(claimed) => ensure!(
            claimed.last == last && claimed.repaired.is_none(),
            "it is claimed as {claimed:?}, as if the log ended there"
        ),
    }
    match store.sessions(SessionFilter::ALL_TENANTS, None, 10).await {
        Err(error) => corrupt(&error, "listing").map(drop),
        Ok(listed) => {
            ensure!(listed.iter().any(|head| head.id == *id), "it is not listed");
            Ok(())
        }
    }
}

/// Reads page by page from the beginning: the pages hold what was appended, and before they end comes
/// an error that says where.
async fn reads_up_to(
    store: &dyn LogStore,
    id: &SessionId,
    log: &[Arc<RecordedFact>],
    seq: Seq,
    limit: usize,
) -> Checked {
    let mut after = Seq::ZERO;
    loop {
        let page = match store.read(id, after, limit).await {
            Err(error) => {
                let stands = corrupt(&error, "reading")?;
                ensure!(stands < seq, "reading says that the log is sound up to {stands}");
                return Ok(());
            }
            Ok(page) => page,
        };
        let skip = usize::try_from(after.0).unwrap_or(usize::MAX);
        check_facts(&page, log.get(skip..).unwrap_or_default())?;
        after = after.plus(page.len() as u64);
        ensure!(
            page.len() == limit && after < seq,
            "reading by pages of {limit} ends at {after} as if the log did, or goes on behind it"
        );
    }
}

/// Holds an error to being `Corrupt`, and answers the last position before the damage.
fn corrupt(error: &StoreError, what: &str) -> Result<Seq, Violation> {
    let StoreErrorKind::Corrupt { after, .. } = error.kind else {
        return Err(Violation::new(format!(
            "{what} must be refused as Corrupt and was as {:?}: {}",
            error.kind, error.context
        )));
    };
    Ok(after)
}
