//! The messages of a Chat Completions request: a conversation as the server at hand takes it. Pure.
//!
//! A message may collect several items: all that the model said in one sample, and where a server
//! takes no two messages of the user in a row, all that the user said. Such a message is open as
//! long as more may come to it. What is open is written anew with the next request.

use std::borrow::Cow;
use std::sync::Arc;

use serde::Serialize;
use serde_json::value::RawValue;
use windlass_core::{
    CallItem, ChainIter, Image, LoweredBecause, LoweredPart, PromptItem, ReasoningItem, Seq, output,
};
use windlass_kit_http::lowering::{self, Place, Report};
use windlass_kit_http::request::{arguments, no_picture, separate, tool_name, write};
use windlass_kit_http::{Encoded, Pictures};
use windlass_ports::ProviderError;

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

#[derive(Serialize)]
struct Plain<'a> {
    role: &'static str,
    content: &'a str,
}

#[derive(Serialize)]
struct Assistant<'a> {
    role: &'static str,
    content: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_content: Option<&'a str>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    reasoning_details: &'a [&'a RawValue],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    tool_calls: &'a [Call<'a>],
}

#[derive(Serialize)]
struct Call<'a> {
    id: Cow<'a, str>,
    r#type: &'static str,
    function: Called<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    extra_content: Option<&'a RawValue>,
}

#[derive(Serialize)]
struct Called<'a> {
    name: Cow<'a, str>,
    arguments: Cow<'a, str>,
}

#[derive(Serialize)]
struct Answer<'a> {
    role: &'static str,
    tool_call_id: Cow<'a, str>,
    content: Cow<'a, str>,
}

#[derive(Serialize)]
struct Parts<'a> {
    role: &'static str,
    content: Vec<Part<'a>>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Part<'a> {
    Text { text: &'a str },
    ImageUrl { image_url: Url },
}

#[derive(Serialize)]
struct Url {
    url: String,
}

/// Writes messages. Answers up to which item, and which byte, nothing later can change them.
pub(crate) fn items(
    items: ChainIter<'_, PromptItem>,
    here: Place<'_>,
    quirks: &Quirks,
    pictures: &Pictures,
    out: &mut Vec<u8>,
) -> Result<Encoded, ProviderError> {
    let end = out.len();
    let mut writing = Writing {
        here,
        quirks,
        pictures,
        out,
        report: Report::default(),
        open: Open::Nothing,
        said: Said::default(),
        spoken: Vec::new(),
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
    write(out, &Plain { role, content })
}

struct Writing<'a, 'o> {
    here: Place<'a>,
    quirks: &'a Quirks,
    pictures: &'a Pictures,
    out: &'o mut Vec<u8>,
    report: Report,
    open: Open,
    said: Said<'a>,
    spoken: Vec<Words<'a>>,
    /// Number of items that later input cannot change, and the offset at which they end.
    closed: (usize, usize),
}

/// Message that later items may extend.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Open {
    Nothing,
    /// Answer of the model in this sample: `said`.
    Said(Seq),
    /// Words of the user: `spoken`.
    Spoken,
    /// Results, which are written; what may follow them depends on what does.
    Results,
}

/// Kind of the next message.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Next {
    Model(Seq),
    User,
    Result,
    Other,
}

enum Words<'a> {
    Text(Cow<'a, str>),
    Picture(&'a Image, Arc<str>),
}

/// Answer of the model in one sample, as far as it is gathered.
#[derive(Default)]
struct Said<'a> {
    text: Option<Cow<'a, str>>,
    reasoning: Option<String>,
    details: Vec<&'a RawValue>,
    /// Number of reasoning parts that are sent back.
    thoughts: u32,
    calls: Vec<Call<'a>>,
}

