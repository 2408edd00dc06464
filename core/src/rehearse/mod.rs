//! Rehearse: would today's engine decide as a log says?
//!
//! A fact is either what the world said (a user, an answer, a tick, a restart) or what the engine
//! made of it. The log has no inputs, so for each position the inputs are worked out that its fact
//! may come from; `decide` is asked about each, in the state that the log itself folds to there,
//! and what it would write is held against what was written. The one that explains the most facts
//! is taken to be the cause. A decision of which the rest was lost with its process is told from
//! one that would be made otherwise by what a new process does next.
//!
//! Absent: models, tools, hooks, stores. What they said stands in the log and is taken as it is,
//! also what a compaction left out of the conversation. Entropy is not recorded; it is solved for.

mod cause;
mod judge;
mod own;
mod report;

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use crate::chain::Chain;
use crate::compaction::Shown;
use crate::context::prompt_item;
use crate::decide::decide;
use crate::digest::Digest;
use crate::error::{Misfit, Reject};
use crate::evolve::opened;
use crate::fact::Fact;
use crate::history::History;
use crate::input::{Input, Stamped};
use crate::limits::Limits;
use crate::record::{Draft, Recorded};
use crate::render::{Prompt, PromptItem, render};
use crate::session::Session;

use judge::Judgement;
pub use report::{Divergence, Instead, OtherRequest, Rehearsed, Unclear, Unjudged};

/// Signature of [`decide`].
pub type Decide = fn(&Session, &Limits, Stamped<Input>) -> Result<Vec<Draft>, Reject>;

/// A log on its way through today's engine. Facts go in one by one, in their order; a few of them
/// are held back until the decision that they belong to is whole.
#[derive(Debug, Clone)]
pub struct Rehearsal {
    decide: Decide,
    ceiling: Limits,
    state: Option<(Session, History)>,
    /// Facts that are not judged yet.
    waiting: VecDeque<Recorded>,
    /// Latest rendered request.
    rendered: Rendered,
    report: Rehearsed,
}

/// A request, as far as it was looked at. The next one mostly extends it, and only what is new of
/// that is read: else a log would take time with the square of its length.
#[derive(Debug, Clone)]
struct Rendered {
    items: Chain<PromptItem>,
    shown: Shown,
}

impl Rendered {
    /// The digest of a request, as [`Prompt::digest`] says it.
    fn digest(&mut self, prompt: &Prompt) -> Digest {
        if !prompt.items.extends(&self.items) {
            *self = Self::default();
        }
        let new = prompt.items.iter_from(self.items.len());
        let shown = new.fold(self.shown, |shown, item| shown.with(prompt_item(item)));
        *self = Self {
            items: prompt.items.clone(),
            shown,
        };
        shown.digest
    }
}

impl Default for Rendered {
    fn default() -> Self {
        Self {
            items: Chain::default(),
            shown: Shown::NOTHING,
        }
    }
}

impl Default for Rehearsal {
    fn default() -> Self {
        Self::of(decide)
    }
}

impl Rehearsal {
    /// A rehearsal of this very engine.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A rehearsal of an engine that decides like this.
    #[must_use]
    pub fn of(decide: Decide) -> Self {
        Self {
            decide,
            ceiling: WIDE,
            state: None,
            waiting: VecDeque::new(),
            rendered: Rendered::default(),
            report: Rehearsed::default(),
        }
    }

    /// The state that the facts judged so far fold to; `None` before the first.
    #[must_use]
    pub fn session(&self) -> Option<&Session> {
        self.state.as_ref().map(|(session, _)| session)
    }

    /// Takes the next fact of the log.
    ///
    /// # Errors
    /// [`Misfit`] when the log does not fit together: it is not one that an engine wrote.
    pub fn take(&mut self, recorded: Recorded) -> Result<(), Misfit> {
        self.waiting.push_back(recorded);
        self.go_on(false)
    }

    /// The log ends here.
    ///
    /// # Errors
    /// As [`Rehearsal::take`].
    pub fn finish(mut self) -> Result<Rehearsed, Misfit> {
        self.go_on(true)?;
        Ok(self.report)
    }

