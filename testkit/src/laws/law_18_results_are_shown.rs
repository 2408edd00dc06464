//! Law 18: an observation leaves the prompt only after a sample was made with it.
//!
//! Until an answer was made with the result of a call, each request of its turn shows it: in full,
//! or with its head, its tail and its length. A request of a later turn may be without the whole
//! answer that made the call, if that is too large, but never shows the call without its result. An
//! answer was made if it ended, or if a part of it stands.
//!
//! It kills: a compaction that clears what nobody has read, and an output that is cut without its
//! end or without its length.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use windlass_core::{
    CallId, Fact, History, InvalidFact, Item, Observation, PromptItem, RecordedFact, Retained,
    SampleCut, Seq, TurnId,
};

use super::{Held, hold};

/// Fewest bytes of head and tail together that count as shown.
const LEAST: usize = 64;

/// Checks a log, with the history that `remember` makes of it.
///
/// # Errors
/// [`Broken`](super::Broken) with the first request without a result that nobody has seen.
pub fn check(
    remember: fn(&mut History, &RecordedFact) -> Result<(), InvalidFact>,
    log: &[RecordedFact],
) -> Held {
    let mut history = History::default();
    let mut results = Results::default();
    for recorded in log {
        if remember(&mut history, recorded).is_err() {
            // Law 1 and law 10 say so.
            return Ok(());
        }
        results.take(recorded);
        if let Fact::SampleStarted(_) = &recorded.fact {
            results.are_in(recorded, &history)?;
        }
    }
    Ok(())
}

/// The results of a log, as far as it has been read.
#[derive(Default)]
struct Results {
    /// Calls of each sample, in order, without those in the text of an answer.
    calls: BTreeMap<Seq, Vec<CallId>>,
    /// Programs in the text of a sample, which have a report instead of a result.
    inline: BTreeMap<Seq, Vec<CallId>>,
    /// Results that no answer was made with, with their turns.
    unseen: BTreeMap<CallId, (Option<TurnId>, Arc<Observation>)>,
    /// Results in the latest request.
    requested: BTreeSet<CallId>,
}

impl Results {
    fn take(&mut self, recorded: &RecordedFact) {
        if let Fact::ItemAdded(fact) = &recorded.fact {
            if let Item::Call(call) = &fact.item {
                let calls = if call.inline { &mut self.inline } else { &mut self.calls };
                calls.entry(fact.started).or_default().push(CallId(recorded.seq.0));
            }
        } else if let Fact::CallObserved(fact) = &recorded.fact {
            let mut calls = self.calls.values().chain(self.inline.values()).flatten();
            if calls.any(|call| *call == fact.call) {
                let result = (recorded.turn, fact.observation.clone());
                self.unseen.insert(fact.call, result);
            }
        } else if let Fact::SampleEnded(_) = &recorded.fact {
            self.seen();
        } else if let Fact::SampleCut(fact) = &recorded.fact {
            self.cut(fact);
        }
    }

    /// A part of an answer may stand. The calls that do not are in no request.
    fn cut(&mut self, fact: &SampleCut) {
        let through = match fact.retained {
            Retained::Nothing => Seq::ZERO,
            Retained::Text => {
                self.seen();
                Seq::ZERO
            }
            Retained::Through { item } => {
                self.seen();
                item
            }
        };
        let calls = [&self.calls, &self.inline].map(|calls| calls.get(&fact.started));
        for call in calls.into_iter().flatten().flatten() {
            if call.0 > through.0 {
                self.unseen.remove(call);
            }
        }
    }

    fn seen(&mut self) {
        for call in std::mem::take(&mut self.requested) {
            self.unseen.remove(&call);
        }
    }

    /// Checks that a result that nobody has seen is shown.
    fn is_whole(&self, request: &RecordedFact, call: CallId, shown: &Observation) -> Held {
        let Some((_, whole)) = self.unseen.get(&call) else { return Ok(()) };
        hold(18, shows(shown, whole), || {
            format!(
                "the request of {} shows {:?} for call {call}, which nobody has seen",
                request.seq, shown.output
            )
        })
    }

    /// Checks that a request shows what nobody has seen.
    fn are_in(&mut self, request: &RecordedFact, history: &History) -> Held {
        self.requested.clear();
        let mut ids: BTreeMap<&Arc<str>, CallId> = BTreeMap::new();
        let mut read: BTreeMap<Seq, usize> = BTreeMap::new();
        for item in history.items().iter() {
            match item {
                PromptItem::Call { sample, id, .. } => {
                    let read = read.entry(*sample).or_default();
                    let call = self.calls.get(sample).and_then(|calls| calls.get(*read));
                    *read += 1;
                    // Law 10 says so where two calls have one id.
                    if call.is_some_and(|call| ids.insert(id, *call).is_some()) {
                        return Ok(());
                    }
                }
                PromptItem::Result { id, observation, .. } => {
                    let Some(call) = ids.get(id) else { continue };
                    self.requested.insert(*call);
                    self.is_whole(request, *call, observation)?;
                }
                PromptItem::ProgramReport { call, observation } => {
                    self.requested.insert(*call);
                    self.is_whole(request, *call, observation)?;
                }
                PromptItem::User { .. }
                | PromptItem::Image { .. }
                | PromptItem::Context { .. }
                | PromptItem::Text { .. }
                | PromptItem::Refusal { .. }
                | PromptItem::Reasoning { .. }
                | PromptItem::CallReport { .. } => {}
            }
        }
        let own = self.unseen.iter().filter(|(_, (turn, _))| *turn == request.turn);
        let missing = own.map(|(call, _)| *call).find(|call| !self.requested.contains(call));
        hold(18, missing.is_none(), || {
            format!(
                "the request of {} is without the result of call {missing:?}, which nobody has seen",
                request.seq
            )
        })
    }
}

/// Returns true if a result is shown in full, or with its head, its tail and its length.
fn shows(shown: &Observation, whole: &Observation) -> bool {
    let (shown, output) = (shown.output.as_bytes(), whole.output.as_bytes());
    let same = |pair: &(&u8, &u8)| pair.0 == pair.1;
    let head = shown.iter().zip(output).take_while(same).count();
    let tail = shown.iter().rev().zip(output.iter().rev()).take_while(same).count();
    let length = whole.output_bytes.max(output.len() as u64).to_string();
    let says_length = String::from_utf8_lossy(shown).contains(&length);
    shown == output || (head > 0 && tail > 0 && head + tail >= LEAST && says_length)
}
