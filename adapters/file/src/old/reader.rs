//! Reading a log of the first format: pages of it, and a check of all of it. Takes no lock.

use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use windlass_core::{Recorded, Seq, SessionId};
use windlass_ports::codec::{self, CodecError};
use windlass_ports::{Link, StoreError, StoreErrorKind, Summary, Verified};

use crate::disk::LogFile;
use crate::error;
use crate::old::marks::Marks;
use crate::old::scan::{Found, Scan, Unit};
use crate::places::{self, Places};

/// How often, and after which pause, what looks damaged is looked at again. Another process may
/// be in the middle of a write; one write takes far less than these together.
const LOOKS: u32 = 4;
const PAUSE: Duration = Duration::from_millis(1);

/// A session's log, to be read.
pub(crate) struct Reader<'a> {
    pub(crate) places: &'a Places,
    pub(crate) marks: &'a Marks,
    pub(crate) session: &'a SessionId,
}

impl Reader<'_> {
    /// Reads up to `limit` facts after position `after`.
    pub(crate) fn read(&self, after: Seq, limit: usize) -> Result<Vec<Recorded>, StoreError> {
        if let Some(mark) = self.marks.before(self.session, after) {
            let file = self.open()?;
            let mut scan = Scan::from(&*file, self.session, mark);
            match self.page(&mut scan, after, limit) {
                Ok(page) => return Ok(page),
                Err(_) => self.marks.forget(self.session),
            }
        }
        let file = self.open()?;
        let mut scan = Scan::new(&*file, self.session);
        self.page(&mut scan, after, limit)
    }

    /// Reads a page from where a scan stands.
    fn page(
        &self,
        scan: &mut Scan<'_>,
        after: Seq,
        limit: usize,
    ) -> Result<Vec<Recorded>, StoreError> {
        let mut page = Vec::new();
        // An empty page still tells whether there is such a session.
        while page.len() < limit || scan.place().seq == Seq::ZERO {
            match self.next(scan)? {
                Found::Unit(unit) => {
                    self.take(scan, &unit, after, limit, &mut page)?;
                    self.marks.note(self.session, scan.place());
                }
                Found::End { .. } if scan.place().seq == Seq::ZERO => {
                    return Err(error::unknown(self.session, &self.path()));
                }
                Found::End { .. } => break,
                Found::Damage(damage) => {
                    self.take(scan, &damage.sound, after, limit, &mut page)?;
                    if page.len() < limit {
                        return Err(error::damaged(self.session, &self.path(), &damage));
                    }
                    break;
                }
                Found::Newer { format } => {
                    return Err(error::newer(&self.path(), format));
                }
            }
        }
        Ok(page)
    }

    /// Adds the facts of a unit that a page has room for.
    fn take(
        &self,
        scan: &mut Scan<'_>,
        unit: &Unit,
        after: Seq,
        limit: usize,
        page: &mut Vec<Recorded>,
    ) -> Result<(), StoreError> {
        let mut seq = unit.after;
        for body in &unit.bodies {
            seq = seq.next();
            if seq > after && page.len() < limit {
                let bytes = scan.bytes(body).map_err(|error| self.io(error))?;
                page.push(self.decode(bytes, seq, body.start)?);
            }
        }
        Ok(())
    }

    /// Checks all of the log.
    pub(crate) fn verify(&self) -> Result<Verified, StoreError> {
        let file = self.open()?;
        let mut scan = Scan::new(&*file, self.session);
        let mut link = Link::genesis(self.session);
        let torn_bytes = loop {
            match self.next(&mut scan)? {
                Found::Unit(unit) => {
                    for (body, n) in unit.bodies.iter().zip(1..) {
                        let bytes = scan.bytes(body).map_err(|error| self.io(error))?;
                        link = link.then(bytes);
                        self.decode(bytes, unit.after.plus(n), body.start)?;
                    }
                }
                Found::End { torn_bytes } => break torn_bytes,
                Found::Damage(damage) => {
                    return Err(error::damaged(self.session, &self.path(), &damage));
                }
                Found::Newer { format } => {
                    return Err(error::newer(&self.path(), format));
                }
            }
        };
        let end = scan.place();
        if end.seq == Seq::ZERO {
            return Err(error::unknown(self.session, &self.path()));
        }
        Ok(Verified {
            last: end.seq,
            bytes: end.offset,
            torn_bytes,
            chain: link,
        })
    }

    /// Whether there is a fact, or damage where one could be.
    pub(crate) fn exists(&self) -> Result<bool, StoreError> {
        let file = match self.open() {
            Ok(file) => file,
            Err(error) if error.kind == StoreErrorKind::Unknown => return Ok(false),
            Err(error) => return Err(error),
        };
        let mut scan = Scan::new(&*file, self.session);
        Ok(match self.next(&mut scan)? {
            Found::Unit(_) | Found::Damage(_) | Found::Newer { .. } => true,
            Found::End { .. } => false,
        })
    }

    /// The log in short, read from its facts.
    pub(crate) fn summary(&self) -> Result<Summary, StoreError> {
        let facts = self.read(Seq::ZERO, usize::MAX)?;
        Summary::after(None, &facts).ok_or_else(|| error::unknown(self.session, &self.path()))
    }

    /// The link of a position; `None` where the log has no such position.
    pub(crate) fn link_at(&self, seq: Seq) -> Result<Option<Link>, StoreError> {
        let count = usize::try_from(seq.0).unwrap_or(usize::MAX);
        let facts = self.read(Seq::ZERO, count)?;
        if facts.len() < count {
            return Ok(None);
        }
        let link = Link::of(self.session, &facts);
        link.map(Some).map_err(|error| {
            let context = format!("linking the facts of {}: {error}", self.session);
            StoreError::new(StoreErrorKind::Io, context)
        })
    }

    /// Goes on with a scan; damage counts only once it has been seen again.
    fn next(&self, scan: &mut Scan<'_>) -> Result<Found, StoreError> {
        let mut found = scan.next().map_err(|error| self.io(error))?;
        for _ in 1..LOOKS {
            if !matches!(found, Found::Damage(_)) {
                break;
            }
            thread::sleep(PAUSE);
            scan.look_again();
            found = scan.next().map_err(|error| self.io(error))?;
        }
        Ok(found)
    }

    fn decode(&self, bytes: &[u8], seq: Seq, offset: u64) -> Result<Recorded, StoreError> {
        let after = Seq(seq.0.saturating_sub(1));
        let damaged =
            |what: String| error::corrupt(self.session, &self.path(), after, offset, &what);
        match codec::decode(bytes) {
            Ok(fact) if fact.session == *self.session && fact.seq == seq => Ok(fact),
            Ok(fact) => Err(damaged(format!(
                "fact {} of session {} stands there",
                fact.seq, fact.session
            ))),
            Err(newer @ CodecError::Newer { .. }) => {
                let context = format!("reading fact {seq} of {}: {newer}", self.session);
                Err(StoreError::new(StoreErrorKind::Newer, context).caused_by(newer))
            }
            Err(malformed @ CodecError::Malformed(_)) => {
                Err(damaged(malformed.to_string()).caused_by(malformed))
            }
        }
    }

    fn open(&self) -> Result<Box<dyn LogFile>, StoreError> {
        let opened = places::open_to_read(&self.path()).map_err(|error| self.io(error))?;
        match opened {
            Some(file) => Ok(Box::new(file)),
            None => Err(error::unknown(self.session, &self.path())),
        }
    }

    fn path(&self) -> PathBuf {
        self.places.old_log(self.session)
    }

    fn io(&self, error: std::io::Error) -> StoreError {
        error::reading(error, &self.path())
    }
}
