//! Requests of a server for input, as questions to a person: one field at a time. Pure.
//!
//! Forms have an object of plain properties as their schema, by the protocol. A person answers each of
//! them, refuses with `/decline`, or leaves one out with `/skip`.

use std::collections::BTreeMap;

use rmcp::model::{InputRequest, InputRequests, InputResponses};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use windlass_core::{UserAnswer, UserQuestion};

use crate::excerpt::clipped;

/// Longest text of a server in a question, in bytes.
const MAX_TEXT: usize = 4_000;
/// Most offered answers of a question.
const MAX_CHOICES: usize = 50;
/// Answer that refuses a request.
const DECLINE: &str = "/decline";
/// Answer that leaves a field out.
const SKIP: &str = "/skip";
/// Answer to a request that needs no more than consent.
const ACCEPT: &str = "yes";

/// Requests for input, and what a person has answered.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PendingInput {
    /// Parameters of the requests that have no response, by their names.
    requests: BTreeMap<String, Value>,
    responses: InputResponses,
    /// Answered fields of the first request.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    fields: Map<String, Value>,
    /// Number of its fields that were asked about.
    #[serde(default)]
    asked: usize,
    /// Why the latest answer is of no use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    fault: Option<String>,
}

impl PendingInput {
    /// Reads requests.
    ///
    /// # Errors
    /// What is asked for, if it is nothing that a person can answer.
    pub(crate) fn new(requests: Option<&InputRequests>) -> Result<Self, String> {
        let mut pending = Self::default();
        for (name, request) in requests.into_iter().flatten() {
            let InputRequest::Elicitation(request) = request else {
                let asked = serde_json::to_string(request).unwrap_or_default();
                return Err(clipped(&asked, MAX_TEXT));
            };
            let params = serde_json::to_value(&request.params).unwrap_or_default();
            pending.requests.insert(name.clone(), params);
        }
        Ok(pending)
    }

    /// Returns the next question; `None` once each request has its response.
    pub(crate) fn question(&self) -> Option<UserQuestion> {
        let params = self.requests.values().next()?;
        let message = clipped(text(params, "message"), MAX_TEXT);
        let (mut words, choices) = match (field(params, self.asked), params.get("url")) {
            (Some(field), _) => (field.words(&message), field.choices()),
            (None, Some(url)) => {
                let url = clipped(url.as_str().unwrap_or_default(), MAX_TEXT);
                let words = format!(
                    "{message}\nIt wants you to open this address: {url}\nOpen it only if you trust \
                     the server. Answer {ACCEPT} once you are done there."
                );
                (words, vec![ACCEPT.to_owned()])
            }
            (None, None) => (message, vec![ACCEPT.to_owned()]),
        };
        words.push_str(&format!(" ({DECLINE} refuses)"));
        if let Some(fault) = &self.fault {
            words = format!("{fault}\n{words}");
        }
        Some(UserQuestion { question: words, choices })
    }

    /// Takes the answer to the question.
    pub(crate) fn answer(&mut self, answer: &UserAnswer) {
        self.fault = None;
        let Some((name, params)) = self.requests.pop_first() else {
            return;
        };
        let words = answer.text.trim();
        let refusal = match words {
            _ if answer.declined => Some("cancel"),
            DECLINE => Some("decline"),
            _ => None,
        };
        if let Some(action) = refusal {
            return self.respond(name, json!({"action": action}));
        }
        match field(&params, self.asked) {
            Some(field) => match field.value(words) {
                Ok(value) => {
                    self.asked += 1;
                    self.fields.extend(value.map(|value| (field.name.clone(), value)));
                }
                Err(fault) => self.fault = Some(fault),
            },
            None if !words.eq_ignore_ascii_case(ACCEPT) => {
                return self.respond(name, json!({"action": "decline"}));
            }
            None if params.get("url").is_some() => {
                return self.respond(name, json!({"action": "accept"}));
            }
            None => {}
        }
        match field(&params, self.asked) {
            Some(_) => drop(self.requests.insert(name, params)),
            None => {
                let content = std::mem::take(&mut self.fields);
                self.respond(name, json!({"action": "accept", "content": content}));
            }
        }
    }

    fn respond(&mut self, name: String, response: Value) {
        self.responses.insert(name, response);
        self.fields.clear();
        self.asked = 0;
    }

    /// Returns the responses, by the names of the requests.
    pub(crate) fn into_responses(self) -> InputResponses {
        self.responses
    }
}

fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// A field of a form.
struct Field<'a> {
    name: String,
    schema: &'a Value,
    required: bool,
    first: bool,
}

