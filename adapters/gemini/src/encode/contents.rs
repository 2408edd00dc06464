//! The conversation as contents, each a list of parts of the user or of the model.
//!
//! All that one sample brought goes into one content of the model, and the results of its calls
//! into one of the user after it; every other item is a content of its own. A result names the
//! tool of its call, so a call is closed together with its result: what is open is written again
//! with the next request.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Serialize;
use serde_json::value::RawValue;
use windlass_core::{
    AppendListIter, CallItem, Image, ImageMedia, LoweredPart, LoweringReason, Observation,
    ObservationStatus, PromptItem, ReasoningItem, Seq, program_report_text,
};
use windlass_kit_http::lowering::{self, LoweringReport, RequestTarget};
use windlass_kit_http::request::{
    RESULT_IMAGES, arguments, image_placeholder, separate, tool_name, write,
};
use windlass_kit_http::{EncodedImage, EncodedImages, EncodedItems};
use windlass_ports::ProviderError;

use crate::model::ModelTraits;

/// User content between two contents of the model, and after the last.
const GO_ON: &str = "<context from=\"windlass\">\nGo on from here.\n</context>";

/// User content where the model would speak first.
const BEGIN: &str = "<context from=\"windlass\">\nThe conversation begins here.\n</context>";

/// Replacement for a user message of white space alone, which the protocol refuses.
const BLANK: &str = "[The user sent only white space.]";

/// The signature that is accepted for a call which the model at hand did not make.
const STAND_IN: &str = r#"{"thoughtSignature":"skip_thought_signature_validator"}"#;

#[derive(Serialize)]
struct TextPart<'a> {
    text: &'a str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ImagePart<'a> {
    inline_data: InlineData<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct InlineData<'a> {
    mime_type: &'a str,
    data: &'a str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct CallPart<'a> {
    function_call: FunctionCall<'a>,
}

#[derive(Serialize)]
struct FunctionCall<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
    name: &'a str,
    args: Box<RawValue>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ResultPart<'a> {
    function_response: FunctionResponse<'a>,
}

#[derive(Serialize)]
struct FunctionResponse<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
    name: &'a str,
    response: CallOutput<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum CallOutput<'a> {
    Output(Cow<'a, str>),
    Error(Cow<'a, str>),
}

/// Writes contents. Answers up to which item, and which byte, nothing later can change them.
pub(super) fn items(
    items: AppendListIter<'_, PromptItem>,
    here: RequestTarget<'_>,
    traits: ModelTraits,
    pictures: &EncodedImages,
    out: &mut Vec<u8>,
) -> Result<EncodedItems, ProviderError> {
    let closed = (0, out.len());
    let mut writer = ContentWriter {
        out,
        here,
        traits,
        pictures,
        report: LoweringReport::default(),
        open: OpenContent::Nothing,
        calls: BTreeMap::new(),
        closed,
        shown: Vec::new(),
    };
    for (at, item) in items.enumerate() {
        writer.item(at, item)?;
    }
    writer.finish()
}

/// Content that later items may extend.
#[derive(Clone, Copy, PartialEq, Eq)]
enum OpenContent {
    Nothing,
    /// What the model brought in this sample; true once it has a call.
    Model(Seq, bool),
    Results,
}

/// A call without a result yet: its name, and its id if it has one.
struct OpenCall {
    name: String,
    has_id: bool,
}

/// A tool's name as it is sent back: it begins with a letter or `_`.
fn function_name(name: &str) -> Cow<'_, str> {
    let fit = tool_name(name);
    if fit.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
        return fit;
    }
    let rest: String = fit.chars().skip(1).collect();
    Cow::Owned(format!("_{rest}"))
}

/// Returns an image that the protocol takes, or why it does not take it.
fn taken(image: &Image, picture: EncodedImage) -> Result<Arc<str>, LoweringReason> {
    lowering::image(picture, image.media != ImageMedia::Gif)
}

fn image_part(media: ImageMedia, data: &str) -> ImagePart<'_> {
    ImagePart { inline_data: InlineData { mime_type: media.as_str(), data } }
}

struct ContentWriter<'a, 'o> {
    out: &'o mut Vec<u8>,
    here: RequestTarget<'a>,
    traits: ModelTraits,
    pictures: &'a EncodedImages,
    report: LoweringReport,
    open: OpenContent,
    calls: BTreeMap<&'a str, OpenCall>,
    /// Number of items that later input cannot change, and the offset at which they end.
    closed: (usize, usize),
    /// Images of the open results, each with its bytes in base64.
    shown: Vec<(ImageMedia, Arc<str>)>,
}

