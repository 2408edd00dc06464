//! Subscriber that shows what it receives: live text by part, and items in its place.

use std::collections::{BTreeMap, BTreeSet};

use futures_util::FutureExt as _;
use tokio::task::unconstrained;
use windlass_core::{CallId, Delta, Fact, RecordedFact, Seq};

use crate::event::{Event, LiveKind};
use crate::stream::EventStream;

/// Key of a part: its run and slot.
pub(super) type Key = (Seq, u32);

/// All text that was ever streamed, and its items.
#[derive(Default)]
pub(super) struct Truth {
    /// Text of each part; of a call its name followed by its arguments.
    pub(super) parts: BTreeMap<Key, String>,
    /// Part of each item.
    pub(super) items: BTreeMap<Seq, Key>,
    /// Parts without an item.
    pub(super) void: BTreeSet<Key>,
}

pub(super) struct Screen {
    watch: EventStream,
    seen: Seq,
    /// Items after this position follow their whole text; `None` where that is not guaranteed.
    whole_after: Option<Seq>,
    pub(super) live: BTreeMap<Key, String>,
    gone: BTreeSet<Key>,
    over: Seq,
    reports: BTreeMap<CallId, u64>,
    pub(super) streamed: u64,
}

impl Screen {
    pub(super) fn new(watch: EventStream, after: Seq, whole_after: Option<Seq>) -> Self {
        Self {
            watch,
            seen: after,
            whole_after,
            live: BTreeMap::new(),
            gone: BTreeSet::new(),
            over: Seq::ZERO,
            reports: BTreeMap::new(),
            streamed: 0,
        }
    }

    pub(super) fn seen(&self) -> Seq {
        self.seen
    }

    /// Receives all pending events.
    pub(super) fn look(&mut self, truth: &Truth, log: &[RecordedFact]) {
        while let Some(event) = unconstrained(self.watch.next()).now_or_never() {
            self.see(event.unwrap(), truth, log);
        }
    }

    fn see(&mut self, event: Event, truth: &Truth, log: &[RecordedFact]) {
        match event {
            Event::Fact(fact) => {
                let place = usize::try_from(self.seen.0).unwrap();
                assert_eq!(**fact, log[place], "each fact once, in order");
                self.seen = fact.seq;
                self.fact(&fact, truth);
            }
            Event::Live(all) => {
                for live in all.iter() {
                    match &live.kind {
                        LiveKind::Delta { started, delta } => self.delta(*started, delta, truth),
                        LiveKind::Progress { call, text } => {
                            let number: u64 = text.trim().parse().unwrap();
                            let last = self.reports.insert(*call, number);
                            assert!(last.is_none_or(|last| last < number), "each report once");
                        }
                    }
                }
            }
            // What was heard of parts without an item is void, and told again.
            Event::Lagged { .. } => {
                assert_eq!(self.whole_after, None, "nothing is lost");
                self.live.clear();
                self.reports.clear();
            }
            Event::Store(_) | Event::Ended(_) => panic!("{event:?}"),
        }
    }

    fn fact(&mut self, fact: &RecordedFact, truth: &Truth) {
        if let Fact::ItemAdded(_) = &fact.fact {
            let key = truth.items[&fact.seq];
            let shown = self.live.remove(&key).unwrap_or_default();
            self.gone.insert(key);
            if self.whole_after.is_some_and(|after| fact.seq > after) {
                let whole = &truth.parts[&key];
                assert_eq!(&shown, whole, "its whole text, before {}", fact.seq);
            }
        } else if let Fact::SampleEnded(ended) = &fact.fact {
            self.end(ended.started);
        } else if let Fact::SampleCut(cut) = &fact.fact {
            self.end(cut.started);
        } else if let Fact::TurnSettled(_) = &fact.fact {
            self.end(fact.seq);
        }
    }

    fn end(&mut self, started: Seq) {
        self.over = started;
        self.live.retain(|(run, _), _| *run > started);
    }

    fn delta(&mut self, started: Seq, delta: &Delta, truth: &Truth) {
        let (slot, text) = match delta {
            Delta::Text { slot, text }
            | Delta::Refusal { slot, text }
            | Delta::Reasoning { slot, text }
            | Delta::Arguments { slot, text } => (*slot, text),
            Delta::Call { slot, name } => (*slot, name),
        };
        let key = (started, slot);
        assert!(started > self.over, "nothing of a run that is over");
        assert!(!self.gone.contains(&key), "nothing after its item");
        assert!(self.seen >= started, "nothing before its run");
        let begins = !self.live.contains_key(&key);
        if let Delta::Call { .. } = delta {
            assert!(begins, "a call has one name");
        } else if let Delta::Arguments { .. } = delta {
            assert!(!begins, "a call's name comes first");
        }
        let shown = self.live.entry(key).or_default();
        shown.push_str(text);
        self.streamed += text.len() as u64;
        let said = &truth.parts[&key];
        assert!(said.starts_with(shown.as_str()), "{shown:?} of {said:?}");
    }
}
