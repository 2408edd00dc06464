//! Tests of the projection over generated logs, with any chunks and any losses.

use std::collections::{BTreeMap, BTreeSet};

use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Value, json};
use windlass_engine::core::{Delta, RecordedFact, Seq, SessionId, Timestamp, TurnId};
use windlass_engine::{LiveEvent, LiveKind};

use super::event::AguiEvent;
use super::project::{Projection, TurnFilter};

const TURN: u64 = 2;
const STARTED: u64 = 4;

fn fact(seq: u64, kind: &str, body: Value) -> RecordedFact {
    // The kind precedes the body whose type it determines.
    let text = format!(
        r#"{{"v":1,"session":"s","seq":{seq},"turn":{TURN},"ts":7,"kind":"{kind}","body":{body}}}"#
    );
    serde_json::from_str(&text).unwrap()
}

fn digest() -> &'static str {
    "6c62272e07bb014262b821756295c58d"
}

fn opened() -> Vec<RecordedFact> {
    let system = json!({"kind": "system", "reason": "a test"});
    let opened = json!({
        "reason": {"kind": "input", "input": 1}, "scope": system, "settings": 1,
        "limits": windlass_engine::core::Limits::default(),
    });
    vec![
        fact(TURN, "TurnOpened", opened),
        fact(3, "InputAccepted", json!({"input": 1})),
        sample(STARTED, 1),
    ]
}

fn sample(seq: u64, attempt: u32) -> RecordedFact {
    let reason = json!({"kind": "retry"});
    let body = json!({"sample": 1, "attempt": attempt, "reason": reason, "digest": digest()});
    fact(seq, "SampleStarted", body)
}

fn ended(seq: u64) -> RecordedFact {
    let usage = json!({"input": 7, "output": 3});
    fact(seq, "SampleEnded", json!({"started": STARTED, "stop": "stop", "usage": usage}))
}

fn settled(seq: u64, outcome: Value) -> RecordedFact {
    let spent = windlass_engine::core::TurnUsage::default();
    let mut body = outcome;
    body["spent"] = json!(spent);
    fact(seq, "TurnSettled", body)
}

fn item(seq: u64, started: u64, item: Value) -> RecordedFact {
    fact(seq, "ItemAdded", json!({"started": started, "item": item}))
}

fn live(started: u64, delta: Delta) -> LiveEvent {
    LiveEvent {
        session: SessionId::new("s").unwrap(),
        turn: TurnId(TURN),
        ts: Timestamp(7),
        kind: LiveKind::Delta { started: Seq(started), delta },
    }
}

fn projection() -> Projection {
    Projection::new(SessionId::new("s").unwrap(), TurnFilter::All, Seq::ZERO)
}

/// Client that applies events, and checks that they follow the protocol.
#[derive(Debug, Default)]
struct Client {
    open: BTreeSet<(&'static str, String)>,
    messages: BTreeMap<String, String>,
    calls: BTreeMap<String, String>,
    results: BTreeMap<String, String>,
    /// Messages without an item.
    fallen: BTreeSet<String>,
    running: bool,
    ended: Vec<Value>,
    customs: Vec<String>,
}

impl Client {
    fn begin(&mut self, what: &'static str, id: &str) {
        assert!(self.running, "{what} {id} outside of a run");
        assert!(self.open.insert((what, id.to_owned())), "{what} {id} twice");
    }

    fn end(&mut self, what: &'static str, id: &str) {
        let open = self.open.remove(&(what, id.to_owned()));
        assert!(open, "{what} {id} was not open");
    }

    fn is(&self, what: &'static str, id: &str) {
        assert!(self.open.contains(&(what, id.to_owned())), "{what} {id}");
    }

    fn hear(&mut self, what: &'static str, id: &str, delta: &str) {
        assert!(!delta.is_empty());
        self.is(what, id);
        self.messages.get_mut(id).unwrap().push_str(delta);
    }

