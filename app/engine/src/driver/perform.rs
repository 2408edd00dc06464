//! Performing: the machine's actions, performed at once or started here.

use std::sync::Arc;

use windlass_core::machine::{Action, CancelMode, ExitReason, Note};
use windlass_core::{Fact, RecordedFact};

use super::Driver;
use crate::error::DriverEnd;

impl Driver {
    /// Performs an action. An error ends the session's driver.
    pub(super) fn perform(&mut self, action: Action) -> Result<(), DriverEnd> {
        match action {
            Action::Note(note) => self.on_note(note),
            Action::Append { after, facts } => self.append(after, facts),
            Action::Publish(facts) => self.bus.publish_facts(&facts),
            Action::Start { key, cause } => {
                let started = self.start(key, cause);
                let defect = || DriverEnd::Defect(format!("{key:?} is owed and cannot be started"));
                started.ok_or_else(defect)?;
            }
            Action::Cancel { key, mode: how } => match how {
                CancelMode::Yield => self.effects.steer(key),
                CancelMode::Graceful => self.effects.cancel(key),
                CancelMode::Drop => self.effects.discard(key),
            },
            // A sample that was told to yield cannot be told to continue.
            Action::Continue { .. } => {}
            Action::StopAgent { call } => self.stop_agent(call),
            Action::Accept { token, first } => self.callers.accept(token, first),
            Action::Acknowledge { token, at } => self.callers.acknowledge(token, at),
            Action::Refuse { token, refusal } => self.callers.reject(token, refusal.into()),
            Action::ReadMailbox { first } => self.mailbox.read(first),
            Action::AcknowledgeRemote(replies) => self.acknowledge_remote(replies)?,
            Action::SetTimer { timer, after_ms } => self.timers.set(timer, after_ms),
            Action::Checkpoint => self.write_checkpoint(),
            Action::Exit(exit) => return Err(self.driver_end(exit)),
        }
        Ok(())
    }

    fn on_note(&mut self, note: Note) {
        match note {
            Note::Decided(facts) => facts.iter().for_each(|fact| self.on_decided(fact)),
            Note::Rejected(reject) => {
                let session = &self.machine.session().id;
                tracing::debug!(%session, %reject, "input refused");
            }
            Note::NeverStarted(key) => {
                let session = &self.machine.session().id;
                tracing::debug!(%session, %key, "never began");
            }
        }
    }

    /// Updates the driver's own records after a fact was decided.
    fn on_decided(&mut self, recorded: &Arc<RecordedFact>) {
        self.program.on_fact(recorded);
        if let Fact::CallObserved(fact) = &recorded.fact
            && fact.detached
        {
            self.deliver_results();
        }
        if let Fact::Compacted(_) | Fact::SessionRewound(_) = &recorded.fact {
            self.prefix.replaced();
        }
    }

    fn driver_end(&mut self, exit: ExitReason) -> DriverEnd {
        match exit {
            ExitReason::Closed => DriverEnd::Closed,
            ExitReason::HandedOff { reason, complete } => {
                DriverEnd::HandOff { reason, at_rest: complete }
            }
            ExitReason::Superseded | ExitReason::StoreFailed => {
                let unknown =
                    || DriverEnd::Defect("no port failed, and the session ended".to_owned());
                self.failure.take().unwrap_or_else(unknown)
            }
            ExitReason::Defect(defect) => {
                let session = &self.machine.session().id;
                tracing::error!(%session, %defect, "the engine contradicts itself");
                DriverEnd::Defect(defect.to_string())
            }
        }
    }
}
