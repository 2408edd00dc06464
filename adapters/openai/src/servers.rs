//! The table of known servers: their quirks, and the hosts by which they are told.

use serde::Deserialize;
use url::Url;

use crate::quirks::{
    AfterResults, AnswerForm, Auth, CallExtra, CallIds, ChoiceForm, ContextRole, EffortForm,
    EmptyContent, MaxTokens, Quirks, ReasoningBack, RequiredWord, SearchForm, UserTurns,
};

/// A kind of server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Server {
    /// OpenAI's own endpoint.
    OpenAi,
    /// Azure OpenAI endpoints.
    Azure,
    /// DeepSeek's own endpoint.
    DeepSeek,
    /// Mistral's own endpoint.
    Mistral,
    /// Groq's own endpoint.
    Groq,
    /// OpenRouter's own endpoint.
    OpenRouter,
    /// A local Ollama server.
    Ollama,
    /// A vLLM server.
    Vllm,
    /// The server of llama.cpp.
    LlamaCpp,
    /// Gemini, by its compatible endpoint.
    Gemini,
    /// A local LM Studio server.
    LmStudio,
    /// Any other: only what nearly all servers take.
    Generic,
}

/// Facts about a kind of server.
struct ServerEntry {
    server: Server,
    /// The ends of the names of its hosts.
    hosts: &'static [&'static str],
    /// The port on one's own machine that is its alone.
    port: Option<u16>,
    quirks: Quirks,
}

/// Quirks that nearly all servers share.
pub(crate) const GENERIC: Quirks = Quirks {
    max_tokens: MaxTokens::MaxTokens,
    context: ContextRole::System,
    responses_context: ContextRole::Developer,
    user_turns: UserTurns::Each,
    after_results: AfterResults::Any,
    stream_usage: true,
    parallel_calls: true,
    tool_choice: ChoiceForm::Named,
    required: RequiredWord::Required,
    answer: AnswerForm::JsonSchema,
    answer_with_tools: true,
    strict: true,
    strict_tools: false,
    effort: EffortForm::Field,
    call_ids: CallIds::UpTo40,
    reasoning_back: ReasoningBack::None,
    call_extra: CallExtra::None,
    empty_content: EmptyContent::Null,
    done: false,
    images: true,
    cache_key: false,
    encrypted_reasoning: true,
    grammars: false,
    web_search: SearchForm::None,
    auth: Auth::Bearer,
};

/// Servers that run open models with the templates they came with. Many of these take a system
/// message only at the beginning, no two messages of the user in a row, and no `null`.
const TEMPLATED: Quirks = Quirks {
    context: ContextRole::User,
    responses_context: ContextRole::User,
    user_turns: UserTurns::Merged,
    empty_content: EmptyContent::Empty,
    encrypted_reasoning: false,
    ..GENERIC
};

