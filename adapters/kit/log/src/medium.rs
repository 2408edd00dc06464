//! The medium: where a pipeline keeps what it gathers.

use std::hint::black_box;
use std::time::Duration;

use windlass_core::{Seq, SessionId};
use windlass_ports::{Link, Repair, StoreError, Summary};

use crate::batch::Batch;

/// Where a log ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct End {
    /// The last position; [`Seq::ZERO`] where there is no log.
    pub last: Seq,
    /// The link of the last fact, or the one before the first.
    pub link: Link,
    /// The log in short; `None` where there is no log.
    pub summary: Option<Summary>,
}

impl End {
    /// The end of a log that has not begun.
    #[must_use]
    pub fn none(session: &SessionId) -> Self {
        Self {
            last: Seq::ZERO,
            link: Link::genesis(session),
            summary: None,
        }
    }
}

/// An append that fits the end of its session's log: kept whole or not at all.
#[derive(Debug)]
// What is freed with it stands together, at its beginning.
#[repr(C)]
pub struct Unit {
    /// The facts.
    pub batch: Batch,
    /// The links of the facts before the last.
    earlier: Vec<Link>,
    /// Where the log ends with it.
    pub end: End,
    /// The link of the position before it.
    pub before: Link,
    /// The session's seat, where the pipeline made it.
    pub seat: Seat,
}

/// A number of a session that is admitted: a small one that no other has until it is let go, so that
/// what each append needs can stand side by side and is found without a search.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Seat(pub u32);

impl Seat {
    /// The number, to look into a table with.
    #[must_use]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl Unit {
    /// An append to a log that ends there, which is where its facts begin.
    #[must_use]
    pub fn new(before: End, batch: Batch) -> Self {
        Self::seated(before, batch, Seat::default())
    }

    /// The same, of a session that has this seat.
    pub(crate) fn seated(before: End, batch: Batch, seat: Seat) -> Self {
        let mut earlier = Vec::new();
        let mut link = before.link;
        if let Some((last, texts)) = batch.texts.split_last() {
            for text in texts {
                link = link.then(text);
                earlier.push(link);
            }
            link = link.then(last);
        }
        let facts = batch.facts.iter().map(AsRef::as_ref);
        let end = End {
            last: batch.last(),
            link,
            summary: Summary::after(before.summary, facts),
        };
        Self {
            batch,
            earlier,
            end,
            before: before.link,
            seat,
        }
    }

    /// The link of each fact.
    pub fn links(&self) -> impl Iterator<Item = &Link> {
        self.earlier.iter().chain(std::iter::once(&self.end.link))
    }

    /// Has the processor fetch it from memory.
    pub(crate) fn fetch(&self) {
        black_box((
            self.batch.after,
            self.end.last,
            self.before.0.first(),
            self.seat,
        ));
    }

    /// Whether it follows the end of its log: a link tells the whole log before it.
    pub(crate) fn is_on(&self, end: &End) -> bool {
        (self.batch.after, self.before) == (end.last, end.link)
    }
}

/// What a pipeline writes to: a file, an embedded database. The pipeline calls it from its one
/// thread, checks claims and positions before it does, and answers the callers after it did.
///
/// It is dropped on that thread when the store is closed.
pub trait Medium: Send + 'static {
    /// Becomes the writer of a session: takes what lock there is, finds where the log ends, and cuts
    /// a torn tail off. What it finds is durable when it answers.
    ///
    /// A session is admitted until it is let go or erased, and has its seat until then. It is admitted
    /// again, with the same one, only after a [`keep`](Self::keep) or an [`erase`](Self::erase) with it
    /// failed.
    ///
    /// # Errors
    /// As [`LogStore::claim`](windlass_ports::LogStore::claim).
    fn admit(
        &mut self,
        session: &SessionId,
        seat: Seat,
    ) -> Result<(End, Option<Repair>), StoreError>;

    /// Lets a session go that was admitted: another process may have it.
    fn let_go(&mut self, session: &SessionId);

    /// Keeps units of any sessions, in this order; several of one session follow one another. They
    /// are durable when it answers.
    ///
    /// After an error nobody knows which of the units were kept: the pipeline drops the claims of
    /// their sessions, and the next [`admit`](Self::admit) finds out.
    ///
    /// # Errors
    /// `Full`, `ReadOnly`, `Io`; an error that [`is_over`](Self::is_over) ends the pipeline.
    fn keep(&mut self, units: &[Box<Unit>]) -> Result<(), StoreError>;

    /// Erases a session that is admitted, and lets it go. After an error it is still admitted.
    ///
    /// # Errors
    /// `Full`, `ReadOnly`, `Io`.
    fn erase(&mut self, session: &SessionId) -> Result<(), StoreError>;

    /// Whether nothing can be written any more until the store is opened again: asked after each
    /// error. A panic of the medium says so too.
    fn is_over(&self) -> bool {
        false
    }

    /// Does a bounded piece of upkeep while nobody waits, and says after how long it wants to be
    /// called again; `None` when only after the next request.
    ///
    /// # Errors
    /// Any; they are logged, and one that [`is_over`](Self::is_over) ends the pipeline.
    fn rest(&mut self) -> Result<Option<Duration>, StoreError> {
        Ok(None)
    }
}
