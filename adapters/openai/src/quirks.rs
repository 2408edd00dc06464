//! Quirks: in what the servers of these protocols differ, as data. The table of known servers is
//! in `servers.rs`; nothing else in this crate asks which server it speaks to.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use windlass_core::Digest;

/// In what a server differs from others. The fields up to `images` are those of Chat Completions,
/// unless they say otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Quirks {
    /// The name of the cap on an answer's tokens.
    pub max_tokens: MaxTokens,
    /// As whom context stands within a conversation.
    pub context: ContextRole,
    /// The same in Responses.
    pub responses_context: ContextRole,
    /// Form of consecutive user messages.
    pub user_turns: UserTurns,
    /// Messages accepted after the result of a call.
    pub after_results: AfterResults,
    /// Accepts `stream_options`, without which some servers report no usage.
    pub stream_usage: bool,
    /// Accepts `parallel_tool_calls`. Both protocols.
    pub parallel_calls: bool,
    /// Forms of `tool_choice` that it accepts. Both protocols.
    pub tool_choice: ChoiceForm,
    /// Its word for a choice that must call a tool. Both protocols.
    pub required: RequiredWord,
    /// Form in which an output schema is requested. Both protocols.
    pub answer: AnswerForm,
    /// Accepts an output schema together with tools. Both protocols.
    pub answer_with_tools: bool,
    /// Accepts `strict` on an output schema. Both protocols.
    pub strict: bool,
    /// Accepts `strict` on a tool: a schema that has a strict form is sent in it. Both protocols.
    pub strict_tools: bool,
    /// Field for the reasoning effort.
    pub effort: EffortForm,
    /// Accepted ids of calls.
    pub call_ids: CallIds,
    /// Form in which reasoning is sent back.
    pub reasoning_back: ReasoningBack,
    /// Sends a call's `extra_content` back with it.
    pub call_extra: CallExtra,
    /// Content of a message that only calls tools.
    pub empty_content: EmptyContent,
    /// Always ends its streams with `[DONE]`, so that a stream without it was cut off.
    pub done: bool,
    /// Accepts images. Both protocols.
    pub images: bool,
    /// Accepts `prompt_cache_key`. Both protocols.
    pub cache_key: bool,
    /// Returns encrypted reasoning on request. Responses only.
    pub encrypted_reasoning: bool,
    /// Accepts tools that take a text of a grammar. Responses only.
    pub grammars: bool,
    /// Protocols in which it searches the web. Both protocols.
    pub web_search: SearchForm,
    /// The header of the key. Both protocols.
    pub auth: Auth,
}

/// The name of the cap on an answer's tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MaxTokens {
    /// `max_completion_tokens`: models of OpenAI that reason refuse the other.
    MaxCompletionTokens,
    /// Sent in the field `max_tokens`.
    MaxTokens,
}

/// As whom context stands within a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ContextRole {
    /// Sent with the role `developer`.
    Developer,
    /// Sent with the role `system`.
    System,
    /// As the `user`, where others are refused after the beginning: it is reported as lowered.
    User,
}

impl ContextRole {
    /// The role on the wire.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Developer => "developer",
            Self::System => "system",
            Self::User => "user",
        }
    }
}

/// Form of consecutive user messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UserTurns {
    /// Each as a message of its own.
    Each,
    /// As one message, where the templates of models refuse two in a row.
    Merged,
}

/// Messages accepted after the result of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AfterResults {
    /// Accepts any message there.
    Any,
    /// Only the model: before a user's words a short message of its stands in between.
    Assistant,
}

/// Forms of `tool_choice` that a server accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChoiceForm {
    /// None: it leaves the choice to the model whatever is said.
    None,
    /// Accepts only single words.
    Words,
    /// A word, or the name of a tool.
    Named,
}

/// A server's word for a choice that must call a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RequiredWord {
    /// Sent as the word `required`.
    Required,
    /// Sent as the word `any`.
    Any,
}

impl RequiredWord {
    /// Returns the word that the server expects.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Required => "required",
            Self::Any => "any",
        }
    }
}

/// Form in which an output schema is requested.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AnswerForm {
    /// By a JSON Schema in the protocol's own field.
    JsonSchema,
    /// In words, with the schema, after the instructions.
    Words,
}

/// Field for the reasoning effort.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EffortForm {
    /// Sent in the field `reasoning_effort`.
    Field,
    /// Sent in the field `reasoning.effort`.
    Nested,
}

/// Ids of calls that a server accepts. Other ids are replaced by one derived from them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallIds {
    /// Up to 64 characters.
    UpTo64,
    /// Up to 40 characters.
    UpTo40,
    /// Nine letters and digits.
    Nine,
}

