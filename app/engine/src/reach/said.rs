//! Said: what somebody says to a session, in the form that letters carry.

use serde::{Deserialize, Serialize};
use windlass_core::{
    Answer, CallId, ContextPart, Delivery, Digest, Edit, Goal, Image, Input, Interrupter, Scope,
    Settings, StopWhen, TurnId, Widening,
};

/// What is said. Its wire form is stable: a node of another release may read it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum Said {
    /// An input for the model.
    Send(Box<Sent>),
    /// Other settings.
    Configure {
        /// All of them.
        settings: Box<Settings>,
        /// Whether they may allow more than the session does.
        widening: Widens,
    },
    /// A goal, or none.
    SetGoal {
        /// The goal.
        goal: Option<Goal>,
    },
    /// That the turn is to stop.
    Interrupt {
        /// Who asks.
        by: Interrupter,
        /// In which words.
        reason: String,
        /// When it is to stop.
        when: StopWhen,
        /// Which turn; whichever runs where none is named.
        turn: Option<TurnId>,
    },
    /// An answer to an open question.
    Answer {
        /// The call.
        call: CallId,
        /// Digest of the arguments that it is about.
        arguments: Digest,
        /// The answer.
        answer: Word,
    },
    /// That it is to go on with what waits.
    GoOn {},
}

/// An input for the model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Sent {
    pub(crate) text: String,
    pub(crate) delivery: Delivery,
    pub(crate) context: Vec<ContextPart>,
    /// Kept beside the log already.
    pub(crate) images: Vec<Image>,
    pub(crate) key: Option<String>,
    pub(crate) dry_run: bool,
}

/// [`Widening`], as letters carry it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Widens {
    Refused,
    Meant,
}

/// [`Answer`], as letters carry it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum Word {
    Allow { edit: Option<Edit> },
    Deny { reason: String },
}

impl Said {
    /// What it is called.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Send(_) => "send",
            Self::Configure { .. } => "configure",
            Self::SetGoal { .. } => "set_goal",
            Self::Interrupt { .. } => "interrupt",
            Self::Answer { .. } => "answer",
            Self::GoOn {} => "go_on",
        }
    }

    /// The input that it is, said by `scope`.
    pub(crate) fn input(self, scope: Scope) -> Input {
        match self {
            Self::Send(sent) => {
                let Sent {
                    text,
                    delivery,
                    context,
                    images,
                    key,
                    dry_run,
                } = *sent;
                Input::Send {
                    scope,
                    text,
                    delivery,
                    context,
                    images,
                    key,
                    dry_run,
                }
            }
            Self::Configure { settings, widening } => Input::Configure {
                scope,
                settings: *settings,
                widening: widening.into(),
            },
            Self::SetGoal { goal } => Input::SetGoal { scope, goal },
            Self::Interrupt {
                by,
                reason,
                when,
                turn,
            } => Input::Interrupt {
                by,
                scope,
                reason,
                when,
                turn,
            },
            Self::Answer {
                call,
                arguments,
                answer,
            } => Input::Answer {
                call,
                scope,
                arguments,
                answer: answer.into(),
            },
            Self::GoOn {} => Input::Continue,
        }
    }
}

impl From<Widening> for Widens {
    fn from(widening: Widening) -> Self {
        match widening {
            Widening::Refused => Self::Refused,
            Widening::Meant => Self::Meant,
        }
    }
}

impl From<Widens> for Widening {
    fn from(widens: Widens) -> Self {
        match widens {
            Widens::Refused => Self::Refused,
            Widens::Meant => Self::Meant,
        }
    }
}

impl From<Answer> for Word {
    fn from(answer: Answer) -> Self {
        match answer {
            Answer::Allow { edit } => Self::Allow { edit },
            Answer::Deny { reason } => Self::Deny { reason },
        }
    }
}

impl From<Word> for Answer {
    fn from(word: Word) -> Self {
        match word {
            Word::Allow { edit } => Self::Allow { edit },
            Word::Deny { reason } => Self::Deny { reason },
        }
    }
}
