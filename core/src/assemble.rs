//! The assembler: turns stream events into live deltas and finished items. Pure and bounded.
//!
//! Items depend only on the concatenation of the events, not on how they were split (law 6). An
//! item exists only from its `Done`, and an answer only from `Finished`. So a truncated stream is
//! never mistaken for a short answer.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use crate::citation::{CitationList, shorten};
use crate::item::{CallItem, Item, Opaque, ReasoningItem, StopReason};
use crate::stream::{Delta, StreamEvent};
use crate::usage::Usage;

/// Output of an assembler.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AssemblerOutput {
    /// A delta to show at once.
    Delta(Delta),
    /// A complete item.
    Item(Item),
    /// The answer is complete; no output follows.
    Ended {
        /// Stop reason of the model.
        stop: StopReason,
        /// Usage of the answer.
        usage: Option<Usage>,
        /// The provider's id of the response.
        response_id: Option<String>,
    },
}

/// Limits of an assembler.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AssemblerLimits {
    /// Bytes of all texts, arguments, call ids and tool names of one answer together.
    pub bytes: usize,
    /// Parts of one answer.
    pub parts: usize,
}

impl Default for AssemblerLimits {
    fn default() -> Self {
        Self { bytes: 16 * 1024 * 1024, parts: 4_096 }
    }
}

/// Error of an answer that exceeds the assembler's limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum AssemblerOverflow {
    /// The answer has too many bytes.
    #[error("the answer is larger than {0} bytes")]
    Bytes(usize),
    /// The answer has too many parts.
    #[error("the answer has more than {0} parts")]
    Parts(usize),
}

/// Assembles one streamed answer.
#[derive(Debug, Clone, Default)]
pub struct Assembler {
    limits: AssemblerLimits,
    bytes: usize,
    parts: BTreeMap<u32, AnswerPart>,
    usage: Option<Usage>,
    response_id: Option<String>,
    ended: bool,
}

#[derive(Debug, Clone)]
struct AnswerPart {
    kind: AnswerPartKind,
    text: String,
    citations: CitationList,
    searches: Vec<String>,
    done: bool,
}

#[derive(Debug, Clone)]
enum AnswerPartKind {
    Text,
    Refusal,
    Reasoning,
    Call { id: String, name: String },
}

impl Assembler {
    /// Creates an assembler with the limits `caps`.
    #[must_use]
    pub fn new(caps: AssemblerLimits) -> Self {
        Self { limits: caps, ..Self::default() }
    }

    /// Processes one event and appends its outputs to `out`.
    ///
    /// Ignores events for a finished part, and all events after the end.
    ///
    /// # Errors
    /// [`AssemblerOverflow`] when the answer exceeds the limits.
    pub fn push(
        &mut self,
        event: StreamEvent,
        out: &mut Vec<AssemblerOutput>,
    ) -> Result<(), AssemblerOverflow> {
        if self.ended {
            return Ok(());
        }
        match event {
            StreamEvent::Opened { response_id, .. } => {
                self.response_id = response_id.or(self.response_id.take());
            }
            StreamEvent::Text { slot, text } => {
                if self.extend(slot, AnswerPartKind::Text, &text)? && !text.is_empty() {
                    out.push(AssemblerOutput::Delta(Delta::Text { slot, text }));
                }
            }
            StreamEvent::Refusal { slot, text } => {
                if self.extend(slot, AnswerPartKind::Refusal, &text)? && !text.is_empty() {
                    out.push(AssemblerOutput::Delta(Delta::Refusal { slot, text }));
                }
            }
            StreamEvent::Reasoning { slot, text } => {
                if self.extend(slot, AnswerPartKind::Reasoning, &text)? && !text.is_empty() {
                    out.push(AssemblerOutput::Delta(Delta::Reasoning { slot, text }));
                }
            }
            StreamEvent::Citation { slot, citation, unit } => {
                // A source may come before the first of its text.
                if self.extend(slot, AnswerPartKind::Text, "")? {
                    let part = self.parts.get_mut(&slot);
                    let added = part.map_or(0, |part| part.citations.add(citation, unit));
                    self.count_bytes(added)?;
                }
            }
            StreamEvent::Search { slot, query } => self.search(slot, query)?,
            StreamEvent::CallOpened { slot, id, name } => {
                self.count_bytes(id.len().saturating_add(name.len()))?;
                let kind = AnswerPartKind::Call { id, name: name.clone() };
                if self.extend(slot, kind, "")? {
                    out.push(AssemblerOutput::Delta(Delta::Call { slot, name }));
                }
            }
            StreamEvent::CallArguments { slot, text } => {
                if self.arguments(slot, &text)? && !text.is_empty() {
                    out.push(AssemblerOutput::Delta(Delta::Arguments { slot, text }));
                }
            }
            StreamEvent::Done { slot, text, opaque } => self.done(slot, text, opaque, out)?,
            StreamEvent::Usage(usage) => self.usage = Some(usage),
            StreamEvent::Finished { reason } => {
                self.ended = true;
                out.push(AssemblerOutput::Ended {
                    stop: reason,
                    usage: self.usage,
                    response_id: self.response_id.take(),
                });
            }
        }
        Ok(())
    }

