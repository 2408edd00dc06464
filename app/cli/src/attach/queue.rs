//! Queue: lists and changes the waiting inputs of a server's session.

use serde::{Deserialize, Serialize};
use serde_json::json;
use windlass_engine::InputChange;
use windlass_engine::core::{Delivery, InputId, TurnId};

use super::client::{RemoteSession, RequestFailure};
use crate::exit::Failure;

/// Inputs that wait, in their order, in the form of the HTTP interface.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct InputQueue {
    pub(crate) inputs: Vec<QueuedInput>,
    /// True if they wait until a user resumes the session.
    pub(crate) held: bool,
}

/// Input that no turn has accepted yet.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct QueuedInput {
    pub(crate) input: InputId,
    pub(crate) text: String,
    pub(crate) delivery: Delivery,
    /// Number of its images.
    pub(crate) images: usize,
    pub(crate) dry_run: bool,
    /// Turn that was opened for it.
    pub(crate) turn: Option<TurnId>,
}

impl RemoteSession {
    /// Lists the inputs that wait.
    pub(crate) async fn inputs(&self) -> Result<InputQueue, Failure> {
        self.get("/inputs").await.map_err(RequestFailure::into_failure)
    }

    /// Changes an input that waits.
    pub(crate) async fn change_input(
        &self,
        input: InputId,
        change: &InputChange,
    ) -> Result<(), Failure> {
        let path = format!("/inputs/{input}");
        let body = match change {
            InputChange::Edit { text } => Some(json!({ "text": text })),
            InputChange::Move { before: Some(before) } => Some(json!({ "before": before })),
            InputChange::Move { before: None } => Some(json!({ "last": true })),
            InputChange::Withdraw => None,
        };
        let changed = match &body {
            Some(body) => self.command("PATCH", &path, Some(body)).await,
            None => self.command("DELETE", &path, None).await,
        };
        changed.map_err(RequestFailure::into_failure)
    }
}
