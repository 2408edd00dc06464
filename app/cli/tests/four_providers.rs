//! One session that goes from provider to provider, turn by turn, with tools: a real engine and
//! real adapters over loopback, each server with the strict grammar of its provider.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;

use serde_json::Value;
use windlass_anthropic::{Anthropic, AnthropicConfig};
use windlass_engine::core::{
    EffectClass, Fact, History, Lineage, LoweredPart, LoweringAction, LoweringReason, OpenSession,
    PromptItem, RecordedFact, RequestRecord, Scope, Seq, SessionId, Settings, Timestamp,
    TurnOutcome, Widening, decide, replay,
};
use windlass_engine::ports::{
    LogStore, NoApprover, NoBlobStore, NoHooks, Ports, Provider, ToolExecutor,
};
use windlass_engine::{Config, Engine, NewInput, Start};
use windlass_gemini::{Gemini, GeminiConfig};
use windlass_http::http_wire;
use windlass_memory::MemoryStore;
use windlass_openai::{Api, OpenAi, OpenAiConfig, Server};
use windlass_route::Router;
use windlass_testkit::Answer;
use windlass_testkit::clock::ManualClock;
use windlass_testkit::http::grammar::{ANTHROPIC, OPENAI_CHAT, OPENAI_RESPONSES};
use windlass_testkit::http::{GeminiApi, ModelServer, Reply, Request, Script};
use windlass_testkit::tools::{ScriptedTool, ScriptedTools};

/// The id of a call that no provider but its own takes.
const ODD: &str =
    "functions.read:0/0123456789012345678901234567890123456789|abcdefghijklmnopqrstuvwxyz";
const CHAT: &str = "openai-chat";
const RESPONSES: &str = "openai";
const MESSAGES: &str = "anthropic";
const GEMINI: &str = "gemini";
const TURNS: [(&str, &str); 5] = [
    (CHAT, "gpt-5"),
    (RESPONSES, "o9"),
    (MESSAGES, "claude-sonnet-4-5"),
    (GEMINI, "gemini-3-pro"),
    (CHAT, "gpt-5"),
];

