//! A subscriber that joins at any moment receives the live state, each character once.

use std::sync::Arc;

use windlass_core::{Fact, FactFormat, Item, ItemAdded, SampleEnded, SessionResumed, StopReason};

use super::*;
use crate::bus::{EventBus, EventFeed};
use crate::event::Event;

/// Event at a bus while a model answers.
enum TestEvent {
    Says(Vec<Delta>, Vec<(u32, bool)>),
    Durable(Vec<Arc<RecordedFact>>),
}

fn speaker() -> StreamingRun {
    StreamingRun {
        session: SessionId::new("s").unwrap(),
        turn: TurnId(2),
        started: Seq(3),
        ts: Timestamp(7),
    }
}

fn recorded(seq: u64, fact: Fact) -> Arc<RecordedFact> {
    Arc::new(RecordedFact {
        format: FactFormat::CURRENT,
        session: speaker().session,
        seq: Seq(seq),
        turn: Some(speaker().turn),
        ts: Timestamp(8),
        cause: None,
        fact,
    })
}

/// Pseudo-random numbers, the same for the same seed.
struct TestRng(u64);

impl TestRng {
    fn below(&mut self, most: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.0 >> 33) % most
    }
}

/// Generates an answer of several parts as it reaches a bus; two parts may grow at a time. Reads
/// have any size, and facts follow their text at any time.
fn answer(dice: &mut TestRng) -> (Vec<String>, Vec<TestEvent>) {
    let (mut texts, mut happens) = (Vec::new(), Vec::new());
    let (mut waiting, mut next) = (Vec::new(), 4);
    for pair in 0..3 {
        let slots = [pair * 2, pair * 2 + 1];
        let mut said = [String::new(), String::new()];
        for _ in 0..dice.below(6) + 2 {
            let mut deltas = Vec::new();
            for _ in 0..dice.below(3) + 1 {
                let which = usize::try_from(dice.below(2)).unwrap();
                let text: String = "abcdef".chars().take(1 + which * 2).collect();
                said[which].push_str(&text);
                let slot = slots[which];
                deltas.push(Delta::Text { slot, text });
            }
            happens.push(TestEvent::Says(deltas, Vec::new()));
            if dice.below(3) == 0 && !waiting.is_empty() {
                happens.push(TestEvent::Durable(std::mem::take(&mut waiting)));
            }
        }
        for (slot, said) in slots.into_iter().zip(said) {
            let item = !said.is_empty();
            happens.push(TestEvent::Says(Vec::new(), vec![(slot, item)]));
            if item {
                let text = said.as_str();
                let added = ItemAdded { started: Seq(3), item: Item::text(text), surplus: false };
                waiting.push(recorded(next, Fact::ItemAdded(added)));
                texts.push(said);
                next += 1;
            }
        }
    }
    let ended = SampleEnded {
        started: Seq(3),
        stop: StopReason::Stop,
        usage: None,
        estimate: None,
        response_id: None,
        request: None,
        fault: None,
    };
    waiting.push(recorded(next, Fact::SampleEnded(ended)));
    happens.push(TestEvent::Durable(waiting));
    (texts, happens)
}

/// Subscriber that shows what it receives: live text by part, and items in its place.
#[derive(Default)]
struct Screen {
    live: BTreeMap<u32, String>,
    items: Vec<String>,
}

impl Screen {
    fn see(&mut self, event: &Event) {
        match event {
            Event::Live(all) => {
                for live in all.iter() {
                    let LiveKind::Delta { delta, .. } = &live.kind else {
                        panic!("nothing runs but a sample")
                    };
                    let Delta::Text { slot, text } = delta else {
                        panic!("nothing is said but text")
                    };
                    self.live.entry(*slot).or_default().push_str(text);
                }
            }
            Event::Fact(fact) => {
                if let Fact::ItemAdded(added) = &fact.fact {
                    let Item::Text { text, .. } = &added.item else {
                        panic!("nothing is said but text")
                    };
                    let (_, shown) = self.live.pop_first().unwrap();
                    assert_eq!(shown, **text, "each character once, before its item");
                    self.items.push(shown);
                }
            }
            Event::Lagged { .. } | Event::Store(_) | Event::Ended(_) => panic!("{event:?}"),
        }
    }
}

