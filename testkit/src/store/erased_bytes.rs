//! The case of what erasing leaves in the stored bytes: nothing that the session said.

use std::sync::Arc;

use windlass_core::{RecordedFact, Seq};
use windlass_ports::{Durability, StoredCheckpoint};

use super::StoreFixture;
use super::facts::queued;
use super::inspecting::{Inspection, occurrences, skip};
use super::violation::{Checked, Violation, done, ensure, run};
use super::writer::Writer;

/// Lengths of texts: small ones, and such as take several blocks of whatever a store writes.
const LENGTHS: [usize; 7] = [1, 300, 900, 2_100, 5_000, 40_000, 200_000];

/// Text of a session, so often that it has this length at least.
fn text(mark: &str, length: usize) -> String {
    mark.repeat(1 + length / mark.len())
}

/// Once a session is erased, the stored bytes have none of its texts and nothing of its checkpoint, at
/// once and when the store was opened again. What other sessions said is still there.
///
/// # Errors
/// A violation when something is left, or when the fixture does not find what was appended.
pub fn erased_bytes_are_gone(at: &dyn StoreFixture) -> Checked {
    run(async {
        let store = at.open().await;
        let (case, declared) = ("erased_bytes_are_gone", store.capabilities());
        if !declared.erase {
            skip(case, "the store erases nothing, and declares that");
            return Ok(());
        }
        let (secret, other) = ("erase-this-secret;", "leave-that-alone;");
        let mut erased = Writer::new(&store, "s").await?;
        let mut neighbour = Writer::new(&store, "t").await?;
        for round in 0..6 {
            for length in LENGTHS {
                erased.append(vec![saying(&erased, &text(secret, length))]).await?;
                let small = text(other, (length + round) % 700);
                neighbour.append(vec![saying(&neighbour, &small)]).await?;
            }
        }
        if declared.max_checkpoint_bytes.is_some() {
            let bytes = text(secret, 3_000).into_bytes();
            let kept = StoredCheckpoint { seq: Seq(2), version: String::from("v"), bytes };
            done(store.write_checkpoint(&erased.id, &kept).await, "writing a checkpoint")?;
        }
        let Some(before) = look(at, case, declared.durability).await? else {
            return Ok(());
        };
        for mark in [secret, other] {
            ensure!(
                !occurrences(&before, mark.as_bytes()).is_empty(),
                "StoreFixture::bytes does not have what was appended, {mark:?}"
            );
        }
        done(store.erase(&erased.id, erased.epoch).await, "erasing")?;
        let found = |bytes: &[u8]| occurrences(bytes, &secret.as_bytes()[..10]).len();
        let after = look(at, case, declared.durability).await?.unwrap_or_default();
        ensure!(
            found(&after) == 0,
            "a text of an erased session is still stored {} times at once",
            found(&after)
        );
        neighbour.append(vec![saying(&neighbour, other)]).await?;
        neighbour.check().await?;
        drop((erased, neighbour, store));
        let store = at.open().await;
        let after = look(at, case, declared.durability).await?.unwrap_or_default();
        ensure!(
            found(&after) == 0,
            "a text of an erased session is still stored {} times, opened again",
            found(&after)
        );
        ensure!(!occurrences(&after, other.as_bytes()).is_empty(), "all others are gone too");
        drop(store);
        Ok(())
    })
}

fn saying(writer: &Writer, text: &str) -> Arc<RecordedFact> {
    Arc::new(queued(&writer.id, writer.last().next(), text.to_owned()))
}

async fn look(
    at: &dyn StoreFixture,
    case: &str,
    declared: Durability,
) -> Result<Option<Vec<u8>>, Violation> {
    let bytes: Inspection<Vec<u8>> = at.bytes().await;
    bytes.found(case, "bytes", declared)
}
