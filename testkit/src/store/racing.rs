//! Cases of things that happen at once: readers beside a writer, many writers, claims, and an
//! append that nobody waits for any more.

#![expect(clippy::missing_errors_doc, reason = "each case answers a violation of its promise")]

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::Poll;

use tokio::task::JoinSet;
use windlass_core::{Epoch, Seq, SessionId};
use windlass_ports::{LogStore, StoreErrorKind};

use super::StoreFixture;
use super::facts::{numbered_facts, saying};
use super::violation::{Checked, Violation, done, ensure, refused, run_in_parallel};
use super::writer::{Writer, check_facts, check_log};

const BATCH: u64 = 3;
const READS: u64 = 60;
/// The log's end that readers see come before they stop, so that they do read beside the writer.
const READ_UNTIL: u64 = BATCH * 20;
const MOST_BATCHES: u64 = 2_000;

/// A reader beside the writer sees whole batches, and all that was acknowledged before it began.
pub fn a_reader_sees_whole_batches_and_all_that_was_acknowledged(at: &dyn StoreFixture) -> Checked {
    run_in_parallel(async {
        let store = at.open().await;
        let mut writer = Writer::new(&store, "s").await?;
        writer.append(writer.next(BATCH)).await?;
        let acknowledged = Arc::new(AtomicU64::new(BATCH));
        let mut readers = JoinSet::new();
        for _ in 0..2 {
            let (store, id) = (store.clone(), writer.id.clone());
            readers.spawn(follow(store, id, acknowledged.clone()));
        }
        // The writer goes on until the readers have read enough.
        while !readers.is_empty() {
            if writer.last() < Seq(BATCH * MOST_BATCHES) {
                writer.append(writer.next(BATCH)).await?;
                acknowledged.store(writer.last().0, Ordering::SeqCst);
            }
            tokio::task::yield_now().await;
            while let Some(ended) = readers.try_join_next() {
                ended.map_err(|error| Violation::new(format!("a reader died: {error}")))??;
            }
        }
        writer.check().await
    })
}

/// Reads a growing log, by turns from its beginning and from its acknowledged end.
async fn follow(store: Arc<dyn LogStore>, id: SessionId, acknowledged: Arc<AtomicU64>) -> Checked {
    for turn in 0_u64.. {
        let at_least = acknowledged.load(Ordering::SeqCst);
        if turn >= READS && at_least >= READ_UNTIL {
            break;
        }
        let after = if turn % 8 == 0 { 0 } else { at_least };
        let read = store.read(&id, Seq(after), usize::MAX).await;
        let read = done(read, "reading beside a writer")?;
        let count = read.len() as u64;
        ensure!(
            after + count >= at_least,
            "a read from {after} gave {count} facts when {at_least} were acknowledged before it"
        );
        ensure!(
            count.is_multiple_of(BATCH),
            "a read from {after} gave {count} facts of a log of whole batches of {BATCH}"
        );
        check_facts(&read, &numbered_facts(&id, Seq(after), count))?;
        tokio::task::yield_now().await;
    }
    Ok(())
}

/// Writers of many sessions do not get in each other's way.
pub fn appends_to_many_sessions_at_once_are_all_kept(at: &dyn StoreFixture) -> Checked {
    run_in_parallel(async {
        let store = at.open().await;
        let mut writers = JoinSet::new();
        for number in 0..16 {
            let store = store.clone();
            writers.spawn(async move {
                let mut writer = Writer::new(&store, &format!("s{number}")).await?;
                for count in [1, 2, 1, 3, 1, 1, 5, 1, 1, 1] {
                    writer.append(writer.next(count)).await?;
                }
                Ok(writer)
            });
        }
        while let Some(ended) = writers.join_next().await {
            let writer: Result<Writer, Violation> =
                ended.map_err(|error| Violation::new(format!("a writer died: {error}")))?;
            writer?.check().await?;
        }
        Ok(())
    })
}

/// Of many appends at the same position under one claim, one is kept and the others conflict.
pub fn of_appends_at_one_position_one_wins(at: &dyn StoreFixture) -> Checked {
    run_in_parallel(async {
        let store = at.open().await;
        let mut writer = Writer::new(&store, "s").await?;
        for round in 0..8 {
            let mut racers = JoinSet::new();
            for racer in 0..6 {
                let (store, id) = (store.clone(), writer.id.clone());
                let (epoch, after) = (writer.epoch, writer.last());
                // Each has other facts: the same ones would be one append that is asked for again.
                let facts = saying(&id, after, 2, &format!("racer {racer}"));
                racers.spawn(async move {
                    let appended = store.append(&id, epoch, after, &facts).await;
                    appended.map(|()| facts)
                });
            }
            let conflict = StoreErrorKind::Conflict { last: writer.last().plus(2) };
            let mut ends = Vec::new();
            while let Some(ended) = racers.join_next().await {
                let died = |error| Violation::new(format!("a racer died: {error}"));
                ends.push(ended.map_err(died)?);
            }
            let won = ends.iter().filter(|end| end.is_ok()).count();
            ensure!(won == 1, "in round {round}, {won} of 6 appends at one position won");
            for end in ends {
                match end {
                    Ok(facts) => writer.log.extend(facts),
                    lost => refused(lost, &conflict, "appending where another append won")?,
                }
            }
        }
        writer.check().await
    })
}

