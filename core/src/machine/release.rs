//! Release: stops turns, and releases an idle session.

use alloc::string::String;

use super::Machine;
use super::action::{Action, ExitReason};
use super::event::Timer;
use crate::fact::StopTiming;
use crate::input::Input;
use crate::outcome::InterruptSource;
use crate::scope::Scope;

/// Longest reason for a stop, in bytes; the rest is truncated.
const REASON: usize = 1_024;

/// Progress of a session's release.
#[derive(Debug, Clone)]
pub(super) struct Release {
    /// True if the session is released once it is idle, even with users.
    pub(super) closing: bool,
    /// True once the session was idle and its end's hooks are asked.
    pub(super) asking_hooks: bool,
    /// Timing and reason of the stop of each turn.
    drain: Option<(StopTiming, String)>,
    /// Time limit for the hooks on its end.
    within_ms: u64,
}

impl Release {
    pub(super) fn new(within_ms: u64) -> Self {
        Self { closing: false, asking_hooks: false, drain: None, within_ms }
    }

    pub(super) fn close(&mut self) {
        self.closing = true;
    }

    /// Stops each turn. A later request cannot delay an immediate stop.
    pub(super) fn drain(&mut self, when: StopTiming, mut reason: String) {
        self.closing = true;
        reason.truncate(reason.floor_char_boundary(REASON));
        match (&self.drain, when) {
            (None, _) | (Some(_), StopTiming::Now) => self.drain = Some((when, reason)),
            (Some(_), StopTiming::AfterStep) => {}
        }
    }
}

impl Machine {
    /// Asks the running turn to stop while the session is drained.
    pub(super) fn interrupt_drained(&mut self) {
        if self.hand_off.is_some() || self.release.asking_hooks {
            return;
        }
        let (Some((when, reason)), Some(turn)) = (&self.release.drain, self.session.turn()) else {
            return;
        };
        let asked = match when {
            StopTiming::Now => turn.stop.is_some(),
            StopTiming::AfterStep => turn.stop.is_some() || turn.pause.is_some(),
        };
        if asked {
            return;
        }
        let input = Input::Interrupt {
            by: InterruptSource::Shutdown,
            scope: Scope::system("the engine is shut down"),
            reason: reason.clone(),
            when: *when,
            turn: None,
        };
        // A turn that can no longer be interrupted rejects it, which is noted.
        let _ = self.apply_input(input);
    }

    /// Releases an idle session after the hooks on its end. The session accepts no users and no
    /// inputs for the model any more.
    ///
    /// Hooks that do not answer in time are abandoned. The next process that opens the session
    /// finds them unanswered.
    pub(super) fn on_released(&mut self) {
        if self.release.asking_hooks || !self.is_at_rest() {
            return;
        }
        (self.release.closing, self.release.asking_hooks) = (true, true);
        self.actions.push_back(Action::SetTimer {
            timer: Timer::Release,
            after_ms: self.release.within_ms,
        });
        // A rejection is noted; the session is released nevertheless.
        let _ = self.apply_input(Input::Close);
    }

    pub(super) fn exit_at_rest(&mut self) {
        if self.is_at_rest() || self.hand_off.is_some() {
            self.exit(ExitReason::Closed);
        }
    }

    pub(super) fn exit_without_hooks(&mut self) {
        if self.release.asking_hooks {
            self.exit(ExitReason::Closed);
        }
    }
}
