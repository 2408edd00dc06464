//! Undo: changes files beside the session while its driver, its only writer, does nothing else.

use std::sync::Arc;

use tokio::sync::oneshot;
use windlass_core::Reject;

use super::{AckResult, Driver};
use crate::offline::ChangeError;
use crate::undo::{UndoError, UndoReport, UndoWork};

/// Report of an undo, and the acknowledgement of its record, whose sender is dropped if there is
/// nothing to record. `None` while the log lacks facts that were decided.
pub(crate) type UndoAnswer = Option<(UndoReport, oneshot::Receiver<AckResult>)>;

/// Request to undo a turn's changes of files.
pub(crate) struct UndoCommand {
    pub(crate) work: Arc<UndoWork>,
    pub(crate) answer: oneshot::Sender<Result<UndoAnswer, UndoError>>,
}

impl Driver {
    /// Runs the work and records it. No turn can open meanwhile.
    pub(super) async fn undo(&mut self, command: UndoCommand) {
        let UndoCommand { work, answer } = command;
        let done = self.run_undo(&work).await;
        let _ = answer.send(done);
    }

    async fn run_undo(&mut self, work: &UndoWork) -> Result<UndoAnswer, UndoError> {
        if let Some(turn) = self.machine.session().turn() {
            return Err(ChangeError::Rejected(Reject::TurnRunning(turn.id)).into());
        }
        if self.appending.is_some() {
            return Ok(None);
        }
        let report = work.run().await?;
        let (ack, acked) = oneshot::channel();
        if let Some(input) = work.input(&report) {
            let (first, _) = oneshot::channel();
            self.on_submit(input, first, ack);
        }
        Ok(Some((report, acked)))
    }
}
