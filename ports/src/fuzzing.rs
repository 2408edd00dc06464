//! Entry points of the fuzz targets and of the tests over their seeds. They check properties of the
//! parsers in this crate and the core for any bytes.

use windlass_core::SessionId;

use crate::blobs::is_blob_name;
use crate::codec;

/// Checks that an envelope that decodes is unchanged after encoding and decoding.
///
/// # Panics
/// When a property does not hold.
pub fn envelope(data: &[u8]) {
    let Ok(recorded) = codec::decode(data) else {
        return;
    };
    let written = codec::encode(&recorded).unwrap_or_default();
    let again = codec::decode(&written).ok();
    assert_eq!(again.as_ref(), Some(&recorded));
    assert!(!written.contains(&b'\n'), "an envelope is one line");
    let twice = again.and_then(|again| codec::encode(&again).ok());
    assert_eq!(twice.as_deref(), Some(&*written), "its bytes are stable");
}

/// Checks that the name of a session or a blob names one file in a folder, and nothing outside of
/// it.
///
/// # Panics
/// When a property does not hold.
pub fn cursor(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let session = SessionId::new(text);
    if session.is_ok() || is_blob_name(text) {
        assert!(!text.is_empty() && text.len() <= 64);
        assert!(!text.starts_with(['.', '-']));
        assert!(!text.contains(['/', '\\', '\0', ' ', '\n']));
    }
    let Ok(session) = session else {
        return;
    };
    assert_eq!(session.as_str(), text);
    assert_eq!(
        SessionId::try_from(String::from(session)).as_ref().map(SessionId::as_str),
        Ok(text)
    );
}