/// A model that thinks, calls two tools at once and, once it has their results, thinks again and
/// answers.
fn serve(rules: fn(Script) -> Script, no_arguments: &'static str) -> ModelServer {
    let script = Script::respond(move |request| {
        let asked = request.asked();
        let words = asked.user.unwrap_or_default();
        let seal = |step: &str| format!("c2VhbGVkL{step}");
        if asked.results.is_empty() {
            let answer = Answer::new()
                .sealed_reasoning(format!("thinking about {words}"), seal("A"))
                .text("Let me look.")
                .call_as("call_1", "read", r#"{"path":"a"}"#)
                .call_as(ODD, "list", no_arguments);
            return Reply::answer(answer.tokens(10, 5));
        }
        let results: Vec<&str> = asked.results.iter().map(|(_, output)| output.as_str()).collect();
        let answer = Answer::new()
            .sealed_reasoning("thinking about what I read", seal("B"))
            .text(format!("{words}: {}", results.join(" and ")));
        Reply::answer(answer.tokens(20, 5))
    });
    ModelServer::start(rules(script)).unwrap()
}

fn providers(servers: &[ModelServer; 4]) -> Arc<dyn Provider> {
    let [chat, responses, messages, gemini] = servers;
    let openai = |api, server: &ModelServer| {
        let config = OpenAiConfig::new(api)
            .with_base_url(server.base_url())
            .with_server(Server::OpenAi)
            .with_api_key("sk-1");
        let wire = http_wire(&server.base_url()).unwrap();
        let provider: Arc<dyn Provider> = Arc::new(OpenAi::over(&config, wire).unwrap());
        provider
    };
    let config = AnthropicConfig::new().with_base_url(messages.base_url()).with_api_key("sk-2");
    let wire = http_wire(&messages.base_url()).unwrap();
    let anthropic: Arc<dyn Provider> = Arc::new(Anthropic::over(&config, wire).unwrap());
    let config = GeminiConfig::new().with_base_url(gemini.base_url()).with_api_key("sk-3");
    let wire = http_wire(&gemini.base_url()).unwrap();
    let gemini: Arc<dyn Provider> = Arc::new(Gemini::over(&config, wire).unwrap());
    let all = [openai(Api::Chat, chat), openai(Api::Responses, responses), anthropic, gemini];
    Arc::new(Router::new("router", all).unwrap())
}

fn me() -> Scope {
    Scope::local("tester")
}

fn settings(provider: &str, model: &str, tools: &dyn ToolExecutor) -> Settings {
    windlass_testkit::settings().with(|it| {
        it.provider = provider.into();
        it.model = model.into();
        it.instructions = "Be brief.".into();
        it.tools = tools.tools();
        it.max_output_tokens = Some(8_000);
        it.effort = Some("low".into());
    })
}

/// What was lowered, as `(part, how, why, count)`.
type LoweringCounts = Vec<(LoweredPart, LoweringAction, LoweringReason, u32)>;

fn told(asked: &RequestRecord) -> LoweringCounts {
    let mut told: LoweringCounts =
        asked.lowered.iter().map(|one| (one.part, one.action, one.reason, one.count)).collect();
    told.sort_unstable();
    told
}

/// How each request went out, by the log.
fn asked(log: &[RecordedFact]) -> Vec<RequestRecord> {
    log.iter()
        .filter_map(|recorded| {
            if let Fact::SampleEnded(ended) = &recorded.fact {
                return Some(*ended.request.clone().unwrap());
            }
            None
        })
        .collect()
}

#[tokio::test]
async fn a_session_goes_from_provider_to_provider_and_back() {
    let servers = [
        serve(|script| script.strict_as(&OPENAI_CHAT), ""),
        serve(|script| script.strict_as(&OPENAI_RESPONSES), ""),
        serve(|script| script.strict_as(&ANTHROPIC), ""),
        serve(|script| script.strict().speaking(&GeminiApi::WITH_IDS), "{}"),
    ];
    let tools: Arc<dyn ToolExecutor> = Arc::new(ScriptedTools::new([
        ScriptedTool::new("read", EffectClass::ReadOnly).says("winch"),
        ScriptedTool::new("list", EffectClass::ReadOnly).says("two files"),
    ]));
    let store: Arc<dyn LogStore> = Arc::new(MemoryStore::new());
    let ports = Ports {
        provider: providers(&servers),
        store: store.clone(),
        tools: tools.clone(),
        blobs: Arc::new(NoBlobStore),
        hooks: Arc::new(NoHooks),
        approver: Arc::new(NoApprover),
        clock: Arc::new(ManualClock::new(Timestamp(1_000), 7)),
        programs: windlass_engine::ports::ProgramRuntimes::none(),
    };
    let engine = Engine::new(ports, Config::default());
    let session = SessionId::new("s").unwrap();
    let (first, model) = TURNS[0];
    let opening = OpenSession {
        owner: me(),
        workspace: None,
        settings: settings(first, model, tools.as_ref()),
        lineage: Lineage::Root,
    };
    let start = Start::New(Box::new(opening));
    let conversation = engine.open(&session, &me(), start).await.unwrap();
    for (turn, (provider, model)) in TURNS.iter().enumerate() {
        if turn > 0 {
            let settings = settings(provider, model, tools.as_ref());
            let changed = conversation.configure(settings, me(), Widening::Allowed);
            changed.await.unwrap();
        }
        let words = format!("turn {turn}");
        let input = conversation.send(NewInput::new(me(), words.as_str())).await.unwrap();
        let report = conversation.outcome(input).await.unwrap();
        assert_eq!(report.outcome, TurnOutcome::Completed, "turn {turn}");
        assert_eq!(report.answer, format!("{words}: winch and two files"));
        assert_eq!(report.spent.samples, 2);
        for server in &servers {
            assert_eq!(server.misses(), Vec::<String>::new(), "turn {turn}");
        }
    }

    let log = store.read(&session, Seq::ZERO, 10_000).await.unwrap();
    let told_again = replay(decide, log.iter().cloned()).unwrap();
    assert_eq!((told_again.divergences, told_again.request_divergences), (vec![], vec![]));
    who_was_asked(&asked(&log));
    what_was_sent(&servers);
    what_is_remembered(&log);
}

/// Each request names who was asked, and counts what that one could not be told.
fn who_was_asked(asked: &[RequestRecord]) {
    use LoweringReason::{Foreign, Invalid, Unsupported};
    let thought = |why, count| (LoweredPart::Reasoning, LoweringAction::Dropped, why, count);
    let id = |count| (LoweredPart::CallId, LoweringAction::Downgraded, Invalid, count);
    let wanted: [(&str, LoweringCounts); 10] = [
        (CHAT, vec![]),
        // Chat Completions has no place for its own either.
        (CHAT, vec![thought(Unsupported, 1), id(1)]),
        (RESPONSES, vec![thought(Unsupported, 2), id(1)]),
        // Its own goes back.
        (RESPONSES, vec![thought(Unsupported, 2), id(1)]),
        (MESSAGES, vec![thought(Foreign, 2), thought(Unsupported, 2), id(1)]),
        (MESSAGES, vec![thought(Foreign, 2), thought(Unsupported, 2), id(1)]),
        // It takes any id.
        (GEMINI, vec![thought(Foreign, 4), thought(Unsupported, 2)]),
        (GEMINI, vec![thought(Foreign, 4), thought(Unsupported, 2)]),
        (CHAT, vec![thought(Unsupported, 8), id(1)]),
        (CHAT, vec![thought(Unsupported, 9), id(1)]),
    ];
    assert_eq!(asked.len(), wanted.len());
    for (index, (one, (provider, mut lowered))) in asked.iter().zip(wanted).enumerate() {
        lowered.sort_unstable();
        assert_eq!(one.provider, provider, "request {index}");
        assert_eq!(one.model, TURNS[index / 2].1, "request {index}");
        assert!(one.endpoint.starts_with("http://127.0.0.1:"), "{}", one.endpoint);
        assert_eq!(told(one), lowered, "request {index}");
        assert!(one.bytes > 0 && one.shared_prefix_bytes <= one.bytes);
    }
}

/// The servers were asked two times, and the first one four; sealed reasoning goes back to who sealed it.
fn what_was_sent(servers: &[ModelServer; 4]) {
    let samples: Vec<Vec<Request>> = servers.iter().map(ModelServer::samples).collect();
    let counts: Vec<usize> = samples.iter().map(Vec::len).collect();
    assert_eq!(counts, [4, 2, 2, 2]);
    let body = |request: &Request| String::from_utf8(request.body.clone()).unwrap();
    let seals = |request: &Request| body(request).matches("c2VhbGVkL").count();
    let sealed: Vec<Vec<usize>> =
        samples.iter().map(|all| all.iter().map(seals).collect()).collect();
    assert_eq!(sealed, [vec![0, 0, 0, 0], vec![0, 1], vec![0, 1], vec![0, 1]]);
    // The last one was told all turns.
    let last = body(&samples[0][3]);
    for words in ["turn 0", "turn 1", "turn 2", "turn 3", "turn 4"] {
        assert!(last.contains(words), "{words}");
    }
    let messages = samples[0][3].json.as_ref().unwrap()["messages"].as_array().unwrap();
    let role = |role: &str| messages.iter().filter(|one: &&Value| one["role"] == role).count();
    assert_eq!([role("user"), role("assistant"), role("tool")], [5, 9, 10]);
}

/// The history holds every turn as it was said, whoever said it.
fn what_is_remembered(log: &[RecordedFact]) {
    let mut history = History::default();
    for recorded in log {
        history.apply(recorded).unwrap();
    }
    let kind = |item: &PromptItem| match item {
        PromptItem::User { .. } => 'u',
        PromptItem::Image { .. } => 'i',
        PromptItem::Context { .. } => 'c',
        PromptItem::Text { .. } => 't',
        PromptItem::Refusal { .. } => 'x',
        PromptItem::Reasoning { .. } => 'r',
        PromptItem::Call { .. } => 'f',
        PromptItem::Result { .. } => 'o',
        PromptItem::CallReport { .. } => 'd',
        PromptItem::ProgramReport { .. } => 'p',
    };
    let kinds: String = history.items().iter().map(kind).collect();
    assert_eq!(kinds, "urtffoort".repeat(5));
    let opaque = |item: &PromptItem| {
        if let PromptItem::Reasoning { item, .. } = item {
            return Some(item.opaque.as_ref().map(|opaque| opaque.model.clone()));
        }
        None
    };
    let made: Vec<Option<String>> = history.items().iter().filter_map(opaque).collect();
    let by = |model: &str| Some(model.to_owned());
    let [own, other] = [TURNS[2].1, TURNS[3].1];
    let wanted =
        [None, None, by("o9"), by("o9"), by(own), by(own), by(other), by(other), None, None];
    assert_eq!(made, wanted);
}
