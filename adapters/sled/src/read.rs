//! What a reader does: a stretch of a log up to its acknowledged end, and a page of the listing.

use std::path::Path;

use windlass_core::{Recorded, Seq, SessionId};
use windlass_ports::{StoreError, StoreErrorKind, codec};

use crate::error::{corrupt, corrupt_store, fault};
use crate::heads::Seen;
use crate::queue::Shared;
use crate::record::{GENESIS, Link};
use crate::scan::{self, Bounds};

const PAGE_FACTS: usize = 1_024;
const PAGE_BYTES: usize = 16 * 1024 * 1024;

/// Where a read stands.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cursor {
    pub(crate) after: Seq,
    /// The link of `after`, where it was just read.
    pub(crate) link: Option<Link>,
    pub(crate) limit: usize,
}

pub(crate) struct Stretch {
    pub(crate) texts: Vec<Vec<u8>>,
    pub(crate) link: Link,
    pub(crate) last: Seq,
    pub(crate) torn_bytes: u64,
}

pub(crate) fn stretch(
    shared: &Shared,
    session: &SessionId,
    cursor: Cursor,
) -> Result<Stretch, StoreError> {
    let Shared { dir, db, .. } = shared;
    let head = shared.heads().admit(db, dir, session)?;
    if head.seq == Seq::ZERO {
        return Err(StoreError::new(
            StoreErrorKind::Unknown,
            format!(
                "there is no session {session} in the sled store {}",
                dir.display()
            ),
        ));
    }
    let Cursor { after, link, limit } = cursor;
    let link = match link {
        Some(link) => link,
        None if after == Seq::ZERO || after >= head.seq => GENESIS,
        None => {
            let record = scan::record(db, session, after);
            let record = record.map_err(|found| fault(dir, session, Seq::ZERO, found))?;
            let missing = || {
                corrupt(
                    dir,
                    session,
                    Seq::ZERO,
                    &format!("position {after} is missing"),
                )
            };
            record.ok_or_else(missing)?.header.link
        }
    };
    let bounds = Bounds {
        last: head.seq,
        facts: PAGE_FACTS.min(limit),
        bytes: PAGE_BYTES,
    };
    let page = scan::page(db, session, (after, link), bounds);
    let page = page.map_err(|(after, found)| fault(dir, session, after, found))?;
    let reached = after.plus(page.texts.len() as u64);
    if reached == head.seq && !page.texts.is_empty() && page.link != head.link {
        let what = "its last record is not the one that was acknowledged";
        return Err(corrupt(dir, session, Seq::ZERO, what));
    }
    Ok(Stretch {
        texts: page.texts,
        link: page.link,
        last: head.seq,
        torn_bytes: match head.seen {
            Seen::Not | Seen::Whole => 0,
            Seen::Torn { bytes } => bytes,
        },
    })
}

pub(crate) fn sessions(
    shared: &Shared,
    mut after: Option<SessionId>,
    count: usize,
) -> Result<Vec<SessionId>, StoreError> {
    let mut listed = Vec::new();
    while listed.len() < count {
        let Shared { db, dir, .. } = shared;
        let next = shared.heads().session_after(db, dir, after.as_ref());
        let next = next.map_err(|found| {
            corrupt_store(
                &shared.dir,
                &format!("its sessions cannot be listed: {found}"),
            )
        })?;
        let Some(session) = next else {
            break;
        };
        after = Some(session.clone());
        listed.push(session);
    }
    Ok(listed)
}

pub(crate) fn decode(
    dir: &Path,
    session: &SessionId,
    after: Seq,
    text: &[u8],
) -> Result<Recorded, StoreError> {
    match codec::decode(text) {
        Ok(fact) if fact.session == *session && fact.seq == after.next() => Ok(fact),
        Ok(fact) => {
            let what = format!(
                "there stands position {} of session {}",
                fact.seq, fact.session
            );
            Err(corrupt(dir, session, after, &what))
        }
        Err(error @ codec::CodecError::Newer { .. }) => Err(StoreError::new(
            StoreErrorKind::Newer,
            format!(
                "reading session {session} in the sled store {}: {error}",
                dir.display()
            ),
        )),
        Err(error @ codec::CodecError::Malformed(_)) => {
            Err(corrupt(dir, session, after, &error.to_string()))
        }
    }
}
