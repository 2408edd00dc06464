//! Watching: follows a turn to its end, shows it, and passes signals on.

use std::io;

use windlass::core::{Because, Fact, InputId, Interrupter, Outcome, Recorded, TurnId};
use windlass::{Conversation, Ended, Event, Subscription, TurnFold, TurnReport};

use crate::exit::{Exit, Failure};
use crate::present::Present;
use crate::signals::{Came, Signals};

/// Which turn is watched.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Awaited {
    /// The one that takes this input.
    Input(InputId),
    /// This one.
    Turn(TurnId),
}

/// A turn that is being watched.
pub(crate) struct Watch<'a> {
    pub(crate) conversation: &'a Conversation,
    pub(crate) events: Subscription,
    pub(crate) awaited: Awaited,
    pub(crate) signals: Signals,
}

/// What has happened to the watching itself.
#[derive(Default)]
struct Troubles {
    signal: Option<Came>,
    output: Option<io::Error>,
}

impl Watch<'_> {
    /// Follows the turn to its end.
    pub(crate) async fn run(mut self, present: &mut dyn Present) -> Result<Exit, Failure> {
        let mut fold = match self.awaited {
            Awaited::Input(_) => None,
            Awaited::Turn(turn) => Some(TurnFold::new(turn)),
        };
        let mut troubles = Troubles::default();
        loop {
            let event = tokio::select! {
                event = self.events.next() => event?,
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
            let fact = match event {
                Event::Fact(fact) => fact,
                Event::Ended(ended) => return Err(self.unfinished(&ended)),
                Event::Live(_) | Event::Lagged { .. } => continue,
            };
            if fold.is_none() && self.opens(&fact) {
                fold = Some(TurnFold::new(TurnId(fact.seq.0)));
            }
            match &mut fold {
                Some(fold) => {
                    if let Some(report) = fold.take(&fact) {
                        return finish(&report, troubles, present);
                    }
                }
                None => self.held(&fact, &troubles)?,
            }
        }
    }

    fn opens(&self, fact: &Recorded) -> bool {
        match (&fact.fact, self.awaited) {
            (Fact::TurnOpened(opened), Awaited::Input(input)) => {
                opened.because == (Because::Opened { input })
            }
            _ => false,
        }
    }

    /// The turn before the awaited one was interrupted, so the awaited one waits for a word.
    fn held(&self, fact: &Recorded, troubles: &Troubles) -> Result<(), Failure> {
        let interrupted = matches!(&fact.fact, Fact::TurnSettled(settled)
            if matches!(settled.outcome, Outcome::Interrupted { .. }));
        match troubles.signal {
            Some(came) if interrupted => Err(Failure::new(
                came.exit,
                format!(
                    "interrupted before the prompt's turn began; the prompt waits: \
                     windlass resume {}",
                    self.conversation.id()
                ),
            )),
            Some(_) | None => Ok(()),
        }
    }

    /// The driver ended before the turn did.
    fn unfinished(&self, ended: &Ended) -> Failure {
        let mut failure = Failure::from(ended);
        let more = format!(
            ". What was acknowledged is in the log, and the turn goes on with: windlass resume {}",
            self.conversation.id()
        );
        failure.message.push_str(&more);
        failure
    }

    async fn on_signal(&self, came: Came, troubles: &mut Troubles) -> Result<(), Failure> {
        troubles.signal = Some(came);
        self.stop(came.by, &format!("{} was received", came.name))
            .await
    }

    /// Nobody reads: the turn is stopped, so that it does not go on unwatched.
    async fn on_closed_output(
        &self,
        error: io::Error,
        troubles: &mut Troubles,
    ) -> Result<(), Failure> {
        troubles.output = Some(error);
        let words = "standard output was closed";
        self.stop(Interrupter::Shutdown, words).await
    }

    /// Asks the turn to stop. One that has been asked, or has just ended, need not be.
    async fn stop(&self, by: Interrupter, words: &str) -> Result<(), Failure> {
        match self.conversation.interrupt(by, words).await {
            Ok(()) | Err(windlass::SendError::Rejected(_)) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

fn finish(
    report: &TurnReport,
    troubles: Troubles,
    present: &mut dyn Present,
) -> Result<Exit, Failure> {
    let session = &report.settled.session;
    let closed = |error: io::Error| {
        let words = format!(
            "standard output cannot be written to: {error}. The answer is in the log: windlass \
             show {session}"
        );
        Failure::new(Exit::Failed, words)
    };
    match troubles.output {
        Some(error) => Err(closed(error)),
        None => present
            .settled(report)
            .map_err(closed)
            .map(|()| Exit::of(&report.outcome)),
    }
}
