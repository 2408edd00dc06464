//! Built-in providers, and a check of all provider URLs.

/// Built-in provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BuiltIn {
    /// OpenAI by the Responses API.
    Openai,
    /// OpenAI by Chat Completions.
    OpenaiChat,
    /// Anthropic by the Messages API.
    Anthropic,
    /// The scripted model.
    Demo,
}

impl BuiltIn {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Openai, Self::OpenaiChat, Self::Anthropic, Self::Demo];

    /// Returns the name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Openai => "openai",
            Self::OpenaiChat => "openai-chat",
            Self::Anthropic => "anthropic",
            Self::Demo => "demo",
        }
    }

    /// Returns the default model.
    #[must_use]
    pub fn model(self) -> &'static str {
        match self {
            Self::Openai | Self::OpenaiChat => "gpt-5",
            Self::Anthropic => "claude-sonnet-4-5",
            Self::Demo => "demo-script",
        }
    }

    /// Returns the provider of this name.
    #[must_use]
    pub fn of(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.name() == name)
    }

    /// Returns the environment variables of its address and its key.
    #[must_use]
    pub fn variables(self) -> Option<(&'static str, &'static str)> {
        match self {
            Self::Openai | Self::OpenaiChat => Some(("OPENAI_BASE_URL", "OPENAI_API_KEY")),
            Self::Anthropic => Some(("ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY")),
            Self::Demo => None,
        }
    }
}

/// Rejects a URL that would write a user name or a password to the log.
///
/// # Errors
/// A message that advises to put the key into `place`.
pub fn reject_credentials(url: &str, place: &str) -> Result<(), String> {
    let authority = url.split("://").nth(1).unwrap_or(url);
    let authority = authority.split(['/', '?', '#']).next().unwrap_or_default();
    if !authority.contains('@') {
        return Ok(());
    }
    Err(format!(
        "the base URL has a user name or a password, which would be recorded: remove it, and \
         put a key into {place}"
    ))
}
