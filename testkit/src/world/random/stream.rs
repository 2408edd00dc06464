//! Random streams of a provider, well-formed or not, for the assembler.

use proptest::prelude::*;
use windlass_core::{Citation, Opaque, SpanUnit, StopReason, StreamEvent, TextSpan, Usage};

/// A stream of any events in any order.
pub fn stream() -> impl Strategy<Value = Vec<StreamEvent>> {
    let words = || "[a-zä ]{0,9}";
    let slot = || 0..4_u32;
    let event = prop_oneof![
        4 => (slot(), words()).prop_map(|(slot, text)| StreamEvent::Text { slot, text }),
        1 => (slot(), words()).prop_map(|(slot, text)| StreamEvent::Refusal { slot, text }),
        1 => (slot(), words()).prop_map(|(slot, text)| StreamEvent::Reasoning { slot, text }),
        1 => (slot(), words(), 0..12_u64, 0..12_u64, any::<bool>()).prop_map(citation),
        1 => (slot(), words()).prop_map(|(slot, query)| StreamEvent::Search { slot, query }),
        2 => (slot(), words(), words())
            .prop_map(|(slot, id, name)| StreamEvent::CallOpened { slot, id, name }),
        3 => (slot(), words()).prop_map(|(slot, text)| StreamEvent::CallArguments { slot, text }),
        3 => (slot(), prop::option::of(words()), any::<bool>()).prop_map(done),
        1 => prop::option::of(words())
            .prop_map(|response_id| StreamEvent::Opened { response_id, model: None }),
        1 => any::<u64>().prop_map(|total| StreamEvent::Usage(Usage {
            total: Some(total),
            ..Usage::default()
        })),
        1 => Just(StreamEvent::Finished { reason: StopReason::Stop }),
    ];
    prop::collection::vec(event, 0..20)
}

fn citation((slot, title, start, end, bytes): (u32, String, u64, u64, bool)) -> StreamEvent {
    let unit = if bytes { SpanUnit::Bytes } else { SpanUnit::Characters };
    let (url, span) = (format!("https://{title}.example/"), Some(TextSpan { start, end }));
    StreamEvent::Citation { slot, citation: Citation { url, title, span }, unit }
}

fn done((slot, text, opaque): (u32, Option<String>, bool)) -> StreamEvent {
    let opaque = opaque.then(|| Opaque {
        provider: String::from("p"),
        endpoint: String::from("e"),
        model: String::from("m"),
        payload: String::from("{}"),
    });
    StreamEvent::Done { slot, text, opaque }
}
