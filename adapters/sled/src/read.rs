//! What a reader does: a stretch of a log up to its acknowledged end, and a page of the listing.

use std::path::Path;

use windlass_core::{Recorded, Seq, SessionId};
use windlass_ports::{Link, SessionHead, StoreError, StoreErrorKind, Summary, codec};

use crate::chain::Chain;
use crate::error::{corrupt, corrupt_store, fault};
use crate::heads::{Head, Seen};
use crate::scan::{self, Bounds};
use crate::shared::Shared;

const PAGE_FACTS: usize = 1_024;
const PAGE_BYTES: usize = 16 * 1024 * 1024;

/// Where a read stands.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cursor {
    pub(crate) after: Seq,
    /// The chain at `after`, where that was just read.
    pub(crate) chain: Option<Chain>,
    pub(crate) limit: usize,
}

impl Cursor {
    /// All of a log.
    pub(crate) const ALL: Self = Self {
        after: Seq::ZERO,
        chain: None,
        limit: usize::MAX,
    };

    /// Where a read stands after a stretch.
    pub(crate) fn move_on(&mut self, stretch: &Stretch) {
        self.after = self.after.plus(stretch.texts.len() as u64);
        self.chain = Some(stretch.chain);
        self.limit -= stretch.texts.len();
    }
}

pub(crate) struct Stretch {
    pub(crate) texts: Vec<Vec<u8>>,
    /// The chain at the last of them.
    pub(crate) chain: Chain,
    pub(crate) last: Seq,
    pub(crate) torn_bytes: u64,
}

pub(crate) fn stretch(
    shared: &Shared,
    session: &SessionId,
    cursor: Cursor,
) -> Result<Stretch, StoreError> {
    let Shared { dir, db, .. } = shared;
    let head = head_of(shared, session)?;
    let Cursor {
        after,
        chain,
        limit,
    } = cursor;
    let chain = match chain {
        Some(chain) => chain,
        None if after == Seq::ZERO || after >= head.seq => Chain::begin(session),
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
            Chain::at(&record.ok_or_else(missing)?.header)
        }
    };
    let bounds = Bounds {
        last: head.seq,
        facts: PAGE_FACTS.min(limit),
        bytes: PAGE_BYTES,
    };
    let page = scan::page(db, session, (after, chain), bounds);
    let page = page.map_err(|(after, found)| fault(dir, session, after, found))?;
    let reached = after.plus(page.texts.len() as u64);
    if reached == head.seq && page.link.is_some_and(|link| link != head.link) {
        let what = "its last record is not the one that was acknowledged";
        return Err(corrupt(dir, session, Seq::ZERO, what));
    }
    Ok(Stretch {
        texts: page.texts,
        chain: page.chain,
        last: head.seq,
        torn_bytes: match head.seen {
            Seen::Not | Seen::Whole => 0,
            Seen::Torn { bytes } => bytes,
        },
    })
}

/// Where the log of a session that exists ends.
pub(crate) fn head_of(shared: &Shared, session: &SessionId) -> Result<Head, StoreError> {
    let Shared { dir, db, .. } = shared;
    let head = shared.heads().admit(db, dir, session)?;
    if head.seq > Seq::ZERO {
        return Ok(head);
    }
    Err(StoreError::new(
        StoreErrorKind::Unknown,
        format!(
            "there is no session {session} in the sled store {}",
            dir.display()
        ),
    ))
}

/// A log in short and its last link in the chain of all stores, by reading all of it. There is at
/// least one fact.
pub(crate) fn fold(
    shared: &Shared,
    session: &SessionId,
) -> Result<(Option<Summary>, Option<Link>), StoreError> {
    let mut cursor = Cursor::ALL;
    let mut summary = None;
    loop {
        let stretch = stretch(shared, session, cursor)?;
        for (text, seq) in stretch.texts.iter().zip(cursor.after.0..) {
            let fact = decode(&shared.dir, session, Seq(seq), text)?;
            summary = Summary::after(summary, [&fact]);
        }
        cursor.move_on(&stretch);
        if cursor.after >= stretch.last {
            return Ok((summary, stretch.chain.common()));
        }
    }
}

/// A log in short: as its last record says it, or by reading the log; `None` when it is damaged.
fn summary_of(shared: &Shared, session: &SessionId) -> Option<Summary> {
    let head = head_of(shared, session).ok()?;
    if head.summary.is_some() {
        return head.summary;
    }
    let (summary, _) = fold(shared, session).ok()?;
    if let Some(summary) = &summary {
        shared.heads().know(session, summary);
    }
    summary
}

pub(crate) fn sessions(
    shared: &Shared,
    mut after: Option<SessionId>,
    count: usize,
) -> Result<Vec<SessionHead>, StoreError> {
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
        let summary = summary_of(shared, &session);
        listed.push(SessionHead {
            id: session,
            summary,
        });
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
