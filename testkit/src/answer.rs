//! An answer of a model, described once: the in-process provider makes events of it, the HTTP
//! server makes either dialect's stream of it.

use std::collections::BTreeMap;

use serde_json::Value;
use windlass_core::{Citation, Opaque, SpanUnit, StopReason, StreamEvent, Usage};

/// The name by which the scripted models call themselves.
pub const MODEL: &str = "scripted";

/// An answer of a model.
///
/// ```
/// use serde_json::json;
/// use windlass_testkit::Answer;
///
/// let answer = Answer::new()
///     .text("Let me look.")
///     .call("read_file", json!({ "path": "README.md" }))
///     .tokens(120, 14);
/// assert_eq!(answer.parts().len(), 2);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    parts: Vec<Part>,
    stop: StopReason,
    usage: Option<Usage>,
    response_id: String,
    model: Option<String>,
    piece: usize,
    seals: BTreeMap<usize, String>,
    sources: BTreeMap<usize, WebSource>,
}

/// A page of the web that a text cites, and the search that found it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebSource {
    /// Query of the search that the provider ran.
    pub query: String,
    /// Address of the page.
    pub url: String,
    /// Title of the page.
    pub title: String,
}

/// One part of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    /// Text to the user.
    Text(String),
    /// A refusal.
    Refusal(String),
    /// Reasoning.
    Reasoning {
        /// The readable part.
        text: String,
        /// The opaque part, which a Responses client sends back; Chat has no place for it.
        encrypted: Option<String>,
    },
    /// A call.
    Call {
        /// Its id.
        id: String,
        /// The tool's name.
        name: String,
        /// The arguments as the model writes them, which need not be JSON.
        arguments: String,
    },
}

impl Default for Answer {
    fn default() -> Self {
        Self {
            parts: Vec::new(),
            stop: StopReason::Stop,
            usage: None,
            response_id: "resp_scripted".into(),
            model: None,
            piece: 12,
            seals: BTreeMap::new(),
            sources: BTreeMap::new(),
        }
    }
}

impl Answer {
    /// An answer without a part. Its texts stream in pieces of 12 characters.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Names the model that answers. By default a server names the requested one.
    #[must_use]
    pub fn model(self, name: impl Into<String>) -> Self {
        Self { model: Some(name.into()), ..self }
    }

    /// Names the requested model as the one that answers, unless another is named.
    pub(crate) fn answers_for(&mut self, requested: Option<&str>) {
        self.model = self.model.take().or(requested.map(str::to_owned));
    }

    /// Returns the name of the model that answers.
    #[must_use]
    pub fn model_name(&self) -> &str {
        self.model.as_deref().unwrap_or(MODEL)
    }

    /// Adds text to the user.
    #[must_use]
    pub fn text(mut self, text: impl Into<String>) -> Self {
        self.parts.push(Part::Text(text.into()));
        self
    }

    /// Adds text to the user, all of which cites a page of the web.
    #[must_use]
    pub fn cited_text(mut self, text: impl Into<String>, source: WebSource) -> Self {
        self.sources.insert(self.parts.len(), source);
        self.text(text)
    }

    /// Returns the page that a part cites, by its index.
    #[must_use]
    pub fn source(&self, at: usize) -> Option<&WebSource> {
        self.sources.get(&at)
    }

    /// Adds a refusal.
    #[must_use]
    pub fn refusal(mut self, text: impl Into<String>) -> Self {
        self.parts.push(Part::Refusal(text.into()));
        self
    }

    /// Adds readable reasoning.
    #[must_use]
    pub fn reasoning(mut self, text: impl Into<String>) -> Self {
        self.parts.push(Part::Reasoning { text: text.into(), encrypted: None });
        self
    }

    /// Adds reasoning with an opaque part that is to come back unchanged.
    #[must_use]
    pub fn sealed_reasoning(
        mut self,
        text: impl Into<String>,
        encrypted: impl Into<String>,
    ) -> Self {
        self.parts.push(Part::Reasoning { text: text.into(), encrypted: Some(encrypted.into()) });
        self
    }

    /// Adds a call. Its id is `call_` and the number of the call in this answer, from 0: as on
    /// many servers it is not unique across answers.
    #[must_use]
    pub fn call(self, name: impl Into<String>, arguments: Value) -> Self {
        self.call_text(name, arguments.to_string())
    }

    /// Adds a call whose arguments are any text.
    #[must_use]
    pub fn call_text(self, name: impl Into<String>, arguments: impl Into<String>) -> Self {
        let id = format!("call_{}", self.calls());
        self.call_as(id, name, arguments)
    }

    /// Adds a call with an id of the test's choice, which may be empty or taken.
    #[must_use]
    pub fn call_as(
        mut self,
        id: impl Into<String>,
        name: impl Into<String>,
        arguments: impl Into<String>,
    ) -> Self {
        self.parts.push(Part::Call {
            id: id.into(),
            name: name.into(),
            arguments: arguments.into(),
        });
        self
    }

    /// Gives the latest part an opaque part of its own that is to come back with it, in protocols
    /// that have a place for one there.
    #[must_use]
    pub fn sealed(mut self, seal: impl Into<String>) -> Self {
        self.seals.insert(self.parts.len().saturating_sub(1), seal.into());
        self
    }

    /// Sets why the model stopped. Chat Completions has no word for
    /// [`StopReason::Unfinished`]; the wire then says `unfinished`.
    #[must_use]
    pub fn stop(mut self, reason: StopReason) -> Self {
        self.stop = reason;
        self
    }

