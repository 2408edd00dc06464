//! Reads: facts up to the acknowledged end of a log, and pages of the listing.

use std::path::Path;

use windlass_core::{RecordedFact, Seq, SessionId};
use windlass_ports::{
    ChainLink, SessionListing, SessionSummary, StoreError, StoreErrorKind, codec,
};

use crate::error::{corrupt, corrupt_store, fault};
use crate::head_index::{HeadCheck, LogHead};
use crate::open_store::OpenStore;
use crate::scan::{self, PageLimits};

const PAGE_FACTS: usize = 1_024;
const PAGE_BYTES: usize = 16 * 1024 * 1024;

/// Position of a read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ReadCursor {
    pub(crate) after: Seq,
    /// Link of `after`, if that fact was just read.
    pub(crate) link: Option<ChainLink>,
    pub(crate) limit: usize,
}

impl ReadCursor {
    /// Cursor over a whole log.
    pub(crate) const ALL: Self = Self { after: Seq::ZERO, link: None, limit: usize::MAX };

    /// Moves behind the facts of a page.
    pub(crate) fn advance(&mut self, stretch: &FactSpan) {
        self.after = self.after.plus(stretch.texts.len() as u64);
        self.link = Some(stretch.link);
        self.limit -= stretch.texts.len();
    }
}

pub(crate) struct FactSpan {
    pub(crate) texts: Vec<Vec<u8>>,
    /// Link of the last of them, or the one before.
    pub(crate) link: ChainLink,
    pub(crate) last: Seq,
    pub(crate) torn_bytes: u64,
}

pub(crate) fn fact_span(
    shared: &OpenStore,
    session: &SessionId,
    cursor: ReadCursor,
) -> Result<FactSpan, StoreError> {
    let OpenStore { dir, db, .. } = shared;
    let head = match head_of(shared, session) {
        Ok(head) => head,
        Err(error) => sound_head(shared, session, cursor, error)?,
    };
    let ReadCursor { after, link, limit } = cursor;
    let link = match link {
        Some(link) => link,
        None if after == Seq::ZERO || after >= head.seq => ChainLink::genesis(session),
        None => {
            let record = scan::record(db, session, after);
            let record = record.map_err(|found| fault(dir, session, Seq::ZERO, found))?;
            let missing =
                || corrupt(dir, session, Seq::ZERO, &format!("position {after} is missing"));
            record.ok_or_else(missing)?.header.link
        }
    };
    let bounds = PageLimits { last: head.seq, facts: PAGE_FACTS.min(limit), bytes: PAGE_BYTES };
    let page = scan::page(db, session, (after, link), bounds);
    let page = page.map_err(|(after, found)| fault(dir, session, after, found))?;
    let reached = after.plus(page.texts.len() as u64);
    if !page.texts.is_empty() && reached == head.seq && page.link != head.link {
        let what = "its last record is not the one that was acknowledged";
        return Err(corrupt(dir, session, Seq::ZERO, what));
    }
    Ok(FactSpan {
        texts: page.texts,
        link: page.link,
        last: head.seq,
        torn_bytes: match head.seen {
            HeadCheck::Not | HeadCheck::Whole => 0,
            HeadCheck::Torn { bytes } => bytes,
        },
    })
}

/// Returns the head of an existing session.
pub(crate) fn head_of(shared: &OpenStore, session: &SessionId) -> Result<LogHead, StoreError> {
    let OpenStore { dir, db, .. } = shared;
    let head = shared.heads().admit(db, dir, session)?;
    if head.seq > Seq::ZERO {
        return Ok(head);
    }
    Err(StoreError::new(
        StoreErrorKind::Unknown,
        format!("there is no session {session} in the sled store {}", dir.display()),
    ))
}

/// Returns the last sound position of a log that is shorter than it was, for a read that ends before
/// the damage. Returns the error of any other read.
fn sound_head(
    shared: &OpenStore,
    session: &SessionId,
    cursor: ReadCursor,
    error: StoreError,
) -> Result<LogHead, StoreError> {
    let StoreErrorKind::Corrupt { after: last, .. } = error.kind else {
        return Err(error);
    };
    let end = cursor.after.plus(u64::try_from(cursor.limit).unwrap_or(u64::MAX));
    if last == Seq::ZERO || end > last {
        return Err(error);
    }
    let record = scan::record(&shared.db, session, last);
    let record = record.map_err(|found| fault(&shared.dir, session, Seq::ZERO, found))?;
    let link = record.ok_or(error)?.header.link;
    Ok(LogHead { seq: last, link, summary: None, seen: HeadCheck::Not })
}

/// Folds a log of at least one fact into its summary.
pub(crate) fn fold(
    shared: &OpenStore,
    session: &SessionId,
) -> Result<Option<SessionSummary>, StoreError> {
    let mut cursor = ReadCursor::ALL;
    let mut summary = None;
    loop {
        let stretch = fact_span(shared, session, cursor)?;
        for (text, seq) in stretch.texts.iter().zip(cursor.after.0..) {
            let fact = decode(&shared.dir, session, Seq(seq), text)?;
            summary = SessionSummary::after(summary, [&fact]);
        }
        cursor.advance(&stretch);
        if cursor.after >= stretch.last {
            return Ok(summary);
        }
    }
}

/// Returns the summary of a log, from its last record or by reading it; `None` if it is damaged.
fn summary_of(shared: &OpenStore, session: &SessionId) -> Option<SessionSummary> {
    let head = head_of(shared, session).ok()?;
    if head.summary.is_some() {
        return head.summary;
    }
    let summary = fold(shared, session).ok()?;
    if let Some(summary) = &summary {
        shared.heads().set_summary(session, summary);
    }
    summary
}

pub(crate) fn sessions(
    shared: &OpenStore,
    mut after: Option<SessionId>,
    count: usize,
) -> Result<Vec<SessionListing>, StoreError> {
    let mut listed = Vec::new();
    while listed.len() < count {
        let OpenStore { db, dir, .. } = shared;
        let next = shared.heads().session_after(db, dir, after.as_ref());
        let next = next.map_err(|found| {
            corrupt_store(&shared.dir, &format!("its sessions cannot be listed: {found}"))
        })?;
        let Some(session) = next else {
            break;
        };
        after = Some(session.clone());
        let summary = summary_of(shared, &session);
        listed.push(SessionListing { id: session, summary });
    }
    Ok(listed)
}

pub(crate) fn decode(
    dir: &Path,
    session: &SessionId,
    after: Seq,
    text: &[u8],
) -> Result<RecordedFact, StoreError> {
    match codec::decode(text) {
        Ok(fact) if fact.session == *session && fact.seq == after.next() => Ok(fact),
        Ok(fact) => {
            let what = format!("there stands position {} of session {}", fact.seq, fact.session);
            Err(corrupt(dir, session, after, &what))
        }
        Err(error @ codec::CodecError::Newer { .. }) => Err(StoreError::new(
            StoreErrorKind::Newer,
            format!("reading session {session} in the sled store {}: {error}", dir.display()),
        )),
        Err(error @ codec::CodecError::Malformed(_)) => {
            Err(corrupt(dir, session, after, &error.to_string()))
        }
    }
}
