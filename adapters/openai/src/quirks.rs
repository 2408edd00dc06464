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
    /// How a user's words that follow each other are sent.
    pub user_turns: UserTurns,
    /// What may follow the result of a call.
    pub after_results: AfterResults,
    /// Whether it takes `stream_options`, without which some tell no usage.
    pub stream_usage: bool,
    /// Whether it takes `parallel_tool_calls`. Both protocols.
    pub parallel_calls: bool,
    /// Which forms of `tool_choice` it takes. Both protocols.
    pub tool_choice: ChoiceForm,
    /// Its word for a choice that must call a tool. Both protocols.
    pub required: RequiredWord,
    /// How it is asked for an answer of a given shape. Both protocols.
    pub answer: AnswerForm,
    /// Whether it can be asked so where tools are offered too. Both protocols.
    pub answer_with_tools: bool,
    /// Whether it knows `strict` on such a shape. Both protocols.
    pub strict: bool,
    /// Where it is told how hard to think.
    pub effort: EffortForm,
    /// Which ids of calls it takes.
    pub call_ids: CallIds,
    /// How reasoning goes back to it.
    pub reasoning_back: ReasoningBack,
    /// Whether a call goes back with the `extra_content` that it came with.
    pub call_extra: CallExtra,
    /// What stands for the text of a message that only calls tools.
    pub empty_content: EmptyContent,
    /// Whether its streams always end with `[DONE]`, so that one without it was cut off.
    pub done: bool,
    /// Whether it takes images. Both protocols.
    pub images: bool,
    /// Whether it takes `prompt_cache_key`. Both protocols.
    pub cache_key: bool,
    /// Whether it can be asked for encrypted reasoning. Responses only.
    pub encrypted_reasoning: bool,
    /// The header of the key. Both protocols.
    pub auth: Auth,
}

/// The name of the cap on an answer's tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MaxTokens {
    /// `max_completion_tokens`: models of OpenAI that reason refuse the other.
    MaxCompletionTokens,
    /// `max_tokens`.
    MaxTokens,
}

/// As whom context stands within a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ContextRole {
    /// As the `developer`.
    Developer,
    /// As the `system`.
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

/// How a user's words that follow each other are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UserTurns {
    /// Each as a message of its own.
    Each,
    /// As one message, where the templates of models refuse two in a row.
    Merged,
}

/// What may follow the result of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AfterResults {
    /// Anything.
    Any,
    /// Only the model: before a user's words a short message of its stands in between.
    Assistant,
}

/// Which forms of `tool_choice` a server takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChoiceForm {
    /// None: it leaves the choice to the model whatever is said.
    None,
    /// A word.
    Words,
    /// A word, or the name of a tool.
    Named,
}

/// A server's word for a choice that must call a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RequiredWord {
    /// `required`.
    Required,
    /// `any`.
    Any,
}

impl RequiredWord {
    /// The word.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Required => "required",
            Self::Any => "any",
        }
    }
}

/// How a server is asked for an answer of a given shape.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AnswerForm {
    /// By a JSON Schema in the protocol's own field.
    JsonSchema,
    /// In words, with the schema, after the instructions.
    Words,
}

/// Where a server is told how hard to think.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EffortForm {
    /// In `reasoning_effort`.
    Field,
    /// In `reasoning.effort`.
    Nested,
}

/// Which ids of calls a server takes. Others are replaced by one that follows from them.
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
    pub fn fit(self, id: &str) -> Cow<'_, str> {
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

/// How reasoning goes back to the server and the model that it came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReasoningBack {
    /// It does not.
    None,
    /// Its text as `reasoning_content`. A message with calls has one in any case, empty if need be.
    Content,
    /// The parts that it came in as `reasoning_details`.
    Details,
}

/// Whether a call goes back with the `extra_content` that it came with, to where it came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallExtra {
    /// It does not.
    None,
    /// It does. Models that refuse a call without one get a stand-in for calls of others.
    Kept,
}

/// What stands for the text of a message that only calls tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EmptyContent {
    /// `null`.
    Null,
    /// An empty text.
    Empty,
}

/// The header of the key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Auth {
    /// `authorization: Bearer`.
    Bearer,
    /// `api-key`.
    ApiKey,
}

/// Quirks that a configuration sets, over those of the server: some fields of [`Quirks`].
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(try_from = "Map<String, Value>")]
pub struct OwnQuirks(Map<String, Value>);

impl OwnQuirks {
    /// The quirks of a server with these in their place.
    #[must_use]
    pub fn over(&self, server: Quirks) -> Quirks {
        // What is in here was read so once already.
        overlay(server, &self.0).unwrap_or(server)
    }
}

impl TryFrom<Map<String, Value>> for OwnQuirks {
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
        let own: OwnQuirks =
            serde_json::from_str(r#"{"context":"user","call_ids":"nine"}"#).unwrap();
        let wanted = Quirks {
            context: ContextRole::User,
            call_ids: CallIds::Nine,
            ..GENERIC
        };
        assert_eq!(own.over(GENERIC), wanted);
        assert_eq!(OwnQuirks::default().over(GENERIC), GENERIC);
    }

    #[test]
    fn an_id_that_fits_stays_and_another_is_replaced_by_the_same_each_time() {
        let long = "x".repeat(80);
        for (rule, stays, most) in [
            (CallIds::UpTo64, "call-1.a:b", 64),
            (CallIds::UpTo40, "call-1.a:b", 40),
            (CallIds::Nine, "aB3456789", 9),
        ] {
            assert_eq!(rule.fit(stays), stays);
            let fitted = rule.fit(&long);
            assert!(
                fitted.len() <= most && fitted == rule.fit(&long),
                "{fitted}"
            );
            assert_ne!(fitted, rule.fit(&"y".repeat(80)));
        }
        for id in ["", "call_1234", "aB345678", "aB34567890"] {
            let fitted = CallIds::Nine.fit(id);
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
            let error = serde_json::from_str::<OwnQuirks>(json).unwrap_err();
            assert!(error.to_string().contains(word), "{error}");
        }
    }
}
