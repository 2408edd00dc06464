//! Parts around a conversation of Chat Completions: tools, their choice, the form of the
//! answer.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::super::profile::{Profile, Rule};
use super::super::shape::{Faults, Kind, Object, given, list, text, under};

/// Parts around the conversation.
pub(super) fn around(profile: &Profile, body: &Object, faults: &mut Faults) {
    let names = faults.tools(body, |faults, at, tool| {
        faults.fields(
            at,
            tool,
            &[("function", Kind::Object), ("type", Kind::Word(&["function"]))],
            &[],
        );
        let function = tool.get("function")?.as_object()?;
        let at = under(at, "function");
        let may =
            [("description", Kind::Any), ("parameters", Kind::Object), ("strict", Kind::Bool)];
        faults.fields(&at, function, &[("name", Kind::Any)], &may);
        let name = function.get("name")?;
        faults.name(&under(&at, "name"), name);
        if let Some(schema) = function.get("parameters") {
            let strict = function.get("strict") == Some(&Value::Bool(true));
            faults.schema(&under(&at, "parameters"), schema, strict);
        }
        name.as_str()
    });
    for key in ["tool_choice", "parallel_tool_calls"] {
        let idle = body.contains_key(key) && !body.contains_key("tools");
        faults.hold(!idle, key, "it is only for a request with tools");
    }
    if let Some(choice) = body.get("tool_choice") {
        chosen(profile, choice, &names, faults);
    }
    if given(body, "stream_options") {
        let streamed = body.get("stream") == Some(&Value::Bool(true));
        faults.hold(streamed, "stream_options", "they are only for a stream");
        if let Some(options) = body.get("stream_options").and_then(Value::as_object) {
            let may = [("include_usage", Kind::Bool), ("include_obfuscation", Kind::Bool)];
            faults.fields("stream_options", options, &[], &may);
        }
    }
    let both = body.contains_key("max_tokens") && body.contains_key("max_completion_tokens");
    faults.hold(!both, "max_tokens", "it stands beside max_completion_tokens");
    if let Some(effort) = body.get("reasoning_effort").and_then(Value::as_str) {
        let known = profile.efforts.is_empty() || profile.efforts.contains(&effort);
        faults.hold(known, "reasoning_effort", "no such effort is known");
    }
    if let Some(format) = body.get("response_format").and_then(Value::as_object) {
        answer(profile, format, body, faults);
    }
    let stops = body.get("stop").map(list).unwrap_or_default().len();
    faults.hold(stops <= 4, "stop", "there are four at the most");
}

fn chosen(profile: &Profile, choice: &Value, names: &BTreeSet<&str>, faults: &mut Faults) {
    if let Some(word) = choice.as_str() {
        let known = profile.choices.contains(&word);
        return faults.hold(known, "tool_choice", &format!("it is one of {:?}", profile.choices));
    }
    if profile.has(Rule::NoChoiceByName) {
        return faults.add("tool_choice", "a tool cannot be chosen by its name");
    }
    let name = choice["function"]["name"].as_str().unwrap_or_default();
    let shape = json!({ "type": "function", "function": { "name": name } });
    faults.hold(*choice == shape, "tool_choice", "it names a tool as {type, function: {name}}");
    faults.hold(names.contains(name), "tool_choice", "no such tool is offered");
}

fn answer(profile: &Profile, format: &Object, body: &Object, faults: &mut Faults) {
    let at = "response_format";
    match text(format, "type") {
        "text" => faults.fields(at, format, &[("type", Kind::Any)], &[]),
        "json_object" => {
            faults.fields(at, format, &[("type", Kind::Any)], &[]);
            let said = body
                .get("messages")
                .is_some_and(|all| all.to_string().to_lowercase().contains("json"));
            faults.hold(said, at, "no message says the word JSON");
        }
        "json_schema" => {
            let refused = profile.has(Rule::NoAnswerSchema);
            faults.hold(!refused, at, "no schema is taken here");
            faults.fields(at, format, &[("json_schema", Kind::Object), ("type", Kind::Any)], &[]);
            if let Some(schema) = format.get("json_schema").and_then(Value::as_object) {
                faults.answer_schema(&under(at, "json_schema"), schema, false);
            }
        }
        _ => faults.add(at, "its type is text, json_object or json_schema"),
    }
}
