//! Request bodies, with what earlier requests of a session have written already.
//!
//! Between two compactions a session's prompts only grow, so each item is encoded once: a body is
//! the bytes of the last one plus the new items. That the items before are the same is checked item
//! by item, which is a comparison of pointers where the prompt comes from the same history. After a
//! compaction they are not, and the body is written anew.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use windlass_core::{Chain, Prompt, PromptItem, SessionId, Settings};
use windlass_ports::ProviderError;

use crate::config::Api;
use crate::{chat, responses};

/// How many sessions are remembered.
const MOST_SESSIONS: usize = 256;

/// How many bytes are remembered for all sessions together.
const MOST_BYTES: usize = 64 * 1024 * 1024;

/// Builds request bodies.
#[derive(Debug)]
pub struct Bodies {
    api: Api,
    endpoint: String,
    /// The session asked last is at the back.
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    prefixes: VecDeque<(SessionId, Prefix)>,
    bytes: usize,
}

/// The head of a body and its first `count` items.
#[derive(Debug)]
struct Prefix {
    settings: Arc<Settings>,
    items: Chain<PromptItem>,
    count: usize,
    bytes: Vec<u8>,
}

impl Bodies {
    /// Bodies for requests to `endpoint`.
    #[must_use]
    pub fn new(api: Api, endpoint: impl Into<String>) -> Self {
        Self {
            api,
            endpoint: endpoint.into(),
            kept: Mutex::default(),
        }
    }

    /// The body that asks for the next answer of a session.
    ///
    /// # Errors
    /// [`ProviderError`] of kind `InvalidRequest` when a tool's schema is not JSON.
    pub fn body(&self, session: &SessionId, prompt: &Prompt) -> Result<Vec<u8>, ProviderError> {
        let known = self.take(session).filter(|prefix| prefix.starts(prompt));
        let mut prefix = match known {
            Some(prefix) => prefix,
            None => self.begin(prompt)?,
        };
        let new = prompt.items.iter_from(prefix.count);
        let (count, end) = match self.api {
            Api::Chat => chat::request::items(new, &mut prefix.bytes)?,
            Api::Responses => {
                let settings = &prompt.settings;
                responses::request::items(new, settings, &self.endpoint, &mut prefix.bytes)?
            }
        };
        let mut body = Vec::with_capacity(prefix.bytes.len().saturating_add(2));
        body.extend_from_slice(&prefix.bytes);
        body.extend_from_slice(b"]}");
        prefix.bytes.truncate(end);
        prefix.count = prefix.count.saturating_add(count);
        prefix.items = prompt.items.clone();
        self.keep(session.clone(), prefix);
        Ok(body)
    }

    fn begin(&self, prompt: &Prompt) -> Result<Prefix, ProviderError> {
        let mut bytes = Vec::new();
        match self.api {
            Api::Chat => chat::request::head(&prompt.settings, &mut bytes)?,
            Api::Responses => responses::request::head(&prompt.settings, &mut bytes)?,
        }
        Ok(Prefix {
            settings: prompt.settings.clone(),
            items: Chain::default(),
            count: 0,
            bytes,
        })
    }

    fn take(&self, session: &SessionId) -> Option<Prefix> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let at = kept
            .prefixes
            .iter()
            .rposition(|(other, _)| other == session)?;
        let (_, prefix) = kept.prefixes.remove(at)?;
        kept.bytes = kept.bytes.saturating_sub(prefix.bytes.len());
        Some(prefix)
    }

    fn keep(&self, session: SessionId, prefix: Prefix) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.bytes = kept.bytes.saturating_add(prefix.bytes.len());
        kept.prefixes.push_back((session, prefix));
        while kept.bytes > MOST_BYTES || kept.prefixes.len() > MOST_SESSIONS {
            let Some((_, oldest)) = kept.prefixes.pop_front() else {
                return;
            };
            kept.bytes = kept.bytes.saturating_sub(oldest.bytes.len());
        }
    }
}

impl Prefix {
    /// Whether `prompt` begins with what is written here.
    fn starts(&self, prompt: &Prompt) -> bool {
        let same =
            Arc::ptr_eq(&self.settings, &prompt.settings) || self.settings == prompt.settings;
        same && prompt.items.len() >= self.count
            && self
                .items
                .iter()
                .take(self.count)
                .eq(prompt.items.iter().take(self.count))
    }
}

#[cfg(test)]
#[path = "prefix_tests.rs"]
mod tests;
