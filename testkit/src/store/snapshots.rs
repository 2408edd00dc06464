//! Cases of snapshots: a cache, so it may be empty, and must never be wrong. A store that declares
//! none is held to refusing them.

#![expect(clippy::missing_errors_doc, reason = "each case answers a violation of its promise")]

use std::sync::Arc;

use windlass_core::{Seq, SessionId};
use windlass_ports::{LogStore, SessionFilter, StoreErrorKind, StoredCheckpoint};

use super::StoreFixture;
use super::facts::saying;
use super::violation::{Checked, Violation, done, ensure, refused, run};
use super::writer::{Writer, session};

/// The version of the snapshots of these cases, where it does not matter.
const VERSION: &str = "engine 1.2.3 form 4";

/// A store that keeps snapshots, with a session of four facts and the most bytes of a snapshot. None
/// where it declares none, and refuses them.
async fn keeping(at: &dyn StoreFixture) -> Result<Option<(Writer, usize)>, Violation> {
    let store = at.open().await;
    let mut writer = Writer::new(&store, "s").await?;
    writer.append(writer.next(4)).await?;
    let Some(most) = store.capabilities().max_checkpoint_bytes else {
        let unsupported = &StoreErrorKind::Unsupported;
        let kept = store.write_checkpoint(&writer.id, &snapshot(1, "x")).await;
        let what = "keeping a snapshot, which is not declared,";
        refused(kept, unsupported, what)?;
        let read = store.read_checkpoint(&writer.id, VERSION).await;
        let what = "asking for a snapshot, which is not declared,";
        refused(read, unsupported, what)?;
        return Ok(None);
    };
    ensure!(
        (64 * 1024..=1024 * 1024 * 1024).contains(&most),
        "the store declares that a snapshot may have {most} bytes: less than 64 KiB is too little \
         for a session, more than 1 GiB is no bound"
    );
    Ok(Some((writer, most)))
}

fn snapshot(seq: u64, bytes: impl AsRef<[u8]>) -> StoredCheckpoint {
    StoredCheckpoint { seq: Seq(seq), version: VERSION.to_owned(), bytes: bytes.as_ref().to_vec() }
}

async fn keep(store: &dyn LogStore, id: &SessionId, snapshot: &StoredCheckpoint) -> Checked {
    let what = format!("keeping a snapshot of {id} at {}", snapshot.seq);
    done(store.write_checkpoint(id, snapshot).await, &what)
}

/// Holds a session to a snapshot under its version, or to none.
async fn answers(
    store: &dyn LogStore,
    id: &SessionId,
    version: &str,
    expected: Option<&StoredCheckpoint>,
) -> Checked {
    let what = format!("asking {id} for a snapshot of version {version:?}");
    let found = done(store.read_checkpoint(id, version).await, &what)?;
    ensure!(
        found.as_ref() == expected,
        "{what} gives {}, and must give {}",
        told(found.as_ref()),
        told(expected)
    );
    Ok(())
}

fn told(snapshot: Option<&StoredCheckpoint>) -> String {
    let Some(snapshot) = snapshot else {
        return String::from("none");
    };
    let StoredCheckpoint { seq, version, bytes } = snapshot;
    format!("one at {seq} of version {version:?} with {} bytes", bytes.len())
}