/// The models that refuse a call without a signature, and the one that they take for the calls of
/// others (Gemini API, thought signatures).
pub(crate) const STAND_IN: (&str, &str) =
    ("gemini-3", r#"{"google":{"thought_signature":"skip_thought_signature_validator"}}"#);

const SERVERS: &[ServerEntry] = &[
    ServerEntry {
        server: Server::OpenAi,
        hosts: &["api.openai.com"],
        port: None,
        quirks: Quirks {
            max_tokens: MaxTokens::MaxCompletionTokens,
            strict_tools: true,
            cache_key: true,
            grammars: true,
            done: true,
            web_search: SearchForm::Both,
            ..GENERIC
        },
    },
    ServerEntry {
        server: Server::Azure,
        hosts: &["openai.azure.com", "services.ai.azure.com", "cognitiveservices.azure.com"],
        port: None,
        quirks: Quirks {
            max_tokens: MaxTokens::MaxCompletionTokens,
            auth: Auth::ApiKey,
            grammars: true,
            web_search: SearchForm::Responses,
            done: true,
            ..GENERIC
        },
    },
    // The API takes no schema; thinking with tools must be given back or is refused.
    ServerEntry {
        server: Server::DeepSeek,
        hosts: &["api.deepseek.com"],
        port: None,
        quirks: Quirks {
            parallel_calls: false,
            answer: AnswerForm::Words,
            reasoning_back: ReasoningBack::Content,
            empty_content: EmptyContent::Empty,
            images: false,
            done: true,
            encrypted_reasoning: false,
            ..GENERIC
        },
    },
    // It refuses fields that it does not know, and a user right after a tool (its code 3230).
    ServerEntry {
        server: Server::Mistral,
        hosts: &["api.mistral.ai"],
        port: None,
        quirks: Quirks {
            context: ContextRole::User,
            user_turns: UserTurns::Merged,
            after_results: AfterResults::Assistant,
            stream_usage: false,
            required: RequiredWord::Any,
            done: true,
            call_ids: CallIds::Nine,
            empty_content: EmptyContent::Empty,
            encrypted_reasoning: false,
            ..GENERIC
        },
    },
    // A schema goes with neither streams nor tools there.
    ServerEntry {
        server: Server::Groq,
        hosts: &["api.groq.com"],
        port: None,
        quirks: Quirks {
            max_tokens: MaxTokens::MaxCompletionTokens,
            answer: AnswerForm::Words,
            encrypted_reasoning: false,
            ..GENERIC
        },
    },
    ServerEntry {
        server: Server::OpenRouter,
        hosts: &["openrouter.ai"],
        port: None,
        quirks: Quirks {
            effort: EffortForm::Nested,
            done: true,
            reasoning_back: ReasoningBack::Details,
            ..GENERIC
        },
    },
    ServerEntry {
        server: Server::Ollama,
        hosts: &["ollama.com"],
        port: Some(11_434),
        quirks: Quirks {
            tool_choice: ChoiceForm::None,
            parallel_calls: false,
            strict: false,
            ..TEMPLATED
        },
    },
    ServerEntry { server: Server::Vllm, hosts: &[], port: None, quirks: TEMPLATED },
    // Its grammar for a schema excludes the one for tools.
    ServerEntry {
        server: Server::LlamaCpp,
        hosts: &[],
        port: None,
        quirks: Quirks {
            tool_choice: ChoiceForm::Words,
            answer_with_tools: false,
            strict: false,
            ..TEMPLATED
        },
    },
    // It refuses fields that it does not know; a schema excludes tools.
    ServerEntry {
        server: Server::Gemini,
        hosts: &["generativelanguage.googleapis.com"],
        port: None,
        quirks: Quirks {
            context: ContextRole::User,
            user_turns: UserTurns::Merged,
            parallel_calls: false,
            answer_with_tools: false,
            strict: false,
            call_extra: CallExtra::Returned,
            ..GENERIC
        },
    },
    ServerEntry {
        server: Server::LmStudio,
        hosts: &[],
        port: None,
        quirks: Quirks { tool_choice: ChoiceForm::Words, parallel_calls: false, ..TEMPLATED },
    },
    ServerEntry { server: Server::Generic, hosts: &[], port: None, quirks: GENERIC },
];

impl Server {
    /// The server behind a base URL, by its host; `Generic` where that tells nothing.
    #[must_use]
    pub fn of(base_url: &str) -> Self {
        let Ok(url) = Url::parse(base_url.trim()) else {
            return Self::Generic;
        };
        let host = url.host_str().unwrap_or_default();
        let ends = |end: &&str| {
            let before = host.strip_suffix(*end);
            before.is_some_and(|before| before.is_empty() || before.ends_with('.'))
        };
        let port = url.port().filter(|_| windlass_kit_http::is_loopback(&url));
        let known = SERVERS.iter().find(|known| {
            known.hosts.iter().any(ends) || known.port.is_some() && known.port == port
        });
        known.map_or(Self::Generic, |known| known.server)
    }

    /// Returns the quirks of this server.
    #[must_use]
    pub fn quirks(self) -> Quirks {
        let known = SERVERS.iter().find(|known| known.server == self);
        known.map_or(GENERIC, |known| known.quirks)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_told_by_its_host() {
        for (url, server) in [
            ("https://api.openai.com/v1", Server::OpenAi),
            ("https://eu.api.openai.com/v1", Server::OpenAi),
            ("https://me.openai.azure.com/openai/v1", Server::Azure),
            ("https://api.deepseek.com", Server::DeepSeek),
            ("https://api.mistral.ai/v1", Server::Mistral),
            ("https://api.groq.com/openai/v1", Server::Groq),
            ("https://openrouter.ai/api/v1", Server::OpenRouter),
            ("https://ollama.com/v1", Server::Ollama),
            ("http://127.0.0.1:11434/v1", Server::Ollama),
            ("http://10.0.0.1:11434/v1", Server::Generic),
            ("https://generativelanguage.googleapis.com/v1beta/openai/", Server::Gemini),
            ("https://notopenrouter.ai/v1", Server::Generic),
            ("https://openrouter.ai.example/v1", Server::Generic),
            ("http://127.0.0.1:8080/v1", Server::Generic),
            ("nonsense", Server::Generic),
        ] {
            assert_eq!(Server::of(url), server, "{url}");
        }
    }

    #[test]
    fn each_server_is_in_the_table_once_under_its_own_name() {
        for name in [
            "openai",
            "azure",
            "deepseek",
            "mistral",
            "groq",
            "openrouter",
            "ollama",
            "vllm",
            "llamacpp",
            "gemini",
            "lmstudio",
            "generic",
        ] {
            let server: Server = serde_json::from_value(name.into()).unwrap();
            let entries = SERVERS.iter().filter(|known| known.server == server);
            assert_eq!(entries.count(), 1, "{name}");
        }
    }
}
