//! Redaction: applies a user's redactor to the events of one answer before anybody receives them.
//!
//! Redacted text is in no delta and no fact. Arguments of calls stay unchanged, since a call with
//! others would act differently. Opaque payloads go back to the provider unchanged. Such a payload
//! is left out if the redactor changes something in it. It is also left out if the redactor changed
//! the text of its part, since it may contain the same text encrypted.

use std::collections::BTreeMap;

use serde_json::Value;
use windlass_core::{Citation, Opaque, SpanUnit, StreamEvent};
use windlass_ports::{Hooks, Redactor};

/// Returns the reason why the model must not be asked here, if there is one: its text would not be
/// redacted as the session's settings demand.
pub(super) fn missing(wanted: Option<&str>, hooks: &dyn Hooks) -> Option<String> {
    let wanted = wanted?;
    (hooks.redaction().as_deref() != Some(wanted)).then(|| {
        format!(
            "the words of this session's model are to be rewritten by {wanted}, which is not among \
             the hooks here: start with the hooks file that the session was opened with"
        )
    })
}

/// Rewrites the events of one answer.
pub(super) struct Redaction {
    redactor: Box<dyn Redactor>,
    parts: BTreeMap<u32, RedactedPart>,
    /// Redaction state of each incomplete part.
    kept: BTreeMap<u32, PartRedaction>,
    /// Bytes received. A redactor may hold back all of them.
    bytes: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum RedactedPart {
    Text,
    Refusal,
    Reasoning,
    /// Call or complete part, which is not rewritten.
    Untouched,
}

impl Redaction {
    pub(super) fn new(redactor: Box<dyn Redactor>) -> Self {
        Self { redactor, parts: BTreeMap::new(), kept: BTreeMap::new(), bytes: 0 }
    }

    /// Returns the bytes of text received.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Rewrites the events of one read.
    pub(super) fn rewrite(&mut self, events: &mut Vec<StreamEvent>) {
        for event in std::mem::take(events) {
            self.rewrite_event(event, events);
        }
    }

    fn rewrite_event(&mut self, event: StreamEvent, out: &mut Vec<StreamEvent>) {
        match event {
            StreamEvent::Text { slot, text } => self.add_text(RedactedPart::Text, slot, text, out),
            StreamEvent::Refusal { slot, text } => {
                self.add_text(RedactedPart::Refusal, slot, text, out)
            }
            StreamEvent::Reasoning { slot, text } => {
                self.add_text(RedactedPart::Reasoning, slot, text, out)
            }
            StreamEvent::Citation { slot, citation, unit } => {
                self.kept.entry(slot).or_default().cite(citation, unit);
            }
            StreamEvent::Search { slot, query } => {
                self.parts.entry(slot).or_insert(RedactedPart::Reasoning);
                out.push(StreamEvent::Search { slot, query: self.redactor.redact(&query) });
            }
            StreamEvent::CallOpened { slot, id, name } => {
                self.parts.entry(slot).or_insert(RedactedPart::Untouched);
                out.push(StreamEvent::CallOpened { slot, id, name });
            }
            StreamEvent::Done { slot, text, opaque } => {
                let part = self.parts.insert(slot, RedactedPart::Untouched);
                let part = part.filter(|part| *part != RedactedPart::Untouched);
                let mut kept = self.kept.remove(&slot).unwrap_or_default();
                let text = match part {
                    Some(part) => {
                        let rest = self.redactor.end(slot);
                        kept.end(&rest);
                        out.push(part.event(slot, rest));
                        text.map(|whole| {
                            self.bytes = self.bytes.saturating_add(whole.len());
                            let text = self.redactor.redact(&whole);
                            kept.changed |= text != whole;
                            text
                        })
                    }
                    None => text,
                };
                for (citation, unit) in std::mem::take(&mut kept.citations) {
                    let cited = self.citation(citation, kept.changed);
                    out.extend(cited.map(|citation| StreamEvent::Citation {
                        slot,
                        citation,
                        unit,
                    }));
                }
                let opaque = opaque.filter(|opaque| !kept.changed && self.leaves(opaque));
                out.push(StreamEvent::Done { slot, text, opaque });
            }
            other @ (StreamEvent::Opened { .. }
            | StreamEvent::CallArguments { .. }
            | StreamEvent::Usage(_)
            | StreamEvent::Finished { .. }) => out.push(other),
        }
    }

    /// Adds text to a part. Text of a different kind than its part, or after the part's end, is
    /// dropped.
    fn add_text(
        &mut self,
        part: RedactedPart,
        slot: u32,
        text: String,
        out: &mut Vec<StreamEvent>,
    ) {
        self.bytes = self.bytes.saturating_add(text.len());
        if *self.parts.entry(slot).or_insert(part) == part {
            // Sent even if it is empty so far, since the part has begun.
            let shown = self.redactor.push(slot, &text);
            self.kept.entry(slot).or_default().add(&text, &shown);
            out.push(part.event(slot, shown));
        }
    }

