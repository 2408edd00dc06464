//! The messages of a Chat Completions request: a conversation as the server at hand takes it. Pure.
//!
//! A message may collect several items: all that the model said in one sample, and where a server
//! takes no two messages of the user in a row, all that the user said. Such a message is open as
//! long as more may come to it. What is open is written anew with the next request.

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::value::RawValue;
use windlass_core::{
    AppendListIter, CallItem, Image, LoweredPart, LoweringReason, PromptItem, ReasoningItem, Seq,
    program_report_text,
};
use windlass_kit_http::lowering::{self, LoweringReport, RequestTarget};
use windlass_kit_http::request::{
    RESULT_IMAGES, arguments, image_placeholder, separate, tool_name, write,
};
use windlass_kit_http::{EncodedImages, EncodedItems};
use windlass_ports::ProviderError;

use super::message::{
    AssistantCall, AssistantMessage, ChatContentPart, ContentMessage, FunctionCall, ImageUrl,
    TextMessage, ToolMessage,
};
use crate::quirks::{
    AfterResults, CallExtra, ContextRole, EmptyContent, Quirks, ReasoningBack, UserTurns,
};
use crate::servers::STAND_IN;

/// The form of reasoning whose text goes back as it is.
pub(super) const CONTENT: &str = r#""reasoning_content""#;

/// Assistant message inserted between results and a user message where the server requires one.
const BRIDGE: &str = "I have the results.";

/// User message inserted where the last message may not be the model's.
const GO_ON: &str = "<context from=\"windlass\">\nGo on from here.\n</context>";

/// Writes messages. Answers up to which item, and which byte, nothing later can change them.
pub(crate) fn items(
    items: AppendListIter<'_, PromptItem>,
    here: RequestTarget<'_>,
    quirks: &Quirks,
    pictures: &EncodedImages,
    out: &mut Vec<u8>,
) -> Result<EncodedItems, ProviderError> {
    let end = out.len();
    let mut writing = MessageWriter {
        here,
        quirks,
        pictures,
        out,
        report: LoweringReport::default(),
        open: OpenMessage::Nothing,
        assistant: AssistantDraft::default(),
        user_content: Vec::new(),
        shown: Vec::new(),
        closed: (0, end),
    };
    for (at, item) in items.enumerate() {
        writing.item(at, item)?;
    }
    writing.end()
}

/// Writes a message of a plain text.
pub(super) fn plain(
    role: &'static str,
    content: &str,
    out: &mut Vec<u8>,
) -> Result<(), ProviderError> {
    separate(out);
    write(out, &TextMessage { role, content })
}

struct MessageWriter<'a, 'o> {
    here: RequestTarget<'a>,
    quirks: &'a Quirks,
    pictures: &'a EncodedImages,
    out: &'o mut Vec<u8>,
    report: LoweringReport,
    open: OpenMessage,
    assistant: AssistantDraft<'a>,
    user_content: Vec<UserContent<'a>>,
    /// Images of the open results, which a message of the user shows: no message of a tool may.
    shown: Vec<UserContent<'a>>,
    /// Number of items that later input cannot change, and the offset at which they end.
    closed: (usize, usize),
}

/// Message that later items may extend.
#[derive(Clone, Copy, PartialEq, Eq)]
enum OpenMessage {
    Nothing,
    /// Answer of the model in this sample: `said`.
    Assistant(Seq),
    /// Words of the user: `spoken`.
    User,
    /// Results, which are written; what may follow them depends on what does.
    Results,
}

/// Kind of the next message.
#[derive(Clone, Copy, PartialEq, Eq)]
enum NextMessage {
    Model(Seq),
    User,
    Result,
    Other,
}

enum UserContent<'a> {
    Text(Cow<'a, str>),
    Picture(&'a Image, Arc<str>),
}

/// Answer of the model in one sample, as far as it is gathered.
#[derive(Default)]
struct AssistantDraft<'a> {
    text: Option<Cow<'a, str>>,
    reasoning: Option<String>,
    details: Vec<&'a RawValue>,
    /// Number of reasoning parts that are sent back.
    thoughts: u32,
    calls: Vec<AssistantCall<'a>>,
}

