//! Searches of the server and the sources that it found: `groundingMetadata`. Offsets count bytes of a
//! part. Pure.

use serde::Deserialize;
use serde_json::value::RawValue;
use windlass_core::{Citation, ReasoningItem, TextSpan};

/// The most chunks, and the most supports, that are read.
const MOST: usize = 1_024;

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
struct WireGrounding<'a> {
    web_search_queries: Vec<String>,
    #[serde(borrow)]
    grounding_chunks: Vec<&'a RawValue>,
    #[serde(borrow)]
    grounding_supports: Vec<&'a RawValue>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct WireSource {
    web: WebSource,
}

#[derive(Clone, Default, Deserialize)]
#[serde(default)]
struct WebSource {
    uri: String,
    title: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct WireSupport {
    segment: WireSegment,
    grounding_chunk_indices: Vec<usize>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct WireSegment {
    start_index: u64,
    end_index: Option<u64>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct WireToolCall {
    args: SearchArguments,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct SearchArguments {
    queries: Vec<String>,
}

/// Searches and sources of an answer.
#[derive(Debug, Default)]
pub(crate) struct Grounding {
    pub(crate) queries: Vec<String>,
    pub(crate) citations: Vec<Citation>,
}

impl Grounding {
    /// Reads what can be read; a source without a cited part is one of the whole text.
    pub(crate) fn read(raw: &RawValue) -> Self {
        let wire: WireGrounding<'_> = serde_json::from_str(raw.get()).unwrap_or_default();
        let sources: Vec<WebSource> =
            wire.grounding_chunks.into_iter().take(MOST).map(source).collect();
        let mut cited = vec![false; sources.len()];
        let mut citations = Vec::new();
        for support in wire.grounding_supports.into_iter().take(MOST) {
            let support: WireSupport = serde_json::from_str(support.get()).unwrap_or_default();
            let start = support.segment.start_index;
            let span = support.segment.end_index.map(|end| TextSpan { start, end });
            for index in support.grounding_chunk_indices.into_iter().take(MOST) {
                if let (Some(source), Some(cited)) = (sources.get(index), cited.get_mut(index)) {
                    *cited = true;
                    citations.push(source.citation(span));
                }
            }
            if citations.len() > MOST {
                break;
            }
        }
        let others = sources.iter().zip(&cited).filter(|(_, cited)| !**cited);
        citations.extend(others.map(|(source, _)| source.citation(None)));
        let queries =
            wire.web_search_queries.into_iter().take(ReasoningItem::MAX_SEARCHES).collect();
        Self { queries, citations }
    }
}

impl WebSource {
    fn citation(&self, span: Option<TextSpan>) -> Citation {
        let title = self.title.clone().unwrap_or_default();
        Citation { url: self.uri.clone(), title, span }
    }
}

/// One chunk; what is no source keeps its place in the list. It is short, since each support repeats it.
fn source(raw: &RawValue) -> WebSource {
    let WebSource { uri, title } =
        serde_json::from_str::<WireSource>(raw.get()).unwrap_or_default().web;
    let title = title.map(|title| title.chars().take(Citation::MAX_TITLE_BYTES).collect());
    match uri.len() > Citation::MAX_URL_BYTES {
        true => WebSource::default(),
        false => WebSource { uri, title },
    }
}

/// Returns the queries of a call that the server ran.
pub(crate) fn queries(call: &RawValue) -> Vec<String> {
    let call: WireToolCall = serde_json::from_str(call.get()).unwrap_or_default();
    call.args.queries
}
