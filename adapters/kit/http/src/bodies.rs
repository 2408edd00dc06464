//! Request bodies, with what earlier requests of a session have written already.
//!
//! Between two compactions a session's prompts only grow, so each item is encoded once: a body is
//! the pieces of the last one plus the new items, and no byte of it is copied again. That the items
//! before are the same is checked; what two prompts of one history share is not read for it. After a
//! compaction they are not, and the body is written anew. Where the other side keeps what it was
//! told, [`Bodies::rest`] writes only what is new.

use std::collections::VecDeque;
use std::sync::Arc;

use bytes::Bytes;
use windlass_core::{AppendList, AppendListIter, LoweringRecord, PromptItem, SessionId, Settings};
use windlass_ports::sync::Mutex;
use windlass_ports::{ProviderError, SampleRequest, Segments};

use crate::images::EncodedImages;
use crate::lowering::add;

/// Most sessions that are remembered.
const MOST_SESSIONS: usize = 256;

/// Most bytes that are remembered for all sessions together.
const MOST_BYTES: usize = 64 * 1024 * 1024;

/// Writes requests in one protocol. Pure: the same items give the same bytes.
pub trait Encoder: Send + Sync + 'static {
    /// Writes all of a body that comes before the conversation, up to the opening of its list.
    ///
    /// # Errors
    /// [`ProviderError`] of kind `InvalidRequest` when the settings cannot be written.
    fn head(&self, settings: &Settings, out: &mut Vec<u8>) -> Result<(), ProviderError>;

    /// Writes items. `out` holds what came before them, or its last bytes, so that it shows whether
    /// a comma is due.
    ///
    /// # Errors
    /// [`ProviderError`] of kind `InvalidRequest` when an item cannot be written.
    fn items(
        &self,
        items: AppendListIter<'_, PromptItem>,
        settings: &Settings,
        pictures: &EncodedImages,
        out: &mut Vec<u8>,
    ) -> Result<EncodedItems, ProviderError>;

    /// Writes what comes after the conversation, from the closing of its list on.
    ///
    /// # Errors
    /// [`ProviderError`] of kind `InvalidRequest` when the request cannot be written.
    fn tail(&self, request: &SampleRequest, out: &mut Vec<u8>) -> Result<(), ProviderError>;
}

/// Output of an encoder.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EncodedItems {
    /// Number of items that later items cannot change; one message may hold several items.
    pub closed: usize,
    /// Offset in `out` at which they end.
    pub end: usize,
    /// Lowered parts of the closed items.
    pub lowered: Vec<LoweringRecord>,
    /// The same of those that are not closed.
    pub open: Vec<LoweringRecord>,
}

/// A body, and what there is to say of it.
#[derive(Debug, Clone)]
pub struct RequestBody {
    /// The encoded body.
    pub body: Segments,
    /// Number of its first bytes that equal those of the session's previous request.
    pub reused_bytes: u64,
    /// Lowered parts of the conversation.
    pub lowered: Vec<LoweringRecord>,
}

/// Builds request bodies, reusing the bytes of each session's previous request.
#[derive(Debug)]
pub struct Bodies<E> {
    encoder: E,
    /// The session asked last is at the back.
    prefixes: Mutex<PrefixCache>,
}

#[derive(Debug, Default)]
struct PrefixCache {
    prefixes: VecDeque<(SessionId, Prefix)>,
    bytes: usize,
}

/// The head of a body and its first `count` items.
#[derive(Debug)]
struct Prefix {
    settings: Arc<Settings>,
    items: AppendList<PromptItem>,
    count: usize,
    body: Segments,
    lowered: Vec<LoweringRecord>,
}

impl<E: Encoder> Bodies<E> {
    /// Bodies that this encoder writes.
    #[must_use]
    pub fn new(encoder: E) -> Self {
        Self {
            encoder,
            prefixes: Mutex::default(),
        }
    }

    /// Returns the encoder.
    #[must_use]
    pub fn encoder(&self) -> &E {
        &self.encoder
    }

