//! Render: the request for the model. A pure function of the history and the frozen settings.

use alloc::borrow::Cow;
use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::append_list::AppendList;
use crate::call::Observation;
use crate::context;
use crate::digest::Digest;
use crate::history::History;
use crate::id::{CallId, Seq};
use crate::image::Image;
use crate::item::{CallItem, Opaque, ReasoningItem};
use crate::options::{OfferedTools, ToolChoice};
use crate::program::ReportedCalls;
use crate::session::Turn;
use crate::settings::Settings;
use crate::shared;

/// Request for the model. Each prompt of a session extends the previous one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prompt {
    /// Settings of the request, for example instructions, tools and model.
    pub settings: Arc<Settings>,
    /// Conversation, oldest first.
    pub items: AppendList<PromptItem>,
}

/// One part of a conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PromptItem {
    /// Text of the user.
    User {
        /// Text of the item.
        #[serde(deserialize_with = "shared::text")]
        text: Arc<str>,
    },
    /// Image of the user, after the input's text.
    Image {
        /// Image of the user.
        image: Arc<Image>,
    },
    /// Text that no user wrote: the workspace, a project's instructions, a hook's context, a
    /// compaction's summary. The text cannot close its frame.
    Context {
        /// Text with its frame.
        #[serde(deserialize_with = "shared::text")]
        text: Arc<str>,
    },
    /// Text of the model to the user.
    Text {
        /// Sample that produced it.
        sample: Seq,
        /// Text of the item.
        #[serde(deserialize_with = "shared::text")]
        text: Arc<str>,
        /// Opaque form of its citations, if the provider wants them back.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        opaque: Option<Arc<Opaque>>,
    },
    /// Refusal of the model.
    Refusal {
        /// Sample that produced it.
        sample: Seq,
        /// Text of the item.
        #[serde(deserialize_with = "shared::text")]
        text: Arc<str>,
    },
    /// Reasoning of the model.
    Reasoning {
        /// Sample that produced it.
        sample: Seq,
        /// The reasoning itself.
        item: Arc<ReasoningItem>,
    },
    /// Call by the model.
    Call {
        /// Sample that produced it.
        sample: Seq,
        /// The call's id, unique in the prompt: the provider's own if that is unique.
        #[serde(deserialize_with = "shared::text")]
        id: Arc<str>,
        /// The call itself.
        #[serde(deserialize_with = "shared::value")]
        call: Arc<CallItem>,
    },
    /// Observation of a call. Follows the calls of its sample, in order.
    Result {
        /// The call's id, as in [`PromptItem::Call`].
        #[serde(deserialize_with = "shared::text")]
        id: Arc<str>,
        /// Result of the call.
        #[serde(deserialize_with = "shared::value")]
        observation: Arc<Observation>,
        /// Edited arguments, if the call ran with other ones.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        edited: Option<Arc<str>>,
    },
    /// Report on the calls of a program that did not run to its end. Follows the results of its
    /// sample, and is framed like context: its text is [`ReportedCalls::text`].
    CallReport {
        /// Calls of the report.
        calls: Arc<ReportedCalls>,
    },
    /// Report on an inline program. Follows the items of its sample, and is framed like context: its
    /// text is [`program_report_text`]. Compactions treat it as the result of a call.
    ProgramReport {
        /// Call that runs the program.
        call: CallId,
        /// Result of the program.
        #[serde(deserialize_with = "shared::value")]
        observation: Arc<Observation>,
    },
}

impl PromptItem {
    /// Creates a text of the model without citations.
    #[must_use]
    pub fn text(sample: Seq, text: impl Into<Arc<str>>) -> Self {
        Self::Text { sample, text: text.into(), opaque: None }
    }

    /// Returns the sample, the id and the call of a call.
    #[must_use]
    #[expect(clippy::wildcard_enum_match_arm, reason = "every other item is no call")]
    pub fn as_call(&self) -> Option<(Seq, &Arc<str>, &Arc<CallItem>)> {
        match self {
            Self::Call { sample, id, call } => Some((*sample, id, call)),
            _ => None,
        }
    }

