//! A provider for a protocol of its own: one JSON object asks, server-sent events answer.
//!
//! A request has the settings and a list of parts. An event opens the answer, opens a call, adds to a part,
//! closes one, or stops the answer. `tests/fixtures/protocol.rs` is the server's side.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Map, Value, json};
use windlass_core::{Image, 
    ObservationStatus, PromptItem, StopReason, StreamEvent, ToolChoice, ToolSpec, Usage,
    program_report_text, result_text,
};
use windlass_kit_http::lowering::{RequestTarget, call_opaque, reasoning};
use windlass_kit_http::request::image_placeholder;
use windlass_kit_http::{
    Client, DecodeError, Decoder, Dialect, EncodedImages, Headers, ReportedError, ResponseStream,
    Secret, SseCaps, accept_heartbeat, misconfigured,
};
use windlass_ports::{
    ModelCapabilities, Provider, ProviderCapabilities, ProviderError, SampleRequest, SampleStream,
    StreamState, Wire,
};

/// Name of the adapter, and of its form of opaque parts.
const NAME: &str = "desk";

/// Asks the models of one server.
pub struct DeskProvider {
    client: Client,
    endpoint: String,
    caps: SseCaps,
}

impl DeskProvider {
    /// Creates a provider for the server at a base URL. It takes no more than `most_bytes` of an answer.
    ///
    /// # Errors
    /// When the URL or the key cannot be used.
    pub fn new(
        base_url: &str,
        key: &str,
        most_bytes: usize,
        wire: Arc<dyn Wire>,
    ) -> Result<Self, ProviderError> {
        let mut headers = Headers::new();
        headers.set("API key", "authorization", &format!("Bearer {key}"))?;
        headers.hide(Secret::new(key));
        let client = Client::new(base_url, &headers, true, wire)?;
        Ok(Self { endpoint: client.endpoint(), client, caps: SseCaps::of(most_bytes) })
    }

    fn target<'a>(&'a self, model: &'a str) -> RequestTarget<'a> {
        RequestTarget { dialect: NAME, endpoint: &self.endpoint, model }
    }
}

#[async_trait]
impl Provider for DeskProvider {
    fn name(&self) -> &str {
        NAME
    }

    fn capabilities(&self) -> ProviderCapabilities {
        let all = ProviderCapabilities::default().with_tools().with_effort();
        all.with_temperature().with_reasoning()
    }

    fn model(&self, _model: &str) -> ModelCapabilities {
        let mut known = ModelCapabilities::unknown();
        known.images = true;
        known.structured_output = true;
        known
    }

    async fn sample(&self, request: SampleRequest) -> Result<Box<dyn SampleStream>, ProviderError> {
        self.capabilities().check(&request)?;
        let images = EncodedImages::of(request.prompt.items.iter(), &request.blobs).await?;
        let model = &request.prompt.settings.model;
        let body = body(&request, &images, &self.target(model))?;
        let wait = Duration::from_millis(request.limits.connect_ms);
        let (url, origin) = self.client.call(&["answer"]);
        let body = Some(body.to_string().into_bytes().into());
        let opened = self.client.send("POST", &url, &origin, body, wait).await?;
        let events = DeskEvents::new(&self.endpoint, model);
        Ok(Box::new(ResponseStream::new(opened, Decoder::new(events, self.caps), None)))
    }
}

/// Writes a request.
fn body(
    request: &SampleRequest,
    images: &EncodedImages,
    target: &RequestTarget<'_>,
) -> Result<Value, ProviderError> {
    let settings = &request.prompt.settings;
    let mut body = Map::new();
    body.insert("model".into(), settings.model.as_str().into());
    if !settings.instructions.is_empty() {
        body.insert("system".into(), settings.instructions.as_str().into());
    }
    let tools: Vec<Value> = settings.tools.iter().map(tool).collect::<Result<_, _>>()?;
    body.insert("tools".into(), tools.into());
    body.insert("choice".into(), choice(&request.choice));
    if let Some(most) = request.max_output_tokens(None) {
        body.insert("most".into(), most.into());
    }
    if let Some(effort) = &settings.effort {
        body.insert("effort".into(), effort.as_str().into());
    }
    if let Some(temperature) = settings.temperature {
        body.insert("temperature".into(), temperature.value().into());
    }
    if let Some(shape) = &settings.options.output_schema {
        body.insert("schema".into(), json_of(&shape.schema, "the schema of the answer")?);
    }
    let items = request.prompt.items.iter();
    let parts =
        items.flat_map(|item| part(item, images, target).into_iter().chain(shown(item, images)));
    body.insert("parts".into(), parts.collect::<Vec<_>>().into());
    Ok(body.into())
}

