//! Live check: compares the live text that an observer received with the items that it adds up to.
//!
//! Every observer's stream passes it, here and at the client of a server. It holds no text, only
//! the length and a digest of each open part.

use windlass_core::{
    CallEntry, CallSource, ContentPart, Delta, RecordedFact, SampleEntry, Seq, TimelineEntry,
};

use crate::event::{Event, LiveEvent, LiveKind};

/// Check of one observer's events: the deltas of a part add up to its item, or
/// [`Event::Lagged`] precedes the event that shows the gap.
#[derive(Debug, Default)]
pub struct LiveCheck {
    /// Run of the deltas that were received last.
    run: Option<Seq>,
    /// Parts of the run that were received since the last lag and whose items were not.
    parts: Vec<OpenPart>,
    /// True if the next live event begins the whole text so far.
    restarted: bool,
}

/// Received text of a part.
#[derive(Debug)]
struct OpenPart {
    slot: u32,
    kind: OpenPartKind,
    bytes: usize,
    digest: Fnv,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OpenPartKind {
    Text,
    Refusal,
    Reasoning,
    Call,
}

/// FNV-1a with 64 bits: detects different text, not a forged one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Fnv(u64);

impl Fnv {
    const EMPTY: Self = Self(0xcbf2_9ce4_8422_2325);

    fn add(self, text: &[u8]) -> Self {
        let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
        Self(text.iter().fold(self.0, step))
    }
}

impl LiveCheck {
    /// Handles a new source of live events, which begins with the whole text so far of each open
    /// part.
    pub fn restart(&mut self) {
        self.restarted = !self.parts.is_empty();
    }

    /// Checks the next event. Returns true if the observer must receive [`Event::Lagged`] before
    /// it: the event repeats text, or completes a part of which some text is missing. Text that
    /// was received of open parts is void then.
    pub fn apply(&mut self, event: &Event) -> bool {
        match event {
            Event::Fact(fact) => self.on_fact(fact),
            Event::Live(all) => self.on_live(all),
            Event::Lagged { .. } => {
                self.clear();
                false
            }
            Event::Store(_) | Event::Ended(_) => false,
        }
    }

    fn clear(&mut self) {
        self.parts.clear();
        self.restarted = false;
    }

    fn on_live(&mut self, all: &[LiveEvent]) -> bool {
        let deltas = all.iter().filter_map(|live| match &live.kind {
            LiveKind::Delta { started, delta } => Some((*started, delta)),
            LiveKind::Progress { .. } => None,
        });
        if deltas.clone().next().is_none() {
            return false;
        }
        let repeats = deltas.clone().any(|(started, delta)| {
            let open = |part: &OpenPart| part.slot == slot(delta);
            Some(started) == self.run && self.parts.iter().any(open)
        });
        let lagged = std::mem::take(&mut self.restarted) && repeats;
        if lagged {
            self.clear();
        }
        deltas.for_each(|(started, delta)| self.add(started, delta));
        lagged
    }

    fn add(&mut self, started: Seq, delta: &Delta) {
        if Some(started) != self.run {
            (self.run, self.parts) = (Some(started), Vec::new());
        }
        let (slot, kind, text) = match delta {
            Delta::Text { slot, text } => (*slot, OpenPartKind::Text, text.as_str()),
            Delta::Refusal { slot, text } => (*slot, OpenPartKind::Refusal, text.as_str()),
            Delta::Reasoning { slot, text } => (*slot, OpenPartKind::Reasoning, text.as_str()),
            Delta::Arguments { slot, text } => (*slot, OpenPartKind::Call, text.as_str()),
            Delta::Call { slot, name } => (*slot, OpenPartKind::Call, name.as_str()),
        };
        let known = self.parts.iter().rposition(|part| part.slot == slot);
        let at = known.unwrap_or_else(|| {
            self.parts.push(OpenPart { slot, kind, bytes: 0, digest: Fnv::EMPTY });
            self.parts.len().saturating_sub(1)
        });
        if let Some(part) = self.parts.get_mut(at) {
            part.bytes = part.bytes.saturating_add(text.len());
            part.digest = part.digest.add(text.as_bytes());
        }
    }