    /// Returns a citation with its title redacted. One whose address the redactor changes is left out,
    /// and so is a span of a changed text, whose offsets no longer hold.
    fn citation(&self, citation: Citation, changed: bool) -> Option<Citation> {
        let title = self.redactor.redact(&citation.title);
        let span = citation.span.filter(|_| !changed);
        self.leaves_text(&citation.url).then_some(Citation { title, span, ..citation })
    }

    /// Returns true if the redactor leaves a payload unchanged, both as it is written and in its
    /// texts.
    fn leaves(&self, opaque: &Opaque) -> bool {
        self.leaves_text(&opaque.payload)
            && serde_json::from_str(&opaque.payload).map_or(true, |value| self.leaves_all(&value))
    }

    fn leaves_all(&self, value: &Value) -> bool {
        match value {
            Value::Null | Value::Bool(_) | Value::Number(_) => true,
            Value::String(text) => self.leaves_text(text),
            Value::Array(values) => values.iter().all(|value| self.leaves_all(value)),
            Value::Object(members) => {
                members.iter().all(|(name, value)| self.leaves_text(name) && self.leaves_all(value))
            }
        }
    }

    fn leaves_text(&self, text: &str) -> bool {
        self.redactor.redact(text) == text
    }
}

/// Redaction of one part's text while it streams.
#[derive(Default)]
struct PartRedaction {
    /// Text received but not passed on yet.
    ahead: String,
    /// True if the output differs from the input.
    changed: bool,
    /// Citations, which follow once it is known what became of the text.
    citations: Vec<(Citation, SpanUnit)>,
}

impl PartRedaction {
    fn cite(&mut self, citation: Citation, unit: SpanUnit) {
        if self.citations.len() < Citation::MAX_PER_TEXT && citation.is_link() {
            self.citations.push((citation, unit));
        }
    }

    fn add(&mut self, said: &str, shown: &str) {
        if self.changed {
            return;
        }
        self.ahead.push_str(said);
        if self.ahead.starts_with(shown) {
            self.ahead.drain(..shown.len());
        } else {
            self.changed = true;
            self.ahead = String::new();
        }
    }

