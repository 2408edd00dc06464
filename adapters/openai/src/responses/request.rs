//! Responses requests: a prompt to the bytes of a body. Pure.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use windlass_core::{
    Image, LoweredPart, LoweringReason, PromptItem, Seq, Settings, ToolSpec, WebSearch,
    program_report_text,
};
use windlass_kit_http::lowering::{self, LoweredResult, LoweringReport, RequestTarget};
use windlass_kit_http::request::{arguments, image_placeholder, separate, tool_name, write};
use windlass_kit_http::{EncodedImages, EncodedItems};
use windlass_ports::ProviderError;

use super::returned::{ReturnedItem, returned};
use super::text_calls::TextCalls;
use crate::encode::Transport;
use crate::options::{self, OutputRequest, SchemaFormat};
use crate::quirks::{CallIds, ContextRole, Quirks};
use crate::request::may_reason;

/// The ids of calls that this protocol takes.
const CALL_IDS: CallIds = CallIds::UpTo64;

#[derive(Serialize)]
struct ResponsesRequestHead<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    r#type: Option<&'a str>,
    model: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    stream: Option<bool>,
    store: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    include: Vec<&'static str>,
    #[serde(skip_serializing_if = "String::is_empty")]
    instructions: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning: Option<ResponsesReasoning<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parallel_tool_calls: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tool_calls: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<TextOptions<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<OfferedTool<'a>>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum OfferedTool<'a> {
    Function(ResponsesTool<'a>),
    Text(TextTool<'a>),
    Search(SearchTool<'a>),
}

/// The tool that the server runs itself.
#[derive(Serialize)]
struct SearchTool<'a> {
    r#type: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    filters: Option<SearchFilters<'a>>,
}

#[derive(Serialize)]
struct SearchFilters<'a> {
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    allowed_domains: &'a [String],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    blocked_domains: &'a [String],
}

impl<'a> SearchTool<'a> {
    fn of(search: &'a WebSearch) -> Self {
        let WebSearch { allowed_domains, blocked_domains, .. } = search;
        let filtered = !allowed_domains.is_empty() || !blocked_domains.is_empty();
        let filters = filtered.then_some(SearchFilters { allowed_domains, blocked_domains });
        Self { r#type: "web_search", filters }
    }
}

/// A tool that takes a text of a grammar.
#[derive(Serialize)]
struct TextTool<'a> {
    r#type: &'static str,
    name: &'a str,
    description: &'a str,
    format: GrammarFormat<'a>,
}

#[derive(Serialize)]
struct GrammarFormat<'a> {
    r#type: &'static str,
    syntax: &'static str,
    definition: &'a str,
}

#[derive(Serialize)]
struct ResponsesReasoning<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    effort: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    summary: Option<&'a str>,
}

#[derive(Serialize)]
struct TextOptions<'a> {
    format: TextFormat<'a>,
}

#[derive(Serialize)]
struct TextFormat<'a> {
    r#type: &'static str,
    #[serde(flatten)]
    shape: SchemaFormat<'a>,
}

#[derive(Serialize)]
struct ResponsesTool<'a> {
    r#type: &'static str,
    name: &'a str,
    description: &'a str,
    parameters: Box<RawValue>,
    /// Strict is the default of this protocol, and refuses schemas without a strict form.
    strict: bool,
}

#[derive(Serialize)]
struct InputMessage<'a> {
    r#type: &'static str,
    role: &'static str,
    content: &'a str,
}

#[derive(Serialize)]
struct FunctionCallItem<'a> {
    r#type: &'static str,
    call_id: Cow<'a, str>,
    name: Cow<'a, str>,
    arguments: Cow<'a, str>,
}

#[derive(Serialize)]
struct TextCallItem<'a> {
    r#type: &'static str,
    call_id: Cow<'a, str>,
    name: Cow<'a, str>,
    input: &'a str,
}

