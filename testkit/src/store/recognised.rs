//! Cases of appends that are asked for again, because nobody heard the answer.

#![expect(clippy::missing_errors_doc, reason = "each case answers a violation of its promise")]

use std::sync::Arc;

use windlass_core::{RecordedFact, Seq};
use windlass_ports::{ChainLink, StoreErrorKind};

use super::StoreFixture;
use super::facts::saying;
use super::violation::{Checked, Violation, done, ensure, refused, run};
use super::writer::Writer;

/// The last append of a claim, asked for again, succeeds and changes nothing: again and again, for a
/// batch of many, and after what else happens in the store.
pub fn the_same_append_again_changes_nothing(at: &dyn StoreFixture) -> Checked {
    run(async {
        let store = at.open().await;
        let mut writer = Writer::new(&store, "s").await?;
        let mut other = Writer::new(&store, "other").await?;
        for count in [1, 3, 200] {
            let (after, facts) = (writer.last(), writer.next(count));
            writer.append(facts.clone()).await?;
            again(&writer, after, &facts, "at once").await?;
            again(&writer, after, &facts, "once more").await?;
            writer.check().await?;
            again(&writer, after, &facts, "after a read").await?;
            other.append(other.next(1)).await?;
            again(&writer, after, &facts, "after another session's append").await?;
            writer.check().await?;
        }
        writer.append(writer.next(1)).await?;
        writer.check().await?;
        let verified = done(store.verify(&writer.id).await, "verifying")?;
        let facts = writer.log.iter().map(AsRef::as_ref);
        let chain = ChainLink::of_log(&writer.id, facts);
        let chain = chain.map_err(|error| Violation::new(error.to_string()))?;
        ensure!(
            verified.chain == chain,
            "appends that were asked for twice changed the chain to {}",
            verified.chain
        );
        other.check().await
    })
}

/// Asks for an append again, as one does who has encoded the facts again.
async fn again(writer: &Writer, after: Seq, facts: &[Arc<RecordedFact>], when: &str) -> Checked {
    let copies = facts.iter().map(|fact| Arc::new(RecordedFact::clone(fact)));
    let copies: Vec<_> = copies.collect();
    let what = format!("appending the same {} facts after {after} again, {when},", facts.len());
    done(writer.offer(after, &copies).await, &what)
}

/// Other facts at the position of an append that was kept are a conflict, wherever they differ.
pub fn other_facts_at_the_same_position_are_a_conflict(at: &dyn StoreFixture) -> Checked {
    run(async {
        let store = at.open().await;
        let mut writer = Writer::new(&store, "s").await?;
        for count in [1, 4] {
            let (after, facts) = (writer.last(), writer.next(count));
            writer.append(facts.clone()).await?;
            let last = writer.last();
            let conflict = StoreErrorKind::Conflict { last };
            let others = saying(&writer.id, after, count, "another word");
            for at in 0..facts.len() {
                let mut changed = facts.clone();
                if let (Some(fact), Some(other)) = (changed.get_mut(at), others.get(at)) {
                    *fact = other.clone();
                }
                let what = format!("appending {count} facts again, with another one at {at},");
                refused(writer.offer(after, &changed).await, &conflict, &what)?;
            }
            let mut longer = facts.clone();
            longer.extend(writer.next(1));
            let what = "appending facts again with one more";
            refused(writer.offer(after, &longer).await, &conflict, what)?;
            if let Some((_, shorter)) = facts.split_last().filter(|(_, rest)| !rest.is_empty()) {
                let what = "appending facts again without the last";
                refused(writer.offer(after, shorter).await, &conflict, what)?;
            }
            again(&writer, after, &facts, "after conflicts").await?;
        }
        writer.append(writer.next(1)).await?;
        writer.check().await
    })
}

/// An append is asked for again under its own claim: once that is over, it is refused like any.
pub fn an_append_is_recognised_only_under_its_claim(at: &dyn StoreFixture) -> Checked {
    run(async {
        let store = at.open().await;
        let mut writer = Writer::new(&store, "s").await?;
        writer.append(writer.next(1)).await?;
        let (after, facts) = (writer.last(), writer.next(2));
        writer.append(facts.clone()).await?;
        let later = done(store.claim(&writer.id).await, "claiming once more")?;
        ensure!(
            later.last == writer.last(),
            "a later claim stands at {} and not at {}",
            later.last,
            writer.last()
        );
        let over = &StoreErrorKind::NotClaimed;
        let what = "appending the same facts again under a claim that a later one superseded";
        refused(writer.offer(after, &facts).await, over, what)?;
        writer.epoch = later.epoch;
        let conflict = &StoreErrorKind::Conflict { last: writer.last() };
        let what = "appending the same facts again under the claim that superseded theirs";
        refused(writer.offer(after, &facts).await, conflict, what)?;
        writer.check().await?;
        let (after, facts) = (writer.last(), writer.next(1));
        writer.append(facts.clone()).await?;
        done(store.release(&writer.id, writer.epoch).await, "releasing")?;
        let what = "appending the same facts again under a claim that was released";
        refused(writer.offer(after, &facts).await, over, what)?;
        writer.check().await
    })
}

/// Once another append followed, the older one is a conflict.
pub fn only_the_last_append_is_recognised(at: &dyn StoreFixture) -> Checked {
    run(async {
        let store = at.open().await;
        let mut writer = Writer::new(&store, "s").await?;
        let mut appends: Vec<(Seq, Vec<Arc<RecordedFact>>)> = Vec::new();
        for count in [2, 1, 3] {
            let (after, facts) = (writer.last(), writer.next(count));
            writer.append(facts.clone()).await?;
            let last = writer.last();
            for (after, facts) in &appends {
                let what = format!("appending after {after} again, when the log ends at {last},");
                let conflict = StoreErrorKind::Conflict { last };
                refused(writer.offer(*after, facts).await, &conflict, &what)?;
            }
            again(&writer, after, &facts, "after conflicts").await?;
            appends.push((after, facts));
        }
        writer.check().await
    })
}
