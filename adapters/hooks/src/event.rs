//! The events of the hooks protocol, and the points of a turn that they stand for.
//!
//! `PreSample` and `PostAnswer` are this project's own. Every other name, and what it means, is of
//! the protocol that Claude Code and Codex share: <https://code.claude.com/docs/en/hooks> and
//! <https://developers.openai.com/codex/hooks>.

use windlass_core::HookPoint;

/// Declares the events in the order of the protocol. Columns: the point of a turn where it is asked, the
/// filter of its matchers, the default time limit in milliseconds, true if a hook can deny something, true
/// if a hook can end a turn.
macro_rules! events {
    ($($event:ident: $point:ident, $filter:expr, $timeout_ms:expr, $denies:expr, $halts:expr;)*) => {
        /// An event that hooks are declared for.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(crate) enum HookEvent {
            $($event,)*
        }

        /// All events in the order of the protocol.
        pub(crate) const ALL: &[HookEvent] = &[$(HookEvent::$event),*];

        impl HookEvent {
            pub(crate) fn name(self) -> &'static str {
                match self {
                    $(Self::$event => stringify!($event),)*
                }
            }

            /// The point of a turn where it is asked.
            pub(crate) fn point(self) -> HookPoint {
                match self {
                    $(Self::$event => HookPoint::$point,)*
                }
            }

            pub(crate) fn filter(self) -> MatcherFilter {
                match self {
                    $(Self::$event => $filter,)*
                }
            }

            /// Default time limit of one run, in milliseconds.
            pub(crate) fn timeout_ms(self) -> u64 {
                match self {
                    $(Self::$event => $timeout_ms,)*
                }
            }

            /// Returns true if a hook can deny something at this event.
            pub(crate) fn can_block(self) -> bool {
                match self {
                    $(Self::$event => $denies,)*
                }
            }

            /// Returns true if a hook can end a turn at this event.
            pub(crate) fn can_halt(self) -> bool {
                match self {
                    $(Self::$event => $halts,)*
                }
            }
        }
    };
}

events! {
    SessionStart: SessionStart, MatcherFilter::Start, 600_000, false, true;
    SessionEnd: SessionEnd, MatcherFilter::Word("other"), 1_500, false, false;
    UserPromptSubmit: PromptSubmitted, MatcherFilter::Nothing, 30_000, true, true;
    PreSample: BeforeSample, MatcherFilter::Nothing, 600_000, true, true;
    PostAnswer: AfterAnswer, MatcherFilter::Nothing, 600_000, true, true;
    PreToolUse: BeforeTool, MatcherFilter::Tool, 600_000, true, true;
    PostToolUse: AfterTool, MatcherFilter::Tool, 600_000, true, true;
    PostToolUseFailure: AfterTool, MatcherFilter::Tool, 600_000, true, true;
    PermissionRequest: PermissionRequest, MatcherFilter::Tool, 600_000, true, true;
    PreCompact: BeforeCompaction, MatcherFilter::Trigger, 600_000, true, true;
    PostCompact: AfterCompaction, MatcherFilter::Trigger, 600_000, false, true;
    Stop: Stop, MatcherFilter::Nothing, 600_000, true, true;
    SubagentStart: SubTurnStart, MatcherFilter::Word(AGENT_TYPE), 600_000, false, true;
    SubagentStop: SubTurnStop, MatcherFilter::Word(AGENT_TYPE), 600_000, true, true;
    Interrupt: Interrupt, MatcherFilter::Nothing, 600_000, false, false;
}

/// Value that a matcher of an event is compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MatcherFilter {
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

/// Agent type that hooks see for a child session.
pub(crate) const AGENT_TYPE: &str = "general-purpose";

impl HookEvent {
    /// The event of this name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        ALL.iter().copied().find(|event| event.name() == name)
    }

    /// The event that was probably meant by a name that is none.
    pub(crate) fn suggest(name: &str) -> Option<Self> {
        let meant = |event: &Self| plain(event.name()) == plain(name);
        ALL.iter().copied().find(meant)
    }

    /// Returns true if the event is about a call that has not run: a hook may allow it and change its input.
    pub(crate) fn is_before_call(self) -> bool {
        self == Self::PreToolUse || self == Self::PermissionRequest
    }

    /// Returns true if plain text on stdout reaches the model.
    pub(crate) fn accepts_plain_output(self) -> bool {
        self == Self::SessionStart || self == Self::UserPromptSubmit
    }
}

/// A name without what is easily mistaken in it.
pub(crate) fn plain(name: &str) -> String {
    let kept = name.chars().filter(|c| c.is_ascii_alphanumeric());
    kept.map(|c| c.to_ascii_lowercase()).collect()
}
