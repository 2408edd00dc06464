//! Session commands: the one form in which the library, the server and other nodes command a
//! session.

use serde::{Deserialize, Serialize};
use windlass_core::{
    ApprovalAnswer, ArgumentsDigest, CallId, ContextPart, Delivery, Goal, Image, Input, InputId,
    InterruptSource, Observation, ObservationStatus, Scope, Seq, Settings, StopTiming, TurnId,
    Widening,
};

use super::SessionHandle;
use crate::error::SendError;

/// A command to a session. Its serialised form is stable: a node of another release may read it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum SessionCommand {
    /// Sends a user input.
    Send(Box<UserInput>),
    /// Replaces the settings.
    Configure {
        /// All of the new settings.
        settings: Box<Settings>,
        /// Permission to allow more than the session does.
        widening: Widening,
    },
    /// Sets the goal, or removes it.
    SetGoal {
        /// The new goal.
        goal: Option<Goal>,
    },
    /// Compacts the conversation: now, or else once the running turn has settled.
    Compact {
        /// What the summary should say most about; cut after 4,096 bytes.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        focus: Option<String>,
    },
    /// Runs a command in the session, as a call of the user's.
    RunCommand {
        /// Command line.
        command: String,
    },
    /// Interrupts a turn.
    Interrupt {
        /// Source of the request.
        by: InterruptSource,
        /// Reason in words; cut after 1,024 bytes.
        reason: String,
        /// Moment at which the turn is to stop.
        when: StopTiming,
        /// The turn; `None` for the one that runs when the command is executed.
        turn: Option<TurnId>,
    },
    /// Answers an open approval.
    Answer {
        /// Id of the call.
        call: CallId,
        /// Digest of the arguments that were shown.
        arguments: ArgumentsDigest,
        /// The answer.
        answer: ApprovalAnswer,
    },
    /// Returns the result of a call that a client of the session ran.
    SubmitResult {
        /// Id of the call.
        call: CallId,
        /// Output of the call.
        output: String,
        /// True if the call failed.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        failed: bool,
    },
    /// Replaces the text of an input that was not accepted yet.
    EditInput {
        /// Id of the input.
        input: InputId,
        /// New text.
        text: String,
    },
    /// Moves a waiting input within the queue.
    MoveInput {
        /// Id of the input.
        input: InputId,
        /// Waiting input that it is to precede; `None` to make it the last.
        before: Option<InputId>,
    },
    /// Withdraws a waiting input.
    WithdrawInput {
        /// Id of the input.
        input: InputId,
    },
    /// Delivers the result of a detached child, once. The engine sends it.
    ChildEnded {
        /// Call of the child.
        call: CallId,
        /// Text of the input, see [`child_result`](windlass_core::child_result).
        text: String,
    },
    /// Names the session, or removes its name.
    Rename {
        /// New name, one line of at most [`MAX_TITLE_CHARS`](windlass_core::MAX_TITLE_CHARS)
        /// characters; `None` for none.
        title: Option<String>,
    },
    /// Returns to an earlier point of the conversation.
    Rewind {
        /// Position whose conversation continues.
        to: Seq,
    },
    /// Opens the next turn for an input that waits.
    #[serde(rename = "go_on")]
    Resume {},
}

/// A user input whose images are stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UserInput {
    /// Text of the input.
    pub text: String,
    /// Selects the turn.
    pub delivery: Delivery,
    /// Context beside the text, see [`NewInput::context`].
    pub context: Vec<ContextPart>,
    /// Images of the input, which are stored beside the log.
    pub images: Vec<Image>,
    /// Key of the caller: a second input with the same key changes nothing.
    pub key: Option<String>,
    /// Plans tool calls without running them.
    pub dry_run: bool,
    /// Running turn that the input is meant for; `None` for any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<TurnId>,
}

/// A user input to send.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct NewInput {
    /// Scope of the sender.
    pub scope: Scope,
    /// Text of the input.
    pub text: String,
    /// Selects the turn.
    pub delivery: Delivery,
    /// Context that the presenter adds: the instructions of a project, the state of an editor. A
    /// part is shown again only when its text has changed.
    pub context: Vec<ContextPart>,
    /// Images of the input, in order: the bytes of PNG, JPEG, GIF or WebP files, at most
    /// [`Image::MAX_PER_INPUT`] of at most [`NewInput::IMAGE_BYTES`] each. They are stored beside the log.
    pub images: Vec<Vec<u8>>,
    /// Key of the caller: a second input with the same key changes nothing.
    pub key: Option<String>,
    /// Plans tool calls without running them.
    pub dry_run: bool,
    /// Running turn that the input is meant for, for example of a steering input; `None` for any. If
    /// that turn is over, the input is rejected, see [`Reject::TurnMismatch`](windlass_core::Reject::TurnMismatch).
    pub turn: Option<TurnId>,
}

