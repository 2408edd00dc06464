//! Built-in providers, and a check of all provider URLs.

use crate::exit::{ExitKind, Failure};

/// Built-in provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BuiltIn {
    Openai,
    OpenaiChat,
    Anthropic,
    Demo,
}

impl BuiltIn {
    pub(super) const ALL: [Self; 4] = [Self::Openai, Self::OpenaiChat, Self::Anthropic, Self::Demo];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Openai => "openai",
            Self::OpenaiChat => "openai-chat",
            Self::Anthropic => "anthropic",
            Self::Demo => "demo",
        }
    }

    /// Returns the default model.
    pub(super) fn model(self) -> &'static str {
        match self {
            Self::Openai | Self::OpenaiChat => "gpt-5",
            Self::Anthropic => "claude-sonnet-4-5",
            Self::Demo => "demo-script",
        }
    }

    pub(super) fn of(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.name() == name)
    }

    /// Returns the environment variables of its address and its key.
    pub(super) fn variables(self) -> Option<(&'static str, &'static str)> {
        match self {
            Self::Openai | Self::OpenaiChat => Some(("OPENAI_BASE_URL", "OPENAI_API_KEY")),
            Self::Anthropic => Some(("ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY")),
            Self::Demo => None,
        }
    }
}

/// Rejects a URL that would write a user name or a password to the log.
pub(super) fn holds_no_name(url: &str, place: &str) -> Result<(), Failure> {
    let authority = url.split("://").nth(1).unwrap_or(url);
    let authority = authority.split(['/', '?', '#']).next().unwrap_or_default();
    if !authority.contains('@') {
        return Ok(());
    }
    let words = format!(
        "the base URL has a user name or a password, which would be recorded: remove it, and \
         put a key into {place}"
    );
    Err(Failure::new(ExitKind::Provider, words))
}
