//! A session over WebSockets as an engine leads it: each prompt goes on from the one before.

use std::sync::Arc;

use windlass_core::{
    AppendList, Assembler, AssemblerLimits, AssemblerOutput, FailedAttempt, Item, Observation,
    ObservationStatus, Prompt, PromptItem, RequestRecord, Seq, SessionId, Settings, TurnId,
};
use windlass_http::http_wire;
use windlass_openai::{Api, OpenAi, OpenAiConfig};
use windlass_ports::{Provider as _, ProviderError, SampleRequest, StreamState};
use windlass_testkit::Answer;
use windlass_testkit::http::{ModelServer, Reply, Request, Script};

pub(crate) fn config(server: &ModelServer) -> OpenAiConfig {
    OpenAiConfig::new(Api::Responses)
        .with_base_url(server.base_url())
        .with_api_key("sk-secret-123")
        .with_websocket()
}

pub(crate) fn provider(server: &ModelServer) -> OpenAi {
    let config = config(server);
    OpenAi::over(&config, http_wire(&config.base_url).unwrap()).unwrap()
}

pub(crate) fn user(text: &str) -> PromptItem {
    PromptItem::User { text: text.into() }
}

fn settings() -> Arc<Settings> {
    Arc::new(windlass_testkit::settings().with(|it| {
        it.provider = "openai".into();
        it.instructions = "Be brief.".into();
    }))
}

pub(crate) fn request(session: &str, items: &[PromptItem]) -> SampleRequest {
    let prompt = Prompt { settings: settings(), items: items.iter().cloned().collect() };
    SampleRequest::new(SessionId::new(session).unwrap(), TurnId(1), Seq(2), prompt)
}

pub(crate) fn asked_of(error: &ProviderError) -> &RequestRecord {
    error.details.request.as_deref().unwrap()
}

/// Asks, and assembles the answer.
pub(crate) async fn ask(
    provider: &OpenAi,
    request: SampleRequest,
) -> Result<(Vec<Item>, Option<RequestRecord>), ProviderError> {
    let mut told = Vec::new();
    let mut asked = None;
    match read(provider, request, &mut told, &mut asked).await {
        Ok(()) => Ok((told, asked)),
        Err(error) => Err(error),
    }
}

async fn read(
    provider: &OpenAi,
    request: SampleRequest,
    told: &mut Vec<Item>,
    asked: &mut Option<RequestRecord>,
) -> Result<(), ProviderError> {
    let mut stream = provider.sample(request).await?;
    *asked = stream.request_record();
    let mut assembler = Assembler::new(AssemblerLimits::default());
    let (mut events, mut out) = (Vec::new(), Vec::new());
    let mut end = Ok(StreamState::More);
    while let Ok(StreamState::More) = end {
        end = stream.next(&mut events).await;
        for event in events.drain(..) {
            assembler.push(event, &mut out).unwrap();
        }
    }
    let item = |assembled| match assembled {
        AssemblerOutput::Item(item) => Some(item),
        AssemblerOutput::Delta(_) | AssemblerOutput::Ended { .. } => None,
    };
    told.extend(out.into_iter().filter_map(item));
    end.map(drop)
}

/// A session.
#[derive(Clone)]
pub(crate) struct Session {
    pub(crate) provider: Arc<OpenAi>,
    pub(crate) settings: Arc<Settings>,
    pub(crate) items: AppendList<PromptItem>,
    pub(crate) failed: Vec<FailedAttempt>,
    /// How the last request went out.
    pub(crate) last: Option<RequestRecord>,
    /// What of the last answer was told.
    pub(crate) told: Vec<Item>,
    name: String,
}

impl Session {
    pub(crate) fn new(name: &str, provider: OpenAi) -> Self {
        Self::shared(name, Arc::new(provider))
    }

    pub(crate) fn shared(name: &str, provider: Arc<OpenAi>) -> Self {
        Self {
            provider,
            settings: settings(),
            items: [user("hi")].into_iter().collect(),
            failed: Vec::new(),
            last: None,
            told: Vec::new(),
            name: name.into(),
        }
    }

    /// Asks, and adds the answer and the results of its calls.
    pub(crate) async fn step(&mut self) -> Result<RequestRecord, ProviderError> {
        let prompt = Prompt { settings: self.settings.clone(), items: self.items.clone() };
        let id = SessionId::new(self.name.as_str()).unwrap();
        let mut request = SampleRequest::new(id, TurnId(1), Seq(2), prompt);
        request.failed = self.failed.clone();
        (self.last, self.told) = (None, Vec::new());
        let end = read(&self.provider, request, &mut self.told, &mut self.last).await;
        if let Err(error) = end {
            self.last = self.last.take().or(error.details.request.as_deref().cloned());
            self.failed.push(FailedAttempt { kind: error.kind, provider: None, model: None });
            return Err(error);
        }
        self.failed.clear();
        let (sample, mut results) = (Seq(2), Vec::new());
        for item in self.told.clone() {
            let item = match item {
                Item::Text { text, .. } => PromptItem::text(sample, text),
                Item::Refusal { text } => PromptItem::Refusal { sample, text },
                Item::Reasoning(item) => PromptItem::Reasoning { sample, item },
                Item::Call(call) => {
                    let id: Arc<str> = call.provider_id.as_str().into();
                    results.push(PromptItem::Result {
                        id: id.clone(),
                        observation: Arc::new(Observation::new(ObservationStatus::Done, "42")),
                        edited: None,
                    });
                    PromptItem::Call { sample, id, call }
                }
            };
            self.items.push(item);
        }
        results.into_iter().for_each(|result| self.items.push(result));
        Ok(self.last.clone().unwrap())
    }
}

/// An answer of one call whose sizes do not depend on its number.
pub(crate) fn step(number: usize) -> Reply {
    let call = Answer::new().call_as(format!("call_{number:04}"), "f", r#"{"a":1}"#);
    Reply::answer(call.id(format!("resp_{number:04}")))
}

pub(crate) fn steps() -> Script {
    Script::respond(|request| step(request.number)).strict()
}

pub(crate) fn input(request: &Request) -> &Vec<serde_json::Value> {
    request.json.as_ref().unwrap()["input"].as_array().unwrap()
}

pub(crate) fn previous(request: &Request) -> Option<&str> {
    request.json.as_ref().unwrap()["previous_response_id"].as_str()
}

pub(crate) fn ways(requests: &[Request]) -> Vec<(&str, u64, bool)> {
    let way = |request| {
        let request: &Request = request;
        let rest = request.method == Request::MESSAGE && previous(request).is_some();
        (request.method.as_str(), request.connection, rest)
    };
    requests.iter().map(way).collect()
}
