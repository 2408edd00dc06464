//! What one who watches has seen, and what must be so of it.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::Location;
use std::time::Duration;

use tokio::time::timeout;
use windlass_engine::core::{Delta, Fact, Item, RecordedFact, Seq, StreamEvent};
use windlass_engine::{Event, EventStream, LiveKind};

/// One who watches.
pub(crate) struct Seen {
    watch: EventStream,
    /// It did not begin with the first fact.
    pub(crate) begins_later: bool,
    facts: Vec<RecordedFact>,
    /// Live text of each part of each run.
    live: BTreeMap<(Seq, u32), String>,
    /// Each part of which something was live, also if a lag voided it.
    heard: BTreeSet<(Seq, u32)>,
    /// How many items of its run each part had before it when it was last spoken of.
    items: BTreeMap<Seq, u32>,
    over: Seq,
    pub(crate) reports: Vec<String>,
}

/// What must come within ten minutes, which most tests do not wait for.
#[track_caller]
pub(crate) fn soon<T>(future: impl Future<Output = T>) -> impl Future<Output = T> {
    let asked = Location::caller();
    async move {
        let waited = timeout(Duration::from_secs(600), future).await;
        waited.unwrap_or_else(|_| panic!("it did not come: {asked}"))
    }
}

/// The part that an event adds to, and what.
pub(crate) fn text_of(event: &StreamEvent) -> Option<(u32, &str)> {
    if let StreamEvent::Text { slot, text } | StreamEvent::Reasoning { slot, text } = event {
        return Some((*slot, text));
    }
    None
}

impl Seen {
    pub(crate) fn new(watch: EventStream) -> Self {
        Self {
            watch,
            begins_later: false,
            facts: Vec::new(),
            live: BTreeMap::new(),
            heard: BTreeSet::new(),
            items: BTreeMap::new(),
            over: Seq::ZERO,
            reports: Vec::new(),
        }
    }

    async fn see(&mut self) {
        match self.watch.next().await.unwrap() {
            Event::Fact(fact) => {
                if let Fact::ItemAdded(added) = &fact.fact {
                    *self.items.entry(added.started).or_default() += 1;
                } else if let Fact::SampleEnded(ended) = &fact.fact {
                    self.over = ended.started;
                } else if let Fact::SampleCut(cut) = &fact.fact {
                    self.over = cut.started;
                }
                self.facts.push((**fact).clone());
            }
            Event::Live(all) => {
                for live in all.iter() {
                    match &live.kind {
                        LiveKind::Delta { started, delta } => self.delta(*started, delta),
                        LiveKind::Progress { text, .. } => self.reports.push(text.clone()),
                    }
                }
            }
            // What it heard of parts without an item is void.
            Event::Lagged { .. } => {
                let items = &self.items;
                let is_item = |run: &Seq, slot: &u32| *slot < items.get(run).copied().unwrap_or(0);
                self.live.retain(|(run, slot), _| is_item(run, slot));
            }
            Event::Store(_) => {}
            Event::Ended(ended) => panic!("{ended:?}"),
        }
    }

    fn delta(&mut self, started: Seq, delta: &Delta) {
        let (slot, text) = match delta {
            Delta::Text { slot, text } | Delta::Reasoning { slot, text } => (*slot, text),
            Delta::Call { slot, name: text } | Delta::Arguments { slot, text } => (*slot, text),
            Delta::Refusal { .. } => panic!("nothing is refused: {delta:?}"),
        };
        assert!(started > self.over, "nothing of a run that is over");
        // Parts come one after the other, and each becomes an item.
        let items = self.items.get(&started).copied().unwrap_or(0);
        assert!(slot >= items, "nothing of a part after its item");
        self.live.entry((started, slot)).or_default().push_str(text);
        self.heard.insert((started, slot));
    }

    /// Waits until all of that was said: of each part of the last run, live or as its item.
    pub(crate) async fn until_said(&mut self, said: &[String]) {
        while !self.has(said) {
            self.see().await;
        }
    }

    pub(crate) async fn until_reported(&mut self, text: &str) {
        while self.reports.last().is_none_or(|last| last != text) {
            self.see().await;
        }
    }

    fn has(&self, said: &[String]) -> bool {
        let items: Vec<String> = self.facts.iter().filter_map(item).collect();
        let run = self.live.keys().last().map(|(run, _)| *run);
        (0..).zip(said).all(|(slot, text)| {
            let live = run.and_then(|run| self.live.get(&(run, slot)));
            let place = usize::try_from(slot).unwrap();
            text.is_empty() || live == Some(text) || items.get(place) == Some(text)
        })
    }

    pub(crate) async fn until_settled(&mut self) {
        let settled = |fact: &RecordedFact| matches!(fact.fact, Fact::TurnSettled(_));
        while !self.facts.last().is_some_and(settled) {
            self.see().await;
        }
    }

    /// The facts are those of the log from where it joined, and what streamed is the beginning of the
    /// items that it led to.
    pub(crate) fn is_right(&self, log: &[RecordedFact]) {
        let joined = self.facts.first().map_or(0, |fact| fact.seq.0 - 1);
        let joined = usize::try_from(joined).unwrap();
        assert_eq!(self.facts, log[joined..]);
        for ((started, slot), live) in &self.live {
            let mut items = log.iter().filter(|fact| started_of(fact) == Some(*started));
            // One that was cut has no item of its last part.
            if let Some(text) = items.nth(usize::try_from(*slot).unwrap()).and_then(item) {
                assert!(text.starts_with(live.as_str()), "{live:?} of {text:?}");
            }
        }
    }

    /// How many parts streamed.
    pub(crate) fn streamed(&self) -> usize {
        self.heard.len()
    }

    /// Nothing of the parts that streamed was missing.
    pub(crate) fn is_whole(&self, said: &[String]) {
        for ((_, slot), live) in &self.live {
            assert_eq!(live, &said[usize::try_from(*slot).unwrap()]);
        }
    }
}

fn started_of(fact: &RecordedFact) -> Option<Seq> {
    if let Fact::ItemAdded(added) = &fact.fact {
        return Some(added.started);
    }
    None
}

fn item(fact: &RecordedFact) -> Option<String> {
    let Fact::ItemAdded(added) = &fact.fact else {
        return None;
    };
    match &added.item {
        Item::Text { text, .. } | Item::Refusal { text } => Some(text.to_string()),
        Item::Reasoning(reasoning) => Some(reasoning.text.to_string()),
        Item::Call(call) => Some(format!("{}{}", call.name, call.arguments)),
    }
}
