//! Law 24: the result of a detached child enters its session once, as an input.
//!
//! A child is detached by the observation of a call that was granted a budget. From then on its
//! result is awaited, in the state and in each turn that settles, until one input carries it. A
//! result that is only to wait opens no turn by itself.
//!
//! It kills: a result that enters twice, a child that is forgotten, a result that wakes a session
//! which nobody asked to.

use std::collections::BTreeMap;

use windlass_core::{
    Ancestor, CallId, Fact, InputId, InputKind, Lineage, Reason, RecordedFact, Seq, Session,
};

use super::{Held, hold, reading};

/// Checks a log, and the state that it folds to.
///
/// # Errors
/// [`Broken`](super::Broken) with the first result that is lost, or enters twice.
pub fn check(log: &[RecordedFact], session: &Session) -> Held {
    let mut reader = Reader::default();
    for recorded in log {
        reader.take(log, recorded)?;
        if taken_over(log, recorded.seq) {
            reader.awaited.clear();
        }
    }
    let state: Vec<CallId> = session.detached.iter().map(|child| child.call).collect();
    hold(24, state == reader.awaited, || {
        format!("by the log {:?} are awaited, and the session awaits {state:?}", reader.awaited)
    })
}

/// True if a fork begins after this position: what it took over reports to the other session.
fn taken_over(log: &[RecordedFact], seq: Seq) -> bool {
    let Some(Fact::SessionOpened(opened)) = log.first().map(|first| &first.fact) else {
        return false;
    };
    let Lineage::Fork { at, ancestors, .. } = &opened.lineage else {
        return false;
    };
    let fork = |ancestor: &Ancestor| match ancestor {
        Ancestor::Fork { at, .. } => *at == seq,
        Ancestor::Child { .. } => false,
    };
    *at == seq || ancestors.iter().any(fork)
}

#[derive(Default)]
struct Reader {
    granted: BTreeMap<CallId, bool>,
    awaited: Vec<CallId>,
    /// Inputs that carry a result: true if they open a turn.
    results: BTreeMap<InputId, bool>,
}

impl Reader {
    fn take(&mut self, log: &[RecordedFact], recorded: &RecordedFact) -> Held {
        let seq = recorded.seq;
        if let Fact::CallStarted(fact) = &recorded.fact {
            self.granted.insert(fact.call, fact.grant.is_some());
        }
        if let Fact::CallObserved(fact) = &recorded.fact {
            let granted = self.granted.remove(&fact.call).unwrap_or(false);
            hold(24, granted || !fact.detached, || format!("{seq} detaches what is no agent"))?;
            self.awaited.extend(fact.detached.then_some(fact.call));
            self.awaited.sort_unstable();
        }
        if let Fact::InputQueued(fact) = &recorded.fact
            && let Some(call) = fact.result_of
        {
            let place = self.awaited.iter().position(|awaited| *awaited == call);
            let taken = place.map(|place| self.awaited.remove(place));
            hold(24, taken.is_some(), || {
                format!("{seq} brings a result of call {call}, and none is awaited")
            })?;
            self.results.insert(InputId(seq.0), reading::wakes(log, call));
        }
        if let Fact::TurnOpened(fact) = &recorded.fact
            && let Reason::Input { input } = fact.reason
        {
            let asked = recorded.cause.is_some_and(|cause| cause.input == InputKind::Continue);
            let opens = self.results.get(&input).is_none_or(|wakes| *wakes);
            hold(24, opens || asked, || format!("{seq} opens a turn for a result that waits"))?;
        }
        if let Fact::TurnSettled(fact) = &recorded.fact {
            hold(24, fact.detached == self.awaited, || {
                let (told, awaited) = (&fact.detached, &self.awaited);
                format!("{seq} says that {told:?} are awaited, and {awaited:?} are")
            })?;
        }
        Ok(())
    }
}
