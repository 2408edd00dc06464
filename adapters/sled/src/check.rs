//! What may be appended: facts of one session, numbered on, none and all of them not too large.

use std::path::Path;
use std::sync::Arc;

use windlass_core::{Recorded, Seq, SessionId};
use windlass_ports::{StoreError, StoreErrorKind, codec};

use crate::record::MAX_FACT_BYTES;

/// The most of one append, and so of one batch in the database.
const MAX_APPEND_BYTES: usize = 64 * 1024 * 1024;

/// The text forms of facts that follow position `after`, and their bytes together.
pub(crate) fn texts(
    dir: &Path,
    session: &SessionId,
    after: Seq,
    facts: &[Arc<Recorded>],
) -> Result<(Vec<Vec<u8>>, usize), StoreError> {
    let refused = |kind, what: String| {
        let dir = dir.display();
        let doing = format!("appending to session {session} in the sled store {dir}");
        StoreError::new(kind, format!("{doing}: {what}"))
    };
    let invalid = |what| refused(StoreErrorKind::Invalid, what);
    let too_large = |what| refused(StoreErrorKind::TooLarge, what);
    if facts.is_empty() {
        return Err(invalid("there is nothing to append".to_owned()));
    }
    let mut texts = Vec::with_capacity(facts.len());
    let mut bytes = 0_usize;
    let mut last = after.0;
    for fact in facts {
        if fact.session != *session || last.checked_add(1) != Some(fact.seq.0) {
            return Err(invalid(format!(
                "a fact of session {} with position {} stands where {session}'s position after \
                 {last} must; this is a bug of the caller",
                fact.session, fact.seq
            )));
        }
        last = fact.seq.0;
        let text = codec::encode(fact);
        let text = text.map_err(|error| invalid(format!("position {last}: {error}")))?;
        if text.len() > MAX_FACT_BYTES {
            return Err(too_large(format!(
                "the fact at position {last} has {} bytes and at most {MAX_FACT_BYTES} are \
                 taken; cut what it carries",
                text.len()
            )));
        }
        bytes = bytes.saturating_add(text.len());
        if bytes > MAX_APPEND_BYTES {
            return Err(too_large(format!(
                "its facts have more than {MAX_APPEND_BYTES} bytes together; append them in parts"
            )));
        }
        texts.push(text);
    }
    Ok((texts, bytes))
}
