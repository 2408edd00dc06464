//! Providers that are known by name. Each is reached by one of the four protocols.
//!
//! `{A|B}` in a base URL stands for the value of the first of these environment variables that is
//! set.

use super::ProviderApi::{Anthropic, Gemini, Openai, OpenaiChat};
use super::preset::{PLAIN, Preset};

const OLLAMA_WINDOW: &str = "Ollama cuts a conversation off without an error where it exceeds the \
    context that it serves, which is 4096 tokens on most machines: start it with \
    OLLAMA_CONTEXT_LENGTH=64000 or more, and give the same number with --window";

pub(super) const PRESETS: &[Preset] = &[
    Preset {
        name: "bedrock",
        api: Openai,
        base_url: Some(
            "https://bedrock-runtime.{AWS_REGION|AWS_DEFAULT_REGION}.amazonaws.com/openai/v1",
        ),
        key_env: &["AWS_BEARER_TOKEN_BEDROCK"],
        lists_models: false,
        ..PLAIN
    },
    Preset {
        name: "bedrock-chat",
        api: OpenaiChat,
        base_url: Some(
            "https://bedrock-runtime.{AWS_REGION|AWS_DEFAULT_REGION}.amazonaws.com/openai/v1",
        ),
        key_env: &["AWS_BEARER_TOKEN_BEDROCK"],
        lists_models: false,
        ..PLAIN
    },
    Preset {
        name: "bedrock-messages",
        api: Anthropic,
        base_url: Some(
            "https://bedrock-runtime.{AWS_REGION|AWS_DEFAULT_REGION}.amazonaws.com/anthropic/v1",
        ),
        key_env: &["AWS_BEARER_TOKEN_BEDROCK"],
        lists_models: false,
        options: &[("auth", "bearer")],
        ..PLAIN
    },
    Preset {
        name: "azure",
        api: Openai,
        address_env: Some("AZURE_OPENAI_ENDPOINT"),
        path: "/openai/v1",
        key_env: &["AZURE_OPENAI_API_KEY"],
        token_env: Some("AZURE_OPENAI_AD_TOKEN"),
        api_version_env: &["AZURE_OPENAI_API_VERSION", "OPENAI_API_VERSION"],
        options: &[("server", "azure")],
        ..PLAIN
    },
    Preset {
        name: "azure-chat",
        api: OpenaiChat,
        address_env: Some("AZURE_OPENAI_ENDPOINT"),
        path: "/openai/v1",
        key_env: &["AZURE_OPENAI_API_KEY"],
        token_env: Some("AZURE_OPENAI_AD_TOKEN"),
        api_version_env: &["AZURE_OPENAI_API_VERSION", "OPENAI_API_VERSION"],
        options: &[("server", "azure")],
        ..PLAIN
    },
    Preset {
        name: "gemini",
        api: Gemini,
        base_url: Some("https://generativelanguage.googleapis.com/v1beta"),
        address_env: Some("GOOGLE_GEMINI_BASE_URL"),
        path: "/v1beta",
        key_env: &["GEMINI_API_KEY", "GOOGLE_API_KEY"],
        model: Some("gemini-2.5-pro"),
        ..PLAIN
    },
    Preset {
        name: "openrouter",
        api: OpenaiChat,
        base_url: Some("https://openrouter.ai/api/v1"),
        key_env: &["OPENROUTER_API_KEY"],
        model: Some("openrouter/auto"),
        options: &[("server", "openrouter")],
        ..PLAIN
    },
    Preset {
        name: "openrouter-messages",
        api: Anthropic,
        base_url: Some("https://openrouter.ai/api/v1"),
        key_env: &["OPENROUTER_API_KEY"],
        model: Some("openrouter/auto"),
        options: &[("auth", "bearer")],
        ..PLAIN
    },
    Preset {
        name: "ollama",
        api: OpenaiChat,
        base_url: Some("http://127.0.0.1:11434/v1"),
        address_env: Some("OLLAMA_HOST"),
        path: "/v1",
        port: Some(11434),
        key_env: &["OLLAMA_API_KEY"],
        key_optional: true,
        window_warning: Some(OLLAMA_WINDOW),
        options: &[("server", "ollama")],
        ..PLAIN
    },
    Preset {
        name: "ollama-messages",
        api: Anthropic,
        base_url: Some("http://127.0.0.1:11434/v1"),
        address_env: Some("OLLAMA_HOST"),
        path: "/v1",
        port: Some(11434),
        key_env: &["OLLAMA_API_KEY"],
        key_optional: true,
        window_warning: Some(OLLAMA_WINDOW),
        options: &[("auth", "bearer")],
        ..PLAIN
    },
];