/// The same append asked for many times at once succeeds each time, and is kept once.
pub fn the_same_append_at_once_is_kept_once(at: &dyn StoreFixture) -> Checked {
    run_in_parallel(async {
        let store = at.open().await;
        let mut writer = Writer::new(&store, "s").await?;
        for _ in 0..8 {
            let facts = writer.next(3);
            let mut racers = JoinSet::new();
            for _ in 0..6 {
                let (store, id, facts) = (store.clone(), writer.id.clone(), facts.clone());
                let (epoch, after) = (writer.epoch, writer.last());
                racers.spawn(async move { store.append(&id, epoch, after, &facts).await });
            }
            while let Some(ended) = racers.join_next().await {
                let died = |error| Violation::new(format!("a racer died: {error}"));
                done(ended.map_err(died)?, "the same append at once")?;
            }
            writer.log.extend(facts);
            writer.check().await?;
        }
        Ok(())
    })
}

/// Of many claims at once, each has its own epoch and only the largest appends.
pub fn of_claims_at_once_the_latest_writes(at: &dyn StoreFixture) -> Checked {
    run_in_parallel(async {
        let store = at.open().await;
        let mut writer = Writer::new(&store, "s").await?;
        writer.append(writer.next(1)).await?;
        let mut claims = JoinSet::new();
        for _ in 0..12 {
            let (store, id) = (store.clone(), writer.id.clone());
            claims.spawn(async move { store.claim(&id).await });
        }
        let mut epochs = vec![writer.epoch];
        while let Some(ended) = claims.join_next().await {
            let claimed =
                ended.map_err(|error| Violation::new(format!("a claimer died: {error}")))?;
            let claimed = done(claimed, "claiming beside other claims")?;
            ensure!(claimed.last == Seq(1), "a claim beside others stands at {}", claimed.last);
            epochs.push(claimed.epoch);
        }
        epochs.sort_unstable();
        let distinct = epochs.windows(2).all(|pair| pair.first() != pair.last());
        ensure!(distinct, "claims at once share an epoch: {epochs:?}");
        let latest = epochs.pop().unwrap_or(Epoch(0));
        for epoch in epochs {
            let appended = store.append(&writer.id, epoch, Seq(1), &writer.next(1)).await;
            let what = format!("appending under epoch {epoch} when the latest is {latest}");
            refused(appended, &StoreErrorKind::NotClaimed, &what)?;
        }
        writer.epoch = latest;
        writer.append(writer.next(1)).await?;
        writer.check().await
    })
}

/// An append whose future is dropped is kept whole or not at all, and a new claim tells which.
pub fn an_abandoned_append_is_kept_whole_or_not_at_all(at: &dyn StoreFixture) -> Checked {
    run_in_parallel(async {
        let store = at.open().await;
        let mut writer = Writer::new(&store, "s").await?;
        writer.append(writer.next(1)).await?;
        for polls in (0..4).cycle().take(24) {
            let facts = writer.next(5);
            poll_times(writer.offer(writer.last(), &facts), polls).await;
            let claimed =
                done(store.claim(&writer.id).await, "claiming after an append was dropped")?;
            writer.epoch = claimed.epoch;
            if claimed.last == writer.last().plus(5) {
                writer.log.extend(facts);
            }
            ensure!(
                claimed.last == writer.last(),
                "of a dropped append of 5 facts after {}, a new claim stands at {}",
                writer.last(),
                claimed.last
            );
            check_log(&*store, &writer.id, &writer.log).await?;
            writer.append(writer.next(1)).await?;
        }
        writer.check().await
    })
}

/// Polls a future so many times, then drops it.
async fn poll_times(future: impl Future, times: u32) {
    let mut future = pin!(future);
    for _ in 0..times {
        let ready = poll_fn(|context| Poll::Ready(future.as_mut().poll(context).is_ready()));
        if ready.await {
            return;
        }
        tokio::task::yield_now().await;
    }
}