    /// Returns true if the answer is complete.
    #[must_use]
    pub fn ended(&self) -> bool {
        self.ended
    }

    /// Returns true if a call has begun to stream, finished or not.
    #[must_use]
    pub fn has_calls(&self) -> bool {
        let call = |part: &AnswerPart| matches!(part.kind, AnswerPartKind::Call { .. });
        self.parts.values().any(call)
    }

    /// Returns the usage so far, as reported by the provider.
    #[must_use]
    pub fn usage(&self) -> Option<Usage> {
        self.usage
    }

    /// Returns streamed text to the user that belongs to no finished item.
    #[must_use]
    pub fn partial_text(&self) -> String {
        let open = |part: &&AnswerPart| !part.done && matches!(part.kind, AnswerPartKind::Text);
        let texts = self.parts.values().filter(open);
        texts.map(|part| part.text.as_str()).collect()
    }

    /// Appends to a part and opens it if it is new. Returns true if the text counted.
    fn extend(
        &mut self,
        slot: u32,
        kind: AnswerPartKind,
        text: &str,
    ) -> Result<bool, AssemblerOverflow> {
        self.count_bytes(text.len())?;
        if let Some(part) = self.parts.get_mut(&slot) {
            if part.done || core::mem::discriminant(&part.kind) != core::mem::discriminant(&kind) {
                return Ok(false);
            }
            part.text.push_str(text);
            return Ok(true);
        }
        if self.parts.len() >= self.limits.parts {
            return Err(AssemblerOverflow::Parts(self.limits.parts));
        }
        let text = String::from(text);
        let (citations, searches) = (CitationList::default(), Vec::new());
        self.parts.insert(slot, AnswerPart { kind, text, citations, searches, done: false });
        Ok(true)
    }

    /// Adds a query to a step of the provider, and opens it if it is new.
    fn search(&mut self, slot: u32, mut query: String) -> Result<(), AssemblerOverflow> {
        shorten(&mut query, ReasoningItem::MAX_SEARCH_BYTES);
        if !self.extend(slot, AnswerPartKind::Reasoning, "")? {
            return Ok(());
        }
        let part = self.parts.get_mut(&slot);
        let part = part.filter(|part| part.searches.len() < ReasoningItem::MAX_SEARCHES);
        if let Some(part) = part.filter(|_| !query.is_empty()) {
            let bytes = query.len();
            part.searches.push(query);
            self.count_bytes(bytes)?;
        }
        Ok(())
    }

    /// Appends to a call's arguments. Returns true if the text counted.
    fn arguments(&mut self, slot: u32, text: &str) -> Result<bool, AssemblerOverflow> {
        self.count_bytes(text.len())?;
        match self.parts.get_mut(&slot) {
            Some(part) if !part.done && matches!(part.kind, AnswerPartKind::Call { .. }) => {
                part.text.push_str(text);
                Ok(true)
            }
            Some(_) | None => Ok(false),
        }
    }

