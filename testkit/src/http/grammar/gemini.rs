//! Gemini's native API: contents in turn, each call with its response right after it, signatures
//! where the model asks for them.
//!
//! Source: the Gemini API reference, "GenerateContentRequest", and its guides on function calling
//! and thought signatures.

use serde_json::Value;

use crate::http::request::list;

/// The longest name of a function.
const NAME: usize = 64;

const FIELDS: &[&str] = &[
    "cachedContent",
    "contents",
    "generationConfig",
    "safetySettings",
    "systemInstruction",
    "toolConfig",
    "tools",
];

const CONFIG: &[&str] = &[
    "maxOutputTokens",
    "responseJsonSchema",
    "responseMimeType",
    "stopSequences",
    "temperature",
    "thinkingConfig",
    "topK",
    "topP",
];

/// What a part holds, of which it has one.
const DATA: &[&str] = &["functionCall", "functionResponse", "inlineData", "text"];

/// Holds a body to what the server takes. `signs` is true for models that ask for the signature of
/// the first call of each of their contents.
///
/// # Errors
/// The first fault.
pub(super) fn check(body: &Value, signs: bool) -> Result<(), String> {
    known("", body, FIELDS)?;
    known("generationConfig", &body["generationConfig"], CONFIG)?;
    let names = declared(body)?;
    for name in list(&body["toolConfig"]["functionCallingConfig"], "allowedFunctionNames") {
        hold(names.contains(name), "toolConfig", "a function is allowed that is not declared")?;
    }
    let config = &body["generationConfig"];
    let typed = config["responseMimeType"] == "application/json";
    hold(
        config.get("responseJsonSchema").is_none() || typed,
        "generationConfig",
        "a schema of the answer needs the media type of JSON",
    )?;
    conversation(list(body, "contents"), signs)
}

/// The names of the declared functions.
fn declared(body: &Value) -> Result<Vec<Value>, String> {
    let mut names = Vec::new();
    for function in list(body, "tools").iter().flat_map(|tool| list(tool, "functionDeclarations")) {
        let schemas = ["parametersJsonSchema", "parameters_json_schema"];
        known(
            "functionDeclarations",
            function,
            &[&schemas[..], &["description", "name"]].concat(),
        )?;
        named("functionDeclarations", &function["name"])?;
        let schema = schemas.iter().any(|name| function[*name].is_object());
        hold(schema, "functionDeclarations", "its parameters are no schema")?;
        names.push(function["name"].clone());
    }
    Ok(names)
}

fn conversation(contents: &[Value], signs: bool) -> Result<(), String> {
    hold(!contents.is_empty(), "contents", "there has to be one at least")?;
    let user = |content: Option<&Value>| content.is_some_and(|content| content["role"] == "user");
    hold(user(contents.first()), "contents", "the first is the user's")?;
    hold(user(contents.last()), "contents", "the last is the user's")?;
    let mut open: Vec<&Value> = Vec::new();
    let mut model_before = false;
    for (index, content) in contents.iter().enumerate() {
        let at = format!("contents[{index}]");
        known(&at, content, &["parts", "role"])?;
        let model = content["role"] == "model";
        hold(model || content["role"] == "user", &at, "its role is neither user nor model")?;
        hold(!(model && model_before), &at, "the model speaks twice in a row")?;
        model_before = model;
        let parts = list(content, "parts");
        hold(!parts.is_empty(), &at, "it has no parts")?;
        for one in parts {
            part(&at, one, model)?;
        }
        let answered: Vec<&Value> =
            parts.iter().filter_map(|part| part.get("functionResponse")).collect();
        let same = |(call, response): (&&Value, &&Value)| {
            let ids = call.get("id").zip(response.get("id"));
            call["name"] == response["name"] && ids.is_none_or(|(call, response)| call == response)
        };
        let paired = open.len() == answered.len() && open.iter().zip(&answered).all(same);
        hold(paired, &at, "it does not hold the responses to the calls before it, and no others")?;
        open = parts.iter().filter_map(|part| part.get("functionCall")).collect();
        let first = parts.iter().find(|part| part.get("functionCall").is_some());
        let signed = first.is_none_or(|part| part["thoughtSignature"].is_string());
        hold(signed || !signs, &at, "its first call has no thoughtSignature")?;
    }
    Ok(())
}

