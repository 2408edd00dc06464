//! Programs of a turn: their continuation, their calls, and the samples that they may use.

use super::Turn;
use crate::id::CallId;
use crate::program::{CallOutcome, SampleKind};
use crate::session::{CallProgress, CallState};

impl Turn {
    /// Returns true if one more call of a program is within the limits.
    pub(crate) fn room_for_program_call(&self) -> bool {
        let Some(executing) = self.stage.executing() else {
            return false;
        };
        let program = self.settings.options.program.as_ref();
        let most = program.map_or(0, |program| program.limits.calls);
        executing.program_calls < most && self.spent.calls < self.limits.calls
    }

    /// Returns true if a program can continue: it runs, and waits for none of its calls.
    #[must_use]
    pub fn program_can_resume(&self, program: CallId) -> bool {
        let runs = |call: &CallState| {
            let running = matches!(call.progress, CallProgress::Running { .. });
            call.id == program && call.is_program() && running && !call.ended
        };
        let waits = |call: &CallState| call.parent == Some(program);
        self.calls().iter().any(runs) && !self.calls().iter().any(waits)
    }

    /// Returns true if a call repeats an effect of a failed program of this turn, of which the model
    /// was not told by an earlier repetition.
    pub(crate) fn repeats_effect(&self, call: &CallState) -> bool {
        let program = call.parent.filter(|_| call.is_effectful());
        program.is_some_and(|program| self.program_effects.repeats(program, call.effect_digest()))
    }

    /// Records the effect of a program's call that ends with this outcome, or that its result tells
    /// the model about the same effect of an earlier program.
    pub(crate) fn note_effect(&mut self, id: CallId, outcome: CallOutcome) {
        let Some(call) = self.calls().iter().find(|call| call.id == id) else {
            return;
        };
        let Some(program) = call.parent.filter(|_| call.is_effectful() && !self.dry_run) else {
            return;
        };
        let (digest, proposed) = (call.effect_digest(), call.progress == CallProgress::Proposed);
        match outcome {
            CallOutcome::Done | CallOutcome::Unknown => {
                self.program_effects.add(program, id, digest)
            }
            CallOutcome::NotStarted if proposed => self.program_effects.tell(program, digest),
            CallOutcome::NotStarted | CallOutcome::Failed => {}
        }
    }

    /// Returns the kind of the sample whose calls are pending.
    #[must_use]
    pub fn executing_kind(&self) -> SampleKind {
        let executing = self.stage.executing();
        executing.map_or(SampleKind::Normal, |executing| executing.kind)
    }

    /// Returns true if a program of this sample may call tools.
    #[must_use]
    pub fn programs_call(&self, kind: SampleKind) -> bool {
        match kind {
            SampleKind::Normal => true,
            SampleKind::MustReturn => false,
            SampleKind::ReAsk => self.work_samples_used() < self.work_samples(),
        }
    }

    /// Returns true if the program of this sample is the turn's last one: it cannot call tools, and
    /// must return.
    #[must_use]
    pub fn must_return(&self, kind: SampleKind) -> bool {
        self.settings.options.program.is_some() && !self.programs_call(kind)
    }

    /// Returns the number of samples for work in a turn of programs; the samples for re-asks are
    /// reserved.
    pub(crate) fn work_samples(&self) -> u32 {
        self.settings.work_samples(&self.limits)
    }

    /// Returns the number of programs for work that are left after the current one; the last of them
    /// cannot call tools.
    #[must_use]
    pub fn programs_left(&self) -> u32 {
        self.work_samples().saturating_sub(self.work_samples_used())
    }

    /// Returns the number of samples that are reserved for re-asks.
    pub(crate) fn reserved_for_re_asks(&self) -> u32 {
        let most = self.settings.options.program.as_ref().map_or(0, |_| self.max_re_asks());
        most.saturating_sub(self.spent.re_asks)
    }

    /// Returns the number of used samples for work.
    pub(crate) fn work_samples_used(&self) -> u32 {
        self.samples().saturating_sub(self.re_asks)
    }

    /// Returns the kind of the next sample.
    pub(crate) fn next_kind(&self) -> SampleKind {
        if self.settings.options.program.is_none() {
            return SampleKind::Normal;
        }
        let attempt = self.stage.rules().attempt();
        let kind = attempt.and_then(|attempt| attempt.kind);
        kind.unwrap_or(match self.work_samples_used().saturating_add(1) < self.work_samples() {
            true => SampleKind::Normal,
            false => SampleKind::MustReturn,
        })
    }

    /// Returns true if the turn needs a sample for work and none is left, in program mode.
    pub(crate) fn work_is_used_up(&self) -> bool {
        !self.stage.rules().re_asks() && self.is_without_work()
    }

    /// Returns true if only a re-ask is left. A steering input that entered now would end the turn
    /// without an answer to it, so it waits.
    pub(crate) fn only_re_asks(&self) -> bool {
        self.stage.rules().re_asks() && self.is_without_work()
    }

    fn is_without_work(&self) -> bool {
        self.settings.options.program.is_some() && self.work_samples_used() >= self.work_samples()
    }
}
