//! The built command with the providers that it knows by name, against scripted servers: addresses,
//! keys and headers, a gateway that answers with plain JSON, and a model that has not ended its turn.

#![expect(clippy::unwrap_used, reason = "a test may stop")]

mod common;

use common::{Done, Place, done};
use serde_json::json;
use windlass_engine::core::StopReason;
use windlass_testkit::Answer;
use windlass_testkit::http::{Dialect, ModelServer, Reply, Request, Script};

fn serve(script: impl Into<Script>) -> ModelServer {
    ModelServer::start(script).unwrap()
}

/// The address of a server without a path.
fn root(server: &ModelServer) -> String {
    server.base_url().trim_end_matches("/v1").to_owned()
}

fn run(place: &Place, arguments: &[&str], variables: &[(&str, &str)]) -> Done {
    let mut command = place.command(arguments);
    done(command.envs(variables.iter().copied()).output().unwrap())
}

fn path(request: &Request) -> &str {
    request.path.split('?').next().unwrap_or_default()
}

#[test]
fn a_base_url_of_anthropics_sdks_is_one_of_ours() {
    let place = Place::new();
    for tail in ["", "/", "/v1", "/v1/"] {
        let server = serve([Reply::say("hello")]);
        let url = format!("{}{tail}", root(&server));
        let variables = [("ANTHROPIC_BASE_URL", url.as_str()), ("ANTHROPIC_API_KEY", "k-1")];
        let words = ["run", "--provider", "anthropic", "--model", "claude-sonnet-4-5", "hi"];
        let ran = run(&place, &words, &variables);
        assert_eq!((ran.code, ran.out.trim()), (0, "hello"), "{tail}: {}", ran.err);
        assert_eq!(path(&server.requests()[0]), "/v1/messages", "{tail}");
    }
    let server = serve([Reply::say("hello")]);
    let url = root(&server);
    let named = ["run", "--provider", "anthropic", "--base-url", &url, "hi"];
    let ran = run(&place, &named, &[]);
    assert_eq!((ran.code, ran.out.trim()), (0, "hello"), "{}", ran.err);
}

#[test]
fn the_usual_variables_lead_to_each_preset_with_its_key_in_its_header() {
    let bearer = ("authorization", "Bearer k-1");
    for (preset, address, key, called, header) in [
        (
            "azure",
            "AZURE_OPENAI_ENDPOINT",
            "AZURE_OPENAI_API_KEY",
            "/openai/v1/responses",
            ("api-key", "k-1"),
        ),
        (
            "azure-chat",
            "AZURE_OPENAI_ENDPOINT",
            "AZURE_OPENAI_AD_TOKEN",
            "/openai/v1/chat/completions",
            bearer,
        ),
        ("ollama", "OLLAMA_HOST", "OLLAMA_API_KEY", "/v1/chat/completions", bearer),
        ("ollama-messages", "OLLAMA_HOST", "OLLAMA_API_KEY", "/v1/messages", bearer),
        (
            "gemini",
            "GOOGLE_GEMINI_BASE_URL",
            "GOOGLE_API_KEY",
            "/v1beta/models/m:streamGenerateContent",
            ("x-goog-api-key", "k-1"),
        ),
        ("bedrock", "", "AWS_BEARER_TOKEN_BEDROCK", "/v1/responses", bearer),
        ("bedrock-chat", "", "AWS_BEARER_TOKEN_BEDROCK", "/v1/chat/completions", bearer),
        ("bedrock-messages", "", "AWS_BEARER_TOKEN_BEDROCK", "/v1/messages", bearer),
        ("openrouter", "", "OPENROUTER_API_KEY", "/v1/chat/completions", bearer),
        ("openrouter-messages", "", "OPENROUTER_API_KEY", "/v1/messages", bearer),
    ] {
        let place = Place::new();
        let server = serve([Reply::say("hello"), Reply::say("again")]);
        let (url, host) = (server.base_url(), root(&server));
        let mut arguments = vec!["run", "--session", "s", "--provider", preset, "--model", "m"];
        let mut variables = vec![(key, "k-1")];
        match address {
            "" => arguments.extend(["--base-url", &url]),
            variable => variables.push((variable, &host)),
        }
        let ran = run(&place, &[&arguments[..], &["hi"]].concat(), &variables);
        assert_eq!((ran.code, ran.out.trim()), (0, "hello"), "{preset}: {}", ran.err);
        // The session keeps its provider. Its key needs a configured address.
        let mut arguments = vec!["run", "--session", "s", "and?"];
        if address.is_empty() {
            arguments.extend(["--base-url", &url]);
        }
        let ran = run(&place, &arguments, &variables);
        assert_eq!((ran.code, ran.out.trim()), (0, "again"), "{preset}: {}", ran.err);
        for request in server.requests() {
            assert_eq!(path(&request), called, "{preset}");
            assert_eq!(request.header(header.0), Some(header.1), "{preset}");
        }
    }
}

