//! Watching: follows a turn to its end, shows it, and handles signals.

use std::io;

use windlass_engine::core::{
    Fact, GoalEnd, Hold, InterruptSource, RecordedFact, Scope, StopTiming, TurnOutcome,
};
use windlass_engine::{
    AwaitError, AwaitedTurn, DriverEnd, Event, SessionHandle, TurnReport, TurnStream,
};

use crate::exit::{ExitKind, Failure};
use crate::person::PersonAnswers;
use crate::present::{Presenter, print_notice, waiting_words};
use crate::signals::{ReceivedSignal, Signals};

/// Facts of one read after a turn's end.
const PAGE: usize = 100;

/// Turn that is being watched.
pub(crate) struct TurnWatch<'a> {
    pub(crate) session: &'a SessionHandle,
    pub(crate) turn: TurnStream,
    pub(crate) signals: &'a mut Signals,
    /// True if the session has a goal, for which more turns may open.
    pub(crate) goal: bool,
    /// Answers to the model's questions.
    pub(crate) person: PersonAnswers,
}

/// Continuation after a turn of a session with a goal.
enum GoalContinuation {
    /// No further turn opens by itself.
    Nothing,
    /// Another turn follows.
    Turn,
    /// The end of the goal.
    End(Box<RecordedFact>),
}

/// Problems of watching itself.
#[derive(Default)]
struct WatchErrors {
    signal: Option<ReceivedSignal>,
    output: Option<io::Error>,
}