/// Returns the field of a form at a place.
fn field(params: &Value, at: usize) -> Option<Field<'_>> {
    let schema = params.get("requestedSchema")?;
    let (name, property) = schema.get("properties")?.as_object()?.iter().nth(at)?;
    let mut required = schema.get("required").and_then(Value::as_array).into_iter().flatten();
    let required = required.any(|one| one.as_str() == Some(name));
    Some(Field { name: name.clone(), schema: property, required, first: at == 0 })
}

impl Field<'_> {
    fn kind(&self) -> &str {
        text(self.schema, "type")
    }

    /// Returns the question for the field, after the message of its form.
    fn words(&self, message: &str) -> String {
        let title = match text(self.schema, "title") {
            "" => self.name.as_str(),
            title => title,
        };
        let mut words = if self.first { format!("{message}\n") } else { String::new() };
        words.push_str(&clipped(title, MAX_TEXT));
        let described = text(self.schema, "description");
        if !described.is_empty() {
            words.push_str(&format!(": {}", clipped(described, MAX_TEXT)));
        }
        let kind = match self.kind() {
            "integer" => "a whole number",
            "number" => "a number",
            "array" => "one or more, with commas between them",
            _ => "",
        };
        if !kind.is_empty() {
            words.push_str(&format!(" [{kind}]"));
        }
        match (self.schema.get("default"), self.required) {
            (Some(default), _) => words.push_str(&format!(" ({SKIP} takes {})", shown(default))),
            (None, false) => words.push_str(&format!(" ({SKIP} leaves it out)")),
            (None, true) => {}
        }
        words
    }

    /// Returns the offered answers. Where a number is an answer of its own, none is offered, since a
    /// number also names a choice.
    fn choices(&self) -> Vec<String> {
        if self.kind() == "boolean" {
            return vec!["yes".into(), "no".into()];
        }
        if self.kind() == "array" {
            return Vec::new();
        }
        self.options().into_iter().take(MAX_CHOICES).map(|(_, title)| title).collect()
    }

    /// Returns the values that are allowed, with their titles; none if any is.
    fn options(&self) -> Vec<(Value, String)> {
        let items = self.schema.get("items").unwrap_or(self.schema);
        let list = |name: &str| items.get(name).and_then(Value::as_array);
        if let Some(values) = list("enum") {
            let names = list("enumNames");
            let named = values.iter().enumerate().map(|(at, value)| {
                let title = names.and_then(|names| names.get(at)?.as_str());
                (value.clone(), title.map_or_else(|| shown(value), str::to_owned))
            });
            return named.collect();
        }
        let titled = list("oneOf").or_else(|| list("anyOf"));
        let option = |one: &Value| {
            let value = one.get("const")?.clone();
            let title = text(one, "title");
            let title = if title.is_empty() { shown(&value) } else { title.to_owned() };
            Some((value, title))
        };
        titled.into_iter().flatten().filter_map(option).collect()
    }

    /// Returns the value of an answer; `None` if it leaves the field out.
    fn value(&self, words: &str) -> Result<Option<Value>, String> {
        if words == SKIP {
            return match self.schema.get("default") {
                Some(default) => Ok(Some(default.clone())),
                None if self.required => Err("This cannot be left out.".into()),
                None => Ok(None),
            };
        }
        let value = match self.kind() {
            "boolean" => match words.to_ascii_lowercase().as_str() {
                "yes" | "y" | "true" => json!(true),
                "no" | "n" | "false" => json!(false),
                _ => return Err("Answer yes or no.".into()),
            },
            "integer" => {
                let number = words.parse::<i64>();
                json!(number.map_err(|_| format!("{words} is not a whole number."))?)
            }
            "number" => match words.parse::<f64>() {
                Ok(number) if number.is_finite() => json!(number),
                Ok(_) | Err(_) => return Err(format!("{words} is not a number.")),
            },
            "array" => {
                let parts = words.split(',').map(|part| self.option(part.trim()));
                Value::Array(parts.collect::<Result<_, _>>()?)
            }
            _ => self.option(words)?,
        };
        self.check(&value)?;
        Ok(Some(value))
    }

    /// Returns the allowed value that some words mean, by itself or its title.
    fn option(&self, words: &str) -> Result<Value, String> {
        let options = self.options();
        if options.is_empty() {
            return Ok(json!(words));
        }
        let mut meant = options.iter().filter(|(value, title)| {
            title.eq_ignore_ascii_case(words) || value.as_str() == Some(words)
        });
        let value = meant.next().map(|(value, _)| value.clone());
        let titles: Vec<&str> = options.iter().map(|(_, title)| title.as_str()).collect();
        value.ok_or_else(|| format!("{words} is not one of: {}.", titles.join(", ")))
    }

    /// Checks the bounds of a value.
    fn check(&self, value: &Value) -> Result<(), String> {
        let bound = |name: &str| self.schema.get(name).and_then(Value::as_f64);
        let (size, least, most, what) = match value {
            Value::Number(number) => {
                (number.as_f64().unwrap_or_default(), "minimum", "maximum", "The number")
            }
            Value::String(words) => {
                let size = u32::try_from(words.chars().count()).unwrap_or(u32::MAX);
                (f64::from(size), "minLength", "maxLength", "The number of characters")
            }
            Value::Array(values) => {
                let size = u32::try_from(values.len()).unwrap_or(u32::MAX);
                (f64::from(size), "minItems", "maxItems", "The number of answers")
            }
            Value::Null | Value::Bool(_) | Value::Object(_) => return Ok(()),
        };
        if let Some(least) = bound(least).filter(|least| size < *least) {
            return Err(format!("{what} is at least {least}."));
        }
        match bound(most).filter(|most| size > *most) {
            Some(most) => Err(format!("{what} is at most {most}.")),
            None => Ok(()),
        }
    }
}

