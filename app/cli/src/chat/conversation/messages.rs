//! Messages: what is sent with the words of a person.

use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use windlass_engine::core::ContextPart;
use windlass_engine::ports::ToolExecutor as _;
use windlass_interaction::InteractionTools;

use super::Message;
use crate::attach::RemoteSession;
use crate::command::read_images;
use crate::wiring;

/// Sends a message with its images and with the skills that it names. `declared` replaces the tools that
/// clients of the session run by those of this one.
///
/// # Errors
/// A description of the failure.
pub(super) async fn send_message(
    session: &RemoteSession,
    workspace: Option<&Path>,
    message: &Message,
    delivery: &str,
    declared: bool,
) -> Result<(), String> {
    let images = read_images(&message.images).map_err(|failure| failure.message)?;
    let images: Vec<String> = images.iter().map(|image| STANDARD.encode(image)).collect();
    let context: Vec<ContextPart> = match workspace {
        Some(folder) => {
            wiring::named_skills(folder, &message.text).map_err(|failure| failure.message)?
        }
        None => Vec::new(),
    };
    let mut body = json!({
        "text": message.text, "delivery": delivery, "images": images, "context": context,
    });
    if declared && let Some(fields) = body.as_object_mut() {
        fields.insert("client_tools".to_owned(), client_tools());
    }
    let sent = session.command("POST", "/inputs", Some(&body)).await;
    sent.map_err(|failure| failure.message)
}

/// Runs a command of the person, which begins with `!`.
///
/// # Errors
/// A description of the failure.
pub(super) async fn run_command(session: &RemoteSession, text: &str) -> Result<(), String> {
    let body = json!({ "command": text.trim_start_matches('!').trim() });
    let sent = session.command("POST", "/commands", Some(&body)).await;
    sent.map_err(|failure| failure.message)
}

/// Returns the tools that this client runs: the question to the person.
pub(super) fn client_tools() -> Value {
    let tools = InteractionTools::new().with_questions().tools();
    let asked = tools.into_iter().filter(|tool| tool.client);
    let declared = asked.map(|tool| {
        let parameters: Value = serde_json::from_str(&tool.parameters).unwrap_or_default();
        json!({
            "name": tool.name, "description": tool.description, "parameters": parameters,
            "effect": tool.effect, "timeout_ms": tool.timeout_ms,
        })
    });
    declared.collect()
}
