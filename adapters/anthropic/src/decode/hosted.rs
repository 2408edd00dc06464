//! Searches that the server runs: calls of its own, their results, and the sources of texts. Each is
//! kept in the server's form, since it wants them back.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use windlass_core::{Citation, SpanUnit, StreamEvent};

/// Most bytes of a result that is kept.
const MOST_BYTES: usize = 512 * 1024;

/// Most bytes of the sources of a text that are kept in the server's form.
const MOST_CITED_BYTES: usize = 128 * 1024;

/// A call that the server runs, while its arguments stream.
#[derive(Debug, PartialEq)]
pub(super) struct HostedCall {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) input: String,
}

/// The same as it goes back.
#[derive(Serialize)]
struct HostedCallBlock<'a> {
    r#type: &'static str,
    id: &'a str,
    name: &'a str,
    input: &'a RawValue,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct SearchInput {
    query: Option<String>,
}

impl HostedCall {
    /// Returns the call as it goes back, and its query; `None` if its arguments are broken.
    pub(super) fn finish(&self) -> Option<(String, Option<String>)> {
        let input = if self.input.trim().is_empty() { "{}" } else { &self.input };
        let raw: &RawValue = serde_json::from_str(input).ok()?;
        let search: SearchInput = serde_json::from_str(input).ok()?;
        let (id, name) = (self.id.as_str(), self.name.as_str());
        let block = HostedCallBlock { r#type: "server_tool_use", id, name, input: raw };
        Some((serde_json::to_string(&block).ok()?, search.query))
    }
}

/// The event whose data holds a block.
#[derive(Deserialize)]
struct BlockStart<'a> {
    #[serde(borrow)]
    content_block: &'a RawValue,
}

/// Block as it was sent.
#[derive(Clone, Copy)]
pub(super) enum SentBlock<'a> {
    /// In the data of the event that starts it.
    Event(&'a [u8]),
    /// By itself.
    Whole(&'a str),
}

impl SentBlock<'_> {
    /// Returns the text of the block, unless it is too large to be kept.
    pub(super) fn text(self) -> Option<String> {
        let text = match self {
            Self::Event(data) => {
                let start: BlockStart<'_> = serde_json::from_slice(data).ok()?;
                start.content_block.get()
            }
            Self::Whole(text) => text,
        };
        if text.len() > MOST_BYTES {
            let bytes = text.len();
            tracing::warn!(bytes, "the results of a search are too large to be kept");
            return None;
        }
        Some(text.to_owned())
    }
}

/// Sources of a text, in the server's form.
#[derive(Debug, Default, PartialEq)]
pub(super) struct BlockCitations {
    list: Vec<String>,
    bytes: usize,
}

#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct WebLocation<'a> {
    r#type: Cow<'a, str>,
    url: String,
    title: Option<String>,
}

impl BlockCitations {
    /// Takes a list of sources.
    pub(super) fn extend(&mut self, slot: u32, list: &RawValue, out: &mut Vec<StreamEvent>) {
        let list: Vec<&RawValue> = serde_json::from_str(list.get()).unwrap_or_default();
        list.into_iter().for_each(|one| self.add(slot, one, out));
    }

    /// Takes one source. One that is no page of the web is skipped.
    pub(super) fn add(&mut self, slot: u32, raw: &RawValue, out: &mut Vec<StreamEvent>) {
        let found: WebLocation<'_> = serde_json::from_str(raw.get()).unwrap_or_default();
        let bytes = self.bytes.saturating_add(raw.get().len());
        let full = self.list.len() >= Citation::MAX_PER_TEXT || bytes > MOST_CITED_BYTES;
        if found.r#type != "web_search_result_location" || full {
            return;
        }
        self.bytes = bytes;
        self.list.push(raw.get().to_owned());
        let title = found.title.unwrap_or_default();
        let citation = Citation { url: found.url, title, span: None };
        out.push(StreamEvent::Citation { slot, citation, unit: SpanUnit::Bytes });
    }

    /// Returns them as they go back.
    pub(super) fn finish(&mut self) -> Option<String> {
        let list = std::mem::take(&mut self.list);
        (!list.is_empty()).then(|| format!("[{}]", list.join(",")))
    }
}
