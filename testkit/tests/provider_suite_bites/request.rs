//! From a prompt to the body of a Chat Completions request.

use serde_json::{Value, json};
use windlass_core::{PromptItem, Seq, program_report_text, result_text};
use windlass_ports::SampleRequest;

use crate::fault::Fault;

/// The body of a request.
pub(crate) fn body(request: &SampleRequest, fault: Fault) -> String {
    let prompt = &request.prompt;
    let settings = &prompt.settings;
    let mut messages = Vec::new();
    if !settings.instructions.is_empty() {
        messages.push(json!({ "role": "system", "content": settings.instructions }));
    }
    let mut sample = None;
    for item in prompt.items.iter() {
        add(item, &mut sample, &mut messages, fault);
    }
    let mut body = json!({ "model": settings.model, "stream": true, "messages": messages });
    let tools: Vec<Value> = settings.tools.iter().map(tool).collect();
    if !tools.is_empty() && fault != Fault::DropsToolsThatItDeclares {
        body["tools"] = tools.into();
    }
    if let Some(effort) = &settings.effort {
        body["reasoning_effort"] = effort.as_str().into();
    }
    let bounded = fault != Fault::KnowsNoBudget;
    let most = if bounded { request.max_output_tokens(None) } else { settings.max_output_tokens };
    if let Some(most) = most {
        body["max_tokens"] = most.into();
    }
    body.to_string()
}

fn tool(spec: &windlass_core::ToolSpec) -> Value {
    let parameters: Value = serde_json::from_str(&spec.parameters).unwrap_or_default();
    let function = json!({
        "name": spec.name,
        "description": spec.description,
        "parameters": parameters,
    });
    json!({ "type": "function", "function": function })
}

fn add(item: &PromptItem, sample: &mut Option<Seq>, messages: &mut Vec<Value>, fault: Fault) {
    match item {
        PromptItem::User { text } => messages.push(json!({ "role": "user", "content": text })),
        PromptItem::Image { .. } => messages.push(json!({ "role": "user", "content": "an image" })),
        PromptItem::Context { text } => {
            messages.push(json!({ "role": "system", "content": text }));
        }
        PromptItem::CallReport { calls } => {
            messages.push(json!({ "role": "system", "content": calls.text() }));
        }
        PromptItem::ProgramReport { observation, .. } => {
            let text = program_report_text(observation);
            messages.push(json!({ "role": "system", "content": text }));
        }
        PromptItem::Text { sample: by, text } | PromptItem::Refusal { sample: by, text } => {
            let said = of_sample(*by, sample, messages);
            let before = said["content"].as_str().unwrap_or_default();
            said["content"] = format!("{before}{text}").into();
        }
        PromptItem::Reasoning { .. } => {}
        PromptItem::Call { sample: by, id, call } => {
            let whole = serde_json::from_str::<Value>(&call.arguments).is_ok_and(|v| v.is_object());
            let arguments = if whole || fault == Fault::SendsBrokenArguments {
                call.arguments.clone()
            } else {
                json!({ "broken": call.arguments }).to_string()
            };
            let fits = |c: char| c.is_ascii_alphanumeric() || c == '_';
            let name = call.name.chars().map(|c| if fits(c) { c } else { '_' });
            let name: String =
                "_".chars().filter(|_| call.name.is_empty()).chain(name).take(64).collect();
            let function = json!({ "name": name, "arguments": arguments });
            let call = json!({ "id": short(id), "type": "function", "function": function });
            let said = of_sample(*by, sample, messages);
            match said["tool_calls"].as_array_mut() {
                Some(calls) => calls.push(call),
                None => said["tool_calls"] = vec![call].into(),
            }
        }
        PromptItem::Result { id, observation, edited } => {
            let edited = edited.as_deref().filter(|_| fault != Fault::ForgetsEdits);
            let content = result_text(observation, edited);
            messages.push(json!({ "role": "tool", "tool_call_id": short(id), "content": content }));
        }
    }
}

/// The message that collects what a sample brought.
fn of_sample<'a>(by: Seq, sample: &mut Option<Seq>, messages: &'a mut Vec<Value>) -> &'a mut Value {
    if sample.replace(by) != Some(by) {
        messages.push(json!({ "role": "assistant", "content": null }));
    }
    let last = messages.len() - 1;
    &mut messages[last]
}

/// An id that is short enough for the strictest server.
fn short(id: &str) -> &str {
    id.get(..40).unwrap_or(id)
}
