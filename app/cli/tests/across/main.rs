//! Engines of several nodes on one store: whoever watches on another node than the one that drives a
//! session sees what is seen there, whenever it joins.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "a test fails by panicking, and says what it skips"
)]

#[path = "../common/mod.rs"]
mod common;
#[path = "../drill/http.rs"]
mod http;
mod lossy;
mod nodes;
mod seen;
mod served;

use serde_json::json;
use windlass_engine::core::{EffectClass, Seq, StreamEvent};
use windlass_engine::{Engine, Start};
use windlass_testkit::provider::{Step, call, say};
use windlass_testkit::tools::ScriptedTool;
use windlass_testkit::{Answer, Gate};

use nodes::{Place, hello, id, me};
use seen::{Seen, soon};

/// An answer of several parts, one event a read and a gate after each; and what was said of each part
/// by each gate.
struct Script {
    step: Step,
    gates: Vec<Gate>,
    said: Vec<Vec<String>>,
    /// The same of those parts that are not whole.
    open: Vec<Vec<String>>,
}

fn script() -> Script {
    let answer = Answer::new()
        .reasoning("thinking of it")
        .text("the \u{e4}nswer \"is\" this\n")
        .text("and that")
        .pieces_of(5);
    let (mut step, mut gates) = (Step::default(), Vec::new());
    let (mut said, mut open) = (Vec::new(), Vec::new());
    let mut whole = Vec::new();
    let mut so_far = vec![String::new(); 3];
    for event in answer.events() {
        if let Some((slot, text)) = seen::text_of(&event) {
            so_far[usize::try_from(slot).unwrap()].push_str(text);
        }
        if let StreamEvent::Done { slot, .. } = &event {
            whole.push(usize::try_from(*slot).unwrap());
        }
        let mut rest = so_far.clone();
        whole.iter().for_each(|slot| rest[*slot].clear());
        open.push(rest);
        let gate = Gate::new();
        step = step.batch([event]).then_gate(&gate);
        gates.push(gate);
        said.push(so_far.clone());
    }
    Script { step, gates, said, open }
}

/// A watcher joins on every node at each point of an answer, and sees each character once.
async fn everyone_sees_the_same(place: &Place, every: usize) {
    let nodes = [place.node().await, place.node().await, place.node().await];
    let points = script().gates.len();
    // At the last one the turn may be over.
    for joins in (0..points - 1).step_by(every) {
        let Script { step, gates, said, open } = script();
        let session = id(&format!("s{joins}"));
        let engines: Vec<Engine> =
            nodes.iter().map(|node| node.engine([step.clone()], &[])).collect();
        let [driver, others @ ..] = engines.as_slice() else { panic!("there are three") };
        let conversation = driver.open(&session, &me(), nodes::start(&[])).await.unwrap();
        conversation.flush().await.unwrap();
        // One on each node from the first fact on, and later one more.
        let mut seen: Vec<Seen> = engines
            .iter()
            .map(|engine| Seen::new(engine.subscribe(&session, &me(), Some(Seq::ZERO))))
            .collect();
        let input = conversation.send(hello()).await.unwrap();
        for gate in &gates[..joins] {
            gate.open();
        }
        let so_far = &said[joins];
        soon(seen[0].until_said(so_far)).await;
        for engine in others {
            for after in [None, Some(Seq::ZERO)] {
                let mut watch = engine.subscribe(&session, &me(), after);
                watch.begin().await.unwrap();
                let mut one = Seen::new(watch);
                one.begins_later |= after.is_none();
                seen.push(one);
            }
        }
        // Who begins now sees what is shown; whoever has the first fact too, all of it.
        for one in &mut seen {
            let sees = if one.begins_later { &open[joins] } else { so_far };
            soon(one.until_said(sees)).await;
        }
        for gate in &gates[joins..] {
            gate.open();
        }
        soon(conversation.outcome(input)).await.unwrap();
        let log = nodes[0].log(&session).await;
        for one in &mut seen {
            soon(one.until_settled()).await;
            one.is_right(&log);
            // Between processes facts may overtake what streams.
            if let Place::Memory(_) = place {
                one.is_whole(&said[points - 1]);
            }
        }
        if open[joins].iter().any(|text| !text.is_empty()) {
            let streamed = seen[..nodes.len()].iter().map(Seen::streamed);
            assert!(streamed.min() > Some(0), "something streamed on each node");
        }
        conversation.close().await;
    }
}