impl<'a> Writing<'a, '_> {
    fn item(&mut self, at: usize, item: &'a PromptItem) -> Result<(), ProviderError> {
        match item {
            PromptItem::User { text } => self.spoken(at, Words::Text(Cow::Borrowed(text))),
            PromptItem::Image { image } => {
                self.flush(at, Next::User)?;
                let words = self.picture(image);
                self.spoken(at, words)
            }
            PromptItem::Context { text } => self.context(at, Cow::Borrowed(text)),
            PromptItem::Told { calls } => self.context(at, Cow::Owned(calls.text())),
            PromptItem::Text { sample, text } => {
                self.said(at, *sample)?;
                self.said.text(text);
                Ok(())
            }
            PromptItem::Refusal { sample, text } => {
                self.said(at, *sample)?;
                self.said.text(text);
                let (what, why) = (LoweredPart::Refusal, LoweredBecause::NoPlace);
                self.report.downgraded(what, why);
                Ok(())
            }
            PromptItem::Reasoning { sample, item } => {
                self.said(at, *sample)?;
                self.thought(item);
                Ok(())
            }
            PromptItem::Call { sample, id, call } => {
                self.said(at, *sample)?;
                self.call(id, call);
                Ok(())
            }
            PromptItem::Result {
                id,
                observation,
                edited,
            } => {
                self.flush(at, Next::Result)?;
                separate(self.out);
                let answer = Answer {
                    role: "tool",
                    tool_call_id: self.quirks.call_ids.fit(id),
                    content: output(observation, edited.as_deref()),
                };
                write(self.out, &answer)?;
                match self.quirks.after_results {
                    AfterResults::Any => self.close(at + 1),
                    AfterResults::Assistant => self.open = Open::Results,
                }
                Ok(())
            }
        }
    }

    /// Takes a user's words.
    fn spoken(&mut self, at: usize, words: Words<'a>) -> Result<(), ProviderError> {
        self.flush(at, Next::User)?;
        self.open = Open::Spoken;
        self.spoken.push(words);
        if self.quirks.user_turns == UserTurns::Each {
            self.flush(at + 1, Next::Other)?;
        }
        Ok(())
    }

    /// Writes context that no user wrote, in the role that the server has for it.
    fn context(&mut self, at: usize, text: Cow<'a, str>) -> Result<(), ProviderError> {
        if self.quirks.context == ContextRole::User {
            self.flush(at, Next::User)?;
            let (what, why) = (LoweredPart::Context, LoweredBecause::NoPlace);
            self.report.downgraded(what, why);
            return self.spoken(at, Words::Text(text));
        }
        self.flush(at, Next::Other)?;
        plain(self.quirks.context.name(), &text, self.out)?;
        self.close(at + 1);
        Ok(())
    }

    fn picture(&mut self, image: &'a Image) -> Words<'a> {
        match lowering::image(self.pictures.get(image), self.quirks.images) {
            Ok(data) => Words::Picture(image, data),
            Err(why) => {
                self.report.downgraded(LoweredPart::Image, why);
                Words::Text(Cow::Owned(no_picture(image)))
            }
        }
    }

    /// The model speaks, in this sample.
    fn said(&mut self, at: usize, sample: Seq) -> Result<(), ProviderError> {
        self.flush(at, Next::Model(sample))?;
        self.open = Open::Said(sample);
        Ok(())
    }

    fn thought(&mut self, item: &'a ReasoningItem) {
        let said = &mut self.said;
        let read = match self.quirks.reasoning_back {
            ReasoningBack::None => Err(LoweredBecause::NoPlace),
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
        let call = Call {
            id: report.fitted(LoweredPart::CallId, self.quirks.call_ids.fit(id)),
            r#type: "function",
            function: Called {
                name: report.fitted(LoweredPart::ToolName, tool_name(&call.name)),
                arguments: report.fitted(LoweredPart::Arguments, arguments(call)),
            },
            extra_content: extra,
        };
        self.said.calls.push(call);
    }

    /// Returns the extra fields of a call, or their replacement.
    fn extra(&mut self, call: &'a CallItem) -> Option<&'a RawValue> {
        let what = LoweredPart::CallOpaque;
        let read = |text: &'a str| serde_json::from_str::<&RawValue>(text).ok();
        let object = |text: &str| text.starts_with('{') && windlass_kit_http::json::is_json(text);
        match (self.quirks.call_extra, &call.opaque) {
            (CallExtra::None, None) => return None,
            (CallExtra::None, Some(opaque)) if self.here.made(opaque) => {
                self.report.dropped(what, LoweredBecause::NoPlace);
                return None;
            }
            (CallExtra::None, Some(_)) => {
                self.report.dropped(what, LoweredBecause::Foreign);
                return None;
            }
            (CallExtra::Kept, _) => {}
        }
        match lowering::call_opaque(call, &self.here, object) {
            Ok(Some(own)) => return read(own),
            Ok(None) => {}
            Err(why) => self.report.dropped(what, why),
        }
        // Of calls that stand in one message, only the first needs one.
        let first = self.said.calls.is_empty();
        let (model, extra) = STAND_IN;
        let name = self.here.model.rsplit('/').next().unwrap_or_default();
        read(extra).filter(|_| first && name.starts_with(model))
    }

    /// Writes what is open, unless what comes next belongs to it.
    fn flush(&mut self, at: usize, next: Next) -> Result<(), ProviderError> {
        let merged = self.quirks.user_turns == UserTurns::Merged;
        match (self.open, next) {
            (Open::Nothing, _) | (Open::Results, Next::Result) => return Ok(()),
            (Open::Said(sample), Next::Model(same)) if sample == same => return Ok(()),
            (Open::Spoken, Next::User) if merged => return Ok(()),
            (Open::Results, Next::User | Next::Other) => {
                // It is closed with what follows it, for alone it would follow all results.
                self.open = Open::Nothing;
                return plain("assistant", BRIDGE, self.out);
            }
            (Open::Said(_) | Open::Spoken | Open::Results, _) => {}
        }
        self.write()?;
        self.close(at);
        Ok(())
    }

    fn write(&mut self) -> Result<(), ProviderError> {
        match std::mem::replace(&mut self.open, Open::Nothing) {
            Open::Nothing | Open::Results => Ok(()),
            Open::Said(_) => {
                let said = std::mem::take(&mut self.said);
                said.write(self.quirks, &mut self.report, self.out)
            }
            Open::Spoken => write_spoken(&std::mem::take(&mut self.spoken), self.out),
        }
    }

    fn close(&mut self, count: usize) {
        self.closed = (count, self.out.len());
        self.report.close();
    }

    fn end(mut self) -> Result<Encoded, ProviderError> {
        let model = matches!(self.open, Open::Said(_));
        let before = self.out.len();
        self.write()?;
        let spoke = model && self.out.len() > before;
        if spoke && self.quirks.after_results == AfterResults::Assistant {
            plain("user", GO_ON, self.out)?;
        }
        let (closed, end) = self.closed;
        let (lowered, open) = self.report.into_parts();
        Ok(Encoded {
            closed,
            end,
            lowered,
            open,
        })
    }
}

impl<'a> Said<'a> {
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
        report: &mut Report,
        out: &mut Vec<u8>,
    ) -> Result<(), ProviderError> {
        let calls = !self.calls.is_empty();
        if self.text.is_none() && !calls {
            // No server takes a message of nothing but reasoning.
            for _ in 0..self.thoughts {
                report.dropped(LoweredPart::Reasoning, LoweredBecause::Unfit);
            }
            return Ok(());
        }
        let needed = calls && quirks.reasoning_back == ReasoningBack::Content;
        let empty = (quirks.empty_content == EmptyContent::Empty).then_some("");
        separate(out);
        let message = Assistant {
            role: "assistant",
            content: self.text.as_deref().or(empty),
            reasoning_content: self.reasoning.as_deref().or(needed.then_some("")),
            reasoning_details: &self.details,
            tool_calls: &self.calls,
        };
        write(out, &message)
    }
}

fn write_spoken(spoken: &[Words<'_>], out: &mut Vec<u8>) -> Result<(), ProviderError> {
    let texts: Option<Vec<&str>> = spoken.iter().map(Words::as_text).collect();
    if let Some(texts) = texts {
        return plain("user", &texts.join("\n\n"), out);
    }
    let content = spoken.iter().map(Words::part).collect();
    let role = "user";
    separate(out);
    write(out, &Parts { role, content })
}

impl Words<'_> {
    fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Picture(..) => None,
        }
    }

    fn part(&self) -> Part<'_> {
        match self {
            Self::Text(text) => Part::Text { text },
            Self::Picture(image, data) => {
                let url = format!("data:{};base64,{data}", image.media.as_str());
                let image_url = Url { url };
                Part::ImageUrl { image_url }
            }
        }
    }
}

/// The parts of a reasoning that came in parts.
fn parts(payload: &str) -> Option<Vec<&RawValue>> {
    serde_json::from_str(payload).ok()
}
