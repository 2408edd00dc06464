//! A batch: the validated and encoded facts of one append.

use std::sync::Arc;

use windlass_core::{RecordedFact, Seq, SessionId};
use windlass_ports::{
    ChainLink, MAX_APPEND_BYTES, MAX_FACT_BYTES, StoreError, StoreErrorKind, codec, counted_bytes,
};

/// At least one fact to append to a session, with their encoded texts.
#[derive(Debug, Clone)]
pub struct Batch {
    /// Session of all facts.
    pub session: SessionId,
    /// Position before the first fact.
    pub after: Seq,
    /// Facts in the order of their positions.
    pub facts: Vec<Arc<RecordedFact>>,
    /// Encoded text of each fact.
    pub texts: Vec<Vec<u8>>,
    /// Bytes of all texts.
    pub bytes: usize,
}

impl Batch {
    /// Encodes facts to append after position `after`: each of at most [`MAX_FACT_BYTES`], together
    /// of at most [`MAX_APPEND_BYTES`]. `place` names the store in error messages.
    ///
    /// # Errors
    /// `Invalid` if there is no fact, or one has another session or an unexpected position;
    /// `TooLarge`.
    pub fn new(
        place: &str,
        session: &SessionId,
        after: Seq,
        facts: &[Arc<RecordedFact>],
    ) -> Result<Self, StoreError> {
        let refused = |kind, what: String| {
            let context = format!("appending to session {session} in {place}: {what}");
            StoreError::new(kind, context)
        };
        let invalid = |what| refused(StoreErrorKind::Invalid, what);
        let too_large = |what| refused(StoreErrorKind::TooLarge, what);
        if facts.is_empty() {
            return Err(invalid("there is nothing to append".to_owned()));
        }
        let mut texts = Vec::with_capacity(facts.len());
        let (mut bytes, mut total) = (0_usize, 0_usize);
        let mut last = after.0;
        for fact in facts {
            if fact.session != *session || last.checked_add(1) != Some(fact.seq.0) {
                return Err(invalid(format!(
                    "a fact of session {} with position {} stands where {session}'s position \
                     after {last} must; this is a bug of the caller",
                    fact.session, fact.seq
                )));
            }
            last = fact.seq.0;
            let text = codec::encode(fact);
            let text = text.map_err(|error| invalid(format!("position {last}: {error}")))?;
            let counted = counted_bytes(fact, &text);
            if counted > MAX_FACT_BYTES {
                return Err(too_large(format!(
                    "the fact at position {last} has {counted} bytes and at most {MAX_FACT_BYTES} are \
                     taken; cut what it carries"
                )));
            }
            bytes = bytes.saturating_add(text.len());
            total = total.saturating_add(counted);
            if total > MAX_APPEND_BYTES {
                return Err(too_large(format!(
                    "its facts have more than {MAX_APPEND_BYTES} bytes together; append them in \
                     parts"
                )));
            }
            texts.push(text);
        }
        Ok(Self { session: session.clone(), after, facts: facts.to_vec(), texts, bytes })
    }

    /// Position of the last fact.
    #[must_use]
    pub fn last(&self) -> Seq {
        self.after.plus(self.texts.len() as u64)
    }

    /// Computes the link of each fact. `before` is the link of the position before the first.
    #[must_use]
    pub fn links(&self, before: &ChainLink) -> Vec<ChainLink> {
        let links = self.texts.iter().scan(*before, |link, text| {
            *link = link.next(text);
            Some(*link)
        });
        links.collect()
    }
}
