//! Snapshots: one file per session, compressed. It is a cache, valid only if the log has the recorded
//! link.

use lz4_flex::block::{
    compress_prepend_size, decompress, get_maximum_output_size, uncompressed_size,
};
use windlass_core::{Seq, SessionId};
use windlass_ports::{ChainLink, StoredCheckpoint};

use crate::bytes::{ByteReader, put_text};
use crate::paths::{self, StorePaths};

/// Most bytes of a snapshot.
pub(crate) const MOST: usize = 64 * 1024 * 1024;

const MAGIC: &[u8; 8] = b"wlsnap 2";

/// Replaces the snapshot of a session. It need not be durable.
pub(crate) fn write(
    paths: &StorePaths,
    session: &SessionId,
    snapshot: &StoredCheckpoint,
    link: ChainLink,
) -> std::io::Result<()> {
    let mut bytes = Vec::with_capacity(snapshot.bytes.len() / 4 + 128);
    bytes.extend_from_slice(MAGIC);
    put_text(&mut bytes, session.as_str());
    bytes.extend_from_slice(&snapshot.seq.0.to_le_bytes());
    bytes.extend_from_slice(&link.0);
    put_text(&mut bytes, &snapshot.version);
    bytes.extend_from_slice(&compress_prepend_size(&snapshot.bytes));
    let crc = crc32c::crc32c(&bytes);
    bytes.extend_from_slice(&crc.to_le_bytes());
    paths::put(&paths.checkpoint(session), &bytes, false)
}

/// Removes the snapshot of a session, if there is one.
pub(crate) fn remove(paths: &StorePaths, session: &SessionId) -> std::io::Result<()> {
    crate::erasing::remove(&paths.checkpoint(session))
}

/// Reads the snapshot of this version, with the recorded link of its position.
pub(crate) fn read(
    paths: &StorePaths,
    session: &SessionId,
    version: &str,
) -> std::io::Result<Option<(StoredCheckpoint, ChainLink)>> {
    let Some(mut file) = paths::open_to_read(&paths.checkpoint(session))? else {
        return Ok(None);
    };
    // What does not compress becomes a little longer.
    if file.metadata()?.len() > (get_maximum_output_size(MOST) + 4096) as u64 {
        return Ok(None);
    }
    let mut bytes = Vec::new();
    std::io::Read::read_to_end(&mut file, &mut bytes)?;
    Ok(decode(&bytes, session, version))
}

fn decode(
    bytes: &[u8],
    session: &SessionId,
    version: &str,
) -> Option<(StoredCheckpoint, ChainLink)> {
    let (held, crc) = bytes.split_last_chunk::<4>()?;
    let mut taker = ByteReader(held);
    let ours = taker.array() == Some(*MAGIC)
        && taker.text() == Some(session.as_str())
        && u32::from_le_bytes(*crc) == crc32c::crc32c(held);
    let seq = Seq(taker.u64().filter(|_| ours)?);
    let link = taker.link()?;
    let version = taker.text().filter(|its| *its == version)?.to_owned();
    let (size, block) = uncompressed_size(taker.0).ok().filter(|(size, _)| *size <= MOST)?;
    let bytes = decompress(block, size).ok().filter(|bytes| bytes.len() == size)?;
    Some((StoredCheckpoint { seq, version, bytes }, link))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_snapshot_is_kept_even_if_it_does_not_compress() {
        let dir = tempfile::TempDir::new().unwrap();
        let paths = StorePaths::new(dir.path().to_owned());
        let id = SessionId::new("s").unwrap();
        let mut state = 1_u32;
        let noise = std::iter::repeat_with(|| {
            state ^= state << 13;
            state ^= state >> 17;
            state ^= state << 5;
            state.to_le_bytes()
        });
        let bytes: Vec<u8> = noise.take(MOST / 4).flatten().collect();
        let snapshot = StoredCheckpoint { seq: Seq(4), version: "1".into(), bytes };
        write(&paths, &id, &snapshot, ChainLink([5; 32])).unwrap();
        assert!(std::fs::metadata(paths.checkpoint(&id)).unwrap().len() > MOST as u64 + 4096);
        let kept = read(&paths, &id, "1").unwrap();
        assert!(kept == Some((snapshot, ChainLink([5; 32]))));
    }

    #[test]
    fn a_snapshot_that_is_changed_is_none() {
        let dir = tempfile::TempDir::new().unwrap();
        let paths = StorePaths::new(dir.path().to_owned());
        let id = SessionId::new("s").unwrap();
        let snapshot = StoredCheckpoint { seq: Seq(4), version: "1".into(), bytes: vec![1, 2, 3] };
        write(&paths, &id, &snapshot, ChainLink([5; 32])).unwrap();
        let kept = read(&paths, &id, "1").unwrap();
        assert_eq!(kept, Some((snapshot, ChainLink([5; 32]))));
        assert_eq!(read(&paths, &id, "2").unwrap(), None);
        let bytes = std::fs::read(paths.checkpoint(&id)).unwrap();
        for at in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 4;
            assert_eq!(decode(&changed, &id, "1"), None, "byte {at}");
        }
    }
}
