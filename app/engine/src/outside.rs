//! Outside of the sandbox: finds how a call failed in the sandbox before it was asked for again
//! outside. Decides nothing.

use std::sync::Arc;

use serde_json::{Map, Value};
use windlass_core::{CallItem, History, ObservationStatus, PromptItem, Settings};

use crate::arguments::outside_argument;

/// Most recent items of a conversation that are searched.
const LOOK_BACK: usize = 200;
/// Most bytes of an output that are returned.
const MAX_OUTPUT_BYTES: usize = 4_096;

/// Result of a call that nobody approved in this process, for the model.
pub(crate) const NOT_APPROVED: &str = "Not started: a call outside of the sandbox needs the approval of a person, which this process \
     does not have for these arguments. Request it again, if it is still needed.";

/// Returns the output of the latest call with the same arguments but the request to leave the sandbox,
/// if it failed.
pub(crate) fn earlier_failure(
    history: &History,
    settings: &Settings,
    tool: &str,
    arguments: &str,
) -> Option<Arc<str>> {
    let spec = settings.tool(tool)?;
    let name = outside_argument(&serde_json::from_str(&spec.parameters).ok()?)?;
    let inside = |arguments: &str| {
        let mut members: Map<String, Value> = serde_json::from_str(arguments).ok()?;
        members.remove(&name);
        Some(members)
    };
    let wanted = inside(arguments)?;
    let same = |call: &CallItem| {
        !call.outside_sandbox
            && call.name == tool
            && inside(&call.arguments).as_ref() == Some(&wanted)
    };
    let items = history.items();
    let from = items.len().saturating_sub(LOOK_BACK);
    let mut found = None;
    let mut output = None;
    for item in items.iter_from(from) {
        if let PromptItem::Call { id, call, .. } = item
            && same(call)
        {
            found = Some(id.clone());
        }
        if let PromptItem::Result { id, observation, .. } = item
            && found.as_ref() == Some(id)
        {
            let failed = observation.status == ObservationStatus::Failed;
            output = failed.then(|| observation.output.clone());
        }
    }
    let mut output = output?;
    crate::capacity::cut(&mut output, MAX_OUTPUT_BYTES);
    Some(output.into())
}