impl<'a> MessageWriter<'a, '_> {
    fn item(&mut self, at: usize, item: &'a PromptItem) -> Result<(), ProviderError> {
        match item {
            PromptItem::User { text } => {
                self.push_user_content(at, UserContent::Text(Cow::Borrowed(text)))
            }
            PromptItem::Image { image } => {
                self.flush(at, NextMessage::User)?;
                let words = self.picture(image);
                self.push_user_content(at, words)
            }
            PromptItem::Context { text } => self.context(at, Cow::Borrowed(text)),
            PromptItem::CallReport { calls } => self.context(at, Cow::Owned(calls.text())),
            PromptItem::ProgramReport { observation, .. } => {
                self.context(at, Cow::Owned(program_report_text(observation)))
            }
            PromptItem::Text { sample, text, .. } => {
                self.begin_assistant(at, *sample)?;
                self.assistant.text(text);
                Ok(())
            }
            PromptItem::Refusal { sample, text } => {
                self.begin_assistant(at, *sample)?;
                self.assistant.text(text);
                let (what, why) = (LoweredPart::Refusal, LoweringReason::Unsupported);
                self.report.downgraded(what, why);
                Ok(())
            }
            PromptItem::Reasoning { sample, item } => {
                self.begin_assistant(at, *sample)?;
                self.thought(item);
                Ok(())
            }
            PromptItem::Call { sample, id, call } => {
                self.begin_assistant(at, *sample)?;
                self.call(id, call);
                Ok(())
            }
            PromptItem::Result { id, observation, edited } => {
                self.flush(at, NextMessage::Result)?;
                let (edited, quirks) = (edited.as_deref(), self.quirks);
                let taken = |_: &Image, picture| lowering::image(picture, quirks.images);
                let report = &mut self.report;
                let result = lowering::result(observation, edited, self.pictures, taken, report);
                separate(self.out);
                let answer = ToolMessage {
                    role: "tool",
                    tool_call_id: self.quirks.call_ids.encode(id),
                    content: result.text,
                };
                write(self.out, &answer)?;
                let shown = result.images.into_iter();
                self.shown.extend(shown.map(|(image, data)| UserContent::Picture(image, data)));
                match self.quirks.after_results {
                    AfterResults::Any if self.shown.is_empty() => self.close(at + 1),
                    AfterResults::Any | AfterResults::Assistant => self.open = OpenMessage::Results,
                }
                Ok(())
            }
        }
    }

    /// Takes a user's words.
    fn push_user_content(
        &mut self,
        at: usize,
        words: UserContent<'a>,
    ) -> Result<(), ProviderError> {
        self.flush(at, NextMessage::User)?;
        self.open = OpenMessage::User;
        self.user_content.push(words);
        if self.quirks.user_turns == UserTurns::Each {
            self.flush(at + 1, NextMessage::Other)?;
        }
        Ok(())
    }

    /// Writes context that no user wrote, in the role that the server has for it.
    fn context(&mut self, at: usize, text: Cow<'a, str>) -> Result<(), ProviderError> {
        if self.quirks.context == ContextRole::User {
            self.flush(at, NextMessage::User)?;
            let (what, why) = (LoweredPart::Context, LoweringReason::Unsupported);
            self.report.downgraded(what, why);
            return self.push_user_content(at, UserContent::Text(text));
        }
        self.flush(at, NextMessage::Other)?;
        plain(self.quirks.context.name(), &text, self.out)?;
        self.close(at + 1);
        Ok(())
    }

    fn picture(&mut self, image: &'a Image) -> UserContent<'a> {
        match lowering::image(self.pictures.get(image), self.quirks.images) {
            Ok(data) => UserContent::Picture(image, data),
            Err(why) => {
                self.report.downgraded(LoweredPart::Image, why);
                UserContent::Text(Cow::Owned(image_placeholder(image)))
            }
        }
    }

    /// The model speaks, in this sample.
    fn begin_assistant(&mut self, at: usize, sample: Seq) -> Result<(), ProviderError> {
        self.flush(at, NextMessage::Model(sample))?;
        self.open = OpenMessage::Assistant(sample);
        Ok(())
    }

    fn thought(&mut self, item: &'a ReasoningItem) {
        let said = &mut self.assistant;
        let read = match self.quirks.reasoning_back {
            ReasoningBack::None => Err(LoweringReason::Unsupported),
            ReasoningBack::Content => {
                lowering::reasoning(item, &self.here, |payload| payload == CONTENT).map(|_| {
                    let all = said.reasoning.get_or_insert_default();
                    all.push_str(&item.text);
                })
            }
            ReasoningBack::Details => {
                let whole = |payload: &str| parts(payload).is_some_and(|parts| !parts.is_empty());
                lowering::reasoning(item, &self.here, whole)
                    .map(|payload| said.details.extend(parts(payload).into_iter().flatten()))
            }
        };
        match read {
            Ok(()) => said.thoughts += 1,
            Err(why) => self.report.dropped(LoweredPart::Reasoning, why),
        }
    }

    fn call(&mut self, id: &'a str, call: &'a CallItem) {
        let extra = self.extra(call);
        let report = &mut self.report;
        let call = AssistantCall {
            id: report.checked_text(LoweredPart::CallId, self.quirks.call_ids.encode(id)),
            r#type: "function",
            function: FunctionCall {
                name: report.checked_text(LoweredPart::ToolName, tool_name(&call.name)),
                arguments: report.checked_text(LoweredPart::Arguments, arguments(call)),
            },
            extra_content: extra,
        };
        self.assistant.calls.push(call);
    }

    /// Returns the extra fields of a call, or their replacement.
    fn extra(&mut self, call: &'a CallItem) -> Option<&'a RawValue> {
        let what = LoweredPart::CallOpaque;
        let read = |text: &'a str| serde_json::from_str::<&RawValue>(text).ok();
        let object = |text: &str| text.starts_with('{') && windlass_kit_http::json::is_json(text);
        match (self.quirks.call_extra, &call.opaque) {
            (CallExtra::None, None) => return None,
            (CallExtra::None, Some(opaque)) if self.here.produced(opaque) => {
                self.report.dropped(what, LoweringReason::Unsupported);
                return None;
            }
            (CallExtra::None, Some(_)) => {
                self.report.dropped(what, LoweringReason::Foreign);
                return None;
            }
            (CallExtra::Returned, _) => {}
        }
        match lowering::call_opaque(call, &self.here, object) {
            Ok(Some(own)) => return read(own),
            Ok(None) => {}
            Err(why) => self.report.dropped(what, why),
        }
        // Of calls that stand in one message, only the first needs one.
        let first = self.assistant.calls.is_empty();
        let (model, extra) = STAND_IN;
        let name = self.here.model.rsplit('/').next().unwrap_or_default();
        read(extra).filter(|_| first && name.starts_with(model))
    }

    /// Writes what is open, unless what comes next belongs to it.
    fn flush(&mut self, at: usize, next: NextMessage) -> Result<(), ProviderError> {
        let merged = self.quirks.user_turns == UserTurns::Merged;
        match (self.open, next) {
            (OpenMessage::Nothing, _) | (OpenMessage::Results, NextMessage::Result) => {
                return Ok(());
            }
            (OpenMessage::Assistant(sample), NextMessage::Model(same)) if sample == same => {
                return Ok(());
            }
            (OpenMessage::User, NextMessage::User) if merged => return Ok(()),
            (OpenMessage::Results, NextMessage::User) if merged && !self.shown.is_empty() => {
                return self.begin_result_images();
            }
            (OpenMessage::Results, NextMessage::User | NextMessage::Other)
                if self.shown.is_empty() =>
            {
                // It is closed with what follows it, for alone it would follow all results.
                self.open = OpenMessage::Nothing;
                return plain("assistant", BRIDGE, self.out);
            }
            (OpenMessage::Assistant(_) | OpenMessage::User | OpenMessage::Results, _) => {}
        }
        self.write()?;
        self.close(at);
        Ok(())
    }

    fn write(&mut self) -> Result<(), ProviderError> {
        match std::mem::replace(&mut self.open, OpenMessage::Nothing) {
            OpenMessage::Nothing => Ok(()),
            OpenMessage::Results if self.shown.is_empty() => Ok(()),
            OpenMessage::Results => {
                self.begin_result_images()?;
                self.write()
            }
            OpenMessage::Assistant(_) => {
                let said = std::mem::take(&mut self.assistant);
                said.write(self.quirks, &mut self.report, self.out)
            }
            OpenMessage::User => {
                write_user_message(&std::mem::take(&mut self.user_content), self.out)
            }
        }
    }

    /// Begins the message of the user that shows the images of results.
    fn begin_result_images(&mut self) -> Result<(), ProviderError> {
        if self.quirks.after_results == AfterResults::Assistant {
            plain("assistant", BRIDGE, self.out)?;
        }
        self.open = OpenMessage::User;
        self.user_content.push(UserContent::Text(Cow::Borrowed(RESULT_IMAGES)));
        self.user_content.append(&mut self.shown);
        Ok(())
    }

    fn close(&mut self, count: usize) {
        self.closed = (count, self.out.len());
        self.report.close();
    }

    fn end(mut self) -> Result<EncodedItems, ProviderError> {
        let model = matches!(self.open, OpenMessage::Assistant(_));
        let before = self.out.len();
        self.write()?;
        let spoke = model && self.out.len() > before;
        if spoke && self.quirks.after_results == AfterResults::Assistant {
            plain("user", GO_ON, self.out)?;
        }
        let (closed, end) = self.closed;
        let (lowered, open) = self.report.into_parts();
        Ok(EncodedItems { closed, end, lowered, open })
    }
}

impl<'a> AssistantDraft<'a> {
    fn text(&mut self, text: &'a str) {
        match &mut self.text {
            None => self.text = Some(Cow::Borrowed(text)),
            Some(before) => {
                let before = before.to_mut();
                before.push_str("\n\n");
                before.push_str(text);
            }
        }
    }

    fn write(
        self,
        quirks: &Quirks,
        report: &mut LoweringReport,
        out: &mut Vec<u8>,
    ) -> Result<(), ProviderError> {
        let calls = !self.calls.is_empty();
        if self.text.is_none() && !calls {
            // No server takes a message of nothing but reasoning.
            for _ in 0..self.thoughts {
                report.dropped(LoweredPart::Reasoning, LoweringReason::Invalid);
            }
            return Ok(());
        }
        let needed = calls && quirks.reasoning_back == ReasoningBack::Content;
        let empty = (quirks.empty_content == EmptyContent::Empty).then_some("");
        separate(out);
        let message = AssistantMessage {
            role: "assistant",
            content: self.text.as_deref().or(empty),
            reasoning_content: self.reasoning.as_deref().or(needed.then_some("")),
            reasoning_details: &self.details,
            tool_calls: &self.calls,
        };
        write(out, &message)
    }
}

fn write_user_message(spoken: &[UserContent<'_>], out: &mut Vec<u8>) -> Result<(), ProviderError> {
    let texts: Option<Vec<&str>> = spoken.iter().map(UserContent::as_text).collect();
    if let Some(texts) = texts {
        return plain("user", &texts.join("\n\n"), out);
    }
    let content = spoken.iter().map(UserContent::part).collect();
    let role = "user";
    separate(out);
    write(out, &ContentMessage { role, content })
}

impl UserContent<'_> {
    fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Picture(..) => None,
        }
    }

    fn part(&self) -> ChatContentPart<'_> {
        match self {
            Self::Text(text) => ChatContentPart::Text { text },
            Self::Picture(image, data) => {
                let url = format!("data:{};base64,{data}", image.media.as_str());
                let image_url = ImageUrl { url };
                ChatContentPart::ImageUrl { image_url }
            }
        }
    }
}

/// The parts of a reasoning that came in parts.
fn parts(payload: &str) -> Option<Vec<&RawValue>> {
    serde_json::from_str(payload).ok()
}
