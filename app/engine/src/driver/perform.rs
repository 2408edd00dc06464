//! Performing: the actions of the machine, as far as they are done at once or begun here.

use std::sync::Arc;

use windlass_core::machine::{Action, Cancel, Exit, Note};
use windlass_core::{Fact, Recorded};

use super::Driver;
use crate::error::Ended;

impl Driver {
    /// Performs an action. The session ends with the error.
    pub(super) fn perform(&mut self, action: Action) -> Result<(), Ended> {
        match action {
            Action::Note(note) => self.on_note(note),
            Action::Append { after, facts } => self.append(after, facts),
            Action::Publish(facts) => self.bus.facts(&facts),
            Action::Start { key, cause } => {
                let started = self.start(key, cause);
                let defect = || Ended::Defect(format!("{key:?} is owed and cannot be started"));
                started.ok_or_else(defect)?;
            }
            Action::Cancel { key, how } => match how {
                Cancel::Yield => self.effects.give_way(key),
                Cancel::Wind => self.effects.wind(key),
                Cancel::Drop => self.effects.drop_run(key),
            },
            // A sample that was told to yield cannot be told otherwise.
            Action::Continue { .. } => {}
            Action::StopAgent { call } => self.stop_agent(call),
            Action::Accept { token, first } => self.callers.accept(token, first),
            Action::Acknowledge { token, at } => self.callers.acknowledge(token, at),
            Action::Refuse { token, refusal } => self.callers.refuse(token, refusal.into()),
            Action::ReadMailbox { first } => self.mail.read(first),
            Action::Reply(replies) => self.reply(replies)?,
            Action::SetTimer { timer, after_ms } => self.timers.set(timer, after_ms),
            Action::Checkpoint => self.write_checkpoint(),
            Action::Exit(exit) => return Err(self.ended(exit)),
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
            Note::NeverBegan(key) => {
                let session = &self.machine.session().id;
                tracing::debug!(%session, %key, "never began");
            }
        }
    }

    /// Keeps what is remembered beside the state in step with a fact.
    fn on_decided(&mut self, recorded: &Arc<Recorded>) {
        self.held.note(recorded);
        if let Fact::Compacted(_) = &recorded.fact {
            self.prefix.compacted();
        }
    }

    fn ended(&mut self, exit: Exit) -> Ended {
        match exit {
            Exit::Closed => Ended::Closed,
            Exit::HandedOff { reason, complete } => Ended::Parted {
                reason,
                rested: complete,
            },
            Exit::Superseded | Exit::StoreFailed => {
                let unknown = || Ended::Defect("no port failed, and the session ended".to_owned());
                self.failure.take().unwrap_or_else(unknown)
            }
            Exit::Defect(defect) => {
                let session = &self.machine.session().id;
                tracing::error!(%session, %defect, "the engine contradicts itself");
                Ended::Defect(defect.to_string())
            }
        }
    }
}
