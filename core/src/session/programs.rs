//! Programs of a turn: whether they go on, what they may call, and the samples that they may take.

use super::Turn;
use crate::id::CallId;
use crate::program::SampleKind;
use crate::session::{CallState, Progress};

impl Turn {
    /// Returns `true` if one more call of a program is within the limits.
    pub(crate) fn room_for_program_call(&self) -> bool {
        let Some(executing) = self.stage.executing() else {
            return false;
        };
        let program = self.settings.options.program.as_ref();
        let most = program.map_or(0, |program| program.limits.calls);
        executing.made < most && self.spent.calls < self.limits.calls
    }

    /// Returns `true` if a program is to go on: it runs, and waits for none of its calls.
    #[must_use]
    pub fn program_goes_on(&self, program: CallId) -> bool {
        let runs = |call: &CallState| {
            let running = matches!(call.progress, Progress::Running { .. });
            call.id == program && call.is_program() && running && !call.ended
        };
        let waits = |call: &CallState| call.parent == Some(program);
        self.calls().iter().any(runs) && !self.calls().iter().any(waits)
    }

    /// Returns the kind of the sample whose calls are out.
    #[must_use]
    pub fn executing_kind(&self) -> SampleKind {
        let executing = self.stage.executing();
        executing.map_or(SampleKind::Normal, |executing| executing.kind)
    }

    /// Returns `true` if a program of this sample may call tools.
    #[must_use]
    pub fn programs_call(&self, kind: SampleKind) -> bool {
        match kind {
            SampleKind::Normal => true,
            SampleKind::MustReturn => false,
            SampleKind::Retry => self.worked() < self.work(),
        }
    }

    /// Samples for work that a turn of programs may have: those that retries of a rejected return may
    /// take are set aside for them.
    pub(crate) fn work(&self) -> u32 {
        self.settings.work_samples(&self.limits)
    }

    /// Samples that only retries of a rejected return may still take.
    pub(crate) fn kept_for_retries(&self) -> u32 {
        let most = self
            .settings
            .options
            .program
            .as_ref()
            .map_or(0, |_| self.returns());
        most.saturating_sub(self.spent.returns)
    }

    /// Samples for work that it has had.
    pub(crate) fn worked(&self) -> u32 {
        self.samples().saturating_sub(self.retried)
    }

    /// Returns the kind of the next sample.
    pub(crate) fn next_kind(&self) -> SampleKind {
        if self.settings.options.program.is_none() {
            return SampleKind::Normal;
        }
        let attempt = self.stage.rules().attempt();
        let kind = attempt.and_then(|attempt| attempt.kind);
        kind.unwrap_or(match self.worked().saturating_add(1) < self.work() {
            true => SampleKind::Normal,
            false => SampleKind::MustReturn,
        })
    }

    /// Returns `true` if no sample for work is left, where the model writes programs.
    pub(crate) fn has_worked(&self) -> bool {
        let retries = self.stage.rules().retries();
        self.settings.options.program.is_some() && !retries && self.worked() >= self.work()
    }
}