    fn end(&mut self, rest: &str) {
        self.add("", rest);
        self.changed |= !self.ahead.is_empty();
    }
}

impl RedactedPart {
    fn event(self, slot: u32, text: String) -> StreamEvent {
        match self {
            Self::Text => StreamEvent::Text { slot, text },
            Self::Refusal => StreamEvent::Refusal { slot, text },
            Self::Reasoning => StreamEvent::Reasoning { slot, text },
            Self::Untouched => StreamEvent::CallArguments { slot, text },
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use windlass_core::{
        Assembler, AssemblerLimits, AssemblerOutput, Delta, Item, StopReason, TextSpan,
    };

    use super::*;

    /// Removes `secret`, and holds back a possible beginning of it.
    #[derive(Default)]
    struct Secrets(HashMap<u32, String>);

    impl Redactor for Secrets {
        fn push(&mut self, slot: u32, text: &str) -> String {
            let held = self.0.entry(slot).or_default();
            held.push_str(text);
            let whole = held.replace("secret", "[redacted]");
            let keep = (1..6).rev().find(|n| whole.ends_with(&"secret"[..*n]));
            let at = whole.len() - keep.unwrap_or(0);
            *held = whole[at..].to_owned();
            whole[..at].to_owned()
        }

        fn end(&mut self, slot: u32) -> String {
            self.0.remove(&slot).unwrap_or_default()
        }

        fn redact(&self, text: &str) -> String {
            text.replace("secret", "[redacted]")
        }
    }

    fn answer(events: Vec<StreamEvent>) -> (String, Vec<Item>) {
        let mut redaction = Redaction::new(Box::<Secrets>::default());
        let mut assembler = Assembler::new(AssemblerLimits::default());
        let (mut live, mut items, mut out) = (String::new(), Vec::new(), Vec::new());
        for event in events {
            let mut events = vec![event];
            redaction.rewrite(&mut events);
            for event in events {
                assembler.push(event, &mut out).unwrap();
            }
        }
        for part in out {
            match part {
                AssemblerOutput::Delta(
                    Delta::Text { text, .. }
                    | Delta::Refusal { text, .. }
                    | Delta::Reasoning { text, .. }
                    | Delta::Arguments { text, .. },
                ) => live.push_str(&text),
                AssemblerOutput::Item(item) => items.push(item),
                AssemblerOutput::Delta(Delta::Call { .. }) | AssemblerOutput::Ended { .. } => {}
            }
        }
        (live, items)
    }

    fn text(slot: u32, text: &str) -> StreamEvent {
        let text = text.to_owned();
        StreamEvent::Text { slot, text }
    }

    fn done(slot: u32, text: Option<&str>) -> StreamEvent {
        StreamEvent::Done { slot, text: text.map(str::to_owned), opaque: None }
    }

    #[test]
    fn what_streams_and_what_is_recorded_are_the_same_however_it_is_cut() {
        let said = "a secret, a secre and a se";
        let wanted = "a [redacted], a secre and a se";
        for cut in 0..said.len() {
            for whole in [None, Some(said)] {
                let (head, tail) = said.split_at(cut);
                let end = StreamEvent::Finished { reason: StopReason::Stop };
                let events = vec![text(0, head), text(0, tail), done(0, whole), end];
                let (live, items) = answer(events);
                assert_eq!(live, wanted, "cut at {cut}");
                assert_eq!(items, [Item::text(wanted)]);
            }
        }
    }

    #[test]
    fn sources_and_queries_are_redacted_and_a_changed_text_has_no_spans() {
        let cited = |url: &str| StreamEvent::Citation {
            slot: 0,
            citation: Citation {
                url: url.into(),
                title: "the secret".into(),
                span: Some(TextSpan { start: 0, end: 1 }),
            },
            unit: SpanUnit::Bytes,
        };
        let spans = |said: &str| {
            let links = [cited("https://a.example/"), cited("https://a.example/secret")];
            let search = StreamEvent::Search { slot: 1, query: "a secret".into() };
            let events = [text(0, said)].into_iter().chain(links).chain([done(0, None), search]);
            let (_, items) = answer(events.chain([done(1, None)]).collect());
            let [Item::Text { citations, .. }, Item::Reasoning(step)] = &items[..] else {
                panic!("{items:?}");
            };
            assert_eq!(step.searches, ["a [redacted]"]);
            let [citation] = &citations[..] else { panic!("{citations:?}") };
            assert_eq!(citation.title, "the [redacted]");
            citation.span.is_some()
        };
        assert!(spans("all is open"));
        assert!(!spans("a secret"));
    }

    #[test]
    fn the_arguments_of_calls_are_left_alone() {
        let events = vec![
            StreamEvent::CallOpened { slot: 1, id: "c".into(), name: "secret".into() },
            StreamEvent::CallArguments { slot: 1, text: r#"{"a":"secret"}"#.into() },
            done(1, Some(r#"{"a":"secret"}"#)),
        ];
        let (live, items) = answer(events);
        assert_eq!(live, r#"{"a":"secret"}"#);
        let [Item::Call(call)] = &*items else { panic!("{items:?}") };
        assert_eq!(call.arguments, r#"{"a":"secret"}"#);
    }

    #[test]
    fn a_seal_stays_only_where_there_is_nothing_to_take_out() {
        let sealed = |pieces: &[&str], whole: Option<&str>, payload: &str| {
            let pieces = pieces
                .iter()
                .map(|text| StreamEvent::Reasoning { slot: 0, text: (*text).to_owned() });
            let end = StreamEvent::Done {
                slot: 0,
                text: whole.map(str::to_owned),
                opaque: Some(Opaque {
                    provider: "p".into(),
                    endpoint: "e".into(),
                    model: "m".into(),
                    payload: payload.into(),
                }),
            };
            let (_, items) = answer(pieces.chain([end]).collect());
            let [Item::Reasoning(item)] = &*items else { panic!("{items:?}") };
            item.opaque.is_some()
        };
        let fine = r#"{"a":["sec ret"]}"#;
        assert!(sealed(&["a sec", "ond se"], None, fine));
        assert!(sealed(&["a se"], Some("a se"), "no JSON"));
        assert!(!sealed(&["a sec", "ret"], None, fine), "its text is changed");
        assert!(!sealed(&["a se"], Some("a secret"), fine), "the whole is");
        for payload in [
            r#"{"a":"a secret"}"#,
            r#"{"a":[{"b":"\u0073ecret"}]}"#,
            r#"{"s\u0065cret":1}"#,
            "no JSON, a secret",
        ] {
            assert!(!sealed(&["a se"], None, payload), "{payload}");
        }
    }

    #[test]
    fn nothing_comes_after_the_end_of_a_part() {
        let events = vec![text(0, "one"), done(0, None), text(0, "two"), done(0, None)];
        let (live, items) = answer(events);
        assert_eq!((live.as_str(), items.len()), ("one", 1));
    }
}