fn happen(bus: &EventBus, happens: &TestEvent) {
    match happens {
        TestEvent::Says(deltas, whole) => bus.publish_deltas(&speaker(), deltas.clone(), whole),
        TestEvent::Durable(facts) => bus.publish_facts(facts),
    }
}

#[test]
fn whoever_joins_at_any_moment_sees_each_character_once() {
    for seed in 0..200 {
        let (texts, happens) = answer(&mut TestRng(seed));
        for joins in 0..=happens.len() {
            let bus = EventBus::new(1_024, Seq(3));
            for before in &happens[..joins] {
                happen(&bus, before);
            }
            let EventFeed { mut events, from: durable, live: shown, .. } = bus.subscribe();
            let again = bus.subscribe().live;
            assert_eq!(shown.is_some(), again.is_some());
            let mut screen = Screen::default();
            if let Some(shown) = shown {
                let slots = |live: &LiveEvent| {
                    let LiveKind::Delta { delta: Delta::Text { slot, .. }, .. } = &live.kind else {
                        panic!("{live:?}");
                    };
                    *slot
                };
                let slots: Vec<u32> = shown.iter().map(slots).collect();
                let once: std::collections::BTreeSet<u32> = slots.iter().copied().collect();
                assert_eq!(slots.len(), once.len(), "one delta a part");
                screen.see(&Event::Live(shown));
            }
            for after in &happens[joins..] {
                happen(&bus, after);
                while let Ok(event) = events.try_recv() {
                    screen.see(&event);
                }
            }
            let in_log = usize::try_from(durable.0 - 3).unwrap().min(texts.len());
            assert_eq!(screen.items, texts[in_log..], "seed {seed}, joined at {joins}");
            assert!(screen.live.is_empty(), "{:?}", screen.live);
            assert!(bus.subscribe().live.is_none(), "nothing is left");
        }
    }
}

#[test]
fn a_call_is_told_with_its_name_and_reports_with_the_last_of_each() {
    let bus = EventBus::new(8, Seq(3));
    let call = |slot, name: &str| Delta::Call { slot, name: name.to_owned() };
    let arguments = |slot, text: &str| Delta::Arguments { slot, text: text.to_owned() };
    let said = vec![call(0, "read"), arguments(0, "{\"a\":"), call(1, "list")];
    bus.publish_deltas(&speaker(), said, &[]);
    bus.publish_deltas(&speaker(), vec![arguments(0, "1}")], &[]);
    let report = |index, text: &str| LiveEvent {
        kind: LiveKind::Progress { call: CallId(index), text: text.to_owned() },
        ..speaker().live(call(0, ""))
    };
    bus.publish_report(report(0, "first"));
    bus.publish_report(report(1, "other"));
    bus.publish_report(report(0, "last"));
    let shown = bus.subscribe().live.unwrap();
    let whole = [call(0, "read"), arguments(0, "{\"a\":1}"), call(1, "list")];
    let mut expected: Vec<LiveEvent> = whole.map(|delta| speaker().live(delta)).into();
    expected.extend([report(0, "last"), report(1, "other")]);
    assert_eq!(*shown, *expected);
}

