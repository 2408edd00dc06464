//! Taking a log of the first format over: its facts as appends, one after another.

use std::fs::File;
use std::sync::Arc;

use rustix::fs::{FlockOperation, flock};
use windlass_core::{Seq, SessionId};
use windlass_kit_log::{Batch, End, Unit};
use windlass_ports::{StoreError, codec};

use crate::error;
use crate::old::scan::{Found, Scan};
use crate::places::{self, Places};

/// The most bytes of facts that are handed over at once, as far as one unit is not larger.
const PIECE: usize = 1024 * 1024;

/// A log of the first format, locked as its writers lock it.
pub(crate) struct Old<'a> {
    session: &'a SessionId,
    path: std::path::PathBuf,
    file: File,
}

impl<'a> Old<'a> {
    /// Opens and locks a session's old log; nothing where there is none.
    pub(crate) fn open(
        places: &Places,
        session: &'a SessionId,
    ) -> Result<Option<Self>, StoreError> {
        let path = places.old_log(session);
        let at = |error| error::from_io(error, "claiming", &path);
        let Some(file) = places::open_to_read(&path).map_err(at)? else {
            return Ok(None);
        };
        if flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
            return Err(error::locked(session, &places.old_logs()));
        }
        Ok(Some(Self {
            session,
            path,
            file,
        }))
    }

    /// Hands over all units behind position `after`, until position `until` is among them. Answers
    /// where what was handed over ends and, at the log's end, how many bytes behind that were never
    /// acknowledged.
    pub(crate) fn hand_over(
        &self,
        after: Seq,
        until: Seq,
        take: &mut dyn FnMut(&End, Unit) -> Result<(), StoreError>,
    ) -> Result<(End, u64), StoreError> {
        let mut end = End::none(self.session);
        let mut scan = Scan::new(&self.file, self.session);
        let at = |error| error::from_io(error, "checking", &self.path);
        loop {
            if end.last >= until {
                return Ok((end, 0));
            }
            let unit = match scan.next().map_err(at)? {
                Found::Unit(unit) => unit,
                Found::End { torn_bytes } => return Ok((end, torn_bytes)),
                Found::Damage(damage) => {
                    return Err(error::damaged(self.session, &self.path, &damage));
                }
                Found::Newer { format } => return Err(error::newer(&self.path, format)),
            };
            let mut bodies = Vec::with_capacity(unit.bodies.len());
            for body in &unit.bodies {
                let text = scan.bytes(body).map_err(at)?.to_vec();
                bodies.push((text, body.start));
            }
            let mut bodies = bodies.into_iter().peekable();
            while bodies.peek().is_some() {
                if end.last >= until {
                    return Ok((end, 0));
                }
                let mut piece = Vec::new();
                let mut bytes = 0;
                while let Some((text, offset)) = bodies.next_if(|_| bytes < PIECE) {
                    bytes += text.len();
                    piece.push((text, offset));
                }
                let unit = self.unit(&end, piece)?;
                let next = unit.end.clone();
                if next.last > after {
                    take(&end, unit)?;
                }
                end = next;
            }
        }
    }

    /// A piece of a log as an append to it.
    fn unit(&self, before: &End, piece: Vec<(Vec<u8>, u64)>) -> Result<Unit, StoreError> {
        let (mut facts, mut texts, mut bytes) = (Vec::new(), Vec::new(), 0);
        for (text, offset) in piece {
            let seq = before.last.plus(facts.len() as u64 + 1);
            let fact = codec::decode(&text).map_err(|error| self.misfit(seq, offset, error))?;
            if fact.session != *self.session || fact.seq != seq {
                let what = format!("fact {} of session {} stands there", fact.seq, fact.session);
                let after = Seq(seq.0.saturating_sub(1));
                return Err(error::corrupt(
                    self.session,
                    &self.path,
                    after,
                    offset,
                    &what,
                ));
            }
            bytes += text.len();
            facts.push(Arc::new(fact));
            texts.push(text);
        }
        let batch = Batch {
            session: self.session.clone(),
            after: before.last,
            facts: facts.into(),
            texts: texts.into(),
            bytes,
        };
        Ok(Unit::new(before.clone(), batch))
    }

    fn misfit(&self, seq: Seq, offset: u64, error: codec::CodecError) -> StoreError {
        match &error {
            codec::CodecError::Newer { .. } => StoreError::new(
                windlass_ports::StoreErrorKind::Newer,
                format!("reading fact {seq} of {}: {error}", self.session),
            )
            .caused_by(error),
            codec::CodecError::Malformed(_) => {
                let after = Seq(seq.0.saturating_sub(1));
                error::corrupt(self.session, &self.path, after, offset, &error.to_string())
                    .caused_by(error)
            }
        }
    }

    /// Removes the file: all of it is elsewhere, and durable there.
    pub(crate) fn remove(self, places: &Places) -> Result<(), StoreError> {
        let removed = std::fs::remove_file(&self.path)
            .and_then(|()| File::open(places.old_logs())?.sync_all());
        removed.map_err(|error| error::from_io(error, "removing", &self.path))
    }
}