/// A snapshot is answered as it was kept, for the same version and for no other, while the log goes on,
/// also without a claim.
pub fn a_snapshot_is_kept_for_its_version(at: &dyn StoreFixture) -> Checked {
    run(async {
        let Some((mut writer, _)) = keeping(at).await? else {
            return Ok(());
        };
        let (store, id) = (writer.store.clone(), writer.id.clone());
        answers(&*store, &id, VERSION, None).await?;
        let every_byte: Vec<u8> = (0..=u8::MAX).cycle().take(10_000).collect();
        for bytes in [every_byte.as_slice(), b"", b"{}"] {
            let kept = snapshot(3, bytes);
            keep(&*store, &id, &kept).await?;
            answers(&*store, &id, VERSION, Some(&kept)).await?;
            for other in ["", "engine 1.2.3 form", "Engine 1.2.3 form 4", "é\n'\""] {
                answers(&*store, &id, other, None).await?;
            }
            writer.append(writer.next(2)).await?;
            answers(&*store, &id, VERSION, Some(&kept)).await?;
        }
        done(store.release(&id, writer.epoch).await, "releasing")?;
        let kept = snapshot(writer.last().0, "without a claim");
        keep(&*store, &id, &kept).await?;
        answers(&*store, &id, VERSION, Some(&kept)).await?;
        writer.check().await
    })
}

/// A session has one snapshot: what is kept takes the place of the one before, of whatever position
/// and version; and that of another session is its own.
pub fn a_snapshot_replaces_the_one_before(at: &dyn StoreFixture) -> Checked {
    run(async {
        let Some((writer, _)) = keeping(at).await? else {
            return Ok(());
        };
        let store = writer.store.clone();
        let mut other = Writer::new(&store, "s.other").await?;
        other.append(other.next(2)).await?;
        let beside = snapshot(2, "of the other session");
        keep(&*store, &other.id, &beside).await?;
        for seq in [2, 4, 3, 3] {
            let kept = snapshot(seq, format!("one at {seq}"));
            keep(&*store, &writer.id, &kept).await?;
            answers(&*store, &writer.id, VERSION, Some(&kept)).await?;
        }
        let newer = StoredCheckpoint {
            version: String::from("engine 2"),
            ..snapshot(4, "of a newer engine")
        };
        keep(&*store, &writer.id, &newer).await?;
        answers(&*store, &writer.id, "engine 2", Some(&newer)).await?;
        answers(&*store, &writer.id, VERSION, None).await?;
        answers(&*store, &other.id, VERSION, Some(&beside)).await
    })
}

/// A snapshot is answered only of the log that it was made of: not when the session was erased and
/// another log stands in its place, however alike.
pub fn a_snapshot_is_of_the_log_that_it_was_made_of(at: &dyn StoreFixture) -> Checked {
    run(async {
        let Some((mut writer, _)) = keeping(at).await? else {
            return Ok(());
        };
        let (store, id) = (writer.store.clone(), writer.id.clone());
        if !store.capabilities().erase {
            return Ok(());
        }
        for seq in [2, 4] {
            keep(&*store, &id, &snapshot(seq, "of the log before")).await?;
            done(store.erase(&id, writer.epoch).await, "erasing")?;
            let claimed = done(store.claim(&id).await, "claiming an erased session")?;
            writer.epoch = claimed.epoch;
            writer.log = Vec::new();
            let words = format!("the log after {seq}");
            writer.append(saying(&id, Seq::ZERO, 4, &words)).await?;
            answers(&*store, &id, VERSION, None).await?;
            writer.append(writer.next(1)).await?;
            answers(&*store, &id, VERSION, None).await?;
        }
        let kept = snapshot(5, "of this log");
        keep(&*store, &id, &kept).await?;
        answers(&*store, &id, VERSION, Some(&kept)).await
    })
}

/// A snapshot of a position that the log does not have is invalid, and leaves the one before.
pub fn a_snapshot_beyond_the_end_is_invalid(at: &dyn StoreFixture) -> Checked {
    run(async {
        let Some((writer, _)) = keeping(at).await? else {
            return Ok(());
        };
        let Writer { store, id, .. } = &writer;
        let kept = snapshot(4, "the last that it can hold");
        keep(&**store, id, &kept).await?;
        for seq in [5, 6, u64::MAX] {
            let beyond = store.write_checkpoint(id, &snapshot(seq, "x")).await;
            let what = format!("keeping a snapshot at {seq} of a log that ends at 4");
            refused(beyond, &StoreErrorKind::Invalid, &what)?;
            answers(&**store, id, VERSION, Some(&kept)).await?;
        }
        Ok(())
    })
}

