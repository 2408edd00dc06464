//! The conversation as messages of the user and of the assistant, each a list of content blocks.
//!
//! The messages take turns: all that is not the model's own goes into one message of the user (the
//! results of calls come first, since they follow their calls), all that one sample brought into
//! one of the assistant. Between two samples with nothing between them, and after a last word of
//! the model, the user is made to say that it may go on.
//!
//! A message of the user can grow at its end, so what is written is closed after each of its
//! blocks. A line feed stands after each, which JSON ignores: it tells the next request that the
//! message is still open. A message of the assistant is closed by what follows it.

use std::borrow::Cow;
use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;
use windlass_core::{
    AppendList, CallItem, Image, LoweredPart, LoweringReason, Observation, ObservationStatus,
    Opaque, PromptItem, ReasoningItem, Seq, program_report_text,
};
use windlass_kit_http::lowering::{self, LoweringReport, RequestTarget};
use windlass_kit_http::request::{image_placeholder, tool_name, write};
use windlass_kit_http::{EncodedImage, EncodedImages, EncodedItems, misconfigured};
use windlass_ports::ProviderError;

use super::fit::{call_id, input, is_whole};
use super::hosted::{goes_back, hosted};

/// The most bytes of an image in base64.
const MOST_IMAGE: usize = 5 * 1024 * 1024;

/// User message inserted between two consecutive messages of the model.
const GO_ON: &str = "<context from=\"windlass\">\nGo on from here.\n</context>";

/// User message inserted where the model would speak first.
const BEGIN: &str = "<context from=\"windlass\">\nThe conversation begins here.\n</context>";

/// Replacement for a user message of white space alone, which the protocol refuses.
const BLANK: &str = "[The user sent only white space.]";

/// Result sent for a call that failed without output.
const SILENT: &str = "[There is no output.]";

#[derive(Serialize)]
struct TextBlock<'a> {
    r#type: &'static str,
    text: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    citations: Option<&'a RawValue>,
}

#[derive(Serialize)]
struct ImageBlock<'a> {
    r#type: &'static str,
    source: ImageSource<'a>,
}

#[derive(Serialize)]
struct ImageSource<'a> {
    r#type: &'static str,
    media_type: &'a str,
    data: &'a str,
}

#[derive(Serialize)]
struct ToolUseBlock<'a> {
    r#type: &'static str,
    id: Cow<'a, str>,
    name: Cow<'a, str>,
    input: ToolInput,
}

/// The arguments of a call: as they came, or wrapped.
#[derive(Serialize)]
#[serde(untagged)]
enum ToolInput {
    Same(Box<RawValue>),
    Wrapped(Value),
}

#[derive(Serialize)]
struct ToolResultBlock<'a> {
    r#type: &'static str,
    tool_use_id: Cow<'a, str>,
    content: ToolResult<'a>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    is_error: bool,
}

