//! Sources of a text: annotations of the kind `url_citation`. Responses has their fields in the
//! annotation, Chat Completions within `url_citation`. Offsets count characters. Pure.

use serde::Deserialize;
use serde_json::value::RawValue;
use windlass_core::{Citation, SpanUnit, StreamEvent, TextSpan};

/// The most annotations of a text that are read.
const MOST: usize = 1_024;

#[derive(Default, Deserialize)]
#[serde(default)]
struct WireAnnotation {
    r#type: String,
    url_citation: Option<UrlCitation>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct UrlCitation {
    url: String,
    title: Option<String>,
    start_index: Option<u64>,
    end_index: Option<u64>,
}

/// Reads the sources of a list of annotations. Others, and those that cannot be read, are skipped.
pub(crate) fn citations(annotations: &RawValue) -> Vec<Citation> {
    let list: Vec<&RawValue> = serde_json::from_str(annotations.get()).unwrap_or_default();
    list.into_iter().take(MOST).filter_map(citation).collect()
}

/// Reads one annotation.
pub(crate) fn citation(annotation: &RawValue) -> Option<Citation> {
    let kind: WireAnnotation = serde_json::from_str(annotation.get()).ok()?;
    if kind.r#type != "url_citation" {
        return None;
    }
    let cited = match kind.url_citation {
        Some(cited) => cited,
        None => serde_json::from_str(annotation.get()).ok()?,
    };
    let span = cited.start_index.zip(cited.end_index);
    Some(Citation {
        url: cited.url,
        title: cited.title.unwrap_or_default(),
        span: span.map(|(start, end)| TextSpan { start, end }),
    })
}

/// Adds sources to those of a text, as many as are read.
pub(crate) fn extend(known: &mut Vec<Citation>, more: impl IntoIterator<Item = Citation>) {
    let room = MOST.saturating_sub(known.len());
    known.extend(more.into_iter().take(room));
}

/// Returns the events of a text's sources.
pub(crate) fn events(slot: u32, cited: Vec<Citation>) -> impl Iterator<Item = StreamEvent> {
    let unit = SpanUnit::Characters;
    cited.into_iter().map(move |citation| StreamEvent::Citation { slot, citation, unit })
}
