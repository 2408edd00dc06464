//! What may be appended: facts of one session, numbered on, none and all of them not too large.

use std::sync::Arc;

use smallvec::SmallVec;
use windlass_core::{Recorded, Seq, SessionId};
use windlass_ports::{Link, MAX_APPEND_BYTES, MAX_FACT_BYTES, StoreError, StoreErrorKind, codec};

/// Values of which there is mostly one, which needs no memory of its own then.
pub type Few<T> = SmallVec<[T; 1]>;

/// Facts that may be appended, with their text forms. There is at least one.
#[derive(Debug, Clone)]
pub struct Batch {
    /// The session.
    pub session: SessionId,
    /// The position before the first of them.
    pub after: Seq,
    /// The facts.
    pub facts: Few<Arc<Recorded>>,
    /// Their text forms, in the same order.
    pub texts: Few<Vec<u8>>,
    /// The bytes of these together.
    pub bytes: usize,
}

impl Batch {
    /// Takes facts that are to stand after position `after`, each of at most [`MAX_FACT_BYTES`] and
    /// together of at most [`MAX_APPEND_BYTES`]. `place` names the store, for what is said of an error.
    ///
    /// # Errors
    /// `Invalid` when there is none, or one is of another session or not numbered on; `TooLarge`.
    pub fn new(
        place: &str,
        session: &SessionId,
        after: Seq,
        facts: &[Arc<Recorded>],
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
        let mut texts = Few::with_capacity(facts.len());
        let mut bytes = 0_usize;
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
                    "its facts have more than {MAX_APPEND_BYTES} bytes together; append them in \
                     parts"
                )));
            }
            texts.push(text);
        }
        Ok(Self {
            session: session.clone(),
            after,
            facts: facts.iter().cloned().collect(),
            texts,
            bytes,
        })
    }

    /// The position of the last fact.
    #[must_use]
    pub fn last(&self) -> Seq {
        self.after.plus(self.texts.len() as u64)
    }

    /// The links of the facts, where `before` is that of the position before the first.
    #[must_use]
    pub fn links(&self, before: &Link) -> Few<Link> {
        let links = self.texts.iter().scan(*before, |link, text| {
            *link = link.then(text);
            Some(*link)
        });
        links.collect()
    }
}