impl CallIds {
    /// An id as it is sent.
    #[must_use]
    pub fn encode(self, id: &str) -> Cow<'_, str> {
        let fits = match self {
            Self::UpTo64 => id.len() <= 64,
            Self::UpTo40 => id.len() <= 40,
            Self::Nine => id.len() == 9 && id.bytes().all(|byte| byte.is_ascii_alphanumeric()),
        };
        if fits {
            return Cow::Borrowed(id);
        }
        let digest = Digest::EMPTY.part(id.as_bytes()).to_string();
        Cow::Owned(match self {
            Self::UpTo64 | Self::UpTo40 => format!("call_{digest}"),
            Self::Nine => nine(&digest),
        })
    }
}

/// Nine letters and digits that follow from a digest in hexadecimal.
fn nine(digest: &str) -> String {
    const LETTERS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    let mut rest = u128::from_str_radix(digest, 16).unwrap_or_default();
    let mut next = || {
        let at = usize::try_from(rest % 62).unwrap_or_default();
        rest /= 62;
        LETTERS.get(at).map_or('0', |letter| char::from(*letter))
    };
    (0..9).map(|_| next()).collect()
}

/// Form in which reasoning is sent back to the server and model that produced it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReasoningBack {
    /// Sends no reasoning back.
    None,
    /// Its text as `reasoning_content`. A message with calls has one in any case, empty if need be.
    Content,
    /// The parts that it came in as `reasoning_details`.
    Details,
}

/// Sends a call's `extra_content` back to the server that it came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallExtra {
    /// Sends no extra content back.
    None,
    /// It does. Models that refuse a call without one get a stand-in for calls of others.
    Returned,
}

/// Content of a message that only calls tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EmptyContent {
    /// Sent as JSON `null`.
    Null,
    /// Sent as an empty text.
    Empty,
}

/// Protocols in which a server searches the web.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SearchForm {
    /// Never searches.
    None,
    /// Searches in Responses, by the tool `web_search`.
    Responses,
    /// Searches in Chat Completions too, by `web_search_options` of the models for it.
    Both,
}

/// The header of the key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Auth {
    /// Sent as `authorization: Bearer KEY`.
    Bearer,
    /// Header `api-key`, as Azure expects.
    ApiKey,
}

/// Quirks that a configuration sets, over those of the server: some fields of [`Quirks`].
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(try_from = "Map<String, Value>")]
pub struct QuirkOverrides(Map<String, Value>);

impl QuirkOverrides {
    /// The quirks of a server with these in their place.
    #[must_use]
    pub fn over(&self, server: Quirks) -> Quirks {
        // What is in here was read so once already.
        overlay(server, &self.0).unwrap_or(server)
    }
}

impl TryFrom<Map<String, Value>> for QuirkOverrides {
    type Error = serde_json::Error;

    fn try_from(fields: Map<String, Value>) -> Result<Self, Self::Error> {
        overlay(crate::servers::GENERIC, &fields)?;
        Ok(Self(fields))
    }
}

fn overlay(quirks: Quirks, fields: &Map<String, Value>) -> Result<Quirks, serde_json::Error> {
    let mut all = serde_json::to_value(quirks)?;
    if let Value::Object(all) = &mut all {
        all.extend(fields.clone());
    }
    serde_json::from_value(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::servers::GENERIC;

    #[test]
    fn a_configuration_sets_some_quirks_and_leaves_the_others() {
        let own: QuirkOverrides =
            serde_json::from_str(r#"{"context":"user","call_ids":"nine"}"#).unwrap();
        let wanted = Quirks { context: ContextRole::User, call_ids: CallIds::Nine, ..GENERIC };
        assert_eq!(own.over(GENERIC), wanted);
        assert_eq!(QuirkOverrides::default().over(GENERIC), GENERIC);
    }

    #[test]
    fn an_id_that_fits_stays_and_another_is_replaced_by_the_same_each_time() {
        let long = "x".repeat(80);
        for (rule, stays, most) in [
            (CallIds::UpTo64, "call-1.a:b", 64),
            (CallIds::UpTo40, "call-1.a:b", 40),
            (CallIds::Nine, "aB3456789", 9),
        ] {
            assert_eq!(rule.encode(stays), stays);
            let fitted = rule.encode(&long);
            assert!(fitted.len() <= most && fitted == rule.encode(&long), "{fitted}");
            assert_ne!(fitted, rule.encode(&"y".repeat(80)));
        }
        for id in ["", "call_1234", "aB345678", "aB34567890"] {
            let fitted = CallIds::Nine.encode(id);
            let plain = fitted.bytes().all(|byte| byte.is_ascii_alphanumeric());
            assert!(fitted.len() == 9 && plain && fitted != id, "{id} {fitted}");
        }
    }

    #[test]
    fn what_is_no_quirk_is_refused_by_name() {
        for (json, word) in [
            (r#"{"contxt":"user"}"#, "contxt"),
            (r#"{"context":"boss"}"#, "boss"),
            (r#"{"images":"yes"}"#, "yes"),
        ] {
            let error = serde_json::from_str::<QuirkOverrides>(json).unwrap_err();
            assert!(error.to_string().contains(word), "{error}");
        }
    }
}