    fn done(
        &mut self,
        slot: u32,
        text: Option<String>,
        opaque: Option<Opaque>,
        out: &mut Vec<AssemblerOutput>,
    ) -> Result<(), AssemblerOverflow> {
        let opaque_len = opaque.as_ref().map_or(0, |opaque| opaque.payload.len());
        self.count_bytes(text.as_ref().map_or(0, String::len).saturating_add(opaque_len))?;
        let Some(part) = self.parts.get_mut(&slot) else {
            return Ok(());
        };
        if part.done {
            return Ok(());
        }
        part.done = true;
        let text = text.unwrap_or_else(|| core::mem::take(&mut part.text));
        let item = match &part.kind {
            AnswerPartKind::Text if text.is_empty() => None,
            AnswerPartKind::Text => {
                let citations = core::mem::take(&mut part.citations).finish(&text);
                let opaque = opaque.map(Arc::new);
                Some(Item::Text { text: text.into(), citations, opaque })
            }
            AnswerPartKind::Refusal if text.is_empty() => None,
            AnswerPartKind::Refusal => Some(Item::Refusal { text: text.into() }),
            AnswerPartKind::Reasoning
                if text.is_empty() && opaque.is_none() && part.searches.is_empty() =>
            {
                None
            }
            AnswerPartKind::Reasoning => {
                let searches = core::mem::take(&mut part.searches);
                Some(Item::Reasoning(Arc::new(ReasoningItem { text, opaque, searches })))
            }
            AnswerPartKind::Call { id, name } => Some(Item::Call(Arc::new(CallItem {
                provider_id: id.clone(),
                name: name.clone(),
                arguments: if text.trim().is_empty() { String::from("{}") } else { text },
                fault: None,
                rules: Vec::new(),
                possible_rules: Vec::new(),
                outside_sandbox: false,
                sha256: None,
                opaque,
                inline: false,
            }))),
        };
        out.extend(item.map(AssemblerOutput::Item));
        Ok(())
    }

