//! The servers, each asked by its real adapter over a wire that keeps what is sent and answers as
//! that server does.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use async_trait::async_trait;
use bytes::Bytes;
use serde_json::Value;
use windlass_anthropic::{Anthropic, AnthropicConfig};
use windlass_engine::core::{
    AppendList, Prompt, PromptItem, RequestOptions, RequestRecord, Seq, SessionId, Settings,
    StreamEvent, TurnId,
};
use windlass_engine::ports::{
    BlobReader, Provider, ProviderError, SampleRequest, StreamState, Wire, WireBody, WireError,
    WireHeaders, WireRequest, WireResponse,
};
use windlass_gemini::{Gemini, GeminiConfig};
use windlass_openai::{Api, OpenAi, OpenAiConfig, Server};
use windlass_testkit::http::Dialect;
use windlass_testkit::http::grammar::{self, Profile, Rule};

/// Reasoning that can be read goes back to the servers that gave it so.
const OPEN_RESPONSES: Profile = Profile {
    name: "Responses of an open server",
    rules: &[Rule::PlainReasoning],
    ..grammar::OPENAI_RESPONSES
};

/// The places that get back their own reasoning.
pub(crate) const KEEP: &[&str] =
    &["anthropic", "openai", "deepseek", "openrouter", "gemini native"];

/// How a model is asked.
#[derive(Debug, Clone, Default)]
pub(crate) struct Way {
    /// Without instructions and tools.
    pub(crate) bare: bool,
    pub(crate) effort: Option<&'static str>,
    pub(crate) options: RequestOptions,
}

/// What a server speaks.
#[derive(Clone, Copy)]
pub(crate) enum PlaceProtocol {
    /// A protocol of the kit, with the server's own rules.
    Kit(Dialect, &'static Profile),
    /// Gemini's native API.
    Gemini,
}

/// A server.
pub(crate) struct Place {
    pub(crate) name: &'static str,
    pub(crate) model: &'static str,
    pub(crate) protocol: PlaceProtocol,
    pub(crate) provider: Arc<dyn Provider>,
    tape: Arc<Tape>,
}

pub(crate) fn places() -> Vec<Place> {
    let chat = |name, url: &str, server, model, profile| {
        openai(name, Api::Chat, url, server, model, profile)
    };
    vec![
        anthropic(),
        gemini(),
        chat("openai-chat", "https://api.openai.com/v1", None, "gpt-5", &grammar::OPENAI_CHAT),
        openai(
            "openai",
            Api::Responses,
            "https://api.openai.com/v1",
            None,
            "o9",
            &grammar::OPENAI_RESPONSES,
        ),
        openai(
            "open responses",
            Api::Responses,
            "http://127.0.0.1:8000/v1",
            Some(Server::Vllm),
            "qwen",
            &OPEN_RESPONSES,
        ),
        chat("azure", "https://me.openai.azure.com/openai/v1", None, "gpt-5", &grammar::AZURE),
        chat(
            "mistral",
            "https://api.mistral.ai/v1",
            None,
            "mistral-large-latest",
            &grammar::MISTRAL,
        ),
        chat("deepseek", "https://api.deepseek.com", None, "deepseek-reasoner", &grammar::DEEPSEEK),
        chat("groq", "https://api.groq.com/openai/v1", None, "openai/gpt-oss-120b", &grammar::GROQ),
        chat(
            "openrouter",
            "https://openrouter.ai/api/v1",
            None,
            "z-ai/glm-5",
            &grammar::OPENROUTER,
        ),
        chat(
            "gemini",
            "https://generativelanguage.googleapis.com/v1beta/openai",
            None,
            "gemini-3-pro",
            &grammar::GEMINI,
        ),
        chat("ollama", "http://127.0.0.1:11434/v1", None, "gpt-oss", &grammar::OLLAMA),
        chat("vllm", "http://127.0.0.1:8000/v1", Some(Server::Vllm), "qwen", &grammar::VLLM),
        chat(
            "llama.cpp",
            "http://127.0.0.1:8080/v1",
            Some(Server::LlamaCpp),
            "qwen",
            &grammar::LLAMA_CPP,
        ),
        chat(
            "lm studio",
            "http://127.0.0.1:1234/v1",
            Some(Server::LmStudio),
            "qwen",
            &grammar::LM_STUDIO,
        ),
        chat("any other", "https://models.example/v1", None, "m", &grammar::CHAT),
    ]
}

fn anthropic() -> Place {
    let config = AnthropicConfig::new().with_api_key("sk-1");
    let tape = Arc::new(Tape::default());
    let provider = Arc::new(Anthropic::over(&config, tape.clone()).unwrap());
    Place {
        name: "anthropic",
        model: "claude-sonnet-4-5",
        protocol: PlaceProtocol::Kit(Dialect::Messages, &grammar::ANTHROPIC),
        provider,
        tape,
    }
}

fn openai(
    name: &'static str,
    api: Api,
    url: &str,
    server: Option<Server>,
    model: &'static str,
    profile: &'static Profile,
) -> Place {
    let mut config = OpenAiConfig::new(api).with_base_url(url).with_api_key("sk-1");
    config.server = server;
    let tape = Arc::new(Tape::default());
    let provider = Arc::new(OpenAi::over(&config, tape.clone()).unwrap());
    let dialect = match api {
        Api::Chat => Dialect::Chat,
        Api::Responses => Dialect::Responses,
    };
    Place { name, model, protocol: PlaceProtocol::Kit(dialect, profile), provider, tape }
}

fn gemini() -> Place {
    let config = GeminiConfig::new().with_api_key("sk-1");
    let tape = Arc::new(Tape::default());
    let provider = Arc::new(Gemini::over(&config, tape.clone()).unwrap());
    let (name, model) = ("gemini native", "gemini-3-pro");
    Place { name, model, protocol: PlaceProtocol::Gemini, provider, tape }
}

impl Place {
    /// What a body does against the grammar of the server.
    pub(crate) fn faults(&self, body: &Value) -> Vec<String> {
        match self.protocol {
            PlaceProtocol::Kit(_, profile) => {
                let faults = grammar::validate(profile, body).err().unwrap_or_default();
                let mut faults: Vec<String> = faults.iter().map(ToString::to_string).collect();
                if body["stream"] != true {
                    faults.push("no stream is asked for".to_owned());
                }
                faults
            }
            // The path of a call asks for the stream.
            PlaceProtocol::Gemini => {
                grammar::validate_gemini(self.model, body).err().into_iter().collect()
            }
        }
    }

