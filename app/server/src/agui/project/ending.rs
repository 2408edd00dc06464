//! Ending: how a run pauses for people, and how it ends.

use serde_json::{Value, json};
use windlass_engine::core::{SampleView, TurnOutcome, TurnSettled};

use super::super::event::{AguiEvent, AguiOutcome};
use super::super::question;
use super::{PresentedRun, Projection, name};

impl Projection {
    /// Ends the run if nothing continues without a person or a client.
    pub(super) fn pause(&mut self, out: &mut Vec<AguiEvent>) {
        let waits = self.answer().is_some_and(SampleView::waits_for_client);
        if self.sample.is_some() || self.paused || !waits {
            return;
        }
        self.paused = true;
        let Some(run) = self.run.take() else {
            return;
        };
        let open = self.answer().into_iter().flat_map(SampleView::open_calls);
        let interrupts: Vec<_> = open.filter_map(question::interrupt).collect();
        // A run that waits for the client's tools alone ends, and their results start another.
        let outcome = match interrupts.is_empty() {
            true => AguiOutcome::Success,
            false => AguiOutcome::Interrupt { interrupts },
        };
        self.parent_run = Some(run.id.clone());
        self.finish(run, outcome, None, out);
    }

    fn finish(
        &self,
        run: PresentedRun,
        outcome: AguiOutcome,
        result: Option<Value>,
        out: &mut Vec<AguiEvent>,
    ) {
        out.push(AguiEvent::RunFinished {
            thread_id: self.thread.to_string(),
            run_id: run.id,
            result,
            outcome,
            usage: run.usage.as_list(),
        });
    }

    pub(super) fn settle(&mut self, settled: &TurnSettled, out: &mut Vec<AguiEvent>) {
        self.close(out);
        self.parents.clear();
        (self.settled, self.parent_run) = (self.turn.take(), None);
        let Some(run) = self.run.take() else {
            return;
        };
        let result = json!(settled.outcome);
        let failed = match &settled.outcome {
            TurnOutcome::Completed | TurnOutcome::NoAnswer | TurnOutcome::Refused => {
                return self.finish(run, AguiOutcome::Success, Some(result), out);
            }
            TurnOutcome::Interrupted { .. } => {
                return self.finish(run, AguiOutcome::Cancelled, Some(result), out);
            }
            TurnOutcome::InvalidOutput { fault } => fault.clone(),
            TurnOutcome::Blocked { reason } => reason.clone(),
            TurnOutcome::Exhausted { limit } => {
                format!("the turn reached its limit: {}", name(&json!(limit)))
            }
            TurnOutcome::Failed { message, .. } => message.clone(),
        };
        let code = if let TurnOutcome::Failed { failure, .. } = &settled.outcome {
            name(&json!(failure))
        } else {
            name(&result["outcome"])
        };
        out.push(AguiEvent::RunError { message: failed, code, usage: run.usage.as_list() });
    }
}