    /// Judges what waits, as far as it can be. `ends` says that nothing comes after it.
    fn go_on(&mut self, ends: bool) -> Result<(), Misfit> {
        while let Some(first) = self.waiting.front() {
            let Some((session, _)) = &self.state else {
                // What opens a session is said to the engine; there is nothing to decide.
                let session = opened(first)?;
                self.state = Some((session, History::default()));
                self.report.facts += 1;
                self.waiting.pop_front();
                continue;
            };
            let judge = judge::Judge {
                decide: self.decide,
                ceiling: &self.ceiling,
                ends,
            };
            let facts = self.waiting.make_contiguous();
            let judgement = judge.judge(session, facts)?;
            let taken = match judgement {
                Judgement::More => return Ok(()),
                Judgement::Same { facts } => {
                    self.report.same += 1;
                    facts
                }
                Judgement::CutShort { facts } => {
                    self.report.same += 1;
                    self.report.cut_short += 1;
                    facts
                }
                Judgement::Unjudged(facts, unclear) => {
                    self.report.doubt(unclear);
                    facts
                }
                Judgement::Different(facts, divergence) => {
                    self.report.differ(divergence);
                    facts
                }
            };
            for _ in 0..taken {
                self.step()?;
            }
        }
        Ok(())
    }

    /// Applies the oldest fact that waits.
    fn step(&mut self) -> Result<(), Misfit> {
        let (Some(recorded), Some((session, history))) =
            (self.waiting.pop_front(), &mut self.state)
        else {
            return Ok(());
        };
        session.apply(&recorded)?;
        history.apply(&recorded)?;
        self.report.facts += 1;
        match (&recorded.fact, session.turn()) {
            (Fact::SampleStarted(fact), Some(turn)) => {
                let prompt = render(history, &turn.settings);
                let digest = self.rendered.digest(&prompt);
                self.report.request(recorded.seq, fact.digest, digest);
            }
            (Fact::TurnSettled(_), _) => self.report.turns += 1,
            (_, _) => {}
        }
        Ok(())
    }
}

/// A ceiling that is none. The log says of each turn what its limits were; nothing else that is
/// decided depends on what a process allows.
const WIDE: Limits = Limits {
    samples: u32::MAX,
    calls_per_sample: u32::MAX,
    calls: u32::MAX,
    attempts: u32::MAX,
    restarts: u32::MAX,
    parallel_calls: u32::MAX,
    tokens: 0,
    cost_micros: 0,
    continuations: u32::MAX,
    compactions: u32::MAX,
    context_bytes: u64::MAX,
    turn_ms: 0,
    approval_ms: 0,
    queue: u32::MAX,
    backoff_ms: u64::MAX,
    backoff_max_ms: u64::MAX,
    connect_ms: u64::MAX,
    first_byte_ms: u64::MAX,
    idle_ms: u64::MAX,
    sample_ms: u64::MAX,
    call_ms: u64::MAX,
    grace_ms: u64::MAX,
};

/// Rehearses a whole log.
///
/// # Errors
/// [`Misfit`] when the log does not fit together.
pub fn rehearse(
    decide: Decide,
    log: impl IntoIterator<Item = Recorded>,
) -> Result<Rehearsed, Misfit> {
    let mut rehearsal = Rehearsal::of(decide);
    for recorded in log {
        rehearsal.take(recorded)?;
    }
    rehearsal.finish()
}

#[cfg(test)]
mod tests {
    use alloc::string::String;

    use super::*;
    use crate::compact::kit;
    use crate::decide::open;
    use crate::fact::{InputAccepted, InputQueued, Lineage};
    use crate::id::{InputId, Seq, SessionId};
    use crate::input::{OpenSession, SampleNews};
    use crate::item::{CallItem, Item};
    use crate::scope::Scope;
    use crate::session::Delivery;
    use crate::time::Timestamp;

    fn stamped<T>(input: T) -> Stamped<T> {
        Stamped {
            at: Timestamp(5),
            entropy: 0,
            input,
        }
    }

