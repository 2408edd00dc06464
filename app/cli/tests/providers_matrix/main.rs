//! Every conversation, begun at any server and gone on with at any other: what is sent passes the
//! strict grammar of that server, and what the adapter says it lowered is exactly what the body
//! lacks.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a test fails by panicking, and tells what it has found"
)]

mod histories;
mod oracle;
mod places;
mod worlds;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;
use windlass_engine::core::{
    FailureKind, Image, ImageMedia, LoweredPart, LoweringRecord, OfferedTools, OutputSchema,
    PromptItem, RequestOptions, RequestRecord, SessionId, ToolChoice,
};
use windlass_engine::ports::BlobStore;

use places::{Place, Way, places};

/// Everything that was found, so that one run tells all of it.
#[derive(Default)]
struct Found(BTreeMap<String, (usize, String)>);

impl Found {
    /// Holds what a place is sent for a conversation to its grammar and to its own report. Tells
    /// what was lowered.
    async fn hold(
        &mut self,
        place: &Place,
        name: &str,
        items: &[PromptItem],
    ) -> Vec<LoweringRecord> {
        let way = Way { effort: Some("low"), ..Way::default() };
        let mut asked = place.ask(items, &way).await;
        // A model that takes no effort is asked without.
        if let Err(error) = &asked
            && error.kind == FailureKind::Unsupported
        {
            asked = place.ask(items, &Way::default()).await;
        }
        match asked {
            Ok((body, asked)) => self.judge(place, name, items, &body, asked),
            Err(error) => {
                self.add(place, name, &error.to_string(), "");
                Vec::new()
            }
        }
    }

    fn judge(
        &mut self,
        place: &Place,
        name: &str,
        items: &[PromptItem],
        body: &[u8],
        asked: RequestRecord,
    ) -> Vec<LoweringRecord> {
        let body: Value = serde_json::from_slice(body).unwrap();
        let shown = format!("{body:#}");
        for fault in place.faults(&body) {
            self.add(place, name, &fault, &shown);
        }
        let who = (asked.provider.as_str(), asked.model.as_str());
        if who != (place.provider.name(), place.model) {
            self.add(place, name, &format!("says that {who:?} was asked"), &shown);
        }
        let (said, lacks) = (oracle::by_part(&asked.lowered), oracle::lowered(place, items, &body));
        if said != lacks {
            let words = format!("says that it lowered {said:?}, and lacks {lacks:?}");
            self.add(place, name, &words, &shown);
        }
        asked.lowered
    }

    /// The first of each kind is kept whole.
    fn add(&mut self, place: &Place, name: &str, what: &str, body: &str) {
        let kind: String = what.chars().filter(|c| !c.is_ascii_digit()).collect();
        let first = || (0, format!("{name}: {what}\n{body}"));
        let entry = self.0.entry(format!("{}: {kind}", place.name));
        entry.or_insert_with(first).0 += 1;
    }
}

impl Drop for Found {
    fn drop(&mut self) {
        if self.0.is_empty() || std::thread::panicking() {
            return;
        }
        for (kind, (times, _)) in &self.0 {
            eprintln!("{times} times: {kind}");
        }
        let (_, first) = self.0.values().next().unwrap();
        panic!("the first of {} kinds: {first}", self.0.len());
    }
}

#[tokio::test]
async fn what_one_server_began_any_other_goes_on_with() {
    let places = places();
    let (mut asked, mut found) = (0, Found::default());
    for from in &places {
        for (name, items) in histories::begun(from).await {
            for to in &places {
                found.hold(to, &format!("{name} from {}", from.name), &items).await;
                asked += 1;
            }
        }
    }
    println!("{asked} requests over {} servers", places.len());
    assert_eq!(asked, places.len() * places.len() * histories::BEGUN);
}

#[tokio::test]
async fn every_awkward_conversation_can_be_sent_anywhere() {
    let mut found = Found::default();
    for place in &places() {
        for (name, items) in histories::awkward() {
            found.hold(place, name, &items).await;
        }
    }
}

#[tokio::test]
async fn whatever_may_not_go_back_is_told_with_its_reason() {
    use windlass_engine::core::{LoweredPart as Part, LoweringReason as Why};
    let places = places();
    let mut found = Found::default();
    let mut seen = std::collections::BTreeSet::new();
    for from in &places {
        for (name, items) in histories::begun(from).await {
            for to in &places {
                for one in found.hold(to, name, &items).await {
                    assert!(one.count > 0);
                    seen.insert((one.part, one.reason));
                    let own = std::ptr::eq(from, to);
                    let foreign = one.reason == Why::Foreign;
                    assert!(!(own && foreign), "{name}: {} calls its own foreign", to.name);
                }
            }
        }
    }
    for what in [
        (Part::Reasoning, Why::Foreign),
        (Part::Reasoning, Why::Unsupported),
        (Part::Refusal, Why::Unsupported),
        (Part::CallId, Why::Invalid),
        (Part::ToolName, Why::Invalid),
        (Part::Arguments, Why::Invalid),
        (Part::CallOpaque, Why::Foreign),
    ] {
        assert!(seen.contains(&what), "{what:?} never happened: {seen:?}");
    }
}

