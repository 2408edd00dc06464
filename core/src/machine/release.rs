//! Release: how turns are asked to stop, and how a session at rest is let go.

use alloc::string::String;

use super::Machine;
use super::action::{Action, ExitReason};
use super::event::Timer;
use crate::fact::StopTiming;
use crate::input::Input;
use crate::outcome::InterruptSource;
use crate::scope::Scope;

/// The longest reason for a stop, in bytes; the rest of it is dropped.
const REASON: usize = 1_024;

/// Progress of a session's release.
#[derive(Debug, Clone)]
pub(super) struct Release {
    /// It is let go once it is at rest, whoever uses it.
    pub(super) closing: bool,
    /// It was at rest, and the hooks of its end are asked.
    pub(super) asking_hooks: bool,
    /// When and why each turn is asked to stop.
    drain: Option<(StopTiming, String)>,
    /// Time for the hooks of its end.
    within_ms: u64,
}

impl Release {
    pub(super) fn new(within_ms: u64) -> Self {
        Self {
            closing: false,
            asking_hooks: false,
            drain: None,
            within_ms,
        }
    }

    pub(super) fn close(&mut self) {
        self.closing = true;
    }

    /// Has each turn stop. Once they are to stop now, they are not to stop later.
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
    /// Asks the turn to stop that runs while the session is being drained.
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
        // A turn that cannot be interrupted any more refuses it, which is noted.
        let _ = self.apply_input(input);
    }

    /// Lets a session at rest go, once the hooks of its end have been heard. By now nobody attaches to
    /// it any more, and it takes no more inputs for the model.
    ///
    /// Hooks that have not answered in time are let go of too: the next process that opens the
    /// session finds them asked and unheard.
    pub(super) fn on_released(&mut self) {
        if self.release.asking_hooks || !self.is_at_rest() {
            return;
        }
        (self.release.closing, self.release.asking_hooks) = (true, true);
        self.actions.push_back(Action::SetTimer {
            timer: Timer::Release,
            after_ms: self.release.within_ms,
        });
        // A refusal is noted, and the session is let go all the same.
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