    fn take(&mut self, event: &AguiEvent) {
        match event {
            AguiEvent::RunStarted { .. } => {
                assert!(!self.running && self.open.is_empty());
                self.running = true;
            }
            AguiEvent::RunFinished { .. } | AguiEvent::RunError { .. } => {
                assert!(self.running && self.open.is_empty(), "{:?}", self.open);
                self.running = false;
                self.ended.push(serde_json::to_value(event).unwrap());
            }
            AguiEvent::StepStarted { step_name } => self.begin("step", step_name),
            AguiEvent::StepFinished { step_name } => self.end("step", step_name),
            AguiEvent::TextMessageStart { message_id, .. } => {
                self.begin("text", message_id);
                let again = self.messages.insert(message_id.clone(), String::new());
                assert_eq!(again, None, "{message_id} names two");
            }
            AguiEvent::TextMessageContent { message_id, delta } => {
                self.hear("text", message_id, delta)
            }
            AguiEvent::ReasoningMessageContent { message_id, delta } => {
                self.hear("reasoning", message_id, delta);
            }
            AguiEvent::TextMessageEnd { message_id } => self.end("text", message_id),
            AguiEvent::ReasoningStart { message_id } => self.begin("span", message_id),
            AguiEvent::ReasoningMessageStart { message_id, .. } => {
                self.is("span", message_id);
                self.begin("reasoning", message_id);
                let again = self.messages.insert(message_id.clone(), String::new());
                assert_eq!(again, None, "{message_id} names two");
            }
            AguiEvent::ReasoningMessageEnd { message_id } => self.end("reasoning", message_id),
            AguiEvent::ReasoningEnd { message_id } => self.end("span", message_id),
            AguiEvent::ToolCallStart { tool_call_id, .. } => {
                self.begin("call", tool_call_id);
                self.calls.insert(tool_call_id.clone(), String::new());
            }
            AguiEvent::ToolCallArgs { tool_call_id, delta } => {
                self.is("call", tool_call_id);
                self.calls.get_mut(tool_call_id).unwrap().push_str(delta);
            }
            AguiEvent::ToolCallEnd { tool_call_id } => self.end("call", tool_call_id),
            AguiEvent::ToolCallResult { tool_call_id, content, .. } => {
                assert!(self.running);
                self.results.insert(tool_call_id.clone(), content.clone());
            }
            AguiEvent::Custom { name, value } => {
                assert!(self.running);
                self.customs.push(name.clone());
                if matches!(name.as_str(), "windlass.Superseded" | "windlass.SampleCut") {
                    let ids = value["messageIds"].as_array().unwrap().iter();
                    self.fallen.extend(ids.map(|id| id.as_str().unwrap().to_owned()));
                }
            }
        }
    }
}

#[derive(Debug, Clone)]
struct Part {
    kind: u8,
    /// Streamed chunks.
    chunks: Vec<String>,
    /// Different text of the item, if it differs.
    instead: Option<String>,
}

impl Part {
    fn text(&self) -> String {
        self.instead.clone().unwrap_or_else(|| self.chunks.concat())
    }

    fn delta(&self, slot: u32, chunk: &str) -> Delta {
        let text = chunk.to_owned();
        match self.kind {
            0 => Delta::Text { slot, text },
            1 => Delta::Refusal { slot, text },
            2 => Delta::Reasoning { slot, text },
            _ => Delta::Arguments { slot, text },
        }
    }

