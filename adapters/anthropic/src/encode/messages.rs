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

use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;
use windlass_core::{
    CallItem, ChainIter, Image, LoweredBecause, LoweredPart, Observation, ObservationStatus,
    PromptItem, ReasoningItem, Seq, output,
};
use windlass_kit_http::lowering::{self, Place, Report};
use windlass_kit_http::request::{no_picture, tool_name, write};
use windlass_kit_http::{Encoded, Pictures};
use windlass_ports::ProviderError;

use super::fit::{call_id, input, is_whole};

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
struct Words<'a> {
    r#type: &'static str,
    text: &'a str,
}

#[derive(Serialize)]
struct Picture<'a> {
    r#type: &'static str,
    source: Source<'a>,
}

#[derive(Serialize)]
struct Source<'a> {
    r#type: &'static str,
    media_type: &'a str,
    data: &'a str,
}

#[derive(Serialize)]
struct Use<'a> {
    r#type: &'static str,
    id: Cow<'a, str>,
    name: Cow<'a, str>,
    input: Input,
}

/// The arguments of a call: as they came, or wrapped.
#[derive(Serialize)]
#[serde(untagged)]
enum Input {
    Same(Box<RawValue>),
    Wrapped(Value),
}

#[derive(Serialize)]
struct Outcome<'a> {
    r#type: &'static str,
    tool_use_id: Cow<'a, str>,
    content: Cow<'a, str>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    is_error: bool,
}

/// Writes the conversation on, up to the closing of its list.
pub(super) fn items(
    items: ChainIter<'_, PromptItem>,
    here: Place<'_>,
    pictures: &Pictures,
    out: &mut Vec<u8>,
) -> Result<Encoded, ProviderError> {
    let at = match out.last() {
        Some(b'\n') => At::User,
        Some(_) | None => At::Start,
    };
    let mut page = Page {
        end: out.len(),
        out,
        at,
        closed: 0,
        report: Report::default(),
        here,
        pictures,
    };
    for (before, item) in items.enumerate() {
        page.item(item, before)?;
    }
    page.finish()
}

/// Role of the open message.
#[derive(Debug, Clone, Copy)]
enum At {
    /// Nobody's: nothing has been said.
    Start,
    /// The user's, after a block.
    User,
    /// The model's message is open.
    Said {
        sample: Seq,
        /// Index at which content other than thinking ends.
        spoken: usize,
        /// Number of thinking blocks behind that index.
        thoughts: u32,
    },
}

struct Page<'a> {
    out: &'a mut Vec<u8>,
    at: At,
    closed: usize,
    end: usize,
    report: Report,
    here: Place<'a>,
    pictures: &'a Pictures,
}