fn tool(spec: &ToolSpec) -> Result<Value, ProviderError> {
    let schema = json_of(&spec.parameters, "the parameters of a tool")?;
    Ok(json!({ "name": spec.name, "description": spec.description, "schema": schema }))
}

fn json_of(text: &str, what: &str) -> Result<Value, ProviderError> {
    let refused = |error| misconfigured(format!("{what} are no JSON ({error}): correct them"));
    serde_json::from_str(text).map_err(refused)
}

fn choice(choice: &ToolChoice) -> Value {
    match choice {
        ToolChoice::Auto => "auto".into(),
        ToolChoice::None => "none".into(),
        ToolChoice::Required => "required".into(),
        ToolChoice::Tool(name) => json!({ "tool": name }),
    }
}

/// Writes an item of the conversation. Reasoning of another provider is left out.
fn part(item: &PromptItem, images: &EncodedImages, target: &RequestTarget<'_>) -> Option<Value> {
    let whole = |_: &str| true;
    Some(match item {
        PromptItem::User { text } => json!({ "user": text }),
        PromptItem::Context { text } => json!({ "context": text }),
        PromptItem::CallReport { calls } => json!({ "context": calls.text() }),
        PromptItem::ProgramReport { observation, .. } => {
            json!({ "context": program_report_text(observation) })
        }
        PromptItem::Image { image } => picture(image, images),
        PromptItem::Text { text, .. } | PromptItem::Refusal { text, .. } => json!({ "text": text }),
        PromptItem::Reasoning { item, .. } => {
            json!({ "thought": reasoning(item, target, whole).ok()? })
        }
        PromptItem::Call { id, call, .. } => {
            let seal = call_opaque(call, target, whole).ok().flatten();
            let (name, arguments) = (&call.name, &call.arguments);
            json!({ "call": { "id": id, "name": name, "arguments": arguments, "seal": seal } })
        }
        PromptItem::Result { id, observation, edited } => {
            let text = result_text(observation, edited.as_deref());
            let failed = observation.status != ObservationStatus::Done;
            json!({ "result": { "id": id, "text": text, "failed": failed } })
        }
    })
}

/// Writes the images of a result, which follow it.
fn shown(item: &PromptItem, images: &EncodedImages) -> Vec<Value> {
    let of_result = matches!(item, PromptItem::Result { .. });
    let shown = item.images().iter().filter(|_| of_result);
    shown.map(|image| picture(image, images)).collect()
}

fn picture(image: &Image, images: &EncodedImages) -> Value {
    match images.get(image) {
        Some(data) => json!({ "image": { "media": image.media.as_str(), "data": *data } }),
        None => json!({ "user": image_placeholder(image) }),
    }
}

/// Reads the events of one answer.
struct DeskEvents {
    endpoint: String,
    model: String,
    /// Parts that are open or closed: those below this number.
    parts: u32,
    /// Parts that are closed.
    closed: u32,
    ignored: u64,
}

impl DeskEvents {
    fn new(endpoint: &str, model: &str) -> Self {
        let (endpoint, model) = (endpoint.to_owned(), model.to_owned());
        Self { endpoint, model, parts: 0, closed: 0, ignored: 0 }
    }

    fn read(
        &mut self,
        event: &Value,
        out: &mut Vec<StreamEvent>,
    ) -> Result<StreamState, DecodeError> {
        if event.get("error").is_some() {
            return Err(DecodeError::Reported(ReportedError::of(event).unwrap_or_default()));
        }
        if let Some(opened) = event.get("open") {
            let (response_id, model) = (string(opened, "id"), string(opened, "model"));
            out.push(StreamEvent::Opened { response_id, model });
        } else if let Some(reason) = event.get("stop") {
            if self.closed < self.parts {
                return Err(DecodeError::Truncated);
            }
            let usage = event.get("usage").filter(|usage| usage.is_object());
            out.extend(usage.map(|usage| StreamEvent::Usage(counted(usage))));
            out.push(StreamEvent::Finished { reason: stopped(reason.as_str().unwrap_or_default()) });
            return Ok(StreamState::End);
        } else if let Some(slot) = event.get("part").and_then(Value::as_u64) {
            self.part(u32::try_from(slot).unwrap_or(u32::MAX), event, out)?;
        } else {
            self.ignored += 1;
        }
        Ok(StreamState::More)
    }