impl<'a> ContentWriter<'a, '_> {
    fn item(&mut self, at: usize, item: &'a PromptItem) -> Result<(), ProviderError> {
        match item {
            PromptItem::User { text } if text.trim().is_empty() => self.user(at, BLANK),
            PromptItem::User { text } => self.user(at, text),
            PromptItem::Context { text } => self.context(at, text),
            PromptItem::CallReport { calls } => self.context(at, &calls.text()),
            PromptItem::ProgramReport { observation, .. } => {
                self.context(at, &program_report_text(observation))
            }
            PromptItem::Image { image } => self.image(at, image),
            PromptItem::Text { sample, text, .. } => self.text(at, *sample, text),
            PromptItem::Refusal { sample, text } => {
                self.report.downgraded(LoweredPart::Refusal, LoweringReason::Unsupported);
                self.text(at, *sample, text)
            }
            PromptItem::Reasoning { sample, item } => self.reasoning(at, *sample, item),
            PromptItem::Call { sample, id, call } => self.call(at, *sample, id, call),
            PromptItem::Result { id, observation, edited } => {
                self.result(at, id, observation, edited.as_deref())
            }
        }
    }

    /// There is no place for what nobody said but among the user's words.
    fn context(&mut self, at: usize, text: &str) -> Result<(), ProviderError> {
        self.report.downgraded(LoweredPart::Context, LoweringReason::Unsupported);
        self.user(at, text)
    }

    fn user(&mut self, at: usize, text: &str) -> Result<(), ProviderError> {
        self.whole(at, &TextPart { text })
    }

    fn image(&mut self, at: usize, image: &Image) -> Result<(), ProviderError> {
        match taken(image, self.pictures.get(image)) {
            Ok(data) => self.whole(at, &image_part(image.media, &data)),
            Err(why) => {
                self.report.downgraded(LoweredPart::Image, why);
                self.user(at, &image_placeholder(image))
            }
        }
    }

    fn text(&mut self, at: usize, sample: Seq, text: &str) -> Result<(), ProviderError> {
        if text.trim().is_empty() {
            return Ok(());
        }
        self.begin_model(at, sample)?;
        write(self.out, &TextPart { text })
    }

    fn reasoning(
        &mut self,
        at: usize,
        sample: Seq,
        item: &ReasoningItem,
    ) -> Result<(), ProviderError> {
        if item.text.is_empty() && item.opaque.is_none() {
            return Ok(());
        }
        match lowering::reasoning(item, &self.here, windlass_kit_http::json::is_json) {
            Ok(payload) => {
                self.begin_model(at, sample)?;
                self.out.extend_from_slice(payload.as_bytes());
            }
            Err(why) => self.report.dropped(LoweredPart::Reasoning, why),
        }
        Ok(())
    }

    fn call(
        &mut self,
        at: usize,
        sample: Seq,
        id: &'a str,
        call: &CallItem,
    ) -> Result<(), ProviderError> {
        self.begin_model(at, sample)?;
        let first = !matches!(self.open, OpenContent::Model(_, true));
        self.open = OpenContent::Model(sample, true);
        let name = self.report.checked_text(LoweredPart::ToolName, function_name(&call.name));
        let args = self.report.checked_text(LoweredPart::Arguments, arguments(call)).into_owned();
        let args = RawValue::from_string(args).map_err(|error| {
            windlass_kit_http::misconfigured(format!("writing the arguments of a call: {error}"))
        })?;
        let seal = match lowering::call_opaque(call, &self.here, windlass_kit_http::json::is_json) {
            Ok(seal) => seal,
            Err(why) => {
                self.report.dropped(LoweredPart::CallOpaque, why);
                None
            }
        };
        let has_id = !call.provider_id.is_empty();
        let call = FunctionCall { id: has_id.then_some(id), name: &name, args };
        write(self.out, &CallPart { function_call: call })?;
        // The first call of a sample must be signed.
        if let Some(seal) = seal.or((first && self.traits.signs).then_some(STAND_IN)) {
            self.out.pop();
            self.out.push(b',');
            self.out.extend_from_slice(seal.get(1..).unwrap_or_default().as_bytes());
        }
        self.calls.insert(id, OpenCall { name: name.into_owned(), has_id });
        Ok(())
    }

    fn result(
        &mut self,
        at: usize,
        id: &'a str,
        observation: &'a Observation,
        edited: Option<&str>,
    ) -> Result<(), ProviderError> {
        if self.open != OpenContent::Results {
            self.close(at)?;
            self.begin("user");
            self.open = OpenContent::Results;
        }
        separate(self.out);
        let call = self.calls.remove(id);
        let result = lowering::result(observation, edited, self.pictures, taken, &mut self.report);
        self.shown.extend(result.images.into_iter().map(|(image, data)| (image.media, data)));
        let text = result.text;
        let response = match observation.status {
            ObservationStatus::Done => CallOutput::Output(text),
            ObservationStatus::Failed
            | ObservationStatus::Denied
            | ObservationStatus::Aborted
            | ObservationStatus::Unknown
            | ObservationStatus::NotStarted => CallOutput::Error(text),
        };
        let function_response = FunctionResponse {
            id: call.as_ref().is_some_and(|call| call.has_id).then_some(id),
            name: call.as_ref().map_or("_", |call| &call.name),
            response,
        };
        write(self.out, &ResultPart { function_response })
    }

    /// Writes a content of the user that nothing can extend.
    fn whole<T: Serialize>(&mut self, at: usize, part: &T) -> Result<(), ProviderError> {
        self.close(at)?;
        self.begin("user");
        write(self.out, part)?;
        self.out.extend_from_slice(b"]}");
        self.settle(at + 1);
        Ok(())
    }

    /// Makes ready for a part of the model.
    fn begin_model(&mut self, at: usize, sample: Seq) -> Result<(), ProviderError> {
        match self.open {
            OpenContent::Model(open, _) if open == sample => {
                self.out.push(b',');
                return Ok(());
            }
            OpenContent::Model(..) => {
                // It is closed together with what separates it from the next one.
                self.out.extend_from_slice(b"]}");
                self.open = OpenContent::Nothing;
                self.placeholder(GO_ON)?;
                self.settle(at);
            }
            OpenContent::Results | OpenContent::Nothing => self.close(at)?,
        }
        if self.out.ends_with(b"[") {
            self.placeholder(BEGIN)?;
        }
        self.begin("model");
        self.open = OpenContent::Model(sample, false);
        Ok(())
    }

    /// Has the user say something that nobody said, so that the model can have the word.
    fn placeholder(&mut self, text: &str) -> Result<(), ProviderError> {
        self.begin("user");
        write(self.out, &TextPart { text })?;
        self.out.extend_from_slice(b"]}");
        Ok(())
    }

    fn begin(&mut self, role: &str) {
        separate(self.out);
        self.out.extend_from_slice(format!("{{\"role\":\"{role}\",\"parts\":[").as_bytes());
    }

    /// Closes the open content, before item `at`.
    fn close(&mut self, at: usize) -> Result<(), ProviderError> {
        match self.open {
            OpenContent::Nothing => return Ok(()),
            OpenContent::Model(..) => self.out.extend_from_slice(b"]}"),
            OpenContent::Results => self.end_results()?,
        }
        self.open = OpenContent::Nothing;
        self.settle(at);
        Ok(())
    }

    /// Ends the results. Their images follow in a content of their own: only the newest models take
    /// images within results.
    fn end_results(&mut self) -> Result<(), ProviderError> {
        self.out.extend_from_slice(b"]}");
        if self.shown.is_empty() {
            return Ok(());
        }
        self.begin("user");
        write(self.out, &TextPart { text: RESULT_IMAGES })?;
        for (media, data) in std::mem::take(&mut self.shown) {
            self.out.push(b',');
            write(self.out, &image_part(media, &data))?;
        }
        self.out.extend_from_slice(b"]}");
        Ok(())
    }

    /// Marks the items before `at` as closed, unless a call among them still waits for its result.
    fn settle(&mut self, at: usize) {
        if self.calls.is_empty() {
            self.closed = (at, self.out.len());
            self.report.close();
        }
    }

    fn finish(mut self) -> Result<EncodedItems, ProviderError> {
        let (closed, end) = self.closed;
        match self.open {
            OpenContent::Nothing if self.out.ends_with(b"[") => self.placeholder(BEGIN)?,
            OpenContent::Nothing => {}
            OpenContent::Results => self.end_results()?,
            OpenContent::Model(..) => {
                self.out.extend_from_slice(b"]}");
                self.placeholder(GO_ON)?;
            }
        }
        let (lowered, open) = self.report.into_parts();
        Ok(EncodedItems { closed, end, lowered, open })
    }
}
