//! Streams add up: whoever is fast, slow or pauses hears each character once and in order, or is told
//! that it lagged and then hears the whole.

use std::time::Duration;

use serde_json::json;
use tokio::task::JoinHandle;
use tokio::time::sleep;
use windlass_engine::core::{EffectClass, Seq};
use windlass_engine::{Event, EventStream};
use windlass_testkit::provider::{Step, say};
use windlass_testkit::tools::ScriptedTool;
use windlass_testkit::{Answer, Gate, HeardSum};

use crate::world::{World, hello, id, me, soon};

/// How an observer reads.
#[derive(Debug, Clone)]
enum Pace {
    /// At once.
    Fast,
    /// One event in this time.
    Slow(Duration),
    /// Not at all from the first delta on until the gate is open.
    Paused(Gate),
}

/// Reads to the end of the turn.
fn observe(mut events: EventStream, pace: Pace) -> JoinHandle<HeardSum> {
    tokio::spawn(async move {
        let mut sum = HeardSum::default();
        let mut pauses = true;
        loop {
            let event = events.next().await.unwrap();
            match &event {
                Event::Lagged { missed } => {
                    assert!(*missed > 0);
                    sum.lagged();
                }
                Event::Fact(_) | Event::Live(_) => {
                    for text in event.json().unwrap() {
                        let envelope = serde_json::from_slice(text).unwrap();
                        sum.take(&envelope).unwrap_or_else(|why| panic!("{pace:?}: {why}"));
                    }
                }
                Event::Store(_) => {}
                Event::Ended(_) => return sum,
            }
            if matches!(&event, Event::Fact(fact) if fact.fact.kind() == "TurnSettled") {
                return sum;
            }
            match &pace {
                Pace::Fast => {}
                Pace::Slow(each) => sleep(*each).await,
                Pace::Paused(gate) => {
                    if matches!(event, Event::Live(_)) && std::mem::take(&mut pauses) {
                        gate.pass().await;
                    }
                }
            }
        }
    })
}

fn words(name: &str, count: usize) -> String {
    (0..count).map(|number| format!("{name}{number} ")).collect()
}

/// An answer in many pieces, each of which somebody may hear before the next.
fn paced(answer: Answer, gates: &[(usize, Gate)]) -> Step {
    let events = answer.pieces_of(3).events();
    let mut step = Step::default();
    for (at, event) in events.into_iter().enumerate() {
        for (_, gate) in gates.iter().filter(|(before, _)| *before == at) {
            step = step.then_gate(gate);
        }
        step = step.batch([event]);
    }
    step
}

#[tokio::test(start_paused = true)]
async fn every_observer_hears_each_character_once_or_is_told_that_it_lagged() {
    // The first answer stops in the middle of its first part, and in the middle of its second one.
    let (first, second) = (Gate::new(), Gate::new());
    let answer = Answer::new()
        .reasoning(words("think", 200))
        .text(words("word", 300))
        .call("look", json!({"at": words("place", 20)}));
    let script =
        [paced(answer, &[(40, first.clone()), (700, second.clone())]), say(words("done", 40))];
    let look = ScriptedTool::new("look", EffectClass::ReadOnly);
    let world = World::new(script, [look]).configured(|config| config.event_buffer = 256);
    let conversation = world.open("s").await;
    let (until_second, until_end) = (Gate::new(), Gate::new());
    let paces = [
        Pace::Fast,
        Pace::Slow(Duration::from_millis(1)),
        Pace::Slow(Duration::from_millis(20)),
        Pace::Paused(until_second.clone()),
        Pace::Paused(until_end.clone()),
    ];
    let mut observers = Vec::new();
    for pace in &paces {
        // Bound to the driver, and across drivers.
        observers.push(observe(conversation.subscribe(Some(Seq::ZERO)), pace.clone()));
        let across = world.engine.subscribe(&id("s"), &me(), Some(Seq::ZERO));
        observers.push(observe(across, pace.clone()));
    }
    let input = conversation.send(hello()).await.unwrap();
    soon(first.reached()).await;
    soon(until_end.reached()).await;
    first.open();
    soon(second.reached()).await;
    until_second.open();
    second.open();
    soon(conversation.outcome(input)).await.unwrap();
    until_end.open();
    let mut sums = Vec::new();
    for observer in observers {
        sums.push(soon(observer).await.unwrap());
    }
    for (pace, pair) in paces.iter().zip(sums.chunks(2)) {
        for sum in pair {
            assert_eq!(sum.whole + sum.missed, 4, "{pace:?}: {sum:?}");
            match pace {
                Pace::Fast => assert_eq!((sum.whole, sum.lags), (4, 0)),
                Pace::Slow(_) | Pace::Paused(_) => assert!(sum.lags > 0, "{pace:?}: {sum:?}"),
            }
        }
    }
}
