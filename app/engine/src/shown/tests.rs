//! Whoever joins at any moment is told what was shown, each character once.

use std::sync::Arc;

use windlass_core::{FACT_VERSION, Fact, Item, ItemAdded, SampleEnded, SessionResumed, StopReason};

use super::*;
use crate::bus::{Bus, Feed};
use crate::event::Event;

/// What happens at a bus while a model answers.
enum Happens {
    Says(Vec<Delta>, Vec<(u32, bool)>),
    Durable(Vec<Arc<Recorded>>),
}

fn speaker() -> Speaker {
    Speaker {
        session: SessionId::new("s").unwrap(),
        turn: TurnId(2),
        started: Seq(3),
        ts: Timestamp(7),
    }
}

fn recorded(seq: u64, fact: Fact) -> Arc<Recorded> {
    Arc::new(Recorded {
        v: FACT_VERSION,
        session: speaker().session,
        seq: Seq(seq),
        turn: Some(speaker().turn),
        ts: Timestamp(8),
        cause: None,
        fact,
    })
}

/// Numbers that look random, the same for the same seed.
struct Dice(u64);

impl Dice {
    fn below(&mut self, most: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (self.0 >> 33) % most
    }
}

/// An answer of several parts, of which two at a time may grow, as it reaches a bus: pieces in
/// reads of any size, and facts any time after what they say.
fn answer(dice: &mut Dice) -> (Vec<String>, Vec<Happens>) {
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
            happens.push(Happens::Says(deltas, Vec::new()));
            if dice.below(3) == 0 && !waiting.is_empty() {
                happens.push(Happens::Durable(std::mem::take(&mut waiting)));
            }
        }
        for (slot, said) in slots.into_iter().zip(said) {
            let item = !said.is_empty();
            happens.push(Happens::Says(Vec::new(), vec![(slot, item)]));
            if item {
                let text = said.as_str().into();
                let added = ItemAdded {
                    started: Seq(3),
                    item: Item::Text { text },
                };
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
        response_id: None,
        asked: None,
        fault: None,
    };
    waiting.push(recorded(next, Fact::SampleEnded(ended)));
    happens.push(Happens::Durable(waiting));
    (texts, happens)
}

/// One who shows what it is told: live text by part, and items in place of it.
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
                    let Item::Text { text } = &added.item else {
                        panic!("nothing is said but text")
                    };
                    let (_, shown) = self.live.pop_first().unwrap();
                    assert_eq!(shown, **text, "each character once, before its item");
                    self.items.push(shown);
                }
            }
            Event::Lagged { .. } | Event::Ended(_) => panic!("{event:?}"),
        }
    }
}

fn happen(bus: &Bus, happens: &Happens) {
    match happens {
        Happens::Says(deltas, whole) => bus.say(&speaker(), deltas.clone(), whole),
        Happens::Durable(facts) => bus.facts(facts),
    }
}