impl SessionCommand {
    /// Returns the name of the variant, as it is serialised.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Send(_) => "send",
            Self::Configure { .. } => "configure",
            Self::SetGoal { .. } => "set_goal",
            Self::Compact { .. } => "compact",
            Self::RunCommand { .. } => "run_command",
            Self::Interrupt { .. } => "interrupt",
            Self::Answer { .. } => "answer",
            Self::SubmitResult { .. } => "submit_result",
            Self::EditInput { .. } => "edit_input",
            Self::MoveInput { .. } => "move_input",
            Self::WithdrawInput { .. } => "withdraw_input",
            Self::ChildEnded { .. } => "child_ended",
            Self::Rename { .. } => "rename",
            Self::Rewind { .. } => "rewind",
            Self::Resume {} => "go_on",
        }
    }

    /// Returns the caller's key inside the command.
    pub(crate) fn key(&self) -> Option<&str> {
        match self {
            Self::Send(input) => input.key.as_deref(),
            Self::Configure { .. }
            | Self::SetGoal { .. }
            | Self::Compact { .. }
            | Self::RunCommand { .. }
            | Self::Interrupt { .. }
            | Self::Answer { .. }
            | Self::SubmitResult { .. }
            | Self::EditInput { .. }
            | Self::MoveInput { .. }
            | Self::WithdrawInput { .. }
            | Self::ChildEnded { .. }
            | Self::Rename { .. }
            | Self::Rewind { .. }
            | Self::Resume {} => None,
        }
    }

    /// Converts into the input of a session, within a scope.
    pub(crate) fn input(self, scope: Scope) -> Input {
        match self {
            Self::Send(input) => Input::Send {
                scope,
                text: input.text,
                delivery: input.delivery,
                context: input.context,
                images: input.images,
                key: input.key,
                dry_run: input.dry_run,
                turn: input.turn,
            },
            Self::EditInput { input, text } => Input::EditInput { scope, input, text },
            Self::MoveInput { input, before } => Input::MoveInput { scope, input, before },
            Self::WithdrawInput { input } => Input::WithdrawInput { scope, input },
            Self::Rename { title } => Input::Rename { scope, title },
            Self::Rewind { to } => Input::Rewind { scope, to },
            Self::Configure { settings, widening } => {
                Input::Configure { scope, settings: *settings, widening }
            }
            Self::SetGoal { goal } => Input::SetGoal { scope, goal },
            Self::Compact { focus } => Input::Compact { scope, focus },
            // The driver that executes it makes the call, for its tools and rules.
            Self::RunCommand { command } => Input::RunCommand { scope, text: command, call: None },
            Self::Interrupt { by, reason, when, turn } => {
                Input::Interrupt { by, scope, reason, when, turn }
            }
            Self::Answer { call, arguments, answer } => {
                Input::Answer { call, scope, arguments, answer }
            }
            Self::SubmitResult { call, output, failed } => {
                let status =
                    if failed { ObservationStatus::Failed } else { ObservationStatus::Done };
                let observation = Observation::new(status, output);
                Input::SubmitResult { call, scope, observation }
            }
            Self::ChildEnded { call, text } => Input::ChildEnded { scope, call, text },
            Self::Resume {} => Input::Continue,
        }
    }
}

impl NewInput {
    /// Limit on the bytes of one image.
    pub const IMAGE_BYTES: usize = 20 * 1024 * 1024;

    /// Creates a text input for a turn of its own.
    #[must_use]
    pub fn new(scope: Scope, text: impl Into<String>) -> Self {
        Self {
            scope,
            text: text.into(),
            delivery: Delivery::Turn,
            context: Vec::new(),
            images: Vec::new(),
            key: None,
            dry_run: false,
            turn: None,
        }
    }

    /// Returns this input with changes.
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }

    /// Converts into a command and its scope, with the images as they were stored.
    pub(super) fn input(self, images: Vec<Image>) -> (Scope, SessionCommand) {
        let input = UserInput {
            text: self.text,
            delivery: self.delivery,
            context: self.context,
            images,
            key: self.key,
            dry_run: self.dry_run,
            turn: self.turn,
        };
        (self.scope, SessionCommand::Send(Box::new(input)))
    }
}

impl SessionHandle {
    /// Runs a command in the session, in a turn of its own that asks no model, after the inputs that
    /// wait. It is a call of the tool that takes a command line. The scope approves it, so no one is
    /// asked. The model sees the command and its result with the next request.
    ///
    /// Returns once the command is durable.
    ///
    /// # Errors
    /// [`SendError`] when the command is refused, and as [`SessionHandle::execute`].
    pub async fn run_command(&self, command: String, scope: Scope) -> Result<InputId, SendError> {
        let first = self.execute(SessionCommand::RunCommand { command }, scope, None).await?;
        Ok(InputId(first.0))
    }
}
