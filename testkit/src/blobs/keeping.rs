//! Cases about what is kept, and under which name.

use tokio::task::JoinSet;
use windlass_core::StoredOutput;
use windlass_ports::BlobErrorKind;

use super::checks::{bytes, done, ensure, holds, keep, refused, run, session};
use super::{BlobFixture, Checked, Violation};

/// SHA-256 of some bytes, as published (FIPS 180-2, appendix B, and NIST's test vectors).
const PUBLISHED: &[(&[u8], usize, &str)] = &[
    (b"abc", 1, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
    (b"a", 1_000_000, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"),
    (b"", 0, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
];

/// What was written is read back, however it was cut on its way in or out, and from any place on.
///
/// # Errors
/// A violation when it is not.
pub fn what_was_written_is_read_back(fixture: &dyn BlobFixture) -> Checked {
    run(async {
        let (blobs, session) = (fixture.open().await, session("s")?);
        for (count, piece, page) in [
            (1, 1, 1),
            (1_000, 7, 64),
            (1_000, 1_000, 1_000),
            (1_000_000, 65_536, 99_999),
            (1_000_000, 1_000_000, 300_000),
        ] {
            let bytes = bytes(count, count as u64 + piece as u64);
            let kept = keep(&*blobs, &session, &bytes, piece).await?;
            holds(&*blobs, &session, &kept, &bytes, page).await?;
            let at = count / 2;
            let part = blobs.read(&session, &kept.sha256, at as u64, 10).await;
            let part = done(part, "reading from the middle on")?;
            let expected: Vec<u8> = bytes.iter().skip(at).take(10).copied().collect();
            ensure(part == expected, || {
                format!("ten bytes from {at} on are {part:?} and must be {expected:?}")
            })?;
            for beyond in [count as u64, count as u64 + 1, u64::MAX] {
                let none = blobs.read(&session, &kept.sha256, beyond, 10).await;
                let none = done(none, "reading behind the end")?;
                ensure(none.is_empty(), || format!("{} bytes stand behind the end", none.len()))?;
            }
        }
        Ok(())
    })
}

/// A blob's name is the SHA-256 of its bytes, in hexadecimal.
///
/// # Errors
/// A violation when it is not.
pub fn a_blob_is_named_by_its_digest(fixture: &dyn BlobFixture) -> Checked {
    run(async {
        let (blobs, session) = (fixture.open().await, session("s")?);
        for (part, times, sha256) in PUBLISHED {
            let kept = keep(&*blobs, &session, &part.repeat(*times), 4_096).await?;
            let expected =
                StoredOutput { sha256: (*sha256).into(), bytes: (part.len() * times) as u64 };
            ensure(kept == expected, || format!("kept as {kept:?} and must be as {expected:?}"))?;
            let verified = done(blobs.verify(&session, sha256).await, "verifying")?;
            ensure(verified == expected, || {
                format!("verified as {verified:?} and must be as {expected:?}")
            })?;
        }
        Ok(())
    })
}

/// The same bytes twice, also at the same time, are one blob, which stays as it is.
///
/// # Errors
/// A violation when they are not.
pub fn the_same_bytes_twice_are_one_blob(fixture: &dyn BlobFixture) -> Checked {
    run(async {
        let (blobs, session) = (fixture.open().await, session("s")?);
        let bytes = bytes(100_000, 1);
        let first = keep(&*blobs, &session, &bytes, 1_000).await?;
        let mut one = done(blobs.begin(&session).await, "beginning a blob")?;
        let mut other = done(blobs.begin(&session).await, "beginning another blob")?;
        for piece in bytes.chunks(9_999) {
            done(one.write(piece).await, "writing to one blob")?;
            done(other.write(piece).await, "writing to another blob")?;
        }
        let one = done(one.finish().await, "finishing one blob")?;
        let other = done(other.finish().await, "finishing another blob")?;
        ensure(one == first && other == first, || {
            format!("the same bytes are kept as {first:?}, {one:?} and {other:?}")
        })?;
        holds(&*blobs, &session, &first, &bytes, 65_536).await
    })
}

/// Blobs that are written at the same time are all kept, each for itself.
///
/// # Errors
/// A violation when one is not.
pub fn many_at_once_are_all_kept(fixture: &dyn BlobFixture) -> Checked {
    run(async {
        let blobs = fixture.open().await;
        let mut tasks = JoinSet::new();
        for n in 0..16 {
            let (blobs, session) = (blobs.clone(), session(&format!("s{}", n % 3))?);
            tasks.spawn(async move {
                let bytes = bytes(20_000 + n, n as u64 / 2);
                let kept = keep(&*blobs, &session, &bytes, 777).await?;
                holds(&*blobs, &session, &kept, &bytes, 4_096).await
            });
        }
        while let Some(ended) = tasks.join_next().await {
            ended.map_err(|error| Violation::new(format!("a writer broke off: {error}")))??;
        }
        Ok(())
    })
}

/// What one session keeps is not there for another, unless that keeps it too.
///
/// # Errors
/// A violation when it is.
pub fn a_session_does_not_see_what_another_keeps(fixture: &dyn BlobFixture) -> Checked {
    run(async {
        let blobs = fixture.open().await;
        let (ours, theirs) = (session("ours")?, session("theirs")?);
        let bytes = bytes(5_000, 2);
        let kept = keep(&*blobs, &ours, &bytes, 5_000).await?;
        let read = blobs.read(&theirs, &kept.sha256, 0, 10).await;
        refused(read, BlobErrorKind::NotFound, "reading what another session keeps")?;
        let verified = blobs.verify(&theirs, &kept.sha256).await;
        refused(verified, BlobErrorKind::NotFound, "verifying what another session keeps")?;
        let same = keep(&*blobs, &theirs, &bytes, 5_000).await?;
        ensure(same == kept, || {
            format!("the same bytes are {kept:?} in one session and {same:?} in another")
        })?;
        holds(&*blobs, &theirs, &same, &bytes, 5_000).await
    })
}

/// A name that no blob has is not found, and neither is a text that no blob can have as a name.
///
/// # Errors
/// A violation when it is anything else.
pub fn what_is_not_there_is_not_found(fixture: &dyn BlobFixture) -> Checked {
    run(async {
        let (blobs, ours) = (fixture.open().await, session("ours")?);
        let kept = keep(&*blobs, &ours, b"abc", 3).await?;
        let unknown = "0".repeat(64);
        let upper = kept.sha256.to_uppercase();
        let cut = kept.sha256.get(..63).unwrap_or_default();
        let path = format!("../ours/{}", kept.sha256);
        for name in ["", ".", "..", "/", &unknown, &upper, cut, &path] {
            let read = blobs.read(&ours, name, 0, 10).await;
            refused(read, BlobErrorKind::NotFound, &format!("reading {name:?}"))?;
            let verified = blobs.verify(&ours, name).await;
            refused(verified, BlobErrorKind::NotFound, &format!("verifying {name:?}"))?;
        }
        Ok(())
    })
}

/// Verifying tells what is as it was written from what is not.
///
/// # Errors
/// A violation when it does not.
pub fn verifying_finds_what_was_changed(fixture: &dyn BlobFixture) -> Checked {
    run(async {
        let (blobs, session) = (fixture.open().await, session("s")?);
        let kept = keep(&*blobs, &session, &bytes(300_000, 3), 65_536).await?;
        let verified = done(blobs.verify(&session, &kept.sha256).await, "verifying")?;
        ensure(verified == kept, || format!("{kept:?} is verified as {verified:?}"))?;
        if fixture.damage(&session, &kept.sha256) {
            let verified = blobs.verify(&session, &kept.sha256).await;
            refused(verified, BlobErrorKind::Corrupt, "verifying a blob that was changed")?;
        }
        Ok(())
    })
}
