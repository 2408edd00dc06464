//! The providers that are built in.

/// The providers that are built in.
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

    /// The model that is asked when nobody names one.
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

    /// The variables of the environment that say where it is, and the key for it.
    pub(super) fn variables(self) -> Option<(&'static str, &'static str)> {
        match self {
            Self::Openai | Self::OpenaiChat => Some(("OPENAI_BASE_URL", "OPENAI_API_KEY")),
            Self::Anthropic => Some(("ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY")),
            Self::Demo => None,
        }
    }
}