#[test]
fn whoever_joins_at_any_moment_sees_each_character_once() {
    for seed in 0..200 {
        let (texts, happens) = answer(&mut Dice(seed));
        for joins in 0..=happens.len() {
            let bus = Bus::new(1_024, Seq(3));
            for before in &happens[..joins] {
                happen(&bus, before);
            }
            let Feed {
                mut events,
                from: durable,
                shown,
                ..
            } = bus.subscribe();
            let again = bus.subscribe().shown;
            assert_eq!(shown.is_some(), again.is_some());
            let mut screen = Screen::default();
            if let Some(shown) = shown {
                let slots = |live: &Live| {
                    let LiveKind::Delta {
                        delta: Delta::Text { slot, .. },
                        ..
                    } = &live.kind
                    else {
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
            assert_eq!(
                screen.items,
                texts[in_log..],
                "seed {seed}, joined at {joins}"
            );
            assert!(screen.live.is_empty(), "{:?}", screen.live);
            assert!(bus.subscribe().shown.is_none(), "nothing is left");
        }
    }
}

#[test]
fn a_call_is_told_with_its_name_and_reports_with_the_last_of_each() {
    let bus = Bus::new(8, Seq(3));
    let call = |slot, name: &str| Delta::Call {
        slot,
        name: name.to_owned(),
    };
    let arguments = |slot, text: &str| Delta::Arguments {
        slot,
        text: text.to_owned(),
    };
    let said = vec![call(0, "read"), arguments(0, "{\"a\":"), call(1, "list")];
    bus.say(&speaker(), said, &[]);
    bus.say(&speaker(), vec![arguments(0, "1}")], &[]);
    let report = |index, text: &str| Live {
        kind: LiveKind::Progress {
            call: CallId(index),
            text: text.to_owned(),
        },
        ..speaker().live(call(0, ""))
    };
    bus.report(report(0, "first"));
    bus.report(report(1, "other"));
    bus.report(report(0, "last"));
    let shown = bus.subscribe().shown.unwrap();
    let whole = [call(0, "read"), arguments(0, "{\"a\":1}"), call(1, "list")];
    let mut expected: Vec<Live> = whole.map(|delta| speaker().live(delta)).into();
    expected.extend([report(0, "last"), report(1, "other")]);
    assert_eq!(*shown, *expected);
}

#[test]
fn a_run_that_is_over_shows_nothing_more() {
    let bus = Bus::new(8, Seq(3));
    let text = || Delta::Text {
        slot: 0,
        text: "late".to_owned(),
    };
    bus.say(&speaker(), vec![text()], &[]);
    let settled = recorded(
        5,
        Fact::TurnSettled(windlass_core::TurnSettled {
            outcome: windlass_core::Outcome::Completed,
            spent: windlass_core::Spent::default(),
            waiting: Vec::new(),
        }),
    );
    bus.facts(&[settled]);
    let mut events = bus.subscribe().events;
    bus.say(&speaker(), vec![text()], &[]);
    assert!(bus.subscribe().shown.is_none());
    assert!(events.try_recv().is_err());
    let next = Speaker {
        started: Seq(7),
        ..speaker()
    };
    bus.facts(&[recorded(7, Fact::SessionResumed(SessionResumed {}))]);
    events = bus.subscribe().events;
    bus.say(&next, vec![text()], &[]);
    assert!(bus.subscribe().shown.is_some() && events.try_recv().is_ok());
}

#[test]
fn what_a_run_says_is_told_once_its_beginning_is_durable() {
    let bus = Bus::new(8, Seq(2));
    let text = |text: &str| Delta::Text {
        slot: 0,
        text: text.to_owned(),
    };
    let mut events = bus.subscribe().events;
    bus.say(&speaker(), vec![text("a")], &[]);
    bus.say(&speaker(), vec![text("b")], &[]);
    assert!(events.try_recv().is_err() && bus.subscribe().shown.is_none());
    bus.facts(&[recorded(3, Fact::SessionResumed(SessionResumed {}))]);
    assert!(matches!(events.try_recv(), Ok(Event::Fact(_))));
    let live = |event| match event {
        Ok(Event::Live(said)) => Some(said.to_vec()),
        _ => None,
    };
    assert_eq!(
        live(events.try_recv()),
        Some(vec![speaker().live(text("ab"))])
    );
    assert_eq!(
        *bus.subscribe().shown.unwrap(),
        [speaker().live(text("ab"))]
    );
    bus.say(&speaker(), vec![text("c")], &[]);
    assert_eq!(
        live(events.try_recv()),
        Some(vec![speaker().live(text("c"))])
    );
}

fn texts(events: &mut tokio::sync::broadcast::Receiver<Event>) -> Vec<String> {
    let mut texts = Vec::new();
    while let Ok(event) = events.try_recv() {
        let Event::Live(all) = event else { continue };
        texts.extend(all.iter().filter_map(|live| match &live.kind {
            LiveKind::Delta {
                delta: Delta::Text { text, .. },
                ..
            } => Some(text.clone()),
            LiveKind::Delta { .. } | LiveKind::Progress { .. } => None,
        }));
    }
    texts
}

#[test]
fn what_was_published_is_not_published_again_when_it_is_read_in_the_log() {
    let bus = Bus::new(8, Seq(2));
    let mut events = bus.subscribe().events;
    let text = Delta::Text {
        slot: 0,
        text: "a".to_owned(),
    };
    bus.say(&speaker(), vec![text], &[]);
    let began = [recorded(3, Fact::SessionResumed(SessionResumed {}))];
    bus.facts(&began);
    assert_eq!(texts(&mut events), ["a"]);
    bus.found(&began);
    bus.facts(&began);
    assert!(events.is_empty(), "nothing of it is told again");
}

#[test]
fn a_run_is_put_on_record_by_its_driver_alone_whenever_it_begins_to_speak() {
    let fact = |seq| recorded(seq, Fact::SessionResumed(SessionResumed {}));
    let says = |bus: &Bus| {
        let text = "a".to_owned();
        bus.say(&speaker(), vec![Delta::Text { slot: 0, text }], &[]);
    };
    for speaks_first in [true, false] {
        let bus = Bus::new(8, Seq(1));
        let mut events = bus.subscribe().events;
        if speaks_first {
            says(&bus);
        }
        bus.found(&[fact(2), fact(3)]);
        if !speaks_first {
            says(&bus);
        }
        assert_eq!(texts(&mut events), Vec::<String>::new(), "whose is it?");
        assert!(bus.subscribe().shown.is_none());
        bus.facts(&[fact(2), fact(3)]);
        assert_eq!(texts(&mut events), ["a"]);
    }
}