    fn item(&self) -> Value {
        let text = self.text();
        match self.kind {
            0 => json!({"type": "text", "text": text}),
            1 => json!({"type": "refusal", "text": text}),
            2 => json!({"type": "reasoning", "text": text}),
            _ => json!({"type": "call", "provider_id": "", "name": "t", "arguments": text}),
        }
    }
}

fn part() -> impl Strategy<Value = Part> {
    // Few letters, so that texts have common prefixes.
    let instead = proptest::option::weighted(0.1, "[abé]{1,5}");
    (0..4_u8, vec("[abé]{1,2}", 1..5), instead).prop_map(|(kind, chunks, instead)| Part {
        kind,
        chunks,
        instead,
    })
}

/// Fate of the next live event.
#[derive(Debug, Clone, Copy)]
enum Fate {
    Comes,
    /// Missed without a notice.
    Lost,
    /// Missed with a notice, which the whole text so far follows.
    Lagged,
}

fn fate() -> impl Strategy<Value = Fate> {
    prop_oneof![8 => Just(Fate::Comes), 1 => Just(Fate::Lost), 1 => Just(Fate::Lagged)]
}

/// Runs one answer: its parts stream one after another or, with `mixed`, interleaved.
fn answered(parts: &[Part], fates: &[Fate], mixed: bool, cut: bool) -> (Client, Vec<u64>) {
    let (mut projection, mut client) = (projection(), Client::default());
    let mut fates = fates.iter().copied().cycle();
    let mut seq = STARTED;
    let mut out = Vec::new();
    for fact in opened() {
        projection.apply(&fact, &mut out);
    }
    // Text so far of each part that has begun.
    let mut texts: BTreeMap<usize, String> = BTreeMap::new();
    let mut say = |projection: &mut Projection,
                   place: usize,
                   chunk: usize,
                   done: usize,
                   out: &mut Vec<AguiEvent>| {
        let part = &parts[place];
        let slot = u32::try_from(place).unwrap();
        let name = |slot: u32| Delta::Call { slot, name: "t".to_owned() };
        let call = (chunk == 0 && part.kind > 2).then(|| name(slot));
        let text = part.chunks.get(chunk).map(|chunk| part.delta(slot, chunk));
        for delta in call.into_iter().chain(text) {
            let is_call = matches!(delta, Delta::Call { .. });
            let more = if is_call { "" } else { part.chunks[chunk].as_str() };
            texts.entry(place).or_default().push_str(more);
            match fates.next().unwrap() {
                Fate::Comes => projection.on_live(&live(STARTED, delta), out),
                Fate::Lost => {}
                Fate::Lagged => {
                    projection.on_lagged();
                    for (place, whole) in texts.range(done..) {
                        let slot = u32::try_from(*place).unwrap();
                        let part = &parts[*place];
                        let call = (part.kind > 2).then(|| name(slot));
                        for delta in call.into_iter().chain([part.delta(slot, whole)]) {
                            projection.on_live(&live(STARTED, delta), out);
                        }
                    }
                }
            }
        }
    };
    if mixed {
        for chunk in 0..5 {
            for slot in 0..parts.len() {
                say(&mut projection, slot, chunk, 0, &mut out);
            }
        }
    }
    let mut items = Vec::new();
    for (slot, part) in parts.iter().enumerate() {
        if !mixed {
            for chunk in 0..part.chunks.len() {
                say(&mut projection, slot, chunk, slot, &mut out);
            }
        }
        if cut && slot + 1 == parts.len() {
            break;
        }
        seq += 1;
        items.push(seq);
        projection.apply(&item(seq, STARTED, part.item()), &mut out);
    }
    if cut {
        let failure = json!({"kind": "server", "message": "away", "retry": "now"});
        let body = json!({"started": STARTED, "failure": failure, "partial": "",
                          "retained": {"kind": "nothing"}});
        projection.apply(&fact(seq + 1, "SampleCut", body), &mut out);
        projection.apply(&sample(seq + 2, 2), &mut out);
        let again = json!({"type": "text", "text": "again"});
        projection.apply(&item(seq + 3, seq + 2, again), &mut out);
        let body = json!({"started": seq + 2, "stop": "stop"});
        projection.apply(&fact(seq + 4, "SampleEnded", body), &mut out);
    } else {
        projection.apply(&ended(seq + 1), &mut out);
    }
    let outcome = json!({"outcome": "completed"});
    projection.apply(&settled(seq + 5, outcome), &mut out);
    out.iter().for_each(|event| client.take(event));
    assert_eq!(client.ended.len(), 1);
    (client, items)
}

proptest! {
    #[test]
    fn each_item_is_one_message_whatever_streams_and_is_lost(
        parts in vec(part(), 1..5), fates in vec(fate(), 1..30), mixed: bool,
    ) {
        let (client, items) = answered(&parts, &fates, mixed, false);
        let told = client.messages.iter().filter(|(id, _)| !client.fallen.contains(*id));
        let mut told: Vec<_> = told.map(|(_, text)| text.clone()).collect();
        let said = parts.iter().filter(|part| part.kind < 3);
        let mut said: Vec<_> = said.map(Part::text).collect();
        told.sort();
        said.sort();
        prop_assert_eq!(told, said);
        for (part, seq) in parts.iter().zip(items) {
            let call = client.calls.get(&seq.to_string());
            prop_assert_eq!(call.cloned(), (part.kind > 2).then(|| part.text()));
        }
    }

    #[test]
    fn an_answer_that_breaks_off_leaves_nothing_open_and_is_named_as_fallen(
        parts in vec(part(), 1..5), fates in vec(fate(), 1..30), mixed: bool,
    ) {
        let (client, _) = answered(&parts, &fates, mixed, true);
        let told = client.messages.iter().filter(|(id, _)| !client.fallen.contains(*id));
        let told: Vec<_> = told.map(|(_, text)| text.as_str()).collect();
        prop_assert_eq!(told, ["again"]);
    }

    #[test]
    fn nothing_falls_and_all_streams_where_nothing_is_lost(
        chunks in vec("[abé]{1,2}", 1..6), kind in 0..3_u8,
    ) {
        let part = Part { kind, chunks, instead: None };
        let (client, _) = answered(&[part], &[Fate::Comes], false, false);
        prop_assert!(client.fallen.is_empty());
        prop_assert_eq!(client.messages.len(), 1);
    }
}

#[test]
fn a_delta_is_told_as_it_comes() {
    let (mut projection, mut out) = (projection(), Vec::new());
    for fact in opened() {
        projection.apply(&fact, &mut out);
    }
    out.clear();
    let text = |text: &str| Delta::Text { slot: 0, text: text.to_owned() };
    projection.on_live(&live(STARTED, text("on")), &mut out);
    projection.on_live(&live(STARTED, text("e")), &mut out);
    projection.apply(&item(5, STARTED, json!({"type": "text", "text": "one."})), &mut out);
    let told = serde_json::to_value(&out).unwrap();
    let id = "4.0";
    assert_eq!(
        told,
        json!([
            {"type": "TEXT_MESSAGE_START", "messageId": id, "role": "assistant"},
            {"type": "TEXT_MESSAGE_CONTENT", "messageId": id, "delta": "on"},
            {"type": "TEXT_MESSAGE_CONTENT", "messageId": id, "delta": "e"},
            {"type": "TEXT_MESSAGE_CONTENT", "messageId": id, "delta": "."},
            {"type": "TEXT_MESSAGE_END", "messageId": id},
        ])
    );
}

fn asked(seq: u64, call: u64) -> RecordedFact {
    let body = json!({"call": call, "attempt": 1, "arguments": digest(), "deadline": 1000});
    fact(seq, "ApprovalAsked", body)
}

fn observed(seq: u64, call: u64) -> RecordedFact {
    let seen = json!({"status": "done", "output": "a file", "output_bytes": 6});
    fact(seq, "CallObserved", json!({"call": call, "observation": seen}))
}

#[test]
fn a_turn_that_waits_for_persons_alone_ends_its_run_with_their_questions() {
    let (mut projection, mut client) = (projection(), Client::default());
    let call = json!({"type": "call", "provider_id": "", "name": "look", "arguments": "{}"});
    let mut log = opened();
    log.extend([item(5, STARTED, call.clone()), item(6, STARTED, call)]);
    log.extend([asked(7, 5), ended(8), observed(9, 6)]);
    let mut out = Vec::new();
    for fact in &log {
        assert!(client.ended.is_empty(), "before {}", fact.seq);
        projection.apply(fact, &mut out);
        out.drain(..).for_each(|event| client.take(&event));
    }
    let end = &client.ended[0];
    assert_eq!(end["outcome"]["type"], "interrupt");
    assert_eq!(end["usage"], json!([{"inputTokens": 7, "outputTokens": 3}]));
    let interrupts = end["outcome"]["interrupts"].as_array().unwrap();
    assert_eq!(interrupts.len(), 1);
    assert_eq!(interrupts[0]["id"], format!("5.{}", digest()));
    assert_eq!(interrupts[0]["metadata"]["windlass"]["view"], json!([]));
    assert_eq!(interrupts[0]["toolCallId"], "5");
    assert_eq!(interrupts[0]["expiresAt"], "1970-01-01T00:00:01.000Z");
    let system = json!({"kind": "system", "reason": "a test"});
    let answer = json!({"call": 5, "by": system, "verdict": "allow", "reason": "",
                        "arguments": digest()});
    for fact in [
        fact(10, "ApprovalAnswered", answer),
        observed(11, 5),
        settled(12, json!({"outcome": "interrupted", "by": "person", "reason": "enough"})),
    ] {
        projection.apply(&fact, &mut out);
    }
    let first = serde_json::to_value(&out[0]).unwrap();
    assert_eq!((&first["runId"], &first["parentRunId"]), (&json!("2.10"), &json!("2")));
    out.drain(..).for_each(|event| client.take(&event));
    assert_eq!(client.ended[1]["outcome"]["type"], "cancelled");
    assert_eq!(client.results.len(), 2);
    assert_eq!(client.customs, ["windlass.ApprovalAnswered"]);
}

#[test]
fn a_turn_that_fails_is_a_run_that_does() {
    for (outcome, code) in [
        (json!({"outcome": "blocked", "reason": "no"}), "blocked"),
        (json!({"outcome": "exhausted", "limit": "tokens"}), "exhausted"),
        (json!({"outcome": "invalid_output", "fault": "no"}), "invalid_output"),
        (json!({"outcome": "failed", "failure": "quota", "message": "pay"}), "quota"),
    ] {
        let (mut projection, mut client) = (projection(), Client::default());
        let mut out = Vec::new();
        let log = opened().into_iter().chain([settled(5, outcome)]);
        log.for_each(|fact| projection.apply(&fact, &mut out));
        out.iter().for_each(|event| client.take(event));
        assert_eq!(client.ended[0]["code"], code);
        assert!(!client.ended[0]["message"].as_str().unwrap().is_empty());
    }
}

#[test]
fn what_is_known_is_not_told_again_and_its_step_goes_on() {
    let mut out = Vec::new();
    let mut client = Client::default();
    let known = Seq(STARTED);
    let mut projection = Projection::new(SessionId::new("s").unwrap(), TurnFilter::All, known);
    for fact in opened() {
        projection.apply(&fact, &mut out);
        assert!(out.is_empty(), "{out:?}");
    }
    let text = Delta::Text { slot: 0, text: "one".to_owned() };
    projection.on_live(&live(STARTED, text), &mut out);
    assert!(matches!(out[0], AguiEvent::RunStarted { .. }));
    projection.apply(&item(5, STARTED, json!({"type": "text", "text": "one"})), &mut out);
    projection.apply(&ended(6), &mut out);
    projection.apply(&settled(7, json!({"outcome": "completed"})), &mut out);
    out.iter().for_each(|event| client.take(event));
    assert_eq!(client.messages["4.0"], "one");
    assert_eq!(client.ended.len(), 1);
}
