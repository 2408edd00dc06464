//! Turn snapshots: what each cycle of a session's turns came to, read off its log. They are told, and
//! nothing is decided by them.

use alloc::sync::Arc;

use crate::error::Misfit;
use crate::fact::{
    CallObserved, CompactionFact, Fact, FactGroup, RunFact, SampleFact, SampleStarted, TurnFact,
};
use crate::history::History;
use crate::record::Recorded;
use crate::settings::Settings;

mod messages;
mod open;
mod source;
mod turn;

pub use messages::CycleMessages;
use open::Open;
pub use turn::{Cycle, CycleCall, TurnSnapshot};

/// Folds a log, fact by fact, into a snapshot a cycle.
///
/// A cycle begins with a sample's first attempt and is over with its answer, or with the last
/// observation of what that called. What it holds is the conversation, as [`History`] does, and the
/// cycle that is open: both have the bounds that the session's settings give them.
#[derive(Debug, Clone, Default)]
pub struct TurnSnapshots {
    history: History,
    /// Whether the model writes programs, in turns that open from here on.
    programs: bool,
    /// Whether it does in the turn that is open.
    frozen: bool,
    /// How many items of the conversation the snapshot before was shown.
    shown: usize,
    open: Option<Open>,
}

impl TurnSnapshots {
    /// Takes in the next fact, and answers the snapshot of the cycle that is over with it, if one is.
    /// The facts of a log make the same snapshots however they are handed over: at once, or as they
    /// come.
    ///
    /// # Errors
    /// As [`History::apply`]. After a misfit this is to be thrown away.
    pub fn apply(&mut self, recorded: &Recorded) -> Result<Option<TurnSnapshot>, Misfit> {
        // A history forgets calls when their answer enters the conversation.
        let edited = self.edited(&recorded.fact);
        self.history.apply(recorded)?;
        if let Some(settings) = recorded.fact.settings() {
            self.set(settings);
        }
        match recorded.fact.group() {
            FactGroup::Turn(TurnFact::TurnOpened(_)) => self.frozen = self.programs,
            FactGroup::Turn(TurnFact::TurnSettled(_)) => return Ok(self.close()),
            FactGroup::Compaction(CompactionFact::Compacted(_)) => self.shown = 0,
            FactGroup::Sample(SampleFact::SampleStarted(fact)) => {
                return Ok(self.start(recorded, fact));
            }
            FactGroup::Sample(
                SampleFact::ItemAdded(_) | SampleFact::SampleEnded(_) | SampleFact::SampleCut(_),
            )
            | FactGroup::Program(_)
            | FactGroup::Run(RunFact::CallObserved(_)) => {
                let Some(open) = &mut self.open else {
                    return Ok(None);
                };
                open.take(recorded, edited);
                if open.is_over() {
                    return Ok(self.close());
                }
            }
            FactGroup::Turn(TurnFact::InterruptRequested(_))
            | FactGroup::Compaction(
                CompactionFact::CompactionStarted(_) | CompactionFact::CompactionFailed(_),
            )
            | FactGroup::Run(RunFact::CallStarted(_))
            | FactGroup::Session(_)
            | FactGroup::Recovery(_)
            | FactGroup::Goal(_)
            | FactGroup::Input(_)
            | FactGroup::Hook(_)
            | FactGroup::Context(_)
            | FactGroup::Permission(_) => {}
        }
        Ok(None)
    }

    /// The cycle that is open, as far as it came: the log of a process that was killed may end in one.
    /// It is a failure of the class `unfinished`, or of that of the attempt that failed last.
    #[must_use]
    pub fn unfinished(&self) -> Option<TurnSnapshot> {
        let open = self.open.clone()?;
        Some(open.over(self.history.memory()))
    }

    /// About how many bytes of text it holds, for whoever keeps it beside others. Reads all of it.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.history.bytes()
    }

    fn set(&mut self, settings: &Settings) {
        self.programs = settings.options.program.is_some();
    }

    /// The arguments that a call ran with which is observed now, where they were changed.
    fn edited(&self, fact: &Fact) -> Option<Arc<str>> {
        let Fact::CallObserved(CallObserved { call, .. }) = fact else {
            return None;
        };
        let (ran, asked) = (self.history.arguments(*call)?, self.history.call(*call)?);
        (*ran != *asked.arguments).then_some(ran)
    }

    /// The first attempt begins a cycle, and ends one whose next attempt was due and did not come,
    /// as where the user has spoken instead.
    fn start(&mut self, recorded: &Recorded, fact: &SampleStarted) -> Option<TurnSnapshot> {
        if let Some(open) = self.open.as_mut().filter(|_| fact.attempt > 1) {
            open.again(fact.attempt);
            return None;
        }
        let before = self.close();
        let items = self.history.items();
        let messages = CycleMessages::new(items.clone(), self.shown);
        self.shown = items.len();
        self.open = Open::new(recorded, fact, messages, self.frozen);
        before
    }

    fn close(&mut self) -> Option<TurnSnapshot> {
        let open = self.open.take()?;
        Some(open.over(self.history.memory()))
    }
}

#[cfg(test)]
mod tests;
