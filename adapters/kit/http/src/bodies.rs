//! Request bodies, which reuse the bytes of a session's earlier requests.
//!
//! Between two compactions a session's prompts only grow, so each item is encoded once: a body
//! consists of the segments of the last one plus the new items, without copying. The earlier items
//! are checked for equality; items that two prompts share in memory are not compared. After a
//! compaction the body is encoded from the beginning. If the server stores earlier requests,
//! [`Bodies::rest`] encodes only the new items.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use bytes::Bytes;
use windlass_core::{AppendList, LoweringRecord, Prompt, PromptItem, SessionId, Settings};
use windlass_ports::sync::Mutex;
use windlass_ports::{ProviderError, SampleRequest, Segments};

use crate::images::EncodedImages;
use crate::lowering::add;

/// Most sessions that are cached.
const MOST_SESSIONS: usize = 1_024;

/// Most bytes that are cached for all sessions together.
const MOST_BYTES: usize = 64 * 1024 * 1024;

/// Capacity in bytes that fits the new items of most requests, and what one of many items takes.
const TYPICAL_BYTES: usize = 1_024;
const TYPICAL_ITEM: usize = 128;

/// Encodes requests in one protocol. Pure: the same items give the same bytes.
pub trait Encoder: Send + Sync + 'static {
    /// Writes the part of a body before the conversation, up to the opening of its list.
    ///
    /// # Errors
    /// [`ProviderError`] of kind `InvalidRequest` when the settings cannot be encoded.
    fn head(&self, settings: &Settings, out: &mut Vec<u8>) -> Result<(), ProviderError>;

    /// Writes the items of a prompt from position `from` on. `out` holds the preceding bytes, or the
    /// last of them, which show whether a comma is needed.
    ///
    /// # Errors
    /// [`ProviderError`] of kind `InvalidRequest` when an item cannot be encoded.
    fn items(
        &self,
        prompt: &Prompt,
        from: usize,
        pictures: &EncodedImages,
        out: &mut Vec<u8>,
    ) -> Result<EncodedItems, ProviderError>;

    /// Writes the part of a body after the conversation, from the closing of its list on.
    ///
    /// # Errors
    /// [`ProviderError`] of kind `InvalidRequest` when the request cannot be encoded.
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
    /// Lowered parts of the other items.
    pub open: Vec<LoweringRecord>,
}

/// Encoded body, with a report on it.
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
    prefixes: Mutex<PrefixCache>,
}

/// Prefixes of the latest requests, each with the number of its use.
#[derive(Debug, Default)]
struct PrefixCache {
    prefixes: HashMap<SessionId, (u64, Prefix)>,
    /// Sessions in the order of their latest use.
    order: BTreeMap<u64, SessionId>,
    uses: u64,
    bytes: usize,
}

/// Head of a body and its first `count` items.
#[derive(Debug)]
struct Prefix {
    settings: Arc<Settings>,
    items: AppendList<PromptItem>,
    count: usize,
    body: Segments,
    lowered: Vec<LoweringRecord>,
}

impl<E: Encoder> Bodies<E> {
    /// Creates bodies that this encoder writes.
    #[must_use]
    pub fn new(encoder: E) -> Self {
        Self { encoder, prefixes: Mutex::default() }
    }

    /// Returns the encoder.
    #[must_use]
    pub fn encoder(&self) -> &E {
        &self.encoder
    }

    /// Encodes the body that requests the next answer of a session.
    ///
    /// # Errors
    /// [`ProviderError`] of kind `InvalidRequest` when the request cannot be encoded, for example
    /// because a tool's schema is not JSON; also the errors of reading a stored image.
    pub async fn body(&self, request: &SampleRequest) -> Result<RequestBody, ProviderError> {
        let prompt = &request.prompt;
        let known = self.take_prefix(&request.session);
        let known = known.filter(|prefix| prefix.starts(&prompt.items, &prompt.settings));
        let kept_bytes = known.as_ref().map_or(0, |prefix| prefix.body.len() as u64);
        let mut prefix = match known {
            Some(prefix) => prefix,
            None => self.begin(&prompt.settings)?,
        };
        let new = prompt.items.iter_from(prefix.count);
        let pictures = EncodedImages::of(new, &request.blobs).await?;
        // The preceding byte shows whether a comma is needed; it is not written twice.
        let many = prompt.items.len().saturating_sub(prefix.count).saturating_mul(TYPICAL_ITEM);
        let mut out = Vec::with_capacity(many.max(TYPICAL_BYTES));
        out.push(prefix.body.last().unwrap_or(b'['));
        let encoded = self.encoder.items(prompt, prefix.count, &pictures, &mut out)?;
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
        Ok(RequestBody { body, reused_bytes: kept_bytes, lowered })
    }

    /// Encodes the part of a body before its conversation.
    ///
    /// # Errors
    /// [`ProviderError`] of kind `InvalidRequest` when the settings cannot be encoded.
    pub fn head(&self, settings: &Settings) -> Result<Bytes, ProviderError> {
        let mut bytes = Vec::new();
        self.encoder.head(settings, &mut bytes)?;
        Ok(bytes.into())
    }

    /// Encodes a body that holds, after this head, only the items from position `from` on.
    /// `lowered` lists the lowered parts of the items before it. Caches nothing, and reads none of
    /// the earlier items.
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
        let pictures = EncodedImages::of(prompt.items.iter_from(from), &request.blobs).await?;
        let mut out = vec![head.last().copied().unwrap_or(b'[')];
        let encoded = self.encoder.items(prompt, from, &pictures, &mut out)?;
        self.encoder.tail(request, &mut out)?;
        let mut body = Segments::from(head);
        body.push(Bytes::from(out).slice(1..));
        let mut lowered = lowered.to_vec();
        add(&mut lowered, &encoded.lowered);
        add(&mut lowered, &encoded.open);
        Ok(RequestBody { body, reused_bytes: 0, lowered })
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
        self.prefixes.lock().remove(session)
    }

    fn store_prefix(&self, session: SessionId, prefix: Prefix) {
        self.prefixes.lock().insert(session, prefix);
    }
}

impl PrefixCache {
    fn remove(&mut self, session: &SessionId) -> Option<Prefix> {
        let (used, prefix) = self.prefixes.remove(session)?;
        self.order.remove(&used);
        self.bytes = self.bytes.saturating_sub(prefix.body.len());
        Some(prefix)
    }

    /// Caches a prefix, and removes those that were not used for the longest time while there are
    /// too many.
    fn insert(&mut self, session: SessionId, prefix: Prefix) {
        // A concurrent request of the same session may have stored its prefix.
        self.remove(&session);
        self.uses = self.uses.saturating_add(1);
        self.bytes = self.bytes.saturating_add(prefix.body.len());
        self.order.insert(self.uses, session.clone());
        self.prefixes.insert(session, (self.uses, prefix));
        while self.bytes > MOST_BYTES || self.prefixes.len() > MOST_SESSIONS {
            let Some((_, oldest)) = self.order.first_key_value() else {
                return;
            };
            let oldest = oldest.clone();
            self.remove(&oldest);
        }
    }
}

impl Prefix {
    /// Returns true if a prompt begins with the cached items.
    fn starts(&self, items: &AppendList<PromptItem>, settings: &Arc<Settings>) -> bool {
        let same = Arc::ptr_eq(&self.settings, settings) || self.settings == *settings;
        same && items.extends(&self.items)
    }
}

#[cfg(test)]
#[path = "bodies_tests.rs"]
pub(crate) mod tests;
