//! The grammar of requests, as strict as the servers are: each protocol's own rules, and what its
//! servers ask for beyond them as data. Pure; what a model or an account may do is not in it.
//!
//! A body that passes here is one that the server would not refuse for its form. Sources of the
//! rules: the API references of the providers, and the refusals that their users report.

mod chat;
mod gemini;
mod messages;
mod profile;
mod responses;
mod shape;

use std::fmt;

use serde_json::Value;

use super::Request;
pub use profile::{
    ANTHROPIC, AZURE, CHAT, CallIds, DEEPSEEK, GEMINI, GROQ, Grammar, LLAMA_CPP, LM_STUDIO,
    MISTRAL, OLLAMA, OPENAI_CHAT, OPENAI_RESPONSES, OPENROUTER, PROFILES, Profile, Rule, VLLM,
};
use shape::Faults;

/// What is wrong in a request's body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// Where, for example `messages[2].tool_calls[0].id`; empty for the body itself.
    pub at: String,
    /// What is wrong there.
    pub why: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.at.is_empty() {
            return f.write_str(&self.why);
        }
        write!(f, "{}: {}", self.at, self.why)
    }
}

/// Holds a body to what a server takes.
///
/// ```
/// use serde_json::json;
/// use windlass_testkit::http::grammar::{MISTRAL, validate};
///
/// let body = json!({
///     "model": "m",
///     "messages": [{ "role": "developer", "content": "Be short." }, { "role": "user", "content": "hi" }],
/// });
/// let faults = validate(&MISTRAL, &body).unwrap_err();
/// assert_eq!(faults[0].at, "messages[0].role");
/// ```
///
/// # Errors
/// All that is wrong, in the order in which it stands.
pub fn validate(profile: &Profile, body: &Value) -> Result<(), Vec<Fault>> {
    let mut faults = Faults::default();
    match body.as_object() {
        None => faults.add("", "it is no JSON object"),
        Some(object) => match profile.grammar {
            Grammar::Chat => chat::check(profile, object, &mut faults),
            Grammar::Responses => responses::check(profile, object, &mut faults),
            Grammar::Messages => messages::check(profile, object, &mut faults),
        },
    }
    faults.result()
}

/// The profile of the protocol that a path belongs to; `None` when it is of none.
#[must_use]
pub fn profile_of(route: &str) -> Option<&'static Profile> {
    match route.trim_start_matches("/v1") {
        "/chat/completions" => Some(&CHAT),
        "/responses" => Some(&OPENAI_RESPONSES),
        "/messages" => Some(&ANTHROPIC),
        _ => None,
    }
}

/// What a request does against the grammar of its protocol, if anything. It has to ask for a
/// stream, too.
#[must_use]
pub fn fault(request: &Request) -> Option<String> {
    let Some(profile) = profile_of(request.route()) else {
        let (number, path) = (request.number, &request.path);
        return Some(format!("request {number}: {path} is asked by no dialect"));
    };
    fault_for(profile, request)
}

/// The same for a server of its own rules.
#[must_use]
pub fn fault_for(profile: &Profile, request: &Request) -> Option<String> {
    let number = request.number;
    let told = |why: &dyn fmt::Display| format!("request {number} to {}: {why}", profile.name);
    let Some(body) = &request.json else {
        return Some(told(&"its body is no JSON"));
    };
    let mut body = body.clone();
    let message = request.method == Request::MESSAGE;
    if message && taken(&mut body, "type") != Some("response.create".into()) {
        return Some(told(&"it is no response.create"));
    }
    if let Err(faults) = validate(profile, &body) {
        let faults: Vec<String> = faults.iter().map(ToString::to_string).collect();
        return Some(told(&faults.join("; ")));
    }
    // Over a WebSocket there is nothing else than a stream.
    match taken(&mut body, "stream") {
        Some(Value::Bool(true)) if !message => None,
        None if message => None,
        Some(_) if message => Some(told(&"it says stream, which has no place in a message")),
        Some(_) | None => Some(told(&"it asks for no stream")),
    }
}

/// Holds a body for a model of Gemini's native API to its grammar. Models from Gemini 3 on want signatures.
///
/// # Errors
/// The first fault.
pub fn validate_gemini(model: &str, body: &Value) -> Result<(), String> {
    gemini::check(body, model.contains("gemini-3"))
}

/// What a request does against the grammar of Gemini's native API, if anything.
pub(super) fn gemini_fault(request: &Request) -> Option<String> {
    let Request { number, json, .. } = request;
    let Some(body) = json else {
        return Some(format!("request {number}: its body is no JSON"));
    };
    let fault = validate_gemini(request.route(), body).err();
    fault.map(|fault| format!("request {number} to Gemini: {fault}"))
}

fn taken(body: &mut Value, key: &str) -> Option<Value> {
    body.as_object_mut()?.remove(key)
}

#[cfg(test)]
mod tests;