    /// Returns the images that it shows.
    #[must_use]
    #[expect(clippy::wildcard_enum_match_arm, reason = "every other item shows none")]
    pub fn images(&self) -> &[Image] {
        match self {
            Self::Image { image } => core::slice::from_ref(image),
            Self::Result { observation, .. } => &observation.images,
            _ => &[],
        }
    }
}

/// Returns the framed report on an inline program.
#[must_use]
pub fn program_report_text(observation: &Observation) -> String {
    context::frame(context::PROGRAM, &observation.output)
}

/// Returns the text that announces a user's command to the model. Its result follows in a text of its
/// own.
#[must_use]
pub fn command_text(command: &str) -> String {
    format!("I ran a command in the session, by myself. Its result follows.\n$ {command}")
}

/// Returns the framed result of a user's command. The output cannot close the frame.
#[must_use]
pub fn command_result_text(observation: &Observation, edited: Option<&str>) -> String {
    context::frame(context::COMMAND, &result_text(observation, edited))
}

/// Returns the output of a call for the model, after its exit code and the arguments that it ran
/// with, if they were edited.
#[must_use]
pub fn result_text<'a>(observation: &'a Observation, edited: Option<&str>) -> Cow<'a, str> {
    let output = match exit_line(observation) {
        None => Cow::Borrowed(observation.output.as_str()),
        Some(line) => Cow::Owned(format!("{line}{}", observation.output)),
    };
    match edited {
        None => output,
        Some(edited) => Cow::Owned(format!(
            "[The arguments were changed before the call was run: {edited}]\n{output}"
        )),
    }
}

/// Returns the line with the exit code that precedes the output.
pub(crate) fn exit_line(observation: &Observation) -> Option<String> {
    let code = observation.exit_code?;
    Some(match observation.output.is_empty() {
        true => format!("[exit code {code}, no output]"),
        false => format!("[exit code {code}]\n"),
    })
}

impl Prompt {
    /// Returns the digest of the conversation, as `SampleStarted` records it. Reads all of it.
    #[must_use]
    pub fn digest(&self) -> Digest {
        context::visible_part(self.items.iter()).digest
    }
}

/// Returns the tool choice of the current or next sample. It demands no tool that the request does
/// not offer.
#[must_use]
pub fn tool_choice(turn: &Turn) -> ToolChoice {
    let settings = &turn.settings;
    let choice = &settings.options.tool_choice;
    match choice {
        ToolChoice::Required | ToolChoice::Tool(_) if turn.spent.samples > 1 => ToolChoice::Auto,
        ToolChoice::Required | ToolChoice::Tool(_) if !offers(settings, choice) => ToolChoice::Auto,
        ToolChoice::Auto | ToolChoice::None | ToolChoice::Required | ToolChoice::Tool(_) => {
            choice.clone()
        }
    }
}

/// Returns true if the request offers the demanded tool. Settings that select no tools demand what
/// they demand.
fn offers(settings: &Settings, choice: &ToolChoice) -> bool {
    if settings.options.offered == OfferedTools::All || settings.options.program.is_some() {
        return true;
    }
    settings.offered_tools().any(|tool| match choice {
        ToolChoice::Tool(name) => tool.name == *name,
        ToolChoice::Auto | ToolChoice::None | ToolChoice::Required => true,
    })
}

/// Renders the request for the model, which offers of the deferred tools those that were found.
/// Copies O(log n) pointers of the history.
#[must_use]
pub fn render(history: &History, settings: &Arc<Settings>, found: &BTreeSet<String>) -> Prompt {
    Prompt { settings: settings.for_request(found), items: history.items().clone() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::call::ObservationStatus;

    #[test]
    fn an_exit_code_precedes_the_output() {
        let observed = |exit_code, output: &str| Observation {
            exit_code,
            ..Observation::new(ObservationStatus::Failed, output)
        };
        assert_eq!(result_text(&observed(None, "out"), None), "out");
        assert_eq!(result_text(&observed(Some(3), "out"), None), "[exit code 3]\nout");
        assert_eq!(result_text(&observed(Some(0), ""), None), "[exit code 0, no output]");
        let edited = "[The arguments were changed before the call was run: {}]\n[exit code 3]\nout";
        assert_eq!(result_text(&observed(Some(3), "out"), Some("{}")), edited);
    }
}