    /// The body that asks for the next answer of a session.
    ///
    /// # Errors
    /// [`ProviderError`] of kind `InvalidRequest` when the request cannot be written, for example
    /// because a tool's schema is not JSON, and any of reading an image that is kept.
    pub async fn body(&self, request: &SampleRequest) -> Result<RequestBody, ProviderError> {
        let prompt = &request.prompt;
        let known = self.take_prefix(&request.session);
        let known = known.filter(|prefix| prefix.starts(&prompt.items, &prompt.settings));
        let kept_bytes = known.as_ref().map_or(0, |prefix| prefix.body.len() as u64);
        let mut prefix = match known {
            Some(prefix) => prefix,
            None => self.begin(&prompt.settings)?,
        };
        let new = || prompt.items.iter_from(prefix.count);
        let pictures = EncodedImages::of(new(), &request.blobs).await?;
        // The last byte before shows whether a comma is due; it is not written twice.
        let mut out = vec![prefix.body.last().unwrap_or(b'[')];
        let encoded = self
            .encoder
            .items(new(), &prompt.settings, &pictures, &mut out)?;
        let mut written = Bytes::from(out);
        let mut rest = written.split_off(encoded.end);
        let closed = written.slice(1..);
        prefix.body.push(closed);
        prefix.count = prefix.count.saturating_add(encoded.closed);
        prefix.items = prompt.items.clone();
        add(&mut prefix.lowered, &encoded.lowered);
        let mut lowered = prefix.lowered.clone();
        add(&mut lowered, &encoded.open);
        let mut tail = rest.to_vec();
        self.encoder.tail(request, &mut tail)?;
        rest = Bytes::from(tail);
        let mut body = prefix.body.clone();
        body.push(rest);
        self.store_prefix(request.session.clone(), prefix);
        Ok(RequestBody {
            body,
            reused_bytes: kept_bytes,
            lowered,
        })
    }

    /// All of a body that comes before its conversation.
    ///
    /// # Errors
    /// [`ProviderError`] of kind `InvalidRequest` when the settings cannot be written.
    pub fn head(&self, settings: &Settings) -> Result<Bytes, ProviderError> {
        let mut bytes = Vec::new();
        self.encoder.head(settings, &mut bytes)?;
        Ok(bytes.into())
    }

    /// A body that holds, after this head, only the items from position `from` on. `lowered` is
    /// what of the items before it was not written as it was. Nothing is remembered, and nothing of
    /// the items before is read.
    ///
    /// # Errors
    /// As [`body`](Self::body).
    pub async fn rest(
        &self,
        request: &SampleRequest,
        head: Bytes,
        from: usize,
        lowered: &[LoweringRecord],
    ) -> Result<RequestBody, ProviderError> {
        let prompt = &request.prompt;
        let new = || prompt.items.iter_from(from);
        let pictures = EncodedImages::of(new(), &request.blobs).await?;
        let mut out = vec![head.last().copied().unwrap_or(b'[')];
        let encoded = self
            .encoder
            .items(new(), &prompt.settings, &pictures, &mut out)?;
        self.encoder.tail(request, &mut out)?;
        let mut body = Segments::from(head);
        body.push(Bytes::from(out).slice(1..));
        let mut lowered = lowered.to_vec();
        add(&mut lowered, &encoded.lowered);
        add(&mut lowered, &encoded.open);
        Ok(RequestBody {
            body,
            reused_bytes: 0,
            lowered,
        })
    }

    fn begin(&self, settings: &Arc<Settings>) -> Result<Prefix, ProviderError> {
        Ok(Prefix {
            settings: settings.clone(),
            items: AppendList::default(),
            count: 0,
            body: self.head(settings)?.into(),
            lowered: Vec::new(),
        })
    }

    fn take_prefix(&self, session: &SessionId) -> Option<Prefix> {
        let mut kept = self.prefixes.lock();
        let at = kept
            .prefixes
            .iter()
            .rposition(|(other, _)| other == session)?;
        let (_, prefix) = kept.prefixes.remove(at)?;
        kept.bytes = kept.bytes.saturating_sub(prefix.body.len());
        Some(prefix)
    }

    fn store_prefix(&self, session: SessionId, prefix: Prefix) {
        let mut kept = self.prefixes.lock();
        kept.bytes = kept.bytes.saturating_add(prefix.body.len());
        kept.prefixes.push_back((session, prefix));
        while kept.bytes > MOST_BYTES || kept.prefixes.len() > MOST_SESSIONS {
            let Some((_, oldest)) = kept.prefixes.pop_front() else {
                return;
            };
            kept.bytes = kept.bytes.saturating_sub(oldest.body.len());
        }
    }
}

impl Prefix {
    /// Returns true if a prompt begins with what is written here.
    fn starts(&self, items: &AppendList<PromptItem>, settings: &Arc<Settings>) -> bool {
        let same = Arc::ptr_eq(&self.settings, settings) || self.settings == *settings;
        same && items.extends(&self.items)
    }
}

#[cfg(test)]
#[path = "bodies_tests.rs"]
pub(crate) mod tests;
