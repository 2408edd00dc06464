//! Another session's record in a log, and another segment in a segment's place, put there byte for byte.

use super::*;

/// Another session's record where one of this session stood, at the same place of the same segment and with
/// the same position: each checksum of it is right there.
#[tokio::test]
async fn another_sessions_record_in_the_place_of_one_session_is_damage() {
    // Letters of which no fact has more, so that both compress alike.
    let log = LogOnDisk::of("Q", &[1, 1, 1, 1]).await;
    let other = LogOnDisk::of("Z", &[1, 1, 1, 1]).await;
    assert_eq!(log.ends, other.ends);
    let starts = [&[FIRST], &log.ends[..]].concat();
    for put in 0..4 {
        let (start, end) = (starts[put], starts[put + 1]);
        let mut bytes = log.bytes.clone();
        bytes[start..end].copy_from_slice(&other.bytes[start..end]);
        let store = log.with(&bytes);
        if put == 3 {
            // The last one: it is the end of this log that is gone, which the file cannot tell from an end.
            log.expect(&store, 3).await;
        } else {
            let read = store.read(&log.id, Seq::ZERO, 9).await.unwrap_err();
            assert_eq!(place(&read).0, Seq(put as u64), "{put}: {read}");
            let claimed = store.claim(&log.id).await.unwrap_err();
            assert_eq!(place(&claimed), place(&read), "{put}");
        }
        // Nor does it make a log of the other one, unless it is how that one begins.
        let foreign = store.read(&other.id, Seq::ZERO, 9).await;
        match put {
            0 => assert_eq!(foreign.unwrap().len(), 1),
            _ => {
                foreign.unwrap_err();
            }
        }
    }
}

#[tokio::test]
async fn another_segment_in_a_segments_place_is_damage() {
    let log = LogOnDisk::written(&[1, 2]).await;
    let other = segment(log.dir.path(), 2);
    fs::copy(path(log.dir.path()), &other).unwrap();
    let store = open(log.dir.path());
    let error = store.read(&log.id, Seq::ZERO, 9).await.unwrap_err();
    assert_eq!(place(&error), (Seq(3), 0));
    assert!(error.context.contains("it is another one"), "{error}");
    drop(store);

    // With the first bytes changed to match, the units still tell.
    let text = "windlass-segment 3 0000 00000002";
    let mut bytes = format!("{text} {:08x}\n", crc32c::crc32c(text.as_bytes())).into_bytes();
    bytes.resize(FIRST, 0);
    bytes.extend_from_slice(&log.bytes[FIRST..]);
    fs::write(&other, bytes).unwrap();
    let error = open(log.dir.path()).verify(&log.id).await.unwrap_err();
    assert_eq!(place(&error), (Seq(3), FIRST as u64));
}