#[test]
fn a_run_that_is_over_shows_nothing_more() {
    let bus = EventBus::new(8, Seq(3));
    let text = || Delta::Text { slot: 0, text: "late".to_owned() };
    bus.publish_deltas(&speaker(), vec![text()], &[]);
    let settled = recorded(
        5,
        Fact::TurnSettled(windlass_core::TurnSettled {
            outcome: windlass_core::TurnOutcome::Completed,
            spent: windlass_core::TurnUsage::default(),
            waiting: Vec::new(),
            detached: Vec::new(),
            notice: None,
        }),
    );
    bus.publish_facts(&[settled]);
    let mut events = bus.subscribe().events;
    bus.publish_deltas(&speaker(), vec![text()], &[]);
    assert!(bus.subscribe().live.is_none());
    assert!(events.try_recv().is_err());
    let next = StreamingRun { started: Seq(7), ..speaker() };
    bus.publish_facts(&[recorded(7, Fact::SessionResumed(SessionResumed {}))]);
    events = bus.subscribe().events;
    bus.publish_deltas(&next, vec![text()], &[]);
    assert!(bus.subscribe().live.is_some() && events.try_recv().is_ok());
}

#[test]
fn what_a_run_says_is_told_once_its_beginning_is_durable() {
    let bus = EventBus::new(8, Seq(2));
    let text = |text: &str| Delta::Text { slot: 0, text: text.to_owned() };
    let mut events = bus.subscribe().events;
    bus.publish_deltas(&speaker(), vec![text("a")], &[]);
    bus.publish_deltas(&speaker(), vec![text("b")], &[]);
    assert!(events.try_recv().is_err() && bus.subscribe().live.is_none());
    bus.publish_facts(&[recorded(3, Fact::SessionResumed(SessionResumed {}))]);
    assert!(matches!(events.try_recv(), Ok(Event::Fact(_))));
    let live = |event| match event {
        Ok(Event::Live(said)) => Some(said.to_vec()),
        _ => None,
    };
    assert_eq!(live(events.try_recv()), Some(vec![speaker().live(text("ab"))]));
    assert_eq!(*bus.subscribe().live.unwrap(), [speaker().live(text("ab"))]);
    bus.publish_deltas(&speaker(), vec![text("c")], &[]);
    assert_eq!(live(events.try_recv()), Some(vec![speaker().live(text("c"))]));
}

fn texts(events: &mut tokio::sync::broadcast::Receiver<Event>) -> Vec<String> {
    let mut texts = Vec::new();
    while let Ok(event) = events.try_recv() {
        let Event::Live(all) = event else { continue };
        texts.extend(all.iter().filter_map(|live| match &live.kind {
            LiveKind::Delta { delta: Delta::Text { text, .. }, .. } => Some(text.clone()),
            LiveKind::Delta { .. } | LiveKind::Progress { .. } => None,
        }));
    }
    texts
}

#[test]
fn what_was_published_is_not_published_again_when_it_is_read_in_the_log() {
    let bus = EventBus::new(8, Seq(2));
    let mut events = bus.subscribe().events;
    let text = Delta::Text { slot: 0, text: "a".to_owned() };
    bus.publish_deltas(&speaker(), vec![text], &[]);
    let began = [recorded(3, Fact::SessionResumed(SessionResumed {}))];
    bus.publish_facts(&began);
    assert_eq!(texts(&mut events), ["a"]);
    bus.publish_read(&began);
    bus.publish_facts(&began);
    assert!(events.is_empty(), "nothing of it is told again");
}

#[test]
fn a_run_is_put_on_record_by_its_driver_alone_whenever_it_begins_to_speak() {
    let fact = |seq| recorded(seq, Fact::SessionResumed(SessionResumed {}));
    let says = |bus: &EventBus| {
        let text = "a".to_owned();
        bus.publish_deltas(&speaker(), vec![Delta::Text { slot: 0, text }], &[]);
    };
    for speaks_first in [true, false] {
        let bus = EventBus::new(8, Seq(1));
        let mut events = bus.subscribe().events;
        if speaks_first {
            says(&bus);
        }
        bus.publish_read(&[fact(2), fact(3)]);
        if !speaks_first {
            says(&bus);
        }
        assert_eq!(texts(&mut events), Vec::<String>::new(), "whose is it?");
        assert!(bus.subscribe().live.is_none());
        bus.publish_facts(&[fact(2), fact(3)]);
        assert_eq!(texts(&mut events), ["a"]);
    }
}