impl Page<'_> {
    fn item(&mut self, item: &PromptItem, before: usize) -> Result<(), ProviderError> {
        match item {
            PromptItem::User { text } if text.trim().is_empty() => {
                self.heard(&words(BLANK), before)
            }
            PromptItem::User { text } => self.heard(&words(text), before),
            PromptItem::Context { text } => self.context(text, before),
            PromptItem::Told { calls } => self.context(&calls.text(), before),
            PromptItem::Image { image } => self.image(image, before),
            PromptItem::Result {
                id,
                observation,
                edited,
            } => self.result(id, observation, edited.as_deref(), before),
            PromptItem::Text { sample, text } => self.text(*sample, text),
            PromptItem::Refusal { sample, text } => {
                self.report
                    .downgraded(LoweredPart::Refusal, LoweredBecause::NoPlace);
                self.text(*sample, text)
            }
            PromptItem::Reasoning { sample, item } => self.reasoning(*sample, item),
            PromptItem::Call { sample, id, call } => self.call(*sample, id, call),
        }
    }

    /// There is no place for what nobody said but among the user's words.
    fn context(&mut self, text: &str, before: usize) -> Result<(), ProviderError> {
        self.report
            .downgraded(LoweredPart::Context, LoweredBecause::NoPlace);
        self.heard(&words(text), before)
    }

    /// Closes the list of messages.
    fn finish(mut self) -> Result<Encoded, ProviderError> {
        match self.at {
            At::User => {}
            At::Start => self.stand_in(BEGIN)?,
            At::Said { .. } => self.stand_in(GO_ON)?,
        }
        self.out.extend_from_slice(b"]}]");
        let (lowered, open) = self.report.into_parts();
        Ok(Encoded {
            closed: self.closed,
            end: self.end,
            lowered,
            open,
        })
    }

    fn image(&mut self, image: &Image, before: usize) -> Result<(), ProviderError> {
        let why = match self.pictures.get(image) {
            Some(data) if data.len() <= MOST_IMAGE => {
                let source = Source {
                    r#type: "base64",
                    media_type: image.media.as_str(),
                    data: &data,
                };
                let block = Picture {
                    r#type: "image",
                    source,
                };
                return self.heard(&block, before);
            }
            Some(_) => LoweredBecause::Unfit,
            None => LoweredBecause::Missing,
        };
        self.report.downgraded(LoweredPart::Image, why);
        self.heard(&words(&no_picture(image)), before)
    }

    fn result(
        &mut self,
        id: &str,
        observation: &Observation,
        edited: Option<&str>,
        before: usize,
    ) -> Result<(), ProviderError> {
        let is_error = observation.status != ObservationStatus::Done;
        let mut content = output(observation, edited);
        if is_error && content.trim().is_empty() {
            content = Cow::Borrowed(SILENT);
        }
        let block = Outcome {
            r#type: "tool_result",
            tool_use_id: call_id(id),
            content,
            is_error,
        };
        self.heard(&block, before)
    }

    fn text(&mut self, sample: Seq, text: &str) -> Result<(), ProviderError> {
        if text.trim().is_empty() {
            return Ok(());
        }
        self.speak(sample, &words(text))
    }

    fn reasoning(&mut self, sample: Seq, item: &ReasoningItem) -> Result<(), ProviderError> {
        let payload = match lowering::reasoning(item, &self.here, is_whole) {
            Ok(payload) => payload,
            Err(why) => {
                self.report.dropped(LoweredPart::Reasoning, why);
                return Ok(());
            }
        };
        self.turn_to_model(sample)?;
        self.out.extend_from_slice(payload.as_bytes());
        if let At::Said { thoughts, .. } = &mut self.at {
            *thoughts = thoughts.saturating_add(1);
        }
        Ok(())
    }

    fn call(&mut self, sample: Seq, id: &str, call: &CallItem) -> Result<(), ProviderError> {
        let id = self.report.fitted(LoweredPart::CallId, call_id(id));
        let name = tool_name(&call.name);
        let name = self.report.fitted(LoweredPart::ToolName, name);
        // This protocol has no place for one.
        if call.opaque.is_some() {
            self.report
                .dropped(LoweredPart::CallOpaque, LoweredBecause::Foreign);
        }
        let input = match input(call) {
            Ok(same) => Input::Same(same),
            Err(wrapped) => {
                self.report
                    .downgraded(LoweredPart::Arguments, LoweredBecause::Unfit);
                Input::Wrapped(wrapped)
            }
        };
        let block = Use {
            r#type: "tool_use",
            id,
            name,
            input,
        };
        self.speak(sample, &block)
    }

    /// Writes a block of the user, which closes all before it.
    fn heard<T: Serialize>(&mut self, block: &T, before: usize) -> Result<(), ProviderError> {
        self.turn_to_user();
        write(self.out, block)?;
        self.out.push(b'\n');
        self.closed = before.saturating_add(1);
        self.end = self.out.len();
        self.report.close();
        Ok(())
    }

    /// Has the user say something that nobody said, so that the model can have the word (again).
    fn stand_in(&mut self, text: &str) -> Result<(), ProviderError> {
        self.turn_to_user();
        write(self.out, &words(text))?;
        self.out.push(b'\n');
        Ok(())
    }

    /// Makes ready for a block of the user.
    fn turn_to_user(&mut self) {
        if let At::Said {
            spoken, thoughts, ..
        } = self.at
        {
            // A message that ends with thinking, or holds nothing else, is refused.
            self.out.truncate(spoken);
            for _ in 0..thoughts {
                self.report
                    .dropped(LoweredPart::Reasoning, LoweredBecause::Unfit);
            }
        }
        match (self.at, self.out.last()) {
            (At::Start, _) => self.open("user"),
            // Nothing is left of what the model said.
            (At::User, _) | (At::Said { .. }, Some(b'\n')) => self.out.push(b','),
            (At::Said { .. }, _) => {
                self.out.extend_from_slice(b"]},");
                self.open("user");
            }
        }
        self.at = At::User;
    }

    /// Writes a block of the model.
    fn speak<T: Serialize>(&mut self, sample: Seq, block: &T) -> Result<(), ProviderError> {
        self.turn_to_model(sample)?;
        write(self.out, block)?;
        let spoken = self.out.len();
        self.at = At::Said {
            sample,
            spoken,
            thoughts: 0,
        };
        Ok(())
    }

    /// Makes ready for a block of the model.
    fn turn_to_model(&mut self, sample: Seq) -> Result<(), ProviderError> {
        match self.at {
            At::Said { sample: known, .. } if known == sample => {
                self.out.push(b',');
                return Ok(());
            }
            At::Said { .. } => self.stand_in(GO_ON)?,
            At::Start => self.stand_in(BEGIN)?,
            At::User => {}
        }
        let spoken = self.out.len();
        self.out.extend_from_slice(b"]},");
        self.open("assistant");
        self.at = At::Said {
            sample,
            spoken,
            thoughts: 0,
        };
        Ok(())
    }

    fn open(&mut self, role: &str) {
        let opening = format!("{{\"role\":\"{role}\",\"content\":[");
        self.out.extend_from_slice(opening.as_bytes());
    }
}

fn words(text: &str) -> Words<'_> {
    Words {
        r#type: "text",
        text,
    }
}
