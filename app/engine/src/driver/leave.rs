//! Leaving: how turns are asked to stop, and what comes before a session is let go.

use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::timeout;
use windlass_core::{Input, Interrupter, Scope, StopWhen};

use super::checked::REASON;
use super::{Command, Driver};
use crate::error::Ended;
use crate::size;

/// How and why every turn is asked to stop.
pub(super) struct Stopping {
    pub(super) when: StopWhen,
    pub(super) reason: String,
}

impl Driver {
    /// Remembers that every turn is to stop. Once it is to stop now, it is not to stop later.
    pub(super) fn on_stopping(&mut self, mut stopping: Stopping) {
        self.closing = true;
        size::cut(&mut stopping.reason, REASON);
        match (&self.stopping, stopping.when) {
            (None, _) | (Some(_), StopWhen::Now) => self.stopping = Some(stopping),
            (Some(_), StopWhen::AfterStep) => {}
        }
    }

    /// Asks the turn to stop that runs while the engine is being shut down or drained.
    pub(super) fn stop(&mut self) -> Result<(), Ended> {
        if self.parting.is_some() {
            return Ok(());
        }
        let (Some(Stopping { when, reason }), Some(turn)) = (&self.stopping, self.session.turn())
        else {
            return Ok(());
        };
        let asked = match when {
            StopWhen::Now => turn.stop.is_some(),
            StopWhen::AfterStep => turn.stop.is_some() || turn.pause.is_some(),
        };
        if asked {
            return Ok(());
        }
        let (when, reason) = (*when, reason.clone());
        self.must_take(Input::Interrupt {
            by: Interrupter::Shutdown,
            scope: Scope::system("the engine is shut down"),
            reason,
            when,
            turn: None,
        })
    }

    /// Whether nothing runs, is being written, or waits for an acknowledgement or a reply.
    pub(super) fn at_rest(&self) -> bool {
        self.session.turn().is_none()
            && self.session.gates.open.is_none()
            && self.writing.is_none()
            && self.unsent.is_empty()
            && self.acks.is_empty()
            && self.letters.are_at_rest()
    }

    /// Tells a session at rest that it is let go, once, and drives on while hooks hear of it. By
    /// now nobody attaches to it any more, and it takes no more inputs.
    ///
    /// Hooks that have not spoken by the time that a shutdown has are let go of too: the next
    /// process that opens the session finds them asked and unheard.
    pub(super) async fn leave(
        &mut self,
        mailbox: &mut mpsc::Receiver<Command>,
    ) -> Result<(), Ended> {
        self.closing = true;
        self.must_take(Input::Close)?;
        let limit = Duration::from_millis(self.config.shutdown_ms);
        let resting = async {
            loop {
                self.reconcile()?;
                self.write();
                if self.at_rest() || self.parting.is_some() {
                    return Ok(());
                }
                self.step(mailbox).await?;
            }
        };
        let Ok(rested) = timeout(limit, resting).await else {
            tracing::warn!(session = %self.session.id, "let go before its hooks have spoken");
            return Ok(());
        };
        rested
    }
}