/// A snapshot of the largest declared size is kept, and one of a byte more is refused and leaves the
/// one before.
pub fn a_snapshot_that_is_too_large_is_refused(at: &dyn StoreFixture) -> Checked {
    run(async {
        let Some((writer, most)) = keeping(at).await? else {
            return Ok(());
        };
        let Writer { store, id, .. } = &writer;
        let kept = snapshot(4, vec![b'x'; most]);
        keep(&**store, id, &kept).await?;
        answers(&**store, id, VERSION, Some(&kept)).await?;
        let beyond = snapshot(4, vec![b'x'; most + 1]);
        let refusal = store.write_checkpoint(id, &beyond).await;
        let what = format!("keeping a snapshot of {} bytes", most + 1);
        refused(refusal, &StoreErrorKind::TooLarge, &what)?;
        answers(&**store, id, VERSION, Some(&kept)).await
    })
}

/// A session that does not exist has no snapshot, and keeping one does not create it.
pub fn a_snapshot_of_no_session_is_unknown(at: &dyn StoreFixture) -> Checked {
    run(async {
        let Some((writer, _)) = keeping(at).await? else {
            return Ok(());
        };
        let store = &writer.store;
        let claimed = Writer::new(store, "only-claimed").await?;
        let unknown = &StoreErrorKind::Unknown;
        for id in [session("never-seen")?, claimed.id] {
            for seq in [0, 1] {
                let kept = store.write_checkpoint(&id, &snapshot(seq, "x")).await;
                let what = format!("keeping a snapshot of {id}, which does not exist,");
                refused(kept, unknown, &what)?;
            }
            let read = store.read_checkpoint(&id, VERSION).await;
            let what = format!("asking for a snapshot of {id}, which does not exist,");
            refused(read, unknown, &what)?;
        }
        let listed = store.sessions(SessionFilter::ALL_TENANTS, None, 10).await;
        let listed = done(listed, "listing sessions")?;
        ensure!(
            listed.len() == 1,
            "keeping snapshots of sessions that do not exist created them: {listed:?}"
        );
        Ok(())
    })
}

/// What a store that was opened again, or what a killed process leaves, answers is the snapshot as it
/// was kept last, or none.
pub fn a_reopened_store_answers_no_wrong_snapshot(at: &dyn StoreFixture) -> Checked {
    run(async {
        let Some((writer, _)) = keeping(at).await? else {
            return Ok(());
        };
        let (mut store, id): (Arc<dyn LogStore>, _) = (writer.store.clone(), writer.id.clone());
        drop(writer);
        keep(&*store, &id, &snapshot(4, "the one before")).await?;
        let kept = snapshot(3, "the one that was kept last");
        keep(&*store, &id, &kept).await?;
        if let Some(image) = at.image().await {
            right_or_none(&*image, &id, &kept).await?;
        }
        for _ in 0..2 {
            drop(store);
            store = at.open().await;
            right_or_none(&*store, &id, &kept).await?;
        }
        Ok(())
    })
}

/// Holds a store to a snapshot or none. One that has forgotten the session, as memory may, has none.
async fn right_or_none(store: &dyn LogStore, id: &SessionId, kept: &StoredCheckpoint) -> Checked {
    match store.read_checkpoint(id, VERSION).await {
        Err(error) if error.kind == StoreErrorKind::Unknown => {
            super::writer::check_forgotten(store, id).await
        }
        found => {
            let found = done(found, "asking for a snapshot in a store opened again")?;
            ensure!(
                found.is_none() || found.as_ref() == Some(kept),
                "a store that was opened again gives {}, and what was kept last is {}",
                told(found.as_ref()),
                told(Some(kept))
            );
            answers(store, id, "another version", None).await
        }
    }
}
