//! Cases about blobs that are not finished, and about what outlives the store object.

use windlass_core::StoredOutput;
use windlass_ports::{BlobErrorKind, Durability};

use super::checks::{bytes, done, ensure, holds, keep, refused, run, session};
use super::{BlobFixture, Checked};

/// A blob is there once it is finished, and not before; dropped before, it never is.
///
/// # Errors
/// A violation when it is otherwise.
pub fn what_was_not_finished_is_not_there(fixture: &dyn BlobFixture) -> Checked {
    run(async {
        let (blobs, ours, theirs) = (fixture.open().await, session("ours")?, session("theirs")?);
        let bytes = bytes(2_000_000, 5);
        let name = keep(&*blobs, &theirs, &bytes, 65_536).await?.sha256;
        let mut writer = done(blobs.begin(&ours).await, "beginning a blob")?;
        done(writer.write(&bytes).await, "writing to a blob")?;
        let read = blobs.read(&ours, &name, 0, 10).await;
        refused(read, BlobErrorKind::NotFound, "reading a blob that is still written")?;
        drop(writer);
        let read = blobs.read(&ours, &name, 0, 10).await;
        refused(read, BlobErrorKind::NotFound, "reading a blob whose writer is gone")?;
        let kept = keep(&*blobs, &ours, &bytes, 65_536).await?;
        holds(&*blobs, &ours, &kept, &bytes, 65_536).await
    })
}

/// A blob that one of its writes was abandoned in is not finished with a hole in it.
///
/// # Errors
/// A violation when it is.
pub fn an_abandoned_write_is_no_blob(fixture: &dyn BlobFixture) -> Checked {
    run(async {
        let (blobs, session) = (fixture.open().await, session("s")?);
        let bytes = bytes(4_000_000, 6);
        let mut writer = done(blobs.begin(&session).await, "beginning a blob")?;
        let written = tokio::select! {
            biased;
            written = writer.write(&bytes) => Some(written),
            () = std::future::ready(()) => None,
        };
        let whole = match written {
            Some(written) => done(written, "writing to a blob").map(|()| true)?,
            None => false,
        };
        match writer.finish().await {
            Ok(kept) if whole => holds(&*blobs, &session, &kept, &bytes, 1_000_000).await,
            Ok(kept) => ensure(false, || {
                format!("a blob was finished as {kept:?} after a write that did not end")
            }),
            Err(error) => ensure(!whole, || {
                format!("a blob whose writes ended could not be finished: {error}")
            }),
        }
    })
}

/// A blob whose finishing was abandoned is whole or not there.
///
/// # Errors
/// A violation when a part of it is.
pub fn an_abandoned_finish_is_whole_or_not_there(fixture: &dyn BlobFixture) -> Checked {
    run(async {
        let (blobs, ours, theirs) = (fixture.open().await, session("ours")?, session("theirs")?);
        for turns in 0..20_u64 {
            let bytes = bytes(500_000, 7 + turns);
            let name = keep(&*blobs, &theirs, &bytes, 65_536).await?.sha256;
            let mut writer = done(blobs.begin(&ours).await, "beginning a blob")?;
            done(writer.write(&bytes).await, "writing to a blob")?;
            let abandoned = async {
                for _ in 0..turns {
                    tokio::task::yield_now().await;
                }
            };
            tokio::select! {
                biased;
                _ = writer.finish() => {}
                () = abandoned => {}
            }
            let whole = StoredOutput { sha256: name, bytes: bytes.len() as u64 };
            match blobs.read(&ours, &whole.sha256, 0, 1).await {
                Ok(_) => holds(&*blobs, &ours, &whole, &bytes, 100_000).await?,
                Err(error) => ensure(error.kind == BlobErrorKind::NotFound, || {
                    format!("a blob whose finishing was abandoned is in disorder: {error}")
                })?,
            }
        }
        Ok(())
    })
}

/// A store that is opened again has what was finished, as far as it declares it.
///
/// # Errors
/// A violation when something is missing.
pub fn reopening_keeps_what_was_finished(fixture: &dyn BlobFixture) -> Checked {
    run(async {
        let (first, session) = (fixture.open().await, session("s")?);
        let bytes = bytes(100_000, 8);
        let kept = keep(&*first, &session, &bytes, 65_536).await?;
        let mut unfinished = done(first.begin(&session).await, "beginning a blob")?;
        done(unfinished.write(b"never to be seen").await, "writing")?;
        let durability = first.capabilities().durability;
        drop((first, unfinished));
        let again = fixture.open().await;
        if durability > Durability::Memory {
            holds(&*again, &session, &kept, &bytes, 65_536).await?;
        }
        let other = keep(&*again, &session, b"after", 5).await?;
        holds(&*again, &session, &other, b"after", 65_536).await
    })
}