/// Returns a value as people read it.
fn shown(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pending(requests: Value) -> PendingInput {
        PendingInput::new(Some(&serde_json::from_value(requests).unwrap())).unwrap()
    }

    fn form(properties: Value, required: Value) -> Value {
        json!({"method": "elicitation/create", "params": {
            "mode": "form", "message": "Tell me",
            "requestedSchema": {"type": "object", "properties": properties, "required": required}
        }})
    }

    fn says(text: &str) -> UserAnswer {
        UserAnswer { text: text.into(), declined: false }
    }

    #[test]
    fn each_field_is_asked_about_until_its_answer_fits() {
        let properties = json!({
            "age": {"type": "integer", "minimum": 1, "title": "Your age"},
            "color": {"type": "string", "oneOf": [{"const": "#f00", "title": "Red"}]},
            "ok": {"type": "boolean", "default": true},
            "why": {"type": "string"}
        });
        let mut input = pending(json!({"a": form(properties, json!(["age", "color"]))}));
        let asked = input.question().unwrap();
        assert_eq!(asked.question, "Tell me\nYour age [a whole number] (/decline refuses)");
        assert_eq!(asked.choices, [] as [&str; 0], "a number would name one");
        for (wrong, fault) in [
            ("old", "old is not a whole number."),
            ("0", "The number is at least 1."),
            ("/skip", "This cannot be left out."),
        ] {
            input.answer(&says(wrong));
            assert!(input.question().unwrap().question.starts_with(fault), "{input:?}");
        }
        input.answer(&says("7"));
        assert_eq!(input.question().unwrap().choices, ["Red"]);
        input.answer(&says("blue"));
        assert!(input.question().unwrap().question.starts_with("blue is not one of: Red."));
        input.answer(&says("red"));
        assert!(input.question().unwrap().question.contains("(/skip takes true)"));
        // What is asked survives a restart in the middle of it.
        let text = serde_json::to_string(&input).unwrap();
        let mut input: PendingInput = serde_json::from_str(&text).unwrap();
        input.answer(&says("/skip"));
        input.answer(&says("/skip"));
        assert_eq!(input.question(), None);
        let content = json!({"age": 7, "color": "#f00", "ok": true});
        let responses = serde_json::to_value(input.into_responses()).unwrap();
        assert_eq!(responses, json!({"a": {"action": "accept", "content": content}}));
    }

    #[test]
    fn a_person_may_refuse_and_an_address_needs_consent() {
        let url = |url: &str| {
            let params =
                json!({"mode": "url", "message": "Log in", "url": url, "elicitationId": "1"});
            json!({"method": "elicitation/create", "params": params})
        };
        let form = || form(json!({"x": {"type": "string"}}), json!([]));
        let mut input = pending(json!({
            "a": url("https://a"), "b": url("https://b"), "c": form(), "d": form()
        }));
        assert!(input.question().unwrap().question.contains("https://a"));
        input.answer(&says("yes"));
        input.answer(&says("what?"));
        input.answer(&says("/decline"));
        input.answer(&UserAnswer { text: "Nobody is here.".into(), declined: true });
        assert_eq!(input.question(), None);
        let responses = serde_json::to_value(input.into_responses()).unwrap();
        assert_eq!(
            responses,
            json!({
                "a": {"action": "accept"}, "b": {"action": "decline"},
                "c": {"action": "decline"}, "d": {"action": "cancel"}
            })
        );
    }

    #[test]
    fn what_no_person_can_answer_is_told() {
        let roots = json!({"a": {"method": "roots/list"}});
        let requests = serde_json::from_value(roots).unwrap();
        assert!(PendingInput::new(Some(&requests)).unwrap_err().contains("roots/list"));
    }
}
