//! Render: what the model may see. A pure function of the history and the frozen settings.

use alloc::borrow::Cow;
use alloc::format;
use alloc::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::append_list::AppendList;
use crate::call::Observation;
use crate::context;
use crate::digest::Digest;
use crate::history::History;
use crate::id::Seq;
use crate::image::Image;
use crate::item::{CallItem, ReasoningItem};
use crate::options::ToolChoice;
use crate::program::ReportedCalls;
use crate::session::Turn;
use crate::settings::Settings;

/// Request for the model. Each prompt of a session extends the previous one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prompt {
    /// Instructions, tools, model and the like.
    pub settings: Arc<Settings>,
    /// The conversation, oldest first.
    pub items: AppendList<PromptItem>,
}

/// One part of a conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PromptItem {
    /// Words of the user.
    User {
        /// Text of the item.
        text: Arc<str>,
    },
    /// An image that a user showed, with the words before it.
    Image {
        /// Image of the user.
        image: Arc<Image>,
    },
    /// Text that no user wrote: the workspace, instructions of a project, context of a hook, the
    /// rest of a compaction. Its frame cannot be closed from inside.
    Context {
        /// The text, with its frame.
        text: Arc<str>,
    },
    /// The model's words to the user.
    Text {
        /// The sample that brought it.
        sample: Seq,
        /// Text of the item.
        text: Arc<str>,
    },
    /// Refusal of the model.
    Refusal {
        /// The sample that brought it.
        sample: Seq,
        /// Text of the item.
        text: Arc<str>,
    },
    /// Reasoning of the model.
    Reasoning {
        /// The sample that brought it.
        sample: Seq,
        /// The reasoning itself.
        item: Arc<ReasoningItem>,
    },
    /// Call by the model.
    Call {
        /// The sample that brought it.
        sample: Seq,
        /// The call's id, unique in the prompt: the provider's own where that is unique.
        id: Arc<str>,
        /// The call itself.
        call: Arc<CallItem>,
    },
    /// The observation of a call. Follows the calls of its sample, in their order.
    Result {
        /// The call's id, as in [`PromptItem::Call`].
        id: Arc<str>,
        /// Result of the call.
        observation: Arc<Observation>,
        /// The arguments that the call ran with, where somebody changed them.
        edited: Option<Arc<str>>,
    },
    /// Report on the calls of a program that did not run to its end. Follows the results of its
    /// sample, and is framed like context: its text is [`ReportedCalls::text`].
    CallReport {
        /// Calls of the report.
        calls: Arc<ReportedCalls>,
    },
}

/// The output of a call as the model is told it: with the arguments that it ran with, where these
/// are not the ones it asked for.
#[must_use]
pub fn result_text<'a>(observation: &'a Observation, edited: Option<&str>) -> Cow<'a, str> {
    match edited {
        None => Cow::Borrowed(&observation.output),
        Some(edited) => Cow::Owned(format!(
            "[The arguments were changed before the call was run: {edited}]\n{}",
            observation.output
        )),
    }
}

impl Prompt {
    /// Digest of the conversation, as `SampleStarted` records it. Reads all of it.
    #[must_use]
    pub fn digest(&self) -> Digest {
        context::visible_part(self.items.iter()).digest
    }
}

/// Returns true if the model may, must or must not call tools in the sample that is out, or comes
/// next.
#[must_use]
pub fn tool_choice(turn: &Turn) -> ToolChoice {
    let choice = &turn.settings.options.tool_choice;
    match choice {
        ToolChoice::Required | ToolChoice::Tool(_) if turn.spent.samples > 1 => ToolChoice::Auto,
        ToolChoice::Auto | ToolChoice::None | ToolChoice::Required | ToolChoice::Tool(_) => {
            choice.clone()
        }
    }
}

/// Renders what the model may see. The cost does not grow with the history but for O(log n)
/// pointers.
#[must_use]
pub fn render(history: &History, settings: &Arc<Settings>) -> Prompt {
    Prompt {
        settings: settings.for_request(),
        items: history.items().clone(),
    }
}