impl TurnWatch<'_> {
    /// Follows the turn to its end.
    pub(crate) async fn run(mut self, present: &mut dyn Presenter) -> Result<ExitKind, Failure> {
        let mut troubles = WatchErrors::default();
        loop {
            let (event, report) = tokio::select! {
                next = self.turn.next() => next.map_err(|error| self.unfollowed(error))?,
                came = self.signals.next() => {
                    self.on_signal(came, &mut troubles).await?;
                    continue;
                }
            };
            if troubles.output.is_none()
                && let Err(error) = present.event(&event)
            {
                self.on_closed_output(error, &mut troubles).await?;
            }
            self.person.on_event(&event);
            let Event::Fact(fact) = event else { continue };
            if let Fact::GoalEnded(_) = &fact.fact {
                self.goal = false;
            }
            match report {
                Some(report) => {
                    let after = self.after(&report).await?;
                    let GoalContinuation::Turn = after else {
                        return finish(&report, &after, troubles, present);
                    };
                    if troubles.output.is_none()
                        && let Err(error) = present.continued(&report)
                    {
                        self.on_closed_output(error, &mut troubles).await?;
                    }
                    self.turn.await_next(AwaitedTurn::Goal);
                }
                None if self.turn.has_begun() => {}
                None => self.on_held(&fact, &troubles).await?,
            }
        }
    }

    /// Returns the goal's state right after a turn, from the log.
    async fn after(&self, report: &TurnReport) -> Result<GoalContinuation, Failure> {
        if !self.goal {
            return Ok(GoalContinuation::Nothing);
        }
        // The consequences of a turn's end are durable with it.
        let facts = self.session.history(report.settled.seq, PAGE).await?;
        for fact in facts {
            if let Fact::TurnOpened(_) = &fact.fact {
                return Ok(GoalContinuation::Turn);
            }
            if let Fact::GoalEnded(_) = &fact.fact {
                return Ok(GoalContinuation::End(Box::new(fact)));
            }
        }
        Ok(GoalContinuation::Nothing)
    }

    /// Handles an awaited turn that is held: the turn before it was interrupted, or ran out of time
    /// before the awaited one began.
    async fn on_held(&self, fact: &RecordedFact, troubles: &WatchErrors) -> Result<(), Failure> {
        let Fact::TurnSettled(settled) = &fact.fact else {
            return Ok(());
        };
        let waiting = match self.turn.awaited() {
            AwaitedTurn::Compaction(_) => "compaction",
            AwaitedTurn::Input(_) | AwaitedTurn::Turn(_) | AwaitedTurn::Goal => "prompt",
        };
        let waits = |exit: ExitKind, what: &str| {
            let words = format!(
                "{what} before the {waiting}'s turn began; the {waiting} waits: windlass resume {}",
                self.session.id()
            );
            Err(Failure::new(exit, words))
        };
        match (&settled.outcome, troubles.signal) {
            (TurnOutcome::Interrupted { .. }, Some(came)) => waits(came.exit, "interrupted"),
            (outcome @ (TurnOutcome::Interrupted { .. } | TurnOutcome::Exhausted { .. }), _)
                if self.is_held().await? =>
            {
                waits(ExitKind::of(outcome), "the turn before it was ended")
            }
            (
                TurnOutcome::Interrupted { .. }
                | TurnOutcome::Exhausted { .. }
                | TurnOutcome::Completed
                | TurnOutcome::NoAnswer
                | TurnOutcome::Refused
                | TurnOutcome::InvalidOutput { .. }
                | TurnOutcome::Blocked { .. }
                | TurnOutcome::Failed { .. },
                Some(_) | None,
            ) => Ok(()),
        }
    }

    /// Returns true if the awaited input or compaction is held.
    async fn is_held(&self) -> Result<bool, Failure> {
        let state = self.session.state().await?;
        let waits = match self.turn.awaited() {
            AwaitedTurn::Input(input) => state.queue.iter().any(|queued| queued.id == input),
            AwaitedTurn::Compaction(_) => state.compaction.is_some(),
            AwaitedTurn::Turn(_) | AwaitedTurn::Goal => false,
        };
        Ok(waits && state.hold == Hold::Held)
    }

    fn unfollowed(&self, error: AwaitError) -> Failure {
        match error {
            AwaitError::Ended(ended) => self.unfinished(&ended),
            error @ (AwaitError::Store(_)
            | AwaitError::NoTurn(_)
            | AwaitError::Withdrawn(_)
            | _) => error.into(),
        }
    }

    /// Creates the failure of a driver that ended before the turn did.
    fn unfinished(&self, ended: &DriverEnd) -> Failure {
        let mut failure = Failure::from(ended);
        let more = format!(
            ". Acknowledged facts are in the log; continue the turn with: windlass resume {}",
            self.session.id()
        );
        failure.message.push_str(&more);
        failure
    }

    async fn on_signal(
        &self,
        came: ReceivedSignal,
        troubles: &mut WatchErrors,
    ) -> Result<(), Failure> {
        troubles.signal = Some(came);
        self.stop(came.by, &format!("{} was received", came.name)).await
    }

    /// Stops the turn, since its output is closed and nobody watches it.
    async fn on_closed_output(
        &self,
        error: io::Error,
        troubles: &mut WatchErrors,
    ) -> Result<(), Failure> {
        troubles.output = Some(error);
        let words = "standard output was closed";
        self.stop(InterruptSource::Shutdown, words).await
    }

    /// Asks the turn to stop, unless it was asked before or has just ended.
    async fn stop(&self, by: InterruptSource, words: &str) -> Result<(), Failure> {
        let scope = match by {
            InterruptSource::Person => crate::command::me(),
            InterruptSource::Parent | InterruptSource::Shutdown | InterruptSource::Deadline => {
                Scope::system(words)
            }
        };
        let asked = self.session.interrupt(by, scope, words, StopTiming::Now);
        match asked.await {
            Ok(()) | Err(windlass_engine::SendError::Rejected(_)) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

fn finish(
    report: &TurnReport,
    after: &GoalContinuation,
    troubles: WatchErrors,
    present: &mut dyn Presenter,
) -> Result<ExitKind, Failure> {
    let session = &report.settled.session;
    let closed = |error: io::Error| {
        let words = format!(
            "cannot write to standard output: {error}. The answer is in the log: windlass show \
             {session}"
        );
        Failure::new(ExitKind::Failed, words)
    };
    if let Some(error) = troubles.output {
        return Err(closed(error));
    }
    present.settled(report).map_err(closed)?;
    if let Some(words) = waiting_words(report) {
        print_notice(&format!("  {words}"));
    }
    if let GoalContinuation::End(fact) = after {
        present.after(fact).map_err(closed)?;
    }
    Ok(match (ExitKind::of(&report.outcome), after) {
        (ExitKind::Completed, GoalContinuation::End(fact)) if is_exhausted(&fact.fact) => {
            ExitKind::Exhausted
        }
        (exit, GoalContinuation::Nothing | GoalContinuation::Turn | GoalContinuation::End(_)) => {
            exit
        }
    })
}

/// Returns true if all turns of a goal are used, and it is not met.
fn is_exhausted(fact: &Fact) -> bool {
    matches!(fact, Fact::GoalEnded(ended) if ended.end == GoalEnd::Exhausted)
}
