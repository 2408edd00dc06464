//! Cases of appending: atomic, contiguous, faithful, refused where it must be.

#![expect(clippy::missing_errors_doc, reason = "each case answers a violation of its promise")]

use std::sync::Arc;

use windlass_core::{Epoch, RecordedFact, Seq};
use windlass_ports::{MAX_FACT_BYTES, StoreErrorKind};

use super::StoreFixture;
use super::facts::{fact_of_size, newer_facts, numbered_facts, sample_facts, saying};
use super::violation::{Checked, Violation, done, ensure, refused, run};
use super::writer::{Writer, session};

/// What is appended is read back in its order, across appends.
pub fn an_append_is_read_back(at: &dyn StoreFixture) -> Checked {
    run(async {
        let store = at.open().await;
        let mut writer = Writer::new(&store, "s").await?;
        for count in [1, 3, 1, 7] {
            writer.append(writer.next(count)).await?;
            writer.check().await?;
        }
        Ok(())
    })
}

/// An append anywhere but at the end is a conflict that names the last position.
pub fn a_wrong_position_is_a_conflict(at: &dyn StoreFixture) -> Checked {
    run(async {
        let store = at.open().await;
        let mut writer = Writer::new(&store, "s").await?;
        for standing in [0, 4] {
            if standing > 0 {
                writer.append(writer.next(standing)).await?;
            }
            let last = Seq(standing);
            let conflict = StoreErrorKind::Conflict { last };
            for after in [0, 1, 3, 5, 6, u64::MAX - 1].map(Seq) {
                if after == last {
                    continue;
                }
                let facts = saying(&writer.id, after, 1, "another word");
                let what = format!("appending after {after} to a log that ends at {last}");
                refused(writer.offer(after, &facts).await, &conflict, &what)?;
            }
        }
        writer.check().await
    })
}

/// Without a claim of this session nothing is appended.
pub fn an_append_without_a_claim_is_refused(at: &dyn StoreFixture) -> Checked {
    run(async {
        let store = at.open().await;
        let claimed = Writer::new(&store, "claimed").await?;
        let id = session("unclaimed")?;
        let facts = numbered_facts(&id, Seq::ZERO, 1);
        for epoch in [Epoch(0), Epoch(1), claimed.epoch, Epoch(u64::MAX)] {
            let appended = store.append(&id, epoch, Seq::ZERO, &facts).await;
            let what = format!("appending under epoch {epoch} to a session without a claim");
            refused(appended, &StoreErrorKind::NotClaimed, &what)?;
        }
        let read = store.read(&id, Seq::ZERO, 1).await;
        refused(read, &StoreErrorKind::Unknown, "reading what was refused")
    })
}

/// An append of nothing is invalid.
pub fn an_empty_batch_is_invalid(at: &dyn StoreFixture) -> Checked {
    run(async {
        let store = at.open().await;
        let mut writer = Writer::new(&store, "s").await?;
        writer.append(writer.next(2)).await?;
        let appended = writer.offer(writer.last(), &[]).await;
        refused(appended, &StoreErrorKind::Invalid, "appending nothing")?;
        writer.check().await
    })
}

/// Facts of another session are invalid, wherever in the batch they stand.
pub fn a_batch_of_another_session_is_invalid(at: &dyn StoreFixture) -> Checked {
    run(async {
        let store = at.open().await;
        let mut writer = Writer::new(&store, "s").await?;
        writer.append(writer.next(2)).await?;
        let foreign = numbered_facts(&session("other")?, writer.last(), 3);
        for wrong in 0..3 {
            let mut facts = writer.next(3);
            replace(&mut facts, wrong, &foreign);
            let what = format!("appending a fact of another session at {wrong} of 3");
            let appended = writer.offer(writer.last(), &facts).await;
            refused(appended, &StoreErrorKind::Invalid, &what)?;
        }
        writer.check().await
    })
}

/// Facts that are not numbered on from the last position are invalid.
pub fn a_misnumbered_batch_is_invalid(at: &dyn StoreFixture) -> Checked {
    run(async {
        let store = at.open().await;
        let mut writer = Writer::new(&store, "s").await?;
        writer.append(writer.next(2)).await?;
        for numbers in [&[2_u64][..], &[4], &[0], &[3, 3], &[3, 5], &[3, 4, 6], &[4, 3], &[3, 2]] {
            let facts: Vec<_> = numbers.iter().flat_map(|n| renumbered(&writer, *n)).collect();
            let what = format!("appending positions {numbers:?} after 2");
            let appended = writer.offer(writer.last(), &facts).await;
            refused(appended, &StoreErrorKind::Invalid, &what)?;
        }
        writer.check().await
    })
}

/// A batch that is refused for its last fact leaves nothing of the facts before it.
pub fn a_refused_batch_leaves_nothing(at: &dyn StoreFixture) -> Checked {
    run(async {
        let store = at.open().await;
        let mut writer = Writer::new(&store, "s").await?;
        writer.append(writer.next(2)).await?;
        let mut facts = writer.next(50);
        let foreign = numbered_facts(&session("other")?, writer.last(), 50);
        replace(&mut facts, 49, &foreign);
        let appended = writer.offer(writer.last(), &facts).await;
        refused(appended, &StoreErrorKind::Invalid, "appending a batch with a bad end")?;
        writer.check().await
    })
}