    fn on_fact(&mut self, fact: &RecordedFact) -> bool {
        let entry = TimelineEntry::of(fact);
        let lagged = match entry {
            TimelineEntry::Sample(SampleEntry::Content { started, part })
                if Some(started) == self.run =>
            {
                let (kind, text) = match part {
                    ContentPart::Text { text, .. } => (OpenPartKind::Text, &**text),
                    ContentPart::Refusal(text) => (OpenPartKind::Refusal, &**text),
                    ContentPart::Reasoning(item) => (OpenPartKind::Reasoning, item.text.as_str()),
                };
                self.on_item(kind, "", text)
            }
            TimelineEntry::Call(_, CallEntry::Proposed(CallSource::Sample(started), item))
                if Some(started) == self.run =>
            {
                self.on_item(OpenPartKind::Call, &item.name, &item.arguments)
            }
            TimelineEntry::Sample(SampleEntry::Cut(cut)) if Some(cut.started) == self.run => {
                self.on_partial(&cut.partial)
            }
            TimelineEntry::Session(_)
            | TimelineEntry::Input(_)
            | TimelineEntry::Turn(_)
            | TimelineEntry::Hook(_)
            | TimelineEntry::Context(_)
            | TimelineEntry::Compaction(_)
            | TimelineEntry::Sample(_)
            | TimelineEntry::Call(..)
            | TimelineEntry::Program(_) => false,
        };
        if lagged || entry.finished_run(fact.seq).is_some_and(|over| Some(over) >= self.run) {
            self.clear();
        }
        lagged
    }

    /// Removes the part of an item. Returns true if some text of that part is missing.
    fn on_item(&mut self, kind: OpenPartKind, name: &str, text: &str) -> bool {
        let same = |part: &OpenPart| part.kind == kind && part.is(name, text);
        if let Some(at) = self.parts.iter().position(same) {
            self.parts.remove(at);
            return false;
        }
        self.parts.iter().any(|part| part.kind == kind && part.precedes(name, text))
    }

    /// Returns true if some of the text of a broken answer is missing. It is the only open text,
    /// or several in an order that is not known.
    fn on_partial(&self, partial: &str) -> bool {
        let texts =
            |part: &&OpenPart| matches!(part.kind, OpenPartKind::Text | OpenPartKind::Refusal);
        let mut texts = self.parts.iter().filter(texts);
        match (texts.next(), texts.next()) {
            (Some(part), None) => part.precedes("", partial),
            (None | Some(_), _) => false,
        }
    }
}

impl OpenPart {
    /// Returns true if the received text is this one, after the name of a call.
    fn is(&self, name: &str, text: &str) -> bool {
        let whole = Fnv::EMPTY.add(name.as_bytes()).add(text.as_bytes());
        self.bytes == name.len().saturating_add(text.len()) && self.digest == whole
    }

    /// Returns true if this text begins with the received one, and continues after it. A call
    /// without arguments has none that stream.
    fn precedes(&self, name: &str, text: &str) -> bool {
        let Some(more) = self.bytes.checked_sub(name.len()) else {
            return false;
        };
        if more == 0 && text == "{}" {
            return false;
        }
        let begin = text.as_bytes().get(..more);
        let same = |begin| self.digest == Fnv::EMPTY.add(name.as_bytes()).add(begin);
        self.bytes > 0 && more < text.len() && begin.is_some_and(same)
    }
}

fn slot(delta: &Delta) -> u32 {
    match delta {
        Delta::Text { slot, .. }
        | Delta::Refusal { slot, .. }
        | Delta::Reasoning { slot, .. }
        | Delta::Arguments { slot, .. }
        | Delta::Call { slot, .. } => *slot,
    }
}

#[cfg(test)]
mod tests;