    /// Counts received bytes. Replacements count too, so memory stays within twice the cap.
    fn count_bytes(&mut self, bytes: usize) -> Result<(), AssemblerOverflow> {
        self.bytes = self.bytes.saturating_add(bytes);
        if self.bytes > self.limits.bytes {
            return Err(AssemblerOverflow::Bytes(self.limits.bytes));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use alloc::format;

    use super::*;
    use crate::citation::{Citation, SpanUnit};

    fn text(text: &str) -> StreamEvent {
        let text = text.into();
        StreamEvent::Text { slot: 0, text }
    }

    fn refusal(text: &str) -> StreamEvent {
        let text = text.into();
        StreamEvent::Refusal { slot: 0, text }
    }

    fn reasoning(text: &str) -> StreamEvent {
        let text = text.into();
        StreamEvent::Reasoning { slot: 0, text }
    }

    fn arguments(text: &str) -> StreamEvent {
        let text = text.into();
        StreamEvent::CallArguments { slot: 0, text }
    }

    fn call() -> StreamEvent {
        StreamEvent::CallOpened { slot: 0, id: "c1".into(), name: "read".into() }
    }

    fn done(text: Option<&str>, opaque: Option<Opaque>) -> StreamEvent {
        StreamEvent::Done { slot: 0, text: text.map(String::from), opaque }
    }

    fn finished() -> StreamEvent {
        StreamEvent::Finished { reason: StopReason::Stop }
    }

    fn opaque() -> Opaque {
        Opaque {
            provider: "p".into(),
            endpoint: "e".into(),
            model: "m".into(),
            payload: "{}".into(),
        }
    }

    fn fed(events: impl IntoIterator<Item = StreamEvent>) -> (Assembler, Vec<AssemblerOutput>) {
        let mut assembler = Assembler::new(AssemblerLimits::default());
        let mut out = Vec::new();
        for event in events {
            assembler.push(event, &mut out).unwrap();
        }
        (assembler, out)
    }

    #[test]
    fn a_delta_is_shown_where_it_has_text_and_its_part_is_open() {
        for streamed in [text, refusal, reasoning] {
            let (_, nothing) = fed([streamed("")]);
            assert_eq!(nothing, []);
            let (_, once) = fed([streamed("a"), streamed("")]);
            assert_eq!(once.len(), 1);
            assert!(matches!(once[0], AssemblerOutput::Delta(_)));
            let (_, late) = fed([streamed("a"), done(None, None), streamed("b")]);
            assert!(matches!(late[..], [AssemblerOutput::Delta(_), AssemblerOutput::Item(_)]));
        }
    }

    #[test]
    fn the_delta_of_a_part_is_of_its_kind() {
        let deltas = |event| fed([event]).1;
        let slot = 0;
        let shown = |delta| [AssemblerOutput::Delta(delta)];
        let a = || String::from("a");
        assert_eq!(deltas(text("a")), shown(Delta::Text { slot, text: a() }));
        let expected = shown(Delta::Refusal { slot, text: a() });
        assert_eq!(deltas(refusal("a")), expected);
        let expected = shown(Delta::Reasoning { slot, text: a() });
        assert_eq!(deltas(reasoning("a")), expected);
    }

    #[test]
    fn arguments_are_shown_where_they_have_text_and_their_call_is_open() {
        let (_, unopened) = fed([arguments("a")]);
        assert_eq!(unopened, []);
        let (_, out) = fed([call(), arguments("{}"), arguments(""), done(None, None)]);
        let text = String::from("{}");
        assert_eq!(out[1], AssemblerOutput::Delta(Delta::Arguments { slot: 0, text }));
        assert_eq!(out.len(), 3);
        assert!(matches!(out[2], AssemblerOutput::Item(Item::Call(_))));
        let (_, late) = fed([call(), done(None, None), arguments("{}")]);
        assert_eq!(late.len(), 2);
    }

    #[test]
    fn an_answer_is_whole_once_it_finished_and_not_before() {
        let (open, _) = fed([text("a"), done(None, None)]);
        assert!(!open.ended());
        let (whole, out) = fed([text("a"), finished(), text("b"), finished()]);
        assert!(whole.ended());
        assert_eq!(out.len(), 2);
    }

    #[test]
    fn an_answer_calls_from_the_moment_a_call_opens() {
        assert!(!fed([]).0.has_calls());
        assert!(!fed([text("a")]).0.has_calls());
        assert!(fed([call()]).0.has_calls());
        assert!(fed([call(), done(None, None)]).0.has_calls());
    }

    #[test]
    fn the_last_usage_counts() {
        assert_eq!(fed([text("a")]).0.usage(), None);
        let usage = |output| Usage { output: Some(output), ..Usage::default() };
        let (assembler, _) = fed([StreamEvent::Usage(usage(3)), StreamEvent::Usage(usage(5))]);
        assert_eq!(assembler.usage(), Some(usage(5)));
    }

    #[test]
    fn a_part_that_says_nothing_is_no_item_and_another_is() {
        for (streamed, item) in [
            (text("a"), Item::text("a")),
            (refusal("a"), Item::Refusal { text: "a".into() }),
            (
                reasoning("a"),
                Item::Reasoning(Arc::new(ReasoningItem {
                    text: "a".into(),
                    opaque: None,
                    ..Default::default()
                })),
            ),
        ] {
            let (_, empty) = fed([streamed.clone(), done(Some(""), None)]);
            assert!(matches!(empty[..], [AssemblerOutput::Delta(_)]));
            let (_, whole) = fed([streamed, done(None, None)]);
            assert_eq!(whole[1..], [AssemblerOutput::Item(item)]);
        }
    }

    #[test]
    fn reasoning_without_text_is_an_item_by_its_opaque_form() {
        let (_, out) = fed([reasoning(""), done(None, Some(opaque()))]);
        let item = Item::Reasoning(Arc::new(ReasoningItem {
            text: String::new(),
            opaque: Some(opaque()),
            ..ReasoningItem::default()
        }));
        assert_eq!(out, [AssemblerOutput::Item(item)]);
    }

    #[test]
    fn a_source_may_come_before_its_text_and_belongs_to_a_text_alone() {
        let cite = |slot| {
            let url = "https://a.example/".into();
            let citation = Citation { url, ..Citation::default() };
            StreamEvent::Citation { slot, citation, unit: SpanUnit::Bytes }
        };
        let (_, out) = fed([cite(0), text("a"), cite(0), done(None, None), cite(0)]);
        let [_, AssemblerOutput::Item(Item::Text { citations, .. })] = &out[..] else {
            panic!("{out:?}");
        };
        assert_eq!(citations.len(), 1);
        let (_, out) = fed([refusal("a"), cite(0), done(None, None)]);
        assert_eq!(out[1..], [AssemblerOutput::Item(Item::Refusal { text: "a".into() })]);
    }

    #[test]
    fn searches_are_bounded_and_an_item_by_themselves() {
        let search = |query: String| StreamEvent::Search { slot: 0, query };
        let many = (0..100).map(|n| search(format!("{n}{}", "x".repeat(9_000))));
        let (_, out) = fed(many.chain([done(None, None)]));
        let [AssemblerOutput::Item(Item::Reasoning(step))] = &out[..] else {
            panic!("{out:?}");
        };
        assert_eq!(step.searches.len(), ReasoningItem::MAX_SEARCHES);
        assert!(step.searches.iter().all(|query| query.len() == ReasoningItem::MAX_SEARCH_BYTES));
    }

    #[test]
    fn an_answer_may_be_as_large_as_the_cap_and_no_larger() {
        let caps = AssemblerLimits { bytes: 3, parts: 1 };
        let mut assembler = Assembler::new(caps);
        let mut out = Vec::new();
        assert_eq!(assembler.push(text("abc"), &mut out), Ok(()));
        assert_eq!(assembler.push(text("d"), &mut out), Err(AssemblerOverflow::Bytes(3)));
    }
}