#[tokio::test(start_paused = true)]
async fn whoever_joins_at_any_point_on_any_node_sees_each_character_once() {
    everyone_sees_the_same(&Place::memory(), 1).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_same_on_postgresql() {
    if let Some(place) = Place::postgres() {
        everyone_sees_the_same(&place, 4).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_same_on_nats() {
    if let Some(place) = Place::nats() {
        everyone_sees_the_same(&place, 4).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_same_on_postgresql_with_nats_beside_it() {
    if let Some(place) = Place::beside() {
        everyone_sees_the_same(&place, 4).await;
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_lost_between_nodes_is_told_anew_and_makes_no_wrong_text() {
    let place = Place::memory();
    for seed in 0..40 {
        let (driving, watching) = (place.node().await, place.lossy(seed).await);
        let Script { step, gates, said, .. } = script();
        let session = id(&format!("s{seed}"));
        let (driver, other) = (driving.engine([step], &[]), watching.engine([], &[]));
        let conversation = driver.open(&session, &me(), nodes::start(&[])).await.unwrap();
        conversation.flush().await.unwrap();
        let mut seen = Seen::new(other.subscribe(&session, &me(), Some(Seq::ZERO)));
        let input = conversation.send(hello()).await.unwrap();
        for (gate, so_far) in gates.iter().zip(&said) {
            // Whatever was lost, it is there in the end.
            soon(seen.until_said(so_far)).await;
            gate.open();
        }
        soon(conversation.outcome(input)).await.unwrap();
        soon(seen.until_settled()).await;
        seen.is_right(&driving.log(&session).await);
        conversation.close().await;
    }
}

#[tokio::test(start_paused = true)]
async fn another_node_takes_over_in_the_middle_of_an_answer() {
    let place = Place::memory();
    let nodes = [place.node().await, place.node().await, place.node().await];
    let points = script().gates.len();
    for cut in 1..points {
        let (one, other) = (script(), script());
        let session = id(&format!("s{cut}"));
        let first = nodes[0].engine([one.step], &[]);
        let second = nodes[1].engine([other.step], &[]);
        let third = nodes[2].engine([], &[]);
        let held = first.open(&session, &me(), nodes::start(&[])).await.unwrap();
        held.flush().await.unwrap();
        // One is on the node that takes over: it hears the first, and then its own.
        let mut seen: Vec<Seen> = [&second, &third]
            .map(|engine| Seen::new(engine.subscribe(&session, &me(), Some(Seq::ZERO))))
            .into();
        let input = held.send(hello()).await.unwrap();
        one.gates[..cut].iter().for_each(Gate::open);
        for seen in &mut seen {
            soon(seen.until_said(&one.said[cut])).await;
        }
        let taken = second.open(&session, &me(), Start::Existing).await.unwrap();
        // The first does not know it yet, and goes on.
        one.gates[cut..].iter().for_each(Gate::open);
        other.gates.iter().for_each(Gate::open);
        soon(taken.outcome(input)).await.unwrap();
        let log = nodes[0].log(&session).await;
        for seen in &mut seen {
            soon(seen.until_settled()).await;
            seen.is_right(&log);
        }
        drop(held);
        taken.close().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_long_answer_reaches_one_who_joins_late_in_pieces() {
    let place = Place::memory();
    let (driving, watching) = (place.node().await, place.node().await);
    let text = "0123456789abcde\u{20ac}".repeat(120_000);
    let gate = Gate::new();
    let events = Answer::new().text(text.as_str()).events();
    let whole = |event: &StreamEvent| matches!(event, StreamEvent::Done { .. });
    let (says, ends) = events.split_at(events.iter().position(whole).unwrap());
    let step = Step::default().batch(says.to_vec());
    let step = step.then_gate(&gate).batch(ends.to_vec());
    let (driver, other) = (driving.engine([step], &[]), watching.engine([], &[]));
    let session = id("s");
    let conversation = driver.open(&session, &me(), nodes::start(&[])).await.unwrap();
    let mut here = Seen::new(driver.subscribe(&session, &me(), Some(Seq::ZERO)));
    let input = conversation.send(hello()).await.unwrap();
    soon(here.until_said(std::slice::from_ref(&text))).await;
    let mut there = Seen::new(other.subscribe(&session, &me(), None));
    soon(there.until_said(std::slice::from_ref(&text))).await;
    gate.open();
    soon(conversation.outcome(input)).await.unwrap();
    soon(there.until_settled()).await;
    there.is_right(&driving.log(&session).await);
    assert_eq!(watching.dropped() + driving.dropped(), 0, "nothing was too fast");
}

#[tokio::test(start_paused = true)]
async fn reports_of_calls_are_seen_on_other_nodes_and_the_last_one_by_who_joins() {
    let place = Place::memory();
    let (driving, watching) = (place.node().await, place.node().await);
    let gate = Gate::new();
    let reports = ["first", "second", "last"];
    let tool = ScriptedTool::new("tell", EffectClass::ReadOnly);
    let tools = [tool.reports(reports).after(&gate)];
    let script = [call("tell", json!({})), say("told")];
    let (driver, other) = (driving.engine(script, &tools), watching.engine([], &[]));
    let session = id("s");
    let start = nodes::start(&tools);
    let conversation = driver.open(&session, &me(), start).await.unwrap();
    conversation.flush().await.unwrap();
    let mut seen = Seen::new(other.subscribe(&session, &me(), Some(Seq::ZERO)));
    let input = conversation.send(hello()).await.unwrap();
    soon(seen.until_reported("last")).await;
    let late = watching.engine([], &[]);
    let mut joins =
        [&other, &late].map(|engine| Seen::new(engine.subscribe(&session, &me(), None)));
    for one in &mut joins {
        soon(one.until_reported("last")).await;
        assert_eq!(one.reports, ["last"]);
    }
    gate.open();
    soon(conversation.outcome(input)).await.unwrap();
    soon(seen.until_settled()).await;
    seen.is_right(&driving.log(&session).await);
    assert_eq!(seen.reports.last().map(String::as_str), Some("last"));
    let mut once = seen.reports.clone();
    once.dedup();
    assert_eq!(seen.reports, once, "each once, though it was told anew");
}
