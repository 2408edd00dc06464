//! From a prompt to the body of a Chat Completions request.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use windlass_core::{
    Image, ObservationStatus, Opaque, PromptItem, Seq, ToolChoice, program_report_text, result_text,
};
use windlass_ports::SampleRequest;

use crate::fault::Fault;

/// The images of a conversation, as data URLs by their names.
pub(crate) type Images = BTreeMap<String, String>;

/// Reads the images of a request.
pub(crate) async fn images(request: &SampleRequest, fault: Fault) -> Images {
    let mut images = Images::new();
    for item in request.prompt.items.iter() {
        for image in item.images() {
            if fault != Fault::SendsWordsForImages
                && let Ok(bytes) = request.blobs.read(&image.sha256, image.bytes).await
            {
                let url = format!("data:{};base64,{}", image.media.as_str(), base64(&bytes));
                images.insert(image.sha256.clone(), url);
            }
        }
    }
    images
}

/// Bytes in base64 (RFC 4648).
fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for three in bytes.chunks(3) {
        let bits = (0..3).fold(0, |bits, at| bits << 8 | usize::from(*three.get(at).unwrap_or(&0)));
        for at in 0..4 {
            let digit = DIGITS[bits >> (18 - 6 * at) & 63];
            text.push(if at <= three.len() { char::from(digit) } else { '=' });
        }
    }
    text
}

/// The body of a request.
pub(crate) fn body(request: &SampleRequest, images: &Images, fault: Fault) -> String {
    let prompt = &request.prompt;
    let settings = &prompt.settings;
    let mut messages = Vec::new();
    if !settings.instructions.is_empty() && fault != Fault::DropsTheInstructions {
        messages.push(json!({ "role": "system", "content": settings.instructions }));
    }
    let mut sample = None;
    for item in prompt.items.iter() {
        add(item, images, &mut sample, &mut messages, fault);
    }
    if fault == Fault::SendsResultsFirst {
        messages.sort_by_key(|message| message["role"] != "tool");
    }
    let mut body = json!({ "model": settings.model, "stream": true, "messages": messages });
    let tools: Vec<Value> = settings.tools.iter().map(|spec| tool(spec, fault)).collect();
    if !tools.is_empty() && fault != Fault::DropsToolsThatItDeclares {
        body["tools"] = tools.into();
    }
    if let Some(choice) = choice(&request.choice).filter(|_| fault != Fault::IgnoresTheChoice) {
        body["tool_choice"] = choice;
    }
    if settings.options.web_search.is_some() {
        body["web_search_options"] = json!({});
    }
    if let Some(effort) = &settings.effort {
        let one = fault == Fault::SendsOneEffort;
        body["reasoning_effort"] = if one { "high" } else { effort.as_str() }.into();
    }
    if let Some(temperature) = settings.temperature {
        body["temperature"] = temperature.value().into();
    }
    let shape = settings.options.output_schema.as_ref();
    if let Some(shape) = shape.filter(|_| fault != Fault::SendsNoSchema) {
        let schema: Value = serde_json::from_str(&shape.schema).unwrap_or_default();
        let format = json!({ "name": shape.name, "schema": schema });
        body["response_format"] = json!({ "type": "json_schema", "json_schema": format });
    }
    let bounded = fault != Fault::KnowsNoBudget;
    let most = if bounded { request.max_output_tokens(None) } else { settings.max_output_tokens };
    if let Some(most) = most.filter(|_| fault != Fault::IgnoresTheLimit) {
        body["max_tokens"] = most.into();
    }
    body.to_string()
}

fn choice(choice: &ToolChoice) -> Option<Value> {
    match choice {
        ToolChoice::Auto => None,
        ToolChoice::None => Some("none".into()),
        ToolChoice::Required => Some("required".into()),
        ToolChoice::Tool(name) => Some(json!({ "type": "function", "function": { "name": name } })),
    }
}

fn tool(spec: &windlass_core::ToolSpec, fault: Fault) -> Value {
    let parameters: Value = serde_json::from_str(&spec.parameters).unwrap_or_default();
    let empty = fault == Fault::EmptiesDescriptions;
    let function = json!({
        "name": spec.name,
        "description": if empty { "" } else { &spec.description },
        "parameters": parameters,
    });
    json!({ "type": "function", "function": function })
}

fn add(
    item: &PromptItem,
    images: &Images,
    sample: &mut Option<Seq>,
    messages: &mut Vec<Value>,
    fault: Fault,
) {
    match item {
        PromptItem::User { text } => messages.push(json!({ "role": "user", "content": text })),
        PromptItem::Image { image } => messages.push(picture(image, images)),
        PromptItem::Context { .. } if fault == Fault::DropsContext => {}
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
        PromptItem::Text { sample: by, text, .. } | PromptItem::Refusal { sample: by, text } => {
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
            let name = if fault == Fault::SendsCallsUnderOneName { "f".into() } else { name };
            let function = json!({ "name": name, "arguments": arguments });
            let mut call_sent =
                json!({ "id": short(id), "type": "function", "function": function });
            let own = |opaque: &&Opaque| opaque.model == "reference";
            if let Some(opaque) = call.opaque.as_ref().filter(own) {
                call_sent["seal"] = opaque.payload.as_str().into();
            }
            let said = of_sample(*by, sample, messages);
            match said["tool_calls"].as_array_mut() {
                Some(calls) => calls.push(call_sent),
                None => said["tool_calls"] = vec![call_sent].into(),
            }
        }
        PromptItem::Result { id, observation, edited } => {
            let edited = edited.as_deref().filter(|_| fault != Fault::ForgetsEdits);
            let content = result_text(observation, edited);
            let mut message =
                json!({ "role": "tool", "tool_call_id": short(id), "content": content });
            let failed = observation.status != ObservationStatus::Done;
            if failed && fault != Fault::HidesThatACallFailed {
                message["is_error"] = true.into();
            }
            messages.push(message);
            if fault != Fault::ForgetsImagesOfResults {
                messages.extend(observation.images.iter().map(|image| picture(image, images)));
            }
        }
    }
}

fn picture(image: &Image, images: &Images) -> Value {
    match images.get(&image.sha256) {
        Some(url) => {
            let part = json!({ "type": "image_url", "image_url": { "url": url } });
            json!({ "role": "user", "content": [part] })
        }
        None => json!({ "role": "user", "content": "an image" }),
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
