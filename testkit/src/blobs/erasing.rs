//! The case about erasing what a session keeps.

use windlass_core::{SessionId, StoredOutput};
use windlass_ports::{BlobErrorKind, BlobStore, Durability};

use super::checks::{bytes, done, holds, keep, refused, run, session};
use super::{BlobFixture, Checked};

/// What a session keeps is gone once it is erased, however much it is, also when the store is opened
/// again; what others keep stays, also the same bytes; and the session can keep something again.
///
/// # Errors
/// A violation when it is otherwise.
pub fn an_erased_session_keeps_nothing(fixture: &dyn BlobFixture) -> Checked {
    run(async {
        let blobs = fixture.open().await;
        let ours = session("s")?;
        let neighbours = [session("s.a")?, session("ss")?, session("S")?, session("r")?];
        done(blobs.erase(&ours).await, "erasing what nobody has kept")?;
        let shared = bytes(100_000, 9);
        let same = keep(&*blobs, &ours, &shared, 65_536).await?;
        let mut kept = vec![same.clone()];
        for count in [0, 1, 70_000] {
            kept.push(keep(&*blobs, &ours, &bytes(count, 10 + count as u64), 4_096).await?);
        }
        for id in &neighbours {
            keep(&*blobs, id, &shared, 65_536).await?;
        }
        done(blobs.erase(&ours).await, "erasing a session")?;
        gone(&*blobs, &ours, &kept, "that was erased").await?;
        done(blobs.erase(&ours).await, "erasing it once more")?;
        for id in &neighbours {
            holds(&*blobs, id, &same, &shared, 65_536).await?;
        }
        let again = keep(&*blobs, &ours, b"something else", 4).await?;
        holds(&*blobs, &ours, &again, b"something else", 65_536).await?;
        gone(&*blobs, &ours, &kept, "that began to keep again").await?;

        let durability = blobs.capabilities().durability;
        drop(blobs);
        if durability == Durability::Memory {
            return Ok(());
        }
        let blobs = fixture.open().await;
        gone(&*blobs, &ours, &kept, "that was erased before").await?;
        for id in &neighbours {
            holds(&*blobs, id, &same, &shared, 65_536).await?;
        }
        let again = keep(&*blobs, &ours, &shared, 65_536).await?;
        holds(&*blobs, &ours, &again, &shared, 65_536).await
    })
}

/// Holds a session to keeping none of these.
async fn gone(
    blobs: &dyn BlobStore,
    session: &SessionId,
    kept: &[StoredOutput],
    when: &str,
) -> Checked {
    for StoredOutput { sha256, bytes } in kept {
        let what = format!("reading the {bytes} bytes of a session {when}");
        let read = blobs.read(session, sha256, 0, 10).await;
        refused(read, BlobErrorKind::NotFound, &what)?;
        let what = format!("verifying the {bytes} bytes of a session {when}");
        let verified = blobs.verify(session, sha256).await;
        refused(verified, BlobErrorKind::NotFound, &what)?;
    }
    Ok(())
}