fn part(at: &str, part: &Value, model: bool) -> Result<(), String> {
    let fields = [DATA, &["thought", "thoughtSignature"]].concat();
    known(at, part, &fields)?;
    let held: Vec<&&str> = DATA.iter().filter(|name| part.get(**name).is_some()).collect();
    hold(held.len() == 1, at, "a part holds one kind of data")?;
    let signed = part["thoughtSignature"].is_string();
    hold(model || !signed, at, "the user's parts have no signature")?;
    if let Some(text) = part.get("text") {
        let blank = text.as_str().is_none_or(|text| text.trim().is_empty());
        hold(!blank || signed, at, "a text is empty")?;
    }
    if let Some(call) = part.get("functionCall") {
        hold(model, at, "the user calls a function")?;
        known(at, call, &["args", "id", "name"])?;
        named(at, &call["name"])?;
        hold(call["args"].is_object(), at, "the arguments of a call are no object")?;
    }
    if let Some(response) = part.get("functionResponse") {
        hold(!model, at, "the model answers a call")?;
        known(at, response, &["id", "name", "response"])?;
        hold(response["response"].is_object(), at, "the response to a call is no object")?;
    }
    Ok(())
}

fn named(at: &str, name: &Value) -> Result<(), String> {
    let fits = |c: char| c.is_ascii_alphanumeric() || "_.:-".contains(c);
    let begins = |c: char| c.is_ascii_alphabetic() || c == '_';
    let name = name.as_str().unwrap_or_default();
    let holds = name.starts_with(begins) && name.len() <= NAME && name.chars().all(fits);
    hold(holds, at, &format!("{name:?} is no name of a function"))
}

fn known(at: &str, object: &Value, fields: &[&str]) -> Result<(), String> {
    for name in object.as_object().into_iter().flat_map(|object| object.keys()) {
        hold(fields.contains(&name.as_str()), at, &format!("{name} is not known here"))?;
    }
    Ok(())
}

fn hold(holds: bool, at: &str, why: &str) -> Result<(), String> {
    if holds { Ok(()) } else { Err(format!("{at}: {why}")) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn judged(contents: Value) -> Result<(), String> {
        check(&json!({ "contents": contents }), true)
    }

    #[test]
    fn calls_are_signed_and_answered_at_once() {
        let user = json!({ "role": "user", "parts": [{ "text": "hi" }] });
        let call = json!({ "functionCall": { "name": "f", "args": {} }, "thoughtSignature": "s" });
        let bare = json!({ "functionCall": { "name": "f", "args": {} } });
        let model = |part: &Value| json!({ "role": "model", "parts": [part] });
        let result = json!({ "functionResponse": { "name": "f", "response": { "output": "" } } });
        let result = json!({ "role": "user", "parts": [result] });
        assert_eq!(judged(json!([user, model(&call), result])), Ok(()));
        for (contents, why) in [
            (json!([]), "one at least"),
            (json!([user, model(&call)]), "the last is"),
            (json!([model(&call), result]), "the first is"),
            (json!([user, model(&call), user]), "does not hold the responses"),
            (json!([user, result]), "does not hold the responses"),
            (json!([user, model(&bare), result]), "no thoughtSignature"),
            (json!([{ "role": "user", "parts": [{ "text": " " }] }]), "a text is empty"),
            (json!([{ "role": "user", "parts": [{ "texts": "a" }] }]), "not known here"),
        ] {
            let said = judged(contents).unwrap_err();
            assert!(said.contains(why), "{said}");
        }
    }
}