    /// A session in which somebody has said hello, up to the first request.
    fn log() -> Vec<Recorded> {
        let id = SessionId::new("s").unwrap();
        let first = open(stamped(OpenSession {
            owner: Scope::local("somebody"),
            workspace: None,
            settings: kit::settings(),
            lineage: Lineage::Root,
        }));
        let mut log = alloc::vec![first.number(&id, Seq(1))];
        let session = opened(&log[0]).unwrap();
        let send = stamped(Input::Send {
            scope: Scope::local("somebody"),
            text: String::from("hello"),
            delivery: Delivery::Turn,
            context: Vec::new(),
            images: Vec::new(),
            key: None,
            dry_run: false,
        });
        let drafts = decide(&session, &WIDE, send).unwrap();
        let numbered = (2..).zip(drafts);
        log.extend(numbered.map(|(seq, draft)| draft.number(&id, Seq(seq))));
        log
    }

    #[test]
    fn a_request_that_renders_otherwise_is_told() {
        let log = log();
        let (first, rest) = log.split_first().unwrap();
        let mut rehearsal = Rehearsal::new();
        rehearsal.take(first.clone()).unwrap();
        // A history in which somebody has said more than the session knows.
        let scope = alloc::sync::Arc::new(Scope::local("somebody"));
        let more = Fact::InputQueued(InputQueued {
            scope,
            text: "and more".into(),
            delivery: Delivery::Turn,
            context: Vec::new(),
            images: Vec::new(),
            key: None,
            dry_run: false,
            keyed: None,
        });
        let input = InputId(first.seq.0);
        let heard = Fact::InputAccepted(InputAccepted { input });
        for fact in [more, heard] {
            let (_, history) = rehearsal.state.as_mut().unwrap();
            let recorded = Recorded {
                fact,
                ..first.clone()
            };
            history.apply(&recorded).unwrap();
        }
        for recorded in rest {
            rehearsal.take(recorded.clone()).unwrap();
        }
        let told = rehearsal.finish().unwrap();
        assert_eq!((told.requests, told.other_requests), (1, 1));
        assert_eq!(told.requested[0].seq, Seq(log.len() as u64));
        assert_eq!(told.divergences, []);
        assert!(!told.is_same());
    }

    #[test]
    fn what_does_not_fit_is_no_log() {
        let mut log = log();
        log.remove(2);
        assert!(rehearse(decide, log).is_err());
        assert_eq!(rehearse(decide, []).unwrap(), Rehearsed::default());
    }

    #[test]
    fn each_fact_and_each_decision_is_counted() {
        let log = log();
        let mut rehearsal = Rehearsal::new();
        assert_eq!(rehearsal.session(), None);
        rehearsal.take(log[0].clone()).unwrap();
        let session = opened(&log[0]).unwrap();
        assert_eq!(rehearsal.session(), Some(&session));
        let told = rehearse(decide, log.clone()).unwrap();
        assert_eq!(told.facts, log.len() as u64);
        assert_eq!((told.same, told.cut_short, told.turns), (1, 0, 0));
        assert_eq!((told.different, told.unjudged), (0, 0));
    }

    #[test]
    fn a_decision_whose_rest_was_lost_is_counted_as_one_cut_short() {
        let mut log = log();
        let fold = |log: &[Recorded]| {
            let mut session = opened(&log[0]).unwrap();
            for recorded in &log[1..] {
                session.apply(recorded).unwrap();
            }
            session
        };
        let session = fold(&log);
        let effects = crate::owed::owed(&session);
        let call = CallItem {
            provider_id: String::from("call_0"),
            name: String::from("unknown"),
            arguments: String::from("{}"),
            fault: None,
            rules: Vec::new(),
            opaque: None,
            spoken: false,
        };
        let news = SampleNews::Item(Item::Call(alloc::sync::Arc::new(call)));
        let key = effects[0].key;
        let sampled = stamped(Input::Sampled { key, news });
        let mut drafts = decide(&session, &WIDE, sampled).unwrap();
        assert!(drafts.len() > 1, "{drafts:?}");
        // The process ends after the first of these.
        drafts.truncate(1);
        for input in [None, Some(Input::Recovered)] {
            if let Some(input) = input {
                drafts = decide(&fold(&log), &WIDE, stamped(input)).unwrap();
            }
            for draft in core::mem::take(&mut drafts) {
                let seq = Seq(log.len() as u64 + 1);
                log.push(draft.number(&session.id, seq));
            }
        }
        let told = rehearse(decide, log.clone()).unwrap();
        assert_eq!(told.facts, log.len() as u64);
        assert_eq!((told.same, told.cut_short), (3, 1));
        assert!(told.is_same());
    }
}
