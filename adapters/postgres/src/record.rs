//! Records: the text forms of an append's facts as lines, with a checksum that ties them to their
//! session and their place. One record is one row.

use windlass_core::{RecordedFact, Seq, SessionId};
use windlass_ports::codec::{self, CodecError};

/// The lines of facts.
pub(crate) fn body(texts: &[Vec<u8>]) -> Vec<u8> {
    texts.join(&b'\n')
}

/// The checksum of a record of this session that stands after this position.
pub(crate) fn crc(session: &SessionId, after: Seq, body: &[u8]) -> i32 {
    let crc = crc32c::crc32c(session.as_str().as_bytes());
    let crc = crc32c::crc32c_append(crc, b"\n");
    let crc = crc32c::crc32c_append(crc, &after.0.to_le_bytes());
    crc32c::crc32c_append(crc, body).cast_signed()
}

/// The text forms in a record.
pub(crate) fn lines(body: &[u8]) -> impl Iterator<Item = &[u8]> {
    body.split(|byte| *byte == b'\n')
}

/// A row of the table of facts.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StoredRecord<'a> {
    pub(crate) last: i32,
    pub(crate) crc: i32,
    pub(crate) body: &'a [u8],
}

/// Defect of a record.
#[derive(Debug)]
pub(crate) enum RecordError {
    /// It is not what was written.
    Damaged(String),
    /// A newer engine wrote it.
    Newer(CodecError),
}

impl<'a> StoredRecord<'a> {
    /// The position before its first fact.
    pub(crate) fn after(&self) -> Option<Seq> {
        let last = u64::try_from(self.last).ok()?;
        let count = lines(self.body).count() as u64;
        last.checked_sub(count).map(Seq)
    }

    /// Checks that this is what was written, for this session, after `after`.
    ///
    /// # Errors
    /// What is wrong.
    pub(crate) fn check(&self, session: &SessionId, after: Seq) -> Result<(), String> {
        if self.after() != Some(after) {
            return Err(format!("the row that ends at {} does not begin there", self.last));
        }
        if crc(session, after, self.body) != self.crc {
            return Err(format!("the row that ends at {} is not what was written", self.last));
        }
        Ok(())
    }

    /// Its facts with their text forms, checked.
    pub(crate) fn facts(
        &self,
        session: &SessionId,
        after: Seq,
    ) -> impl Iterator<Item = Result<(RecordedFact, &'a [u8]), RecordError>> {
        let numbered = (after.0 + 1..).zip(lines(self.body));
        numbered.map(move |(seq, line)| match codec::decode(line) {
            Ok(fact) if fact.seq == Seq(seq) && fact.session == *session => Ok((fact, line)),
            Ok(fact) => Err(RecordError::Damaged(format!(
                "position {} of session {} stands where {seq} must",
                fact.seq, fact.session
            ))),
            Err(error @ CodecError::Newer { .. }) => Err(RecordError::Newer(error)),
            Err(error @ CodecError::Malformed(_)) => {
                Err(RecordError::Damaged(format!("position {seq}: {error}")))
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_tied_to_its_session_and_its_place() {
        let id = SessionId::new("s").unwrap();
        let body = body(&[b"{}".to_vec(), b"[]".to_vec()]);
        let record = StoredRecord { last: 7, crc: crc(&id, Seq(5), &body), body: &body };
        assert_eq!(record.after(), Some(Seq(5)));
        record.check(&id, Seq(5)).unwrap();
        let other = SessionId::new("t").unwrap();
        assert!(record.check(&other, Seq(5)).is_err());
        let moved = StoredRecord { last: 8, ..record };
        assert!(moved.check(&id, Seq(6)).is_err());
        let first = StoredRecord { last: 1, ..record };
        assert_eq!(first.after(), None);
    }
}