    /// Reports tokens of the request and of the answer.
    #[must_use]
    pub fn tokens(self, input: u64, output: u64) -> Self {
        self.usage(Usage {
            input: Some(input),
            output: Some(output),
            total: Some(input.saturating_add(output)),
            cached_input: None,
            cache_write: None,
            reasoning_output: None,
        })
    }

    /// Reports usage.
    #[must_use]
    pub fn usage(mut self, usage: Usage) -> Self {
        self.usage = Some(usage);
        self
    }

    /// Sets the provider's id of the response.
    #[must_use]
    pub fn id(mut self, response_id: impl Into<String>) -> Self {
        self.response_id = response_id.into();
        self
    }

    /// Sets how many characters of a text one event carries; at least 1.
    #[must_use]
    pub fn pieces_of(mut self, characters: usize) -> Self {
        self.piece = characters.max(1);
        self
    }

    /// Its parts.
    #[must_use]
    pub fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// The opaque part of a part, by its index.
    #[must_use]
    pub fn seal(&self, index: usize) -> Option<&str> {
        self.seals.get(&index).map(String::as_str)
    }

    /// Why the model stopped.
    #[must_use]
    pub fn stop_reason(&self) -> &StopReason {
        &self.stop
    }

    /// The reported usage.
    #[must_use]
    pub fn reported(&self) -> Option<&Usage> {
        self.usage.as_ref()
    }

    /// The provider's id of the response.
    #[must_use]
    pub fn response_id(&self) -> &str {
        &self.response_id
    }

    /// How many calls it has.
    #[must_use]
    pub fn calls(&self) -> usize {
        let call = |part: &&Part| matches!(part, Part::Call { .. });
        self.parts.iter().filter(call).count()
    }

    /// Returns a text of a part, cut into the pieces that one event each carries.
    #[must_use]
    pub fn pieces<'a>(&self, text: &'a str) -> Vec<&'a str> {
        let mut pieces = Vec::new();
        let mut rest = text;
        while let Some((at, _)) = rest.char_indices().nth(self.piece) {
            let (piece, tail) = rest.split_at(at);
            pieces.push(piece);
            rest = tail;
        }
        if !rest.is_empty() {
            pieces.push(rest);
        }
        pieces
    }

    /// The events that a decoder would make of it, one a delta.
    #[must_use]
    pub fn events(&self) -> Vec<StreamEvent> {
        let mut events = vec![StreamEvent::Opened {
            response_id: Some(self.response_id.clone()),
            model: Some(MODEL.into()),
        }];
        for (slot, part) in (0..).zip(&self.parts) {
            self.part_events(slot, part, &mut events);
        }
        events.extend(self.usage.map(StreamEvent::Usage));
        events.push(StreamEvent::Finished { reason: self.stop.clone() });
        events
    }

    fn part_events(&self, slot: u32, part: &Part, events: &mut Vec<StreamEvent>) {
        let mut opaque = None;
        match part {
            Part::Text(text) => {
                events.extend(self.source(slot as usize).map(|source| StreamEvent::Citation {
                    slot,
                    citation: Citation {
                        url: source.url.clone(),
                        title: source.title.clone(),
                        span: None,
                    },
                    unit: SpanUnit::Bytes,
                }));
                let delta = |text: &str| StreamEvent::Text { slot, text: text.into() };
                events.extend(self.pieces(text).into_iter().map(delta));
            }
            Part::Refusal(text) => {
                let delta = |text: &str| StreamEvent::Refusal { slot, text: text.into() };
                events.extend(self.pieces(text).into_iter().map(delta));
            }
            Part::Reasoning { text, encrypted } => {
                let delta = |text: &str| StreamEvent::Reasoning { slot, text: text.into() };
                events.extend(self.pieces(text).into_iter().map(delta));
                if text.is_empty() {
                    events.push(delta(""));
                }
                opaque = encrypted.as_ref().map(|payload| Opaque {
                    provider: MODEL.into(),
                    endpoint: MODEL.into(),
                    model: MODEL.into(),
                    payload: Value::from(payload.as_str()).to_string(),
                });
            }
            Part::Call { id, name, arguments } => {
                events.push(StreamEvent::CallOpened { slot, id: id.clone(), name: name.clone() });
                let delta = |text: &str| StreamEvent::CallArguments { slot, text: text.into() };
                events.extend(self.pieces(arguments).into_iter().map(delta));
            }
        }
        events.push(StreamEvent::Done { slot, text: None, opaque });
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use windlass_core::{Assembler, AssemblerOutput, Item};

    use super::*;

    fn items(answer: &Answer) -> Vec<Item> {
        let mut out = Vec::new();
        let mut assembler = Assembler::default();
        for event in answer.events() {
            assembler.push(event, &mut out).unwrap();
        }
        assert!(assembler.ended());
        let item = |assembled| match assembled {
            AssemblerOutput::Item(item) => Some(item),
            AssemblerOutput::Delta(_) | AssemblerOutput::Ended { .. } => None,
        };
        out.into_iter().filter_map(item).collect()
    }

    #[test]
    fn the_events_assemble_to_the_same_items_however_small_the_pieces() {
        let answer = Answer::new()
            .sealed_reasoning("hm, überlegen", "c2VhbGVk")
            .text("Größe: 3 €, alles gut")
            .call("read_file", json!({ "path": "README.md" }))
            .call_text("broken", "{\"a\":");
        let whole = items(&answer.clone().pieces_of(10_000));
        assert_eq!(whole.len(), 4);
        for size in 1..9 {
            assert_eq!(items(&answer.clone().pieces_of(size)), whole, "pieces of {size}");
        }
    }
}
