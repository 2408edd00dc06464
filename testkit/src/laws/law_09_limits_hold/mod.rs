//! Law 9: limits hold, and a turn that a limit ended did reach it.
//!
//! Samples and calls per turn, calls per sample, attempts and restarts per sample, per call, per
//! hook and per compaction, calls at the same time, tokens, money, wall clock, the longest backoff,
//! the longest run of a tool, how often hooks have a turn go on, how often
//! an answer is asked for again that does not have its shape, compactions, the context that hooks
//! and presenters give, the time that a person has for an answer, the turns of a goal, the inputs
//! that wait, the bytes of a session, and the limits of the process above those of the session. After a stop nothing is
//! begun, and after a request to stop after the step no sample is. What agents are lent and what they
//! took counts as the turn's own: samples, tokens and money are limited over the whole tree. After
//! each fact what is lent and what is spent are together less samples than the limit, no loan takes
//! what is kept for retries, nor the tokens and the money that the last samples take with what agents
//! say, and none is open when the turn settles. Of tokens and money a request and its longest answer
//! are set aside before it is asked, a call starts only while something is left, beside the answer
//! that streams and after it, and a turn that exceeded them does not complete. What a provider may
//! bill counts, as reported or as estimated. A turn whose last answer does not
//! have its shape does not complete.
//!
//! It kills: a decision that counts one too far, or that does not look at a limit at all.

mod lending;
mod tally;

use windlass_core::{
    FactGroup, Goal, InputFact, InputQueued, Limits, Reason, RecordedFact, Seq, SessionFact,
    TurnFact, TurnOpened,
};

use super::reading::Queue;
use super::{Held, hold, reading};
use tally::Tally;

/// Checks a log. `ceiling` is what the processes that wrote it allowed at most.
///
/// # Errors
/// [`Broken`](super::Broken) with the first fact that goes over a limit.
pub fn check(log: &[RecordedFact], ceiling: &Limits) -> Held {
    let queue = Queue::default();
    let mut reader =
        Reader { ceiling, queue, settings: Seq::ZERO.next(), goal: None, turn: None, bytes: 0 };
    log.iter().try_for_each(|recorded| {
        reader.take(log, recorded)?;
        reader.bytes = reader.bytes.saturating_add(recorded.bytes());
        Ok(())
    })
}

struct Reader<'a> {
    ceiling: &'a Limits,
    queue: Queue,
    settings: Seq,
    /// The goal, and how many turns were opened for it.
    goal: Option<(&'a Goal, u32)>,
    turn: Option<Tally>,
    /// Bytes of the log before the fact.
    bytes: u64,
}

impl<'a> Reader<'a> {
    fn take(&mut self, log: &'a [RecordedFact], recorded: &'a RecordedFact) -> Held {
        if let Some(turn) = &mut self.turn {
            turn.holds_bytes(self.bytes);
        }
        match recorded.fact.group() {
            FactGroup::Session(SessionFact::SettingsChanged(_)) => self.settings = recorded.seq,
            FactGroup::Goal(fact) => self.goal = fact.goal().map(|goal| (&**goal, 0)),
            FactGroup::Input(InputFact::InputQueued(fact)) => self.queued(log, recorded, fact)?,
            FactGroup::Input(
                InputFact::InputEdited(_)
                | InputFact::InputMoved(_)
                | InputFact::InputAccepted(_)
                | InputFact::InputBlocked(_)
                | InputFact::InputWithdrawn(_),
            ) => {
                self.queue.apply(log, recorded);
            }
            FactGroup::Turn(TurnFact::TurnOpened(fact)) => self.opened(log, recorded, fact)?,
            FactGroup::Turn(TurnFact::TurnSettled(fact)) => {
                if let Some(turn) = self.turn.take() {
                    turn.settled(recorded, fact)?;
                }
            }
            FactGroup::Session(
                SessionFact::SessionOpened(_)
                | SessionFact::PermissionsNarrowed(_)
                | SessionFact::SessionRenamed(_)
                | SessionFact::SessionRewound(_)
                | SessionFact::FilesRestored(_),
            )
            | FactGroup::Turn(TurnFact::InterruptRequested(_))
            | FactGroup::Recovery(_)
            | FactGroup::Program(_)
            | FactGroup::Hook(_)
            | FactGroup::Context(_)
            | FactGroup::Compaction(_)
            | FactGroup::Sample(_)
            | FactGroup::Permission(_)
            | FactGroup::Run(_) => {}
        }
        match &mut self.turn {
            Some(turn) => turn.count(log, recorded),
            None => Ok(()),
        }
    }

    fn queued(
        &mut self,
        log: &[RecordedFact],
        recorded: &RecordedFact,
        fact: &InputQueued,
    ) -> Held {
        let waits = self.queue.of_users() > 0 || self.turn.is_some();
        self.queue.apply(log, recorded);
        let settings = reading::settings(log, self.settings);
        let limits = settings.map(|found| found.limits.within(self.ceiling));
        // The result of a detached child is bounded by the calls.
        let said = waits && fact.result_of.is_none();
        let waiting = if said { self.queue.of_users() } else { 0 };
        let most = limits.map_or(0, |limits| u64::from(limits.queue));
        over(recorded, "waiting inputs", waiting, most)?;
        let parts = fact.context.iter().map(|part| part.text.len() as u64);
        let most = limits.map_or(0, |limits| limits.context_bytes);
        over(recorded, "bytes of context", parts.sum(), most)?;
        let full = limits
            .is_some_and(|limits| limits.session_bytes > 0 && self.bytes >= limits.session_bytes);
        hold(9, !full || fact.result_of.is_some(), || {
            format!("{} is an input to a session that is full", recorded.seq)
        })
    }

    fn opened(&mut self, log: &[RecordedFact], recorded: &RecordedFact, fact: &TurnOpened) -> Held {
        let settings = reading::settings(log, fact.settings);
        let within = settings.map(|found| found.limits.within(self.ceiling));
        hold(9, within == Some(fact.limits), || {
            format!("turn {} does not keep within {within:?}", recorded.seq)
        })?;
        self.turn = Some(Tally::new(fact.limits, settings, recorded.ts));
        match (fact.reason, &mut self.goal) {
            (Reason::Goal { .. }, Some((goal, turns))) => {
                *turns += 1;
                let (turns, most) = (u64::from(*turns), u64::from(goal.turns));
                over(recorded, "turns for a goal", turns, most)
            }
            (Reason::Goal { .. }, None) => {
                hold(9, false, || format!("turn {} is opened for no goal", recorded.seq))
            }
            (
                Reason::Input { .. }
                | Reason::ToolResults
                | Reason::Retry
                | Reason::Unfinished
                | Reason::PendingInput { .. }
                | Reason::HookContext { .. }
                | Reason::InvalidOutput { .. }
                | Reason::EmptyAnswer { .. }
                | Reason::CompactionRequested { .. }
                | Reason::Compacted,
                _,
            ) => Ok(()),
        }
    }
}

fn over(recorded: &RecordedFact, what: &str, count: u64, limit: u64) -> Held {
    hold(9, count <= limit, || {
        format!(
            "{} {}: {count} {what}, and the limit is {limit}",
            recorded.seq,
            recorded.fact.kind()
        )
    })
}
