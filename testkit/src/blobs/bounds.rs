//! The case about how much is kept of one blob.

use super::checks::{bytes, done, ensure, holds, keep, run, session};
use super::{BlobFixture, Checked};

/// The most bytes that are kept in this case.
const MOST: u64 = 10_000;

/// Of a blob that is longer than the store keeps, its beginning is kept, and how much that is is
/// said.
///
/// # Errors
/// A violation when it is not so.
pub fn what_is_beyond_the_limit_is_not_kept(fixture: &dyn BlobFixture) -> Checked {
    run(async {
        let (blobs, session) = (fixture.open_small(MOST).await, session("s")?);
        let declared = blobs.capabilities().max_bytes;
        ensure(declared == MOST, || {
            format!("a store that keeps {MOST} bytes of a blob declares {declared}")
        })?;
        for (count, piece) in
            [(9_999, 100), (10_000, 10_000), (10_001, 10_001), (25_000, 1), (2_000_000, 65_536)]
        {
            let bytes = bytes(count, 4 + count as u64);
            let kept = keep(&*blobs, &session, &bytes, piece).await?;
            let head = bytes.get(..count.min(10_000)).unwrap_or_default();
            holds(&*blobs, &session, &kept, head, 4_096).await?;
            let verified = done(blobs.verify(&session, &kept.sha256).await, "verifying")?;
            ensure(verified == kept, || format!("{kept:?} is verified as {verified:?}"))?;
        }
        Ok(())
    })
}