#[tokio::test]
async fn reasoning_goes_back_where_it_came_from() {
    use windlass_engine::core::LoweredPart as Part;
    let places = places();
    let (mut kept, mut found) = (Vec::new(), Found::default());
    for place in &places {
        let begun = histories::begun(place).await;
        let (name, items) = &begun[0];
        let lowered = found.hold(place, name, items).await;
        let lost = lowered.iter().any(|one| one.part == Part::Reasoning);
        if !lost && items.iter().any(|item| matches!(item, PromptItem::Reasoning { .. })) {
            kept.push(place.name);
        }
    }
    for name in places::KEEP {
        assert!(kept.contains(name), "{name} loses its own reasoning: {kept:?}");
    }
}

#[test]
fn worlds_of_the_core_are_held_too() {
    worlds::held();
}

#[tokio::test]
async fn images_are_shown_where_they_are_kept_and_taken() {
    let (mut found, mut shown) = (Found::default(), 0);
    let (_, images) = kept().await;
    let items = histories::pictures(&images);
    for place in &places() {
        let lowered = found.hold(place, "images", &items).await;
        let lost = lowered.iter().filter(|one| one.part == LoweredPart::Image);
        let lost: u32 = lost.map(|one| one.count).sum();
        // The one that is not kept, beside it the GIF, or all of them.
        let some = if place.name == "gemini native" { 2 } else { 1 };
        assert!(lost == some || lost == 6, "{}: {lost}", place.name);
        shown += usize::from(lost == some);
    }
    assert!(shown > 10, "{shown} places show images");
}

#[tokio::test]
async fn however_it_is_asked_the_request_is_valid_or_is_not_sent() {
    let (mut found, mut sent) = (Found::default(), 0);
    for place in &places() {
        let begun = histories::begun(place).await;
        let mut here = 0;
        for way in ways() {
            for (name, items) in &begun {
                match place.ask(items, &way).await {
                    Ok((body, asked)) => {
                        here += 1;
                        let name = format!("{name}, {way:?}");
                        found.judge(place, &name, items, &body, asked);
                        let body: Value = serde_json::from_slice(&body).unwrap();
                        let free = way.options.tool_choice.is_auto() || way.bare;
                        let told = free || place.has_choice(&body);
                        assert!(told, "{}: {name}: the choice is not passed on", place.name);
                    }
                    Err(error) => {
                        let refused = error.kind == FailureKind::Unsupported;
                        assert!(refused, "{}: {way:?}: {error}", place.name);
                    }
                }
            }
        }
        assert!(here > 0, "{} is never asked", place.name);
        sent += here;
    }
    println!("{sent} requests");
}

/// Ways of asking, each with each other.
fn ways() -> Vec<Way> {
    let schema = r#"{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":false}"#;
    let shape = |strict| OutputSchema {
        name: "answer".into(),
        schema: schema.into(),
        strict,
        max_re_asks: 1,
    };
    let mut ways = Vec::new();
    let choices =
        [ToolChoice::Auto, ToolChoice::None, ToolChoice::Required, ToolChoice::Tool("read".into())];
    for choice in choices {
        for parallel_calls in [None, Some(false), Some(true)] {
            for answer in [None, Some(shape(true)), Some(shape(false))] {
                for (bare, effort) in [(false, None), (false, Some("high")), (true, None)] {
                    if bare && !choice.is_auto() {
                        continue;
                    }
                    let options = RequestOptions::default().with(|it| {
                        it.offered = OfferedTools::default();
                        it.output_schema = answer.clone();
                        it.tool_choice = choice.clone();
                        it.parallel_calls = parallel_calls;
                        it.reasoning_summary = None;
                        it.program = None;
                    });
                    ways.push(Way { bare, effort, options });
                }
            }
        }
    }
    ways
}

/// A session's images, and where they are kept.
async fn kept() -> (Arc<dyn BlobStore>, Vec<Image>) {
    let blobs = windlass_testkit::blobs::HeldBlobs::new(1 << 20);
    let session = SessionId::new("s").unwrap();
    let mut images = Vec::new();
    for bytes in
        [&b"\x89PNG\r\n\x1a\nx"[..], b"\xff\xd8\xff\xe0", b"GIF89a", b"RIFF\x01\x02\x03\x04WEBPVP8"]
    {
        let mut writer = blobs.begin(&session).await.unwrap();
        writer.write(bytes).await.unwrap();
        let kept = writer.finish().await.unwrap();
        images.push(Image {
            media: ImageMedia::of(bytes).unwrap(),
            sha256: kept.sha256,
            bytes: kept.bytes,
        });
    }
    (Arc::new(blobs), images)
}