#[derive(Serialize)]
struct FunctionOutputItem<'a> {
    r#type: &'static str,
    call_id: Cow<'a, str>,
    output: FunctionOutput<'a>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum FunctionOutput<'a> {
    Text(Cow<'a, str>),
    Parts(Vec<OutputPart<'a>>),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum OutputPart<'a> {
    InputText { text: Cow<'a, str> },
    InputImage { image_url: String },
}

impl<'a> FunctionOutput<'a> {
    fn of(result: LoweredResult<'a>) -> Self {
        if result.images.is_empty() {
            return Self::Text(result.text);
        }
        let images = result.images.iter().map(|(image, data)| data_url(image, data));
        let images = images.map(|image_url| OutputPart::InputImage { image_url });
        let text = OutputPart::InputText { text: result.text };
        Self::Parts(std::iter::once(text).chain(images).collect())
    }
}

/// Writes all of a body that comes before the conversation, up to the opening of its list.
pub(crate) fn head(
    settings: &Settings,
    quirks: &Quirks,
    over: Transport,
    out: &mut Vec<u8>,
) -> Result<(), ProviderError> {
    let encrypted = quirks.encrypted_reasoning && may_reason(settings);
    let (field, words) = match options::answer(settings, quirks)? {
        Some(OutputRequest::Field(shape)) => (Some(shape), None),
        Some(OutputRequest::Words(words)) => (None, Some(words)),
        None => (None, None),
    };
    let search = settings.options.web_search.as_ref();
    let tools = settings.tools.iter().map(|one| tool(one, quirks));
    let searches = search.map(|search| Ok(OfferedTool::Search(SearchTool::of(search))));
    let reasoning = ResponsesReasoning {
        effort: settings.effort.as_deref(),
        summary: settings.options.reasoning_summary.as_deref(),
    };
    let asked = reasoning.effort.is_some() || reasoning.summary.is_some();
    // Over a WebSocket there is nothing else than a stream, and a message says what it is.
    let (kind, stream) = match over {
        Transport::Http => (None, Some(true)),
        Transport::Socket => (Some("response.create"), None),
    };
    let head = ResponsesRequestHead {
        r#type: kind,
        model: &settings.model,
        stream,
        store: false,
        include: [
            encrypted.then_some("reasoning.encrypted_content"),
            search.map(|_| "web_search_call.action.sources"),
        ]
        .into_iter()
        .flatten()
        .collect(),
        instructions: options::instructions(settings, words),
        reasoning: asked.then_some(reasoning),
        parallel_tool_calls: options::parallel(settings, quirks)?,
        // Counts the calls that the server runs; the search is its only one.
        max_tool_calls: search.and_then(|search| search.max_searches),
        text: field
            .map(|shape| TextOptions { format: TextFormat { r#type: "json_schema", shape } }),
        tools: tools.chain(searches).collect::<Result<_, _>>()?,
    };
    write(out, &head)?;
    // The list of items is the last field before the tail, so that it can grow.
    out.pop();
    out.extend_from_slice(br#","input":["#);
    Ok(())
}

fn tool<'a>(tool: &'a ToolSpec, quirks: &Quirks) -> Result<OfferedTool<'a>, ProviderError> {
    let ToolSpec { name, description, .. } = tool;
    if let Some(grammar) = tool.grammar.as_ref().filter(|_| quirks.grammars) {
        let definition = grammar.definition.as_str();
        let format = GrammarFormat { r#type: "grammar", syntax: "lark", definition };
        return Ok(OfferedTool::Text(TextTool { r#type: "custom", name, description, format }));
    }
    let (parameters, strict) = options::parameters(tool, quirks)?;
    let r#type = "function";
    Ok(OfferedTool::Function(ResponsesTool { r#type, name, description, parameters, strict }))
}

/// The choice of one tool that takes a text.
pub(crate) fn named_text(tool: &str) -> Value {
    json!({ "type": "custom", "name": tool })
}

/// The choice of one tool.
pub(crate) fn named(tool: &str) -> Value {
    json!({ "type": "function", "name": tool })
}

/// Writes items. Answers up to which of them, and which byte, nothing later can change them: a
/// reasoning waits for the item that the model gave after it, without which it is refused.
pub(crate) fn items(
    mut texts: TextCalls<'_>,
    here: RequestTarget<'_>,
    quirks: &Quirks,
    pictures: &EncodedImages,
    out: &mut Vec<u8>,
) -> Result<EncodedItems, ProviderError> {
    let (mut closed, mut end) = (0, out.len());
    let mut report = LoweringReport::default();
    let mut thoughts = PendingReasoning::default();
    for (at, item) in texts.items().enumerate() {
        let sample = sample(item);
        thoughts.drop_unless_sample(sample, &mut report);
        if let PromptItem::Reasoning { item, .. } = item {
            match lowering::reasoning(item, &here, |_| true).and_then(returned) {
                Ok(ReturnedItem::Reasoning(payload)) => {
                    thoughts.sample = sample;
                    thoughts.payloads.push(payload);
                }
                Ok(ReturnedItem::Hosted(payload)) => {
                    thoughts.payloads.push(payload);
                    thoughts.write(out);
                }
                Err(why) => report.dropped(LoweredPart::Reasoning, why),
            }
            if !thoughts.payloads.is_empty() {
                continue;
            }
        }
        thoughts.write(out);
        write_item(item, &mut texts, here, quirks, pictures, &mut report, out)?;
        report.close();
        (closed, end) = (at + 1, out.len());
    }
    thoughts.drop_unless_sample(None, &mut report);
    let (lowered, open) = report.into_parts();
    Ok(EncodedItems { closed, end, lowered, open })
}

/// Reasoning of one sample whose item is to come.
#[derive(Default)]
struct PendingReasoning<'a> {
    sample: Option<Seq>,
    payloads: Vec<&'a str>,
}

impl PendingReasoning<'_> {
    /// Drops it unless what comes next is of the same sample.
    fn drop_unless_sample(&mut self, sample: Option<Seq>, report: &mut LoweringReport) {
        if self.sample == sample {
            return;
        }
        for _ in self.payloads.drain(..) {
            report.dropped(LoweredPart::Reasoning, LoweringReason::Invalid);
        }
        self.sample = None;
    }

    fn write(&mut self, out: &mut Vec<u8>) {
        for payload in self.payloads.drain(..) {
            separate(out);
            out.extend_from_slice(payload.as_bytes());
        }
        self.sample = None;
    }
}

/// The sample that brought an item of the model.
fn sample(item: &PromptItem) -> Option<Seq> {
    match item {
        PromptItem::Text { sample, .. }
        | PromptItem::Refusal { sample, .. }
        | PromptItem::Reasoning { sample, .. }
        | PromptItem::Call { sample, .. } => Some(*sample),
        PromptItem::User { .. }
        | PromptItem::Image { .. }
        | PromptItem::Context { .. }
        | PromptItem::Result { .. }
        | PromptItem::CallReport { .. }
        | PromptItem::ProgramReport { .. } => None,
    }
}

fn write_item(
    item: &PromptItem,
    texts: &mut TextCalls<'_>,
    here: RequestTarget<'_>,
    quirks: &Quirks,
    pictures: &EncodedImages,
    report: &mut LoweringReport,
    out: &mut Vec<u8>,
) -> Result<(), ProviderError> {
    match item {
        PromptItem::User { text } => message("user", text, out),
        PromptItem::Image { image } => match lowering::image(pictures.get(image), quirks.images) {
            Ok(data) => picture(image, &data, out),
            Err(why) => {
                report.downgraded(LoweredPart::Image, why);
                message("user", &image_placeholder(image), out)
            }
        },
        PromptItem::Context { text } => context(text, quirks, report, out),
        PromptItem::CallReport { calls } => context(&calls.text(), quirks, report, out),
        PromptItem::ProgramReport { observation, .. } => {
            context(&program_report_text(observation), quirks, report, out)
        }
        PromptItem::Text { text, .. } => message("assistant", text, out),
        PromptItem::Refusal { text, .. } => {
            report.downgraded(LoweredPart::Refusal, LoweringReason::Unsupported);
            message("assistant", text, out)
        }
        // It waits for what follows it.
        PromptItem::Reasoning { .. } => Ok(()),
        PromptItem::Call { id, call, .. } => {
            match lowering::call_opaque(call, &here, |_| true) {
                Ok(None) => {}
                Ok(Some(_)) => report.dropped(LoweredPart::CallOpaque, LoweringReason::Unsupported),
                Err(why) => report.dropped(LoweredPart::CallOpaque, why),
            }
            if let Some(text) = texts.text(&call.name, &call.arguments) {
                let call = TextCallItem {
                    r#type: "custom_tool_call",
                    call_id: report.checked_text(LoweredPart::CallId, CALL_IDS.encode(id)),
                    name: report.checked_text(LoweredPart::ToolName, tool_name(&call.name)),
                    input: &text,
                };
                separate(out);
                return write(out, &call);
            }
            let call = FunctionCallItem {
                r#type: "function_call",
                call_id: report.checked_text(LoweredPart::CallId, CALL_IDS.encode(id)),
                name: report.checked_text(LoweredPart::ToolName, tool_name(&call.name)),
                arguments: report.checked_text(LoweredPart::Arguments, arguments(call)),
            };
            separate(out);
            write(out, &call)
        }
        PromptItem::Result { id, observation, edited } => {
            let taken = |_: &Image, picture| lowering::image(picture, quirks.images);
            let edited = edited.as_deref();
            let result = lowering::result(observation, edited, pictures, taken, report);
            separate(out);
            let output = FunctionOutputItem {
                r#type: match texts.is_text(id) {
                    true => "custom_tool_call_output",
                    false => "function_call_output",
                },
                call_id: CALL_IDS.encode(id),
                output: FunctionOutput::of(result),
            };
            write(out, &output)
        }
    }
}

fn context(
    text: &str,
    quirks: &Quirks,
    report: &mut LoweringReport,
    out: &mut Vec<u8>,
) -> Result<(), ProviderError> {
    let role = quirks.responses_context;
    if role == ContextRole::User {
        report.downgraded(LoweredPart::Context, LoweringReason::Unsupported);
    }
    message(role.name(), text, out)
}

fn picture(image: &Image, data: &str, out: &mut Vec<u8>) -> Result<(), ProviderError> {
    separate(out);
    let part = json!([{ "type": "input_image", "image_url": data_url(image, data) }]);
    write(out, &json!({ "type": "message", "role": "user", "content": part }))
}

fn data_url(image: &Image, data: &str) -> String {
    format!("data:{};base64,{data}", image.media.as_str())
}

fn message(role: &'static str, content: &str, out: &mut Vec<u8>) -> Result<(), ProviderError> {
    separate(out);
    write(out, &InputMessage { r#type: "message", role, content })
}
