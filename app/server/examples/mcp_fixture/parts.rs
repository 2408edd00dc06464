//! Contents, forms and requests for input that the kit checks.

use rmcp::model::{ClientCapabilities, ErrorData, InputResponses};
use serde_json::{Value, json};

/// A picture of one pixel, and a sound without a sample.
pub(crate) const PNG: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const WAV: &str = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA=";

pub(crate) fn text(words: impl Into<String>) -> Value {
    json!({"type": "text", "text": words.into()})
}

pub(crate) fn content(parts: Value) -> Value {
    json!({"resultType": "complete", "content": parts})
}

pub(crate) fn image() -> Value {
    json!({"type": "image", "data": PNG, "mimeType": "image/png"})
}

pub(crate) fn form(message: &str, properties: Value, required: &[&str]) -> Value {
    json!({"method": "elicitation/create", "params": {"mode": "form", "message": message,
        "requestedSchema": {"type": "object", "properties": properties, "required": required}}})
}

pub(crate) fn sampling(words: &str, tokens: u32) -> Value {
    json!({"method": "sampling/createMessage", "params": {"maxTokens": tokens,
        "messages": [{"role": "user", "content": text(words)}]}})
}

pub(crate) fn name_form(message: &str) -> Value {
    form(message, json!({"name": {"type": "string"}}), &["name"])
}

pub(crate) fn roots() -> Value {
    json!({"method": "roots/list", "params": {}})
}

pub(crate) fn asks(requests: Value, state: Option<&str>) -> Value {
    let mut asks = json!({"resultType": "input_required", "inputRequests": requests});
    if let Some(state) = state {
        asks["requestState"] = json!(state);
    }
    asks
}

pub(crate) fn plain(name: &str) -> Value {
    let resource = |uri: &str, kind: &str, words: &str| {
        json!({"type": "resource", "resource":
        {"uri": uri, "mimeType": kind, "text": words}})
    };
    match name {
        "test_simple_text" => content(json!([text("This is a simple text response for testing.")])),
        "test_image_content" => content(json!([image()])),
        "test_audio_content" => {
            content(json!([{"type": "audio", "data": WAV, "mimeType": "audio/wav"}]))
        }
        "test_embedded_resource" => {
            let words = "This is an embedded resource content.";
            content(json!([resource("test://embedded-resource", "text/plain", words)]))
        }
        "test_multiple_content_types" => {
            let words = r#"{"test":"data","value":123}"#;
            let uri = "test://mixed-content-resource";
            let resource = resource(uri, "application/json", words);
            content(json!([text("Multiple content types test:"), image(), resource]))
        }
        _ => {
            let words = "This tool intentionally returns an error for testing";
            let mut failed = content(json!([text(words)]));
            failed["isError"] = json!(true);
            failed
        }
    }
}

/// Returns what a tool answers or asks for, given the responses and the state that came back.
pub(crate) fn asking(
    name: &str,
    declared: &ClientCapabilities,
    given: &InputResponses,
    state: Option<&str>,
) -> Result<Value, ErrorData> {
    let has = |key: &str| given.contains_key(key);
    let field = |key: &str, name: &str| {
        let found = given.get(key)?.get("content")?.get(name)?.as_str();
        found.map(str::to_owned)
    };
    let refuse = |words: &'static str| Err(ErrorData::invalid_params(words, None));
    let confirm = || form("Please confirm", json!({"ok": {"type": "boolean"}}), &["ok"]);
    let said = |words: String| Ok(content(json!([text(words)])));
    match (name, state) {
        ("test_input_required_result_elicitation", _) => match field("user_name", "name") {
            Some(name) => said(format!("Hello, {name}!")),
            None => Ok(asks(json!({"user_name": name_form("What is your name?")}), None)),
        },
        ("test_input_required_result_sampling", _) => match given.get("capital_question") {
            Some(answer) => said(answer["content"]["text"].as_str().unwrap_or_default().to_owned()),
            None => {
                let question = sampling("What is the capital of France?", 100);
                Ok(asks(json!({"capital_question": question}), None))
            }
        },
        ("test_input_required_result_list_roots", _) => match given.get("client_roots") {
            Some(answer) => said(answer["roots"].to_string()),
            None => Ok(asks(json!({"client_roots": roots()}), None)),
        },
        ("test_input_required_result_multiple_inputs", Some("all")) => {
            match ["user_name", "greeting", "client_roots"].into_iter().all(has) {
                true => said("all of it".to_owned()),
                false => refuse("responses are missing"),
            }
        }
        ("test_input_required_result_multiple_inputs", _) => Ok(asks(
            json!({"user_name": name_form("What is your name?"), "client_roots": roots(),
                "greeting": sampling("Generate a greeting", 50)}),
            Some("all"),
        )),
        ("test_input_required_result_multi_round", Some("one")) => {
            let color = json!({"color": {"type": "string"}});
            let next = form("Step 2: What is your favorite color?", color, &["color"]);
            Ok(asks(json!({"step2": next}), Some("two")))
        }
        ("test_input_required_result_multi_round", Some("two")) => {
            said(field("step2", "color").unwrap_or_default())
        }
        ("test_input_required_result_multi_round", _) => {
            let first = name_form("Step 1: What is your name?");
            Ok(asks(json!({"step1": first}), Some("one")))
        }
        ("test_input_required_result_capabilities", _) => {
            let mut requests = json!({});
            if declared.sampling.is_some() {
                requests["sampled"] = sampling("Say a word", 10);
            }
            if declared.elicitation.is_some() {
                requests["confirm"] = confirm();
            }
            Ok(asks(requests, Some("asked")))
        }
        (_, Some("state")) => said("state-ok".to_owned()),
        (_, Some(_)) => refuse("requestState is not one that this server sent"),
        (_, None) => Ok(asks(json!({"confirm": confirm()}), Some("state"))),
    }
}

/// Returns the fields of the form of a tool that asks in the older version.
pub(crate) fn fields(name: &str) -> Value {
    let options = json!(["option1", "option2", "option3"]);
    let titled = |kind: &str| -> Value {
        (1..=3)
            .map(|at| json!({"const": format!("value{at}"), "title": format!("{kind} {at}")}))
            .collect()
    };
    match name {
        "test_elicitation" => json!({"username": {"type": "string"}, "email": {"type": "string"}}),
        "test_elicitation_sep1034_defaults" => json!({
            "name": {"type": "string", "default": "John Doe"},
            "age": {"type": "integer", "default": 30},
            "score": {"type": "number", "default": 95.5},
            "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
            "verified": {"type": "boolean", "default": true},
        }),
        _ => json!({
            "untitledSingle": {"type": "string", "enum": options},
            "titledSingle": {"type": "string", "oneOf": titled("Option")},
            "legacyEnum": {"type": "string", "enum": ["opt1", "opt2", "opt3"],
                "enumNames": ["Option One", "Option Two", "Option Three"]},
            "untitledMulti": {"type": "array", "items": {"type": "string", "enum": options}},
            "titledMulti": {"type": "array", "items": {"anyOf": titled("Choice")}},
        }),
    }
}