    fn part(
        &mut self,
        slot: u32,
        event: &Value,
        out: &mut Vec<StreamEvent>,
    ) -> Result<(), DecodeError> {
        if slot < self.closed {
            return Ok(()); // repeated
        }
        if slot > self.closed {
            return Err(DecodeError::Protocol(format!("the part before part {slot} has not ended")));
        }
        let opens = slot == self.parts;
        self.parts = slot + 1;
        if opens && event.get("arguments").is_some() {
            return Err(DecodeError::Protocol(format!("part {slot} has arguments and no call")));
        }
        if let Some(call) = event.get("call") {
            let id = string(call, "id").unwrap_or_default();
            let name = string(call, "name").unwrap_or_default();
            // A repeated opening opens nothing.
            out.extend(opens.then_some(StreamEvent::CallOpened { slot, id, name }));
        }
        out.extend(string(event, "text").map(|text| StreamEvent::Text { slot, text }));
        out.extend(string(event, "refusal").map(|text| StreamEvent::Refusal { slot, text }));
        out.extend(string(event, "thought").map(|text| StreamEvent::Reasoning { slot, text }));
        out.extend(string(event, "arguments").map(|text| StreamEvent::CallArguments { slot, text }));
        if let Some(done) = event.get("done") {
            let target =
                RequestTarget { dialect: NAME, endpoint: &self.endpoint, model: &self.model };
            let opaque = string(done, "seal").map(|seal| target.opaque(seal));
            out.push(StreamEvent::Done { slot, text: None, opaque });
            self.closed = slot + 1;
        }
        Ok(())
    }
}

impl Dialect for DeskEvents {
    fn event(
        &mut self,
        name: &[u8],
        data: &[u8],
        out: &mut Vec<StreamEvent>,
    ) -> Result<StreamState, DecodeError> {
        let data = data.trim_ascii();
        if !data.starts_with(b"{") {
            accept_heartbeat(name, data)?;
            self.ignored += 1;
            return Ok(StreamState::More);
        }
        let event = serde_json::from_str(&String::from_utf8_lossy(data));
        self.read(&event.map_err(|error| DecodeError::Protocol(error.to_string()))?, out)
    }

    fn end(&mut self, _out: &mut Vec<StreamEvent>) -> Result<(), DecodeError> {
        Err(DecodeError::Truncated)
    }

    fn whole(&mut self, body: &str, out: &mut Vec<StreamEvent>) -> Result<bool, DecodeError> {
        let body: Value =
            serde_json::from_str(body).map_err(|error| DecodeError::Protocol(error.to_string()))?;
        let Some(events) = body.get("events").and_then(Value::as_array) else {
            return Ok(false);
        };
        let mut state = StreamState::More;
        for event in events {
            state = self.read(event, out)?;
        }
        match state {
            StreamState::End => Ok(true),
            StreamState::More => Err(DecodeError::Truncated),
        }
    }

    fn ignored(&self) -> u64 {
        self.ignored
    }
}

fn string(of: &Value, name: &str) -> Option<String> {
    of.get(name)?.as_str().map(str::to_owned)
}

fn stopped(reason: &str) -> StopReason {
    match reason {
        "end" => StopReason::Stop,
        "length" => StopReason::Length,
        "filter" => StopReason::ContentFilter,
        "unfinished" => StopReason::Unfinished,
        other => StopReason::Other(other.to_owned()),
    }
}

fn counted(usage: &Value) -> Usage {
    let tokens = |name: &str| usage.get(name).and_then(Value::as_u64);
    Usage {
        input: tokens("input"),
        output: tokens("output"),
        total: tokens("total"),
        cached_input: tokens("cached"),
        cache_write: tokens("written"),
        reasoning_output: tokens("thought"),
    }
}
