//! The events of the hooks protocol, and the points of a turn that they stand for.
//!
//! `PreSample` and `PostAnswer` are this project's own. Every other name, and what it means, is of
//! the protocol that Claude Code and Codex share: <https://code.claude.com/docs/en/hooks> and
//! <https://developers.openai.com/codex/hooks>.

use windlass_core::HookPoint;

/// An event that hooks are declared for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Event {
    SessionStart,
    SessionEnd,
    UserPromptSubmit,
    PreSample,
    PostAnswer,
    PreToolUse,
    PostToolUse,
    PostToolUseFailure,
    PermissionRequest,
    PreCompact,
    PostCompact,
    Stop,
    SubagentStart,
    SubagentStop,
    Interrupt,
}

/// Value that a matcher of an event is compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Filter {
    /// Name of the tool.
    Tool,
    /// Start of the session: new or resumed.
    Start,
    /// Trigger of the compaction.
    Trigger,
    /// Always the same word.
    Word(&'static str),
    /// Nothing: a matcher has no meaning.
    Nothing,
}

/// All events in the order of the protocol.
pub(crate) const ALL: [Event; 15] = [
    Event::SessionStart,
    Event::SessionEnd,
    Event::UserPromptSubmit,
    Event::PreSample,
    Event::PostAnswer,
    Event::PreToolUse,
    Event::PostToolUse,
    Event::PostToolUseFailure,
    Event::PermissionRequest,
    Event::PreCompact,
    Event::PostCompact,
    Event::Stop,
    Event::SubagentStart,
    Event::SubagentStop,
    Event::Interrupt,
];

/// Agent type that hooks see for a child session.
pub(crate) const AGENT_TYPE: &str = "general-purpose";

impl Event {
    /// The event of this name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        ALL.into_iter().find(|event| event.name() == name)
    }

    /// The event that was probably meant by a name that is none.
    pub(crate) fn meant_by(name: &str) -> Option<Self> {
        ALL.into_iter()
            .find(|event| plain(event.name()) == plain(name))
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::SessionStart => "SessionStart",
            Self::SessionEnd => "SessionEnd",
            Self::UserPromptSubmit => "UserPromptSubmit",
            Self::PreSample => "PreSample",
            Self::PostAnswer => "PostAnswer",
            Self::PreToolUse => "PreToolUse",
            Self::PostToolUse => "PostToolUse",
            Self::PostToolUseFailure => "PostToolUseFailure",
            Self::PermissionRequest => "PermissionRequest",
            Self::PreCompact => "PreCompact",
            Self::PostCompact => "PostCompact",
            Self::Stop => "Stop",
            Self::SubagentStart => "SubagentStart",
            Self::SubagentStop => "SubagentStop",
            Self::Interrupt => "Interrupt",
        }
    }

    /// The point of a turn where it is asked.
    pub(crate) fn point(self) -> HookPoint {
        match self {
            Self::SessionStart => HookPoint::SessionStart,
            Self::SessionEnd => HookPoint::SessionEnd,
            Self::UserPromptSubmit => HookPoint::PromptSubmitted,
            Self::PreSample => HookPoint::BeforeSample,
            Self::PostAnswer => HookPoint::AfterAnswer,
            Self::PreToolUse => HookPoint::BeforeTool,
            Self::PostToolUse | Self::PostToolUseFailure => HookPoint::AfterTool,
            Self::PermissionRequest => HookPoint::PermissionRequest,
            Self::PreCompact => HookPoint::BeforeCompaction,
            Self::PostCompact => HookPoint::AfterCompaction,
            Self::Stop => HookPoint::Stop,
            Self::SubagentStart => HookPoint::SubTurnStart,
            Self::SubagentStop => HookPoint::SubTurnStop,
            Self::Interrupt => HookPoint::Interrupt,
        }
    }

    pub(crate) fn filter(self) -> Filter {
        match self {
            Self::SessionStart => Filter::Start,
            Self::SessionEnd => Filter::Word("other"),
            Self::PreToolUse
            | Self::PostToolUse
            | Self::PostToolUseFailure
            | Self::PermissionRequest => Filter::Tool,
            Self::PreCompact | Self::PostCompact => Filter::Trigger,
            Self::SubagentStart | Self::SubagentStop => Filter::Word(AGENT_TYPE),
            Self::UserPromptSubmit
            | Self::PreSample
            | Self::PostAnswer
            | Self::Stop
            | Self::Interrupt => Filter::Nothing,
        }
    }

    /// Default time limit of one run, in milliseconds.
    pub(crate) fn timeout_ms(self) -> u64 {
        match self {
            Self::UserPromptSubmit => 30_000,
            Self::SessionEnd => 1_500,
            Self::SessionStart
            | Self::PreSample
            | Self::PostAnswer
            | Self::PreToolUse
            | Self::PostToolUse
            | Self::PostToolUseFailure
            | Self::PermissionRequest
            | Self::PreCompact
            | Self::PostCompact
            | Self::Stop
            | Self::SubagentStart
            | Self::SubagentStop
            | Self::Interrupt => 600_000,
        }
    }

    /// Returns true if a hook can deny something at this event.
    pub(crate) fn can_block(self) -> bool {
        match self {
            Self::UserPromptSubmit
            | Self::PreSample
            | Self::PostAnswer
            | Self::PreToolUse
            | Self::PostToolUse
            | Self::PostToolUseFailure
            | Self::PermissionRequest
            | Self::PreCompact
            | Self::Stop
            | Self::SubagentStop => true,
            Self::SessionStart
            | Self::SessionEnd
            | Self::PostCompact
            | Self::SubagentStart
            | Self::Interrupt => false,
        }
    }

    /// Returns true if a hook can end a turn at this event.
    pub(crate) fn can_halt(self) -> bool {
        match self {
            Self::SessionEnd | Self::Interrupt => false,
            Self::SessionStart
            | Self::UserPromptSubmit
            | Self::PreSample
            | Self::PostAnswer
            | Self::PreToolUse
            | Self::PostToolUse
            | Self::PostToolUseFailure
            | Self::PermissionRequest
            | Self::PreCompact
            | Self::PostCompact
            | Self::Stop
            | Self::SubagentStart
            | Self::SubagentStop => true,
        }
    }

    /// Returns true if the event is about a call that has not run: a hook may allow it and change its input.
    pub(crate) fn is_before_call(self) -> bool {
        self == Self::PreToolUse || self == Self::PermissionRequest
    }

    /// Returns true if plain text on stdout reaches the model.
    pub(crate) fn hears_plain_words(self) -> bool {
        self == Self::SessionStart || self == Self::UserPromptSubmit
    }
}

/// A name without what is easily mistaken in it.
pub(crate) fn plain(name: &str) -> String {
    let kept = name.chars().filter(|c| c.is_ascii_alphanumeric());
    kept.map(|c| c.to_ascii_lowercase()).collect()
}
