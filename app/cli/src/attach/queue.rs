//! Queue: lists and changes the waiting inputs of a server's session.

use serde_json::json;
use windlass_engine::core::InputId;
use windlass_engine::{InputChange, InputQueue};

use super::client::{RemoteSession, RequestFailure};
use crate::exit::Failure;

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