    /// The choice of tools in a body.
    pub(crate) fn has_choice(&self, body: &Value) -> bool {
        let field = match self.protocol {
            PlaceProtocol::Kit(..) => "tool_choice",
            PlaceProtocol::Gemini => "toolConfig",
        };
        body.get(field).is_some()
    }

    /// Asks to go on with a conversation; tells the body, and how the adapter says it went out.
    pub(crate) async fn ask(
        &self,
        items: &[PromptItem],
        way: &Way,
    ) -> Result<(Vec<u8>, RequestRecord), ProviderError> {
        let (body, asked, _) = self.answer(items, way, "").await?;
        Ok((body, asked))
    }

    /// The same, with the answer's events read from these bytes.
    pub(crate) async fn answer(
        &self,
        items: &[PromptItem],
        way: &Way,
        answer: &str,
    ) -> Result<(Vec<u8>, RequestRecord, Vec<StreamEvent>), ProviderError> {
        self.tape.answers.lock().unwrap().push_back(answer.as_bytes().to_vec());
        let request = self.request(items, way).await;
        let mut stream = match self.provider.sample(request).await {
            Ok(stream) => stream,
            Err(error) => {
                let sent = self.tape.sent.lock().unwrap().len();
                assert_eq!(sent, 0, "{}: sent, and refused: {error}", self.name);
                self.tape.answers.lock().unwrap().clear();
                return Err(error);
            }
        };
        let body = self.tape.sent.lock().unwrap().pop().unwrap();
        assert!(self.tape.sent.lock().unwrap().is_empty(), "one request a call");
        let asked = stream.request_record().unwrap();
        let mut events = Vec::new();
        while !answer.is_empty() && stream.next(&mut events).await? != StreamState::End {}
        Ok((body, asked, events))
    }

    async fn request(&self, items: &[PromptItem], way: &Way) -> SampleRequest {
        let settings = settings(way.bare).with(|it| {
            it.provider = self.provider.name().into();
            it.model = self.model.into();
            it.effort = way.effort.map(str::to_owned);
            it.options = way.options.clone();
        });
        let items: AppendList<PromptItem> = items.iter().cloned().collect();
        let prompt = Prompt { settings: Arc::new(settings), items };
        let session = SessionId::new("s").unwrap();
        SampleRequest {
            blobs: BlobReader::new(super::kept().await.0, session.clone()),
            choice: way.options.tool_choice.clone(),
            ..SampleRequest::new(session, TurnId(1), Seq(2), prompt)
        }
    }
}

fn settings(bare: bool) -> Settings {
    let tool = |name: &str| {
        windlass_testkit::tool_spec(
            name,
            "Reads.",
            r#"{"type":"object","properties":{"path":{"type":"string"}}}"#,
        )
    };
    windlass_testkit::settings().with(|it| {
        it.provider = String::new();
        it.model = String::new();
        it.instructions = if bare { String::new() } else { "Be brief.".into() };
        it.tools = if bare { Vec::new() } else { vec![tool("read"), tool("list")] };
        it.max_output_tokens = Some(4_000);
    })
}

/// A wire that keeps what is sent, and answers with what it was given.
#[derive(Default)]
struct Tape {
    sent: Mutex<Vec<Vec<u8>>>,
    answers: Mutex<VecDeque<Vec<u8>>>,
}

#[async_trait]
impl Wire for Tape {
    async fn send(&self, request: WireRequest) -> Result<WireResponse, WireError> {
        let body = request.body.unwrap_or_default().to_bytes().to_vec();
        self.sent.lock().unwrap().push(body);
        let answer = self.answers.lock().unwrap().pop_front().unwrap();
        let mut headers = WireHeaders::default();
        headers.push("content-type", "text/event-stream", false);
        Ok(WireResponse { status: 200, headers, body: Box::new(Once(Some(answer.into()))) })
    }
}

struct Once(Option<Bytes>);

impl WireBody for Once {
    fn poll_chunk(&mut self, _: &mut Context<'_>) -> Poll<Result<Option<Bytes>, WireError>> {
        Poll::Ready(Ok(self.0.take()))
    }
}