/// The content of a result: a text, or blocks if it has images.
#[derive(Serialize)]
#[serde(untagged)]
enum ToolResult<'a> {
    Text(Cow<'a, str>),
    Blocks(Vec<ToolResultPart<'a>>),
}

#[derive(Serialize)]
#[serde(untagged)]
enum ToolResultPart<'a> {
    Text(TextBlock<'a>),
    Image(ImageBlock<'a>),
}

/// Writes the conversation on, up to the closing of its list.
pub(super) fn items(
    items: &AppendList<PromptItem>,
    from: usize,
    here: RequestTarget<'_>,
    pictures: &EncodedImages,
    out: &mut Vec<u8>,
) -> Result<EncodedItems, ProviderError> {
    let at = match out.last() {
        Some(b'\n') => OpenMessage::User,
        Some(_) | None => OpenMessage::Start,
    };
    let mut page = MessageWriter {
        end: out.len(),
        out,
        at,
        closed: 0,
        report: LoweringReport::default(),
        here,
        pictures,
        items,
        from,
    };
    for (before, item) in items.iter_from(from).enumerate() {
        page.item(item, before)?;
    }
    page.finish()
}

/// Role of the open message.
#[derive(Debug, Clone, Copy)]
enum OpenMessage {
    /// Nobody's: nothing has been said.
    Start,
    /// The user's, after a block.
    User,
    /// The model's message is open.
    Assistant {
        sample: Seq,
        /// Index at which content other than thinking ends.
        spoken: usize,
        /// Number of thinking blocks behind that index.
        thoughts: u32,
        /// True if the last other block is a search of the server: the model goes on after it.
        paused: bool,
    },
}

struct MessageWriter<'a> {
    out: &'a mut Vec<u8>,
    at: OpenMessage,
    closed: usize,
    end: usize,
    report: LoweringReport,
    here: RequestTarget<'a>,
    pictures: &'a EncodedImages,
    items: &'a AppendList<PromptItem>,
    from: usize,
}

impl MessageWriter<'_> {
    fn item(&mut self, item: &PromptItem, before: usize) -> Result<(), ProviderError> {
        match item {
            PromptItem::User { text } if text.trim().is_empty() => {
                self.write_user_block(&text_block(BLANK), before)
            }
            PromptItem::User { text } => self.write_user_block(&text_block(text), before),
            PromptItem::Context { text } => self.context(text, before),
            PromptItem::CallReport { calls } => self.context(&calls.text(), before),
            PromptItem::ProgramReport { observation, .. } => {
                self.context(&program_report_text(observation), before)
            }
            PromptItem::Image { image } => self.image(image, before),
            PromptItem::Result { id, observation, edited } => {
                self.result(id, observation, edited.as_deref(), before)
            }
            PromptItem::Text { sample, text, opaque } => {
                self.text(*sample, text, opaque.as_deref())
            }
            PromptItem::Refusal { sample, text } => {
                self.report.downgraded(LoweredPart::Refusal, LoweringReason::Unsupported);
                self.text(*sample, text, None)
            }
            PromptItem::Reasoning { sample, item } => self.reasoning(*sample, item, before),
            PromptItem::Call { sample, id, call } => self.call(*sample, id, call),
        }
    }

    /// There is no place for what nobody said but among the user's words.
    fn context(&mut self, text: &str, before: usize) -> Result<(), ProviderError> {
        self.report.downgraded(LoweredPart::Context, LoweringReason::Unsupported);
        self.write_user_block(&text_block(text), before)
    }

    /// Closes the list of messages.
    fn finish(mut self) -> Result<EncodedItems, ProviderError> {
        match self.at {
            OpenMessage::User => {}
            OpenMessage::Start => self.write_placeholder(BEGIN)?,
            // The server goes on with the answer that it paused.
            OpenMessage::Assistant { paused: true, .. } => {}
            OpenMessage::Assistant { paused: false, .. } => self.write_placeholder(GO_ON)?,
        }
        self.out.extend_from_slice(b"]}]");
        let (lowered, open) = self.report.into_parts();
        Ok(EncodedItems { closed: self.closed, end: self.end, lowered, open })
    }

    fn image(&mut self, image: &Image, before: usize) -> Result<(), ProviderError> {
        match taken(image, self.pictures.get(image)) {
            Ok(data) => self.write_user_block(&image_block(image, &data), before),
            Err(why) => {
                self.report.downgraded(LoweredPart::Image, why);
                self.write_user_block(&text_block(&image_placeholder(image)), before)
            }
        }
    }

    fn result(
        &mut self,
        id: &str,
        observation: &Observation,
        edited: Option<&str>,
        before: usize,
    ) -> Result<(), ProviderError> {
        let is_error = observation.status != ObservationStatus::Done;
        let result = lowering::result(observation, edited, self.pictures, taken, &mut self.report);
        let blank = result.text.trim().is_empty();
        let content = match (&*result.images, blank) {
            ([], true) if is_error => ToolResult::Text(Cow::Borrowed(SILENT)),
            ([], _) => ToolResult::Text(result.text),
            (images, blank) => {
                let text = (!blank).then(|| ToolResultPart::Text(text_block(&result.text)));
                let images = images.iter().map(|(image, data)| image_block(image, data));
                let blocks = text.into_iter().chain(images.map(ToolResultPart::Image));
                ToolResult::Blocks(blocks.collect())
            }
        };
        let block =
            ToolResultBlock { r#type: "tool_result", tool_use_id: call_id(id), content, is_error };
        self.write_user_block(&block, before)
    }

    fn text(
        &mut self,
        sample: Seq,
        text: &str,
        opaque: Option<&Opaque>,
    ) -> Result<(), ProviderError> {
        if text.trim().is_empty() {
            return Ok(());
        }
        let own = opaque.filter(|opaque| self.here.produced(opaque));
        let citations = own.and_then(|opaque| serde_json::from_str(&opaque.payload).ok());
        self.write_model_block(sample, &TextBlock { citations, ..text_block(text) }, false)
    }

    fn reasoning(
        &mut self,
        sample: Seq,
        item: &ReasoningItem,
        before: usize,
    ) -> Result<(), ProviderError> {
        let payload = match lowering::reasoning(item, &self.here, is_whole) {
            Ok(payload) => payload,
            Err(why) => {
                self.report.dropped(LoweredPart::Reasoning, why);
                return Ok(());
            }
        };
        if let Some(block) = hosted(payload) {
            if !goes_back(self.items, self.from.saturating_add(before), &block) {
                self.report.dropped(LoweredPart::Reasoning, LoweringReason::Invalid);
                return Ok(());
            }
            let raw: &RawValue = serde_json::from_str(payload).map_err(|error| {
                misconfigured(format!("writing a search of the server: {error}"))
            })?;
            return self.write_model_block(sample, raw, true);
        }
        self.turn_to_model(sample)?;
        self.out.extend_from_slice(payload.as_bytes());
        if let OpenMessage::Assistant { thoughts, .. } = &mut self.at {
            *thoughts = thoughts.saturating_add(1);
        }
        Ok(())
    }

    fn call(&mut self, sample: Seq, id: &str, call: &CallItem) -> Result<(), ProviderError> {
        let id = self.report.checked_text(LoweredPart::CallId, call_id(id));
        let name = tool_name(&call.name);
        let name = self.report.checked_text(LoweredPart::ToolName, name);
        // This protocol has no place for one.
        if call.opaque.is_some() {
            self.report.dropped(LoweredPart::CallOpaque, LoweringReason::Foreign);
        }
        let input = match input(call) {
            Ok(same) => ToolInput::Same(same),
            Err(wrapped) => {
                self.report.downgraded(LoweredPart::Arguments, LoweringReason::Invalid);
                ToolInput::Wrapped(wrapped)
            }
        };
        let block = ToolUseBlock { r#type: "tool_use", id, name, input };
        self.write_model_block(sample, &block, false)
    }

    /// Writes a block of the user, which closes all before it.
    fn write_user_block<T: Serialize>(
        &mut self,
        block: &T,
        before: usize,
    ) -> Result<(), ProviderError> {
        self.turn_to_user();
        write(self.out, block)?;
        self.out.push(b'\n');
        self.closed = before.saturating_add(1);
        self.end = self.out.len();
        self.report.close();
        Ok(())
    }

    /// Has the user say something that nobody said, so that the model can have the word (again).
    fn write_placeholder(&mut self, text: &str) -> Result<(), ProviderError> {
        self.turn_to_user();
        write(self.out, &text_block(text))?;
        self.out.push(b'\n');
        Ok(())
    }

    /// Makes ready for a block of the user.
    fn turn_to_user(&mut self) {
        if let OpenMessage::Assistant { spoken, thoughts, .. } = self.at {
            // A message that ends with thinking, or holds nothing else, is refused.
            self.out.truncate(spoken);
            for _ in 0..thoughts {
                self.report.dropped(LoweredPart::Reasoning, LoweringReason::Invalid);
            }
        }
        match (self.at, self.out.last()) {
            (OpenMessage::Start, _) => self.open("user"),
            // Nothing is left of what the model said.
            (OpenMessage::User, _) | (OpenMessage::Assistant { .. }, Some(b'\n')) => {
                self.out.push(b',')
            }
            (OpenMessage::Assistant { .. }, _) => {
                self.out.extend_from_slice(b"]},");
                self.open("user");
            }
        }
        self.at = OpenMessage::User;
    }

    /// Writes a block of the model.
    fn write_model_block<T: Serialize + ?Sized>(
        &mut self,
        sample: Seq,
        block: &T,
        paused: bool,
    ) -> Result<(), ProviderError> {
        self.turn_to_model(sample)?;
        write(self.out, block)?;
        let spoken = self.out.len();
        self.at = OpenMessage::Assistant { sample, spoken, thoughts: 0, paused };
        Ok(())
    }

    /// Makes ready for a block of the model.
    fn turn_to_model(&mut self, sample: Seq) -> Result<(), ProviderError> {
        match self.at {
            OpenMessage::Assistant { sample: known, .. } if known == sample => {
                self.out.push(b',');
                return Ok(());
            }
            // One message in several samples.
            OpenMessage::Assistant { paused: true, spoken, thoughts, .. } => {
                self.out.push(b',');
                self.at = OpenMessage::Assistant { sample, spoken, thoughts, paused: true };
                return Ok(());
            }
            OpenMessage::Assistant { .. } => self.write_placeholder(GO_ON)?,
            OpenMessage::Start => self.write_placeholder(BEGIN)?,
            OpenMessage::User => {}
        }
        let spoken = self.out.len();
        self.out.extend_from_slice(b"]},");
        self.open("assistant");
        self.at = OpenMessage::Assistant { sample, spoken, thoughts: 0, paused: false };
        Ok(())
    }

    fn open(&mut self, role: &str) {
        let opening = format!("{{\"role\":\"{role}\",\"content\":[");
        self.out.extend_from_slice(opening.as_bytes());
    }
}

/// Returns an image that the protocol takes, or why it takes none.
fn taken(_: &Image, picture: EncodedImage) -> Result<Arc<str>, LoweringReason> {
    match picture {
        Some(data) if data.len() <= MOST_IMAGE => Ok(data),
        Some(_) => Err(LoweringReason::Invalid),
        None => Err(LoweringReason::Missing),
    }
}

fn image_block<'a>(image: &'a Image, data: &'a str) -> ImageBlock<'a> {
    let source = ImageSource { r#type: "base64", media_type: image.media.as_str(), data };
    ImageBlock { r#type: "image", source }
}

fn text_block(text: &str) -> TextBlock<'_> {
    TextBlock { r#type: "text", text, citations: None }
}
