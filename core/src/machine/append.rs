//! Appending: one append at a time, and what follows from durability.

use super::Machine;
use super::action::Action;
use super::event::CommandToken;
use crate::id::Seq;

/// Facts that may wait for the append before them. Beyond that, no command is taken; the reports of
/// effects are bounded by their shell.
pub(super) const BACKLOG: usize = 16_384;

impl Machine {
    /// Begins the next append, if there is something to append and none is under way.
    pub(super) fn append(&mut self) {
        if self.appending.is_some() || self.unsent.is_empty() {
            return;
        }
        let facts = alloc::sync::Arc::<[_]>::from(core::mem::take(&mut self.unsent));
        self.appending = Some(facts.clone());
        let after = self.durable;
        self.actions.push_back(Action::Append { after, facts });
    }

    /// Publishes the facts that are durable now, and acknowledges commands.
    pub(super) fn on_appended(&mut self) {
        let Some(facts) = self.appending.take() else {
            return;
        };
        if let Some(last) = facts.last() {
            self.durable = last.seq;
        }
        self.actions.push_back(Action::Publish(facts));
        while let Some((at, token)) = self.waiting.front().copied()
            && at <= self.durable
        {
            self.waiting.pop_front();
            self.actions.push_back(Action::Acknowledge { token, at });
        }
    }

    /// Acknowledges a command once this position is durable, which it may be already.
    pub(super) fn acknowledge_at(&mut self, at: Seq, token: CommandToken) {
        if at <= self.durable {
            self.actions.push_back(Action::Acknowledge { token, at });
        } else {
            // Positions only grow but for duplicates, which are older and then wait a little longer
            // than they must.
            self.waiting.push_back((at, token));
        }
    }

    pub(super) fn withdraw(&mut self, token: CommandToken) {
        self.waiting.retain(|(_, waits)| *waits != token);
    }
}
