//! Replay: checks whether this engine decides as a log says.
//!
//! Each decision starts with its cause. The replay rebuilds that input from the facts, calls
//! `decide` in the state that the log folds to there, and compares. It runs no model, tool, hook or
//! store: their answers are in the log.

mod input;
mod judge;
mod report;

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use crate::append_list::AppendList;
use crate::compaction::VisiblePart;
use crate::context::prompt_item;
use crate::decide::decide;
use crate::digest::Digest;
use crate::error::{InvalidFact, Reject};
use crate::evolve::evolve_first;
use crate::fact::Fact;
use crate::history::History;
use crate::input::{Incoming, Input};
use crate::limits::Limits;
use crate::record::{Draft, RecordedFact};
use crate::render::{Prompt, PromptItem, render};
use crate::session::Session;

use judge::{Judgement, judge};
pub use report::{
    Divergence, Replacement, ReplayReport, RequestDivergence, UnverifiableDecision,
    UnverifiableReason,
};

/// Signature of [`decide`].
pub type Decide = fn(&Session, &Limits, Incoming<Input>) -> Result<Vec<Draft>, Reject>;

/// Replays a log fact by fact. Facts of a decision are held back until the decision is complete.
#[derive(Debug, Clone)]
pub struct Replay {
    decide: Decide,
    state: Option<(Session, History)>,
    /// Facts that are not judged yet.
    waiting: VecDeque<RecordedFact>,
    /// Latest rendered request.
    rendered: Rendered,
    report: ReplayReport,
}

/// A request, as far as it was read. The next one mostly extends it, so only new items are read:
/// the time stays linear in the length of the log.
#[derive(Debug, Clone)]
struct Rendered {
    items: AppendList<PromptItem>,
    shown: VisiblePart,
}

impl Rendered {
    /// Returns the digest of a request, equal to [`Prompt::digest`].
    fn digest(&mut self, prompt: &Prompt) -> Digest {
        if !prompt.items.extends(&self.items) {
            *self = Self::default();
        }
        let new = prompt.items.iter_from(self.items.len());
        let shown = new.fold(self.shown, |shown, item| shown.with(prompt_item(item)));
        *self = Self { items: prompt.items.clone(), shown };
        shown.digest
    }
}

impl Default for Rendered {
    fn default() -> Self {
        Self { items: AppendList::default(), shown: VisiblePart::EMPTY }
    }
}

impl Default for Replay {
    fn default() -> Self {
        Self::of(decide)
    }
}

impl Replay {
    /// Starts a replay by this engine.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Starts a replay by an engine with another `decide`.
    #[must_use]
    pub fn of(decide: Decide) -> Self {
        Self {
            decide,
            state: None,
            waiting: VecDeque::new(),
            rendered: Rendered::default(),
            report: ReplayReport::default(),
        }
    }

    /// Returns the state that the facts judged so far fold to; `None` before the first.
    #[must_use]
    pub fn session(&self) -> Option<&Session> {
        self.state.as_ref().map(|(session, _)| session)
    }

    /// Receives the next fact of the log.
    ///
    /// # Errors
    /// [`InvalidFact`] when the facts do not form a valid log.
    pub fn push(&mut self, recorded: RecordedFact) -> Result<(), InvalidFact> {
        self.waiting.push_back(recorded);
        self.advance(false)
    }

    /// Judges the last decision and returns the report.
    ///
    /// # Errors
    /// As [`Replay::push`].
    pub fn finish(mut self) -> Result<ReplayReport, InvalidFact> {
        self.advance(true)?;
        Ok(self.report)
    }

    /// Judges complete decisions; at the end of the log the last one too.
    fn advance(&mut self, ended: bool) -> Result<(), InvalidFact> {
        while let Some(first) = self.waiting.front() {
            let Some((session, _)) = &self.state else {
                // The opening of a session is no decision.
                let session = evolve_first(first)?;
                self.state = Some((session, History::default()));
                self.report.facts += 1;
                self.waiting.pop_front();
                continue;
            };
            let Some(cause) = first.cause else {
                let why = UnverifiableReason::NoCause;
                self.report.doubt(first.seq, why);
                self.step()?;
                continue;
            };
            let rest = self.waiting.iter().skip(1);
            let rest = rest.take(cause.facts.saturating_sub(1) as usize);
            let facts = 1 + rest.take_while(|fact| fact.cause.is_none()).count();
            if facts < cause.facts as usize && facts == self.waiting.len() && !ended {
                return Ok(());
            }
            let recorded = self.waiting.make_contiguous().split_at(facts).0;
            match judge(self.decide, session, cause, recorded) {
                Judgement::Same => self.report.same += 1,
                Judgement::CutShort => {
                    self.report.same += 1;
                    self.report.cut_short += 1;
                }
                Judgement::Unverifiable(seq, why) => self.report.doubt(seq, why),
                Judgement::Different(divergence) => self.report.differ(divergence),
            }
            for _ in 0..facts {
                self.step()?;
            }
        }
        Ok(())
    }

    /// Applies the oldest fact that waits.
    fn step(&mut self) -> Result<(), InvalidFact> {
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
                let prompt = render(history, &turn.settings, &session.found_tools);
                let digest = self.rendered.digest(&prompt);
                self.report.request(recorded.seq, fact.digest, digest);
            }
            (Fact::TurnSettled(_), _) => self.report.turns += 1,
            (_, _) => {}
        }
        Ok(())
    }
}

/// Replays a whole log.
///
/// # Errors
/// [`InvalidFact`] when the facts do not form a valid log.
pub fn replay(
    decide: Decide,
    log: impl IntoIterator<Item = RecordedFact>,
) -> Result<ReplayReport, InvalidFact> {
    let mut replay = Replay::of(decide);
    for recorded in log {
        replay.push(recorded)?;
    }
    replay.finish()
}

#[cfg(test)]
mod tests;
