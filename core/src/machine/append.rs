//! Appending: one append at a time, and the consequences of durability.

use super::Machine;
use super::action::Action;
use super::event::CommandToken;
use crate::id::Seq;

/// Facts that may wait for the running append. Beyond that, commands are not accepted; the shell
/// limits the reports of effects.
pub(super) const BACKLOG: usize = 16_384;

impl Machine {
    /// Starts the next append, if there are facts to append and none is running.
    pub(super) fn append(&mut self) {
        if self.appending.is_some() || self.unsent.is_empty() {
            return;
        }
        let facts = alloc::sync::Arc::<[_]>::from(core::mem::take(&mut self.unsent));
        self.appending = Some(facts.clone());
        let after = self.durable;
        self.actions.push_back(Action::Append { after, facts });
    }

    /// Publishes newly durable facts, and acknowledges commands.
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

    /// Acknowledges a command once this position is durable, or at once if it is.
    pub(super) fn acknowledge_at(&mut self, at: Seq, token: CommandToken) {
        if at <= self.durable {
            self.actions.push_back(Action::Acknowledge { token, at });
        } else {
            // Positions only grow, except for duplicates: their positions are older, so they wait a
            // little longer than necessary.
            self.waiting.push_back((at, token));
        }
    }

    pub(super) fn withdraw(&mut self, token: CommandToken) {
        self.waiting.retain(|(_, waits)| *waits != token);
    }
}