#[test]
fn what_a_preset_lacks_is_named() {
    let place = Place::new();
    for (preset, variables, words) in [
        ("openrouter", &[][..], "OPENROUTER_API_KEY"),
        ("gemini", &[], "GEMINI_API_KEY or GOOGLE_API_KEY"),
        ("bedrock", &[("AWS_BEARER_TOKEN_BEDROCK", "k")], "AWS_REGION or AWS_DEFAULT_REGION"),
        ("bedrock-messages", &[("AWS_REGION", "eu-west-1")], "AWS_BEARER_TOKEN_BEDROCK"),
        ("azure", &[("AZURE_OPENAI_API_KEY", "k")], "AZURE_OPENAI_ENDPOINT"),
        ("azure", &[("AZURE_OPENAI_ENDPOINT", "http://127.0.0.1:9")], "AZURE_OPENAI_AD_TOKEN"),
    ] {
        let arguments = ["run", "--provider", preset, "--model", "m", "hi"];
        let ran = run(&place, &arguments, variables);
        assert_eq!(ran.code, 4, "{preset}: {}", ran.err);
        assert!(ran.err.contains(words), "{preset}: {}", ran.err);
    }
}

#[test]
fn doctor_asks_those_that_list_their_models() {
    let place = Place::new();
    let server = serve([]);
    let url = server.base_url();
    for (preset, words) in [
        ("bedrock", "bedrock, not asked"),
        ("gemini", "gemini, reached; it lists 1 model"),
        ("openrouter", "openrouter, reached; it lists 1 model"),
    ] {
        let ran = run(&place, &["doctor", "--provider", preset, "--base-url", &url], &[]);
        assert_eq!(ran.code, 0, "{preset}: {} {}", ran.out, ran.err);
        assert!(ran.out.contains(words), "{preset}: {} {}", ran.out, ran.err);
    }
    assert_eq!(server.requests().len(), 2);
}

#[test]
fn an_azure_deployment_gets_its_version() {
    let place = Place::new();
    let server = serve([Reply::say("hello")]);
    let endpoint = format!("{}/openai/deployments/d", root(&server));
    let variables = [
        ("AZURE_OPENAI_ENDPOINT", endpoint.as_str()),
        ("AZURE_OPENAI_API_KEY", "k-1"),
        ("AZURE_OPENAI_API_VERSION", "2024-10-21"),
    ];
    run(&place, &["run", "--provider", "azure-chat", "--model", "m", "hi"], &variables);
    let request = server.requests().remove(0);
    assert_eq!(request.path, "/openai/deployments/d/chat/completions?api-version=2024-10-21");
}

#[test]
fn ollama_warns_of_its_context_unless_the_window_is_known() {
    let place = Place::new();
    let server = serve([Reply::say("hello"), Reply::say("hello"), Reply::say("hello")]);
    let host = root(&server);
    let warned = |arguments: &[&str]| {
        let base = ["run", "--provider", "ollama", "--model", "qwen3"];
        let ran = run(&place, &[&base[..], arguments].concat(), &[("OLLAMA_HOST", &host)]);
        assert_eq!(ran.code, 0, "{}", ran.err);
        ran.err.contains("OLLAMA_CONTEXT_LENGTH")
    };
    assert!(warned(&["--session", "s", "hi"]));
    assert!(!warned(&["--session", "s", "again"]), "a session is warned of it once");
    assert!(!warned(&["--window", "32000", "hi"]));
}

