//! Parts around a conversation of Messages: tools, their choice, thinking, the form of the
//! answer.

use std::collections::BTreeSet;

use serde_json::Value;

use super::super::profile::Profile;
use super::super::shape::{Faults, Field, Kind, Object, given, list, text, under};
use super::cache;

pub(super) fn around(profile: &Profile, body: &Object, faults: &mut Faults) {
    let names = faults.tools(body, |faults, at, tool| {
        let may = [
            ("cache_control", Kind::Any),
            ("description", Kind::Any),
            ("eager_input_streaming", Kind::Bool),
            ("strict", Kind::Bool),
            ("type", Kind::Word(&["custom"])),
        ];
        faults.fields(at, tool, &[("input_schema", Kind::Object), ("name", Kind::Any)], &may);
        cache(at, tool, faults);
        let name = tool.get("name")?;
        faults.name(&under(at, "name"), name);
        if let Some(schema) = tool.get("input_schema") {
            let strict = tool.get("strict") == Some(&Value::Bool(true));
            faults.schema(&under(at, "input_schema"), schema, strict);
        }
        name.as_str()
    });
    let choice = body.get("tool_choice").and_then(Value::as_object);
    if let Some(choice) = choice {
        chosen(profile, choice, &names, faults);
    }
    if given(body, "thinking") {
        thinks(body, choice, faults);
    }
    if let Some(config) = body.get("output_config").and_then(Value::as_object) {
        let effort = Kind::Word(profile.efforts);
        faults.fields(
            "output_config",
            config,
            &[],
            &[("effort", effort), ("format", Kind::Object)],
        );
        if let Some(format) = config.get("format").and_then(Value::as_object) {
            let at = "output_config.format";
            let kind = ("type", Kind::Word(&["json_schema"]));
            faults.fields(at, format, &[("schema", Kind::Object), kind], &[]);
            faults.schema(&under(at, "schema"), format.get("schema").unwrap_or(&Value::Null), true);
        }
    }
    if let Some(metadata) = body.get("metadata").and_then(Value::as_object) {
        faults.fields("metadata", metadata, &[], &[("user_id", Kind::TextOf(256))]);
    }
    for (index, stop) in body.get("stop_sequences").map(list).unwrap_or_default().iter().enumerate()
    {
        let fits = stop.as_str().is_some_and(|stop| !stop.trim().is_empty());
        faults.hold(fits, &format!("stop_sequences[{index}]"), "it is no text, or only whitespace");
    }
    cache("", body, faults);
}

fn chosen(profile: &Profile, choice: &Object, names: &BTreeSet<&str>, faults: &mut Faults) {
    let at = "tool_choice";
    faults.hold(!names.is_empty(), at, "it is only for a request with tools");
    let kind = text(choice, "type");
    let known = profile.choices.contains(&kind);
    faults.hold(known, at, &format!("its type is one of {:?}", profile.choices));
    let mut must = vec![("type", Kind::Any)];
    if kind == "tool" {
        must.push(("name", Kind::Text));
        faults.hold(names.contains(text(choice, "name")), at, "no such tool is offered");
    }
    let may: &[Field] = match kind {
        "none" => &[],
        _ => &[("disable_parallel_tool_use", Kind::Bool)],
    };
    faults.fields(at, choice, &must, may);
}

/// How the model is to think; empty where nothing is said.
pub(super) fn thinking(body: &Object) -> &str {
    body.get("thinking").and_then(|thinking| thinking["type"].as_str()).unwrap_or_default()
}

fn thinks(body: &Object, choice: Option<&Object>, faults: &mut Faults) {
    let at = "thinking";
    let Some(thinking) = body.get(at).and_then(Value::as_object) else {
        return;
    };
    let display = ("display", Kind::Word(&["summarized", "omitted"]));
    match text(thinking, "type") {
        "disabled" => return faults.fields(at, thinking, &[("type", Kind::Any)], &[]),
        "adaptive" => {
            let may = [("block_binding", Kind::Object), display];
            faults.fields(at, thinking, &[("type", Kind::Any)], &may);
        }
        "enabled" => {
            let must = [("budget_tokens", Kind::Whole(1024)), ("type", Kind::Any)];
            faults.fields(at, thinking, &must, &[display]);
            let number = |value: Option<&Value>| value.and_then(Value::as_u64).unwrap_or_default();
            let most = number(body.get("max_tokens"));
            let fits = number(thinking.get("budget_tokens")) < most;
            faults.hold(fits, "thinking.budget_tokens", "it has to be less than max_tokens");
        }
        _ => return faults.add(at, "its type is enabled, adaptive or disabled"),
    }
    let warm = body.get("temperature").is_none_or(|value| value.as_f64() == Some(1.0));
    faults.hold(warm, "temperature", "a model that thinks is asked at 1");
    faults.hold(!given(body, "top_k"), "top_k", "it is not for a model that thinks");
    let forced = choice.is_some_and(|choice| matches!(text(choice, "type"), "any" | "tool"));
    faults.hold(!forced, "tool_choice", "a model that thinks is not made to call");
}
