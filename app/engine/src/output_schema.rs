//! Output schema: validates a model's last answer against the JSON Schema of the settings, before
//! the end of the answer is a fact. Pure.

use serde_json::Value;
use windlass_core::OutputSchema;
use windlass_ports::json::duplicate_key;

use crate::json_schema::{JsonSchema, SchemaFault};

/// Most violations that one message names.
const MAX_VIOLATIONS: usize = 5;
/// Longest description of a violation, and of its place, in characters.
const MAX_VIOLATION_CHARS: usize = 300;
/// Longest name of a schema, in characters.
const NAME: usize = 64;
/// Marker of a code fence.
const FENCE: &str = "```";

/// A compiled output schema.
#[derive(Debug)]
pub(crate) struct OutputValidator {
    schema: JsonSchema,
}

impl OutputValidator {
    /// Compiles the schema. A remote reference is an error, since nothing is fetched. Patterns run
    /// in linear time, since they match text that a model wrote.
    pub(crate) fn new(shape: &OutputSchema) -> Result<Self, String> {
        let name = &shape.name;
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
        if name.is_empty() || name.len() > NAME || !name.chars().all(plain) {
            return Err(format!(
                "{name:?} cannot name the shape of an answer: use 1 to {NAME} characters of A-Z \
                 a-z 0-9 _ -"
            ));
        }
        let broken = |why: String| format!("the JSON Schema {name} of the answer: {why}");
        let schema: Value =
            serde_json::from_str(&shape.schema).map_err(|error| broken(error.to_string()))?;
        Ok(Self { schema: JsonSchema::compile(schema).map_err(broken)? })
    }

    /// Describes the fault of an answer for the model, within a bounded length; `None` if it is
    /// valid.
    pub(crate) fn fault(&self, text: &str) -> Option<String> {
        let text = strip_fence(text);
        let value: Value = match serde_json::from_str(text) {
            Ok(value) => value,
            Err(error) => return Some(format!("It is not JSON: {error}.")),
        };
        if let Some(key) = duplicate_key(text) {
            let key = shorten(&key);
            return Some(format!("It can be read in two ways: the key {key:?} appears twice."));
        }
        let found = self.schema.faults(&value, MAX_VIOLATIONS + 1);
        let mut faults = Vec::new();
        for SchemaFault { place, words } in found.iter().take(MAX_VIOLATIONS) {
            let place = match place.is_empty() {
                true => "the value".to_owned(),
                false => shorten(place),
            };
            faults.push(format!("{place}: {}", shorten(words)));
        }
        if faults.is_empty() {
            return None;
        }
        let more = if found.len() > MAX_VIOLATIONS { "; and more" } else { "" };
        Some(format!("It does not fit the schema: {}{more}.", faults.join("; ")))
    }
}

fn shorten(words: &str) -> String {
    words.chars().take(MAX_VIOLATION_CHARS).collect()
}

/// Returns the JSON text of an answer with an output schema. If the whole answer is one code fence,
/// tagged `json` or untagged, that is the inside of the fence; else the answer without white space
/// around it.
///
/// The engine validates an answer in this form.
#[must_use]
pub fn strip_fence(answer: &str) -> &str {
    let answer = answer.trim();
    let inside = answer
        .strip_prefix(FENCE)
        .and_then(|rest| rest.strip_suffix(FENCE))
        .and_then(|rest| rest.split_once('\n'));
    match inside {
        Some((word, inside)) if word.trim().is_empty() || is_json(word) => inside.trim(),
        Some(_) | None => answer,
    }
}

fn is_json(word: &str) -> bool {
    word.trim().eq_ignore_ascii_case("json")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(name: &str, schema: &str) -> Result<OutputValidator, String> {
        OutputValidator::new(&OutputSchema {
            name: name.into(),
            schema: schema.into(),
            strict: false,
            max_re_asks: 0,
        })
    }

    const COUNT: &str = r#"{"type":"object","properties":{"n":{"type":"integer"}},
        "required":["n"],"additionalProperties":false}"#;

    #[test]
    fn says_where_an_answer_does_not_fit_and_why() {
        let count = shape("count", COUNT).unwrap();
        assert_eq!(count.fault(r#"{"n":1}"#), None);
        assert_eq!(count.fault(" \n{\"n\":1}\n "), None);
        for (text, words) in [
            ("", "It is not JSON"),
            ("n is 1", "It is not JSON"),
            (r#"{"n":1} is it"#, "It is not JSON"),
            (r#"{"n":1}{"n":2}"#, "It is not JSON"),
            (r#"{"n":1,"n":2}"#, "the key \"n\" appears twice"),
            (r#"{"n":"x"}"#, "/n: \"x\" is not of type \"integer\""),
            ("{}", "the value: \"n\" is a required property"),
            ("[]", "the value: [] is not of type \"object\""),
        ] {
            let fault = count.fault(text).unwrap();
            assert!(fault.contains(words), "{text}: {fault}");
        }
    }

    #[test]
    fn the_words_are_bounded_whatever_the_answer_is() {
        let long = "x".repeat(50_000);
        let count = shape("count", COUNT).unwrap();
        let twice = count.fault(&format!(r#"{{"{long}":1,"{long}":2}}"#));
        assert!(twice.unwrap().len() < 500);
        let all = shape("all", r#"{"additionalProperties":{"type":"integer"}}"#).unwrap();
        let many: Vec<String> = (0..50).map(|n| format!("\"{long}{n}\":\"{long}\"")).collect();
        let fault = all.fault(&format!("{{{}}}", many.join(","))).unwrap();
        assert!(fault.ends_with("; and more."), "{fault}");
        assert!(
            fault.len() < MAX_VIOLATIONS * 2 * (MAX_VIOLATION_CHARS + 10) + 100,
            "{}",
            fault.len()
        );
        let deep = "[".repeat(100_000);
        assert!(all.fault(&deep).unwrap().len() < 200);
    }

    #[test]
    fn one_fence_around_all_of_it_is_read_as_its_inside_and_nothing_else_is_mended() {
        for text in
            ["```json\n{\"n\":1}\n```", "```JSON\r\n{\"n\":1}\r\n```\n", "\n```\n{\"n\":1}\n```"]
        {
            assert_eq!(strip_fence(text), "{\"n\":1}", "{text}");
        }
        let count = shape("count", COUNT).unwrap();
        assert_eq!(count.fault("```json\n{\"n\":1}\n```"), None);
        for text in [
            "Here it is:\n```json\n{\"n\":1}\n```",
            "```json\n{\"n\":1}\n```\nDone.",
            "```json\n{\"n\":1}\n```\n```json\n{\"n\":2}\n```",
            "```yaml\nn: 1\n```",
            "```json",
            "``````",
        ] {
            assert!(count.fault(text).is_some(), "{text}");
        }
    }

    #[test]
    fn refuses_schemas_that_do_not_compile_or_point_elsewhere_and_names_that_no_provider_takes() {
        for bad in ["{", r#"{"type":"nonsense"}"#, r#"{"$ref":"https://example.com/s.json"}"#] {
            let why = shape("count", bad).unwrap_err();
            assert!(why.starts_with("the JSON Schema count of the answer: "), "{why}");
        }
        for bad in ["", "a b", "a/b", "\u{e4}", &"x".repeat(65)] {
            assert!(shape(bad, "{}").is_err(), "{bad:?}");
        }
        assert!(shape(&"x".repeat(64), "{}").is_ok());
    }
}