/// After a conflict or an invalid batch the same claim goes on.
pub fn a_refused_append_leaves_the_claim(at: &dyn StoreFixture) -> Checked {
    run(async {
        let store = at.open().await;
        let mut writer = Writer::new(&store, "s").await?;
        writer.append(writer.next(2)).await?;
        let early = saying(&writer.id, Seq(1), 1, "another word");
        let conflict = StoreErrorKind::Conflict { last: Seq(2) };
        let appended = writer.offer(Seq(1), &early).await;
        refused(appended, &conflict, "appending after 1 to a log that ends at 2")?;
        writer.append(writer.next(1)).await?;
        let appended = writer.offer(writer.last(), &[]).await;
        refused(appended, &StoreErrorKind::Invalid, "appending nothing")?;
        writer.append(writer.next(1)).await?;
        writer.check().await
    })
}

/// A batch of many facts is kept whole.
pub fn a_big_batch_is_whole(at: &dyn StoreFixture) -> Checked {
    run(async {
        let store = at.open().await;
        let mut writer = Writer::new(&store, "s").await?;
        writer.append(writer.next(1)).await?;
        writer.append(writer.next(2_000)).await?;
        writer.check().await?;
        writer.append(writer.next(1)).await?;
        writer.check().await
    })
}

/// A fact of the largest declared size is taken, one of a byte more is refused and not kept.
pub fn a_fact_that_is_too_large_is_refused(at: &dyn StoreFixture) -> Checked {
    run(async {
        let store = at.open().await;
        let max = store.capabilities().max_fact_bytes;
        ensure!(
            max == MAX_FACT_BYTES,
            "the store declares that a fact may have {max} bytes, and all take {MAX_FACT_BYTES}: a \
             log could not be copied between it and the others"
        );
        let mut writer = Writer::new(&store, "s").await?;
        writer.append(writer.next(1)).await?;
        let too_large = sized(&writer, writer.last(), max + 1)?;
        let appended = writer.offer(writer.last(), &[too_large]).await;
        refused(appended, &StoreErrorKind::TooLarge, "appending a fact of a byte too many")?;

        let mut facts = writer.next(1);
        facts.push(sized(&writer, writer.last().next(), max + 1)?);
        let appended = writer.offer(writer.last(), &facts).await;
        refused(appended, &StoreErrorKind::TooLarge, "appending it at a batch's end")?;
        writer.check().await?;

        let claimed = done(store.claim(&writer.id).await, "claiming after TooLarge")?;
        ensure!(
            claimed.last == writer.last(),
            "what was too large moved the end to {}",
            claimed.last
        );
        writer.epoch = claimed.epoch;
        writer.append(vec![sized(&writer, writer.last(), max)?]).await?;
        writer.check().await
    })
}

/// Every kind of fact with every awkward text is read as it was appended, byte for byte.
pub fn every_kind_of_fact_comes_back_byte_for_byte(at: &dyn StoreFixture) -> Checked {
    run(async {
        let store = at.open().await;
        let mut one_by_one = Writer::new(&store, "one-by-one").await?;
        for fact in sample_facts(&one_by_one.id) {
            one_by_one.append(vec![fact]).await?;
        }
        one_by_one.check().await?;
        let mut at_once = Writer::new(&store, "at-once").await?;
        at_once.append(sample_facts(&at_once.id)).await?;
        at_once.check().await
    })
}

/// Facts that a newer minor version wrote come back with the fields that this engine does not know.
pub fn what_a_newer_version_added_comes_back(at: &dyn StoreFixture) -> Checked {
    run(async {
        let store = at.open().await;
        let mut writer = Writer::new(&store, "newer").await?;
        writer.append(writer.next(2)).await?;
        writer.append(newer_facts(&writer.id, writer.last())).await?;
        writer.append(writer.next(1)).await?;
        writer.check().await
    })
}

fn replace(facts: &mut [Arc<RecordedFact>], index: usize, with: &[Arc<RecordedFact>]) {
    if let (Some(fact), Some(other)) = (facts.get_mut(index), with.get(index)) {
        *fact = other.clone();
    }
}

/// The next fact of a writer, with another position.
fn renumbered(writer: &Writer, seq: u64) -> Vec<Arc<RecordedFact>> {
    let facts = writer.next(1).into_iter();
    facts
        .map(|fact| {
            let mut fact = RecordedFact::clone(&fact);
            fact.seq = Seq(seq);
            Arc::new(fact)
        })
        .collect()
}

fn sized(writer: &Writer, after: Seq, bytes: usize) -> Result<Arc<RecordedFact>, Violation> {
    fact_of_size(&writer.id, after, bytes)
        .ok_or_else(|| Violation::new(format!("no fact has {bytes} bytes")))
}