#[test]
fn a_call_of_gemini_goes_back_with_its_signature() {
    let place = Place::new();
    let tools = place.counter("effectful");
    let call = Answer::new().call("count", json!({ "n": 1 })).sealed("c2lnbmVk");
    let server = serve([Reply::answer(call), Reply::say("counted")]);
    let host = root(&server);
    let variables = [("GOOGLE_GEMINI_BASE_URL", host.as_str()), ("GEMINI_API_KEY", "k-1")];
    let words = ["run", "--provider", "gemini", "--model", "gemini-3-pro", "--tools", &tools, "hi"];
    let ran = run(&place, &words, &variables);
    assert_eq!((ran.code, ran.out.trim()), (0, "counted"), "{}", ran.err);
    assert_eq!(place.counted().len(), 1);
    let samples = server.samples();
    let contents = samples[1].json.as_ref().unwrap()["contents"].as_array().unwrap();
    let at = contents.iter().position(|content| content["role"] == "model").unwrap();
    let called = json!({ "name": "count", "args": { "n": 1 } });
    let called = json!({ "functionCall": called, "thoughtSignature": "c2lnbmVk" });
    assert_eq!(contents[at]["parts"], json!([called]));
    let answered = &contents[at + 1]["parts"][0]["functionResponse"];
    assert_eq!(answered["name"], "count");
    assert!(answered["response"]["output"].is_string(), "{answered}");
}

#[test]
fn a_gateway_that_answers_with_plain_json_answers() {
    for (provider, dialect) in [
        ("openai-chat", Dialect::Chat),
        ("openai", Dialect::Responses),
        ("anthropic", Dialect::Messages),
    ] {
        let place = Place::new();
        let tools = place.counter("effectful");
        let json = |answer: &Answer| {
            let body = dialect.body(answer);
            Reply::raw(200, body).header("content-type", "application/json")
        };
        let call = Answer::new().call("count", json!({ "n": 1 })).tokens(10, 2);
        let server = serve([json(&call), json(&Answer::new().text("counted").tokens(20, 3))]);
        let url = server.base_url();
        let arguments = [
            "run",
            "--session",
            "s",
            "--provider",
            provider,
            "--base-url",
            &url,
            "--tools",
            &tools,
            "hi",
        ];
        let ran = run(&place, &arguments, &[]);
        assert_eq!((ran.code, ran.out.trim()), (0, "counted"), "{provider}: {}", ran.err);
        assert_eq!(place.counted().len(), 1, "{provider}");
        let used: Vec<_> =
            place.log("s").into_iter().filter(|fact| fact["kind"] == "SampleEnded").collect();
        let used: Vec<_> = used.iter().map(|fact| &fact["body"]["usage"]["input"]).collect();
        assert_eq!(used, [10, 20], "{provider}");
    }
}

#[test]
fn damaged_data_is_a_failed_attempt_and_not_a_shorter_answer() {
    let place = Place::new();
    let pieces = Answer::new().text("ABC").pieces_of(1);
    let mut events = Dialect::Chat.events(&pieces);
    for event in &mut events {
        if event.contains("\"content\":\"B\"") {
            *event = event.replacen("data: {", "data: ", 1);
        }
    }
    let server = serve([Reply::stream(events.concat()), Reply::say("ABC")]);
    let url = server.base_url();
    let arguments = [
        "run",
        "--session",
        "s",
        "--provider",
        "openai-chat",
        "--base-url",
        &url,
        "--model",
        "m",
        "hi",
    ];
    let ran = run(&place, &arguments, &[]);
    assert_eq!((ran.code, ran.out.trim()), (0, "ABC"), "{}", ran.err);
    let cut: Vec<_> =
        place.log("s").into_iter().filter(|fact| fact["kind"] == "SampleCut").collect();
    assert_eq!(cut.len(), 1);
    assert_eq!(cut[0]["body"]["failure"]["kind"], "protocol");
}

#[test]
fn a_model_that_has_not_ended_its_turn_is_asked_on() {
    let place = Place::new();
    let unfinished = Answer::new().text("I will look.").stop(StopReason::Unfinished);
    let server = serve([Reply::answer(unfinished), Reply::say("Found it.")]);
    let url = server.base_url();
    let arguments =
        ["run", "--session", "s", "--provider", "openai", "--base-url", &url, "--model", "m", "hi"];
    let ran = run(&place, &arguments, &[]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.out.contains("Found it."), "{}", ran.out);
    assert_eq!(server.requests().len(), 2);
    let log = place.log("s");
    let reasons: Vec<_> = log.iter().filter(|fact| fact["kind"] == "SampleStarted").collect();
    assert_eq!(reasons[1]["body"]["reason"]["kind"], "unfinished");
}
