//! The built command with a providers file, against scripted servers: a provider of the user's own,
//! a chain, a route, Anthropic, and a session that changes its provider between two turns.

#![expect(clippy::unwrap_used, reason = "a test may stop")]

use std::path::Path;
use std::process::{Command, Output};

use tempfile::TempDir;
use windlass_engine::core::StopReason;
use windlass_testkit::http::{ModelServer, Reply, Script};
use windlass_testkit::{Answer, WebSource};

struct Place {
    folder: TempDir,
}

impl Place {
    fn new() -> Self {
        let folder = TempDir::new().unwrap();
        Self { folder }
    }

    fn providers(&self, text: &str) -> String {
        let path = self.folder.path().join("own.toml");
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    }

    fn run(&self, arguments: &[&str], keys: &[(&str, &str)]) -> Output {
        let path: &Path = self.folder.path();
        Command::new(env!("CARGO_BIN_EXE_windlass"))
            .args(arguments)
            .current_dir(path)
            .env_clear()
            .env("HOME", path)
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .envs(keys.iter().copied())
            .output()
            .unwrap()
    }
}

fn words(output: &Output) -> (Option<i32>, String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

fn serve(script: impl Into<Script>) -> ModelServer {
    ModelServer::start(script).unwrap()
}

#[test]
fn a_chain_goes_on_at_the_next_provider_and_the_session_tells_it() {
    let place = Place::new();
    let busy = serve([Reply::error(503, "overloaded", "busy")]);
    let other = serve([Reply::say("from the other")]);
    let file = place.providers(&format!(
        r#"
        [[provider]]
        name = "first"
        api = "openai-chat"
        base_url = "{}"
        key_env = "FIRST_KEY"

        [[provider]]
        name = "second"
        api = "anthropic"
        base_url = "{}"

        [[chain]]
        name = "careful"
        links = [{{ provider = "first" }}, {{ provider = "second", model = "claude-sonnet-4-5" }}]
        on = ["overloaded", "server", "unavailable"]
        "#,
        busy.base_url(),
        other.base_url()
    ));
    let arguments = [
        "run",
        "hi",
        "--session",
        "s1",
        "--providers",
        &file,
        "--provider",
        "careful",
        "--model",
        "m",
    ];
    let (code, said, told) = words(&place.run(&arguments, &[("FIRST_KEY", "sk-first")]));
    assert_eq!((code, said.as_str()), (Some(0), "from the other"), "{told}");
    assert!(!told.contains("sk-first"), "{told}");
    let log = words(&place.run(&["log", "s1"], &[])).1;
    assert!(
        log.contains(r#""provider":"first""#) && log.contains(r#""provider":"second""#),
        "{log}"
    );
    assert!(!log.contains("sk-first"));
    // Without its key it is said which variable is missing.
    let (code, _, told) = words(&place.run(&arguments, &[]));
    assert_eq!(code, Some(4), "{told}");
    assert!(told.contains("FIRST_KEY"), "{told}");
}

#[test]
fn a_session_changes_its_provider_between_two_turns() {
    let place = Place::new();
    let chat = serve([Reply::say("one")]);
    let messages = serve([Reply::say("two")]);
    let url = chat.base_url();
    let first = ["run", "hi", "--session", "s1", "--provider", "openai-chat", "--base-url", &url];
    let first = [&first[..], &["--model", "gpt-5"]].concat();
    let (code, said, told) = words(&place.run(&first, &[("OPENAI_API_KEY", "sk-1")]));
    assert_eq!((code, said.as_str()), (Some(0), "one"), "{told}");
    let keys = [("ANTHROPIC_API_KEY", "sk-2"), ("ANTHROPIC_BASE_URL", &*messages.base_url())];
    let second = ["run", "and now?", "--session", "s1", "--provider", "anthropic"];
    let second = [&second[..], &["--model", "claude-sonnet-4-5"]].concat();
    let (code, said, told) = words(&place.run(&second, &keys));
    assert_eq!((code, said.as_str()), (Some(0), "two"), "{told}");
    let asked = messages.requests();
    let asked = asked.last().unwrap();
    assert_eq!(asked.header("x-api-key"), Some("sk-2"));
    let body = String::from_utf8_lossy(&asked.body).into_owned();
    assert!(body.contains("hi") && body.contains("one") && body.contains("and now?"), "{body}");
}

#[test]
fn a_route_sends_a_model_to_its_provider() {
    let place = Place::new();
    let server = serve([Reply::say("routed")]);
    let file = place.providers(&format!(
        "[[provider]]\nname = \"own\"\napi = \"openai-chat\"\nbase_url = \"{}\"\n\
         [[route]]\nmodels = \"small-*\"\nprovider = \"own\"\nmodel = \"tiny\"\n",
        server.base_url()
    ));
    let arguments =
        ["run", "hi", "--providers", &file, "--provider", "routes", "--model", "small-1"];
    let (code, said, told) = words(&place.run(&arguments, &[]));
    assert_eq!((code, said.as_str()), (Some(0), "routed"), "{told}");
    let body = String::from_utf8_lossy(&server.requests()[0].body).into_owned();
    assert!(body.contains(r#""model":"tiny""#), "{body}");
}

#[test]
fn what_is_wrong_is_said_before_anything_is_asked() {
    let place = Place::new();
    let file =
        place.providers("[[provider]]\nname = \"a\"\napi = \"openai\"\napi_key = \"sk-x\"\n");
    let (code, _, told) = words(&place.run(&["run", "hi", "--providers", &file], &[]));
    assert_eq!(code, Some(4), "{told}");
    assert!(told.contains("key_env") && !told.contains("sk-x"), "{told}");
    let (code, _, told) = words(&place.run(&["run", "hi", "--provider", "nobody"], &[]));
    assert_eq!(code, Some(2), "{told}");
    assert!(told.contains("nobody") && told.contains("anthropic"), "{told}");
    let (code, _, told) = words(&place.run(&["run", "hi", "--provider", "anthropic"], &[]));
    assert_eq!(code, Some(4), "{told}");
    assert!(told.contains("ANTHROPIC_API_KEY"), "{told}");
}

/// An answer with a source, whose title and query hold what steers a terminal.
fn cited(text: &str) -> Answer {
    let source = WebSource {
        query: "age of \u{1b}[31mwinches".into(),
        url: "https://example.org/winch".into(),
        title: "Winches\u{1b}]0;x\u{7}".into(),
    };
    Answer::new().cited_text(text, source)
}

#[test]
fn a_search_of_the_provider_shows_its_sources_and_goes_back_after_a_restart() {
    for (api, model, more) in [
        ("openai", "gpt-5.1", "quirks = { web_search = \"both\" }"),
        ("openai-chat", "gpt-5-search-api", "quirks = { web_search = \"both\" }"),
        ("anthropic", "claude-sonnet-4-5", "web_search = true"),
        ("gemini", "gemini-3-pro", ""),
    ] {
        let place = Place::new();
        let server = serve([Reply::answer(cited("It is old.")), Reply::say("Bye.")]);
        let file = place.providers(&format!(
            "[[provider]]\nname = \"own\"\napi = \"{api}\"\nbase_url = \"{}\"\n{more}\n",
            server.base_url()
        ));
        let own = ["--providers", &file];
        let ask = ["run", "how old?", "--session", "s1", "--provider", "own", "--model", model];
        let ask = [&ask[..], &own, &["--web-search"]].concat();
        let (code, said, told) = words(&place.run(&ask, &[]));
        assert_eq!((code, said.as_str()), (Some(0), "It is old."), "{api}: {told}");
        assert!(server.samples()[0].read().web_search, "{api}");
        let listed = "Sources:\n  [1] Winches\\u{1b}]0;x\\u{7}: https://example.org/winch";
        assert!(told.contains(listed), "{api}: {told}");
        let searched = r#"searched the web for "age of \u{1b}[31mwinches""#;
        assert_eq!(told.contains(searched), api != "openai-chat", "{api}: {told}");
        let (_, log, _) = words(&place.run(&["log", "s1"], &[]));
        let citation = r#""citations":[{"url":"https://example.org/winch","#;
        assert!(log.contains(citation), "{api}: {log}");
        let (_, shown, _) = words(&place.run(&["show", "s1"], &[]));
        assert!(shown.contains("[1] Winches") && !shown.contains('\u{1b}'), "{api}: {shown}");
        // Another process sends back what the server gave.
        let again = [&["resume", "s1", "and now?"][..], &own].concat();
        let (code, said, told) = words(&place.run(&again, &[]));
        assert_eq!((code, said.as_str()), (Some(0), "Bye."), "{api}: {told}");
        let sent = server.samples().pop().unwrap();
        assert!(sent.read().web_search, "{api}");
        let sent = String::from_utf8_lossy(&sent.body).into_owned();
        let kept: &[&str] = match api {
            "openai" => &[r#""type":"web_search_call""#, r#""status":"completed""#],
            "anthropic" => &[
                r#"{"type":"server_tool_use","id":"srvtoolu_0","name":"web_search""#,
                r#""encrypted_content":"cGFnZQ==""#,
                r#""encrypted_index":"aW5kZXg=""#,
            ],
            _ => &["It is old."],
        };
        assert!(kept.iter().all(|part| sent.contains(part)), "{api}: {sent}");
    }
}

#[test]
fn a_paused_search_goes_on_in_the_next_request() {
    let place = Place::new();
    let paused = cited("I look.").stop(StopReason::Unfinished);
    let server = serve([Reply::answer(paused), Reply::answer(cited("It is old."))]);
    let file = place.providers(&format!(
        "[[provider]]\nname = \"own\"\napi = \"anthropic\"\nbase_url = \"{}\"\nweb_search = true\n",
        server.base_url()
    ));
    let ask = ["run", "how old?", "--provider", "own", "--providers", &file, "--web-search"];
    let (code, said, told) = words(&place.run(&[&ask[..], &["--model", "m"]].concat(), &[]));
    assert_eq!((code, said.as_str()), (Some(0), "It is old."), "{told}");
    let sent = server.samples().pop().unwrap();
    let sent = String::from_utf8_lossy(&sent.body).into_owned();
    assert!(sent.contains(r#""encrypted_content":"cGFnZQ==""#), "{sent}");
}

#[test]
fn a_search_that_the_provider_or_the_model_has_not_is_refused_before_anything_is_recorded() {
    let place = Place::new();
    let server = serve(Script::respond(|_| Reply::say("no")));
    let url = server.base_url();
    let entry = |name: &str, api: &str, more: &str| {
        format!("[[provider]]\nname = \"{name}\"\napi = \"{api}\"\nbase_url = \"{url}\"\n{more}\n")
    };
    let file = place.providers(
        &[
            entry("plain", "openai", ""),
            entry("own", "openai", "quirks = { web_search = \"responses\" }"),
            entry("claude", "anthropic", "web_search = true"),
            entry("google", "gemini", ""),
        ]
        .concat(),
    );
    for (provider, model, flags, why) in [
        ("plain", "m", &["--web-search"][..], "it cannot be given a web search"),
        ("own", "gpt-4.1-nano", &["--web-search"], "does not search the web"),
        ("google", "gemini-2.5-pro", &["--web-search"], "only without other tools"),
        (
            "google",
            "gemini-3-pro",
            &["--web-search", "--web-search-max", "3"],
            "a bound on web searches",
        ),
        (
            "claude",
            "m",
            &["--web-search", "--web-search-allow", "a.example", "--web-search-block", "b.example"],
            "both allowed and blocked",
        ),
        ("own", "m", &["--web-search-max", "3"], "add --web-search"),
        ("own", "m", &["--web-search", "--web-search-allow", "https://a.example"], "not a domain"),
    ] {
        let ask = ["run", "hi", "--provider", provider, "--providers", &file, "--model", model];
        let (code, _, told) = words(&place.run(&[&ask[..], flags].concat(), &[]));
        assert_eq!(code, Some(2), "{provider} {flags:?}: {told}");
        assert!(told.contains(why), "{provider} {flags:?}: {told}");
    }
    assert!(server.requests().is_empty());
    assert_eq!(words(&place.run(&["sessions"], &[])).1, "");
}

#[test]
fn options_of_requests_are_sent_and_kept_in_each_api() {
    for (api, model) in [
        ("openai", "gpt-5.1"),
        ("openai-chat", "gpt-5.1"),
        ("anthropic", "claude-sonnet-4-6"),
        ("gemini", "gemini-3-pro"),
    ] {
        let place = Place::new();
        let server = serve(Script::respond(|_| Reply::say("ok")));
        let file = place.providers(&format!(
            "[[provider]]\nname = \"own\"\napi = \"{api}\"\nbase_url = \"{}\"\n",
            server.base_url()
        ));
        std::fs::write(place.folder.path().join("rules.txt"), "Answer in Latin.\n").unwrap();
        let sent = |arguments: &[&str]| {
            let arguments = [arguments, &["--providers", &file]].concat();
            let (code, _, told) = words(&place.run(&arguments, &[]));
            assert_eq!(code, Some(0), "{api}: {told}");
            server.samples().pop().unwrap().read()
        };
        let place_of = ["run", "hi", "--session", "s1", "--provider", "own", "--model", model];
        let flags =
            ["--effort", "low", "--max-output-tokens", "900", "--instructions", "@rules.txt"];
        let first = sent(&[&place_of[..], &flags].concat());
        assert_eq!((first.effort.as_deref(), first.max_tokens), (Some("low"), Some(900)), "{api}");
        assert!(first.system.unwrap().ends_with("Answer in Latin."), "{api}");
        let later = sent(&["resume", "s1", "more", "--instructions", "Answer in Greek."]);
        assert_eq!(later.effort.as_deref(), Some("low"), "{api}");
        let system = later.system.unwrap();
        assert!(system.ends_with("Greek.") && !system.contains("Latin"), "{api}: {system}");
        let chosen = sent(&["resume", "s1", "more", "--effort", "default"]);
        assert_eq!((chosen.effort, chosen.temperature), (None, None), "{api}");
        sent(&["resume", "s1", "more", "--temperature", "0.25"]);
        let cool = sent(&["resume", "s1", "more"]);
        assert_eq!(cool.temperature, Some(0.25), "{api}");
        let chosen = sent(&["resume", "s1", "more", "--temperature", "default"]);
        assert_eq!(chosen.temperature, None, "{api}");
        let removed = sent(&["resume", "s1", "more", "--instructions", ""]).system.unwrap();
        assert!(removed.starts_with("You are") && !removed.contains("of the user for"), "{api}");
    }
}

#[test]
fn an_effort_that_the_model_has_not_is_refused_before_anything_is_recorded() {
    let place = Place::new();
    let server = serve(Script::respond(|_| Reply::say("no")));
    let entry = |api: &str| {
        let url = server.base_url();
        format!("[[provider]]\nname = \"{api}1\"\napi = \"{api}\"\nbase_url = \"{url}\"\n")
    };
    let all = ["openai", "openai-chat", "anthropic", "gemini"].map(entry).concat();
    let file = place.providers(&all);
    for (provider, model, effort) in [
        ("openai1", "gpt-4o", "low"),
        ("openai-chat1", "gpt-4.1", "low"),
        ("anthropic1", "my-own", "low"),
        ("anthropic1", "claude-sonnet-4-6", "enormous"),
        ("gemini1", "gemini-2.0-flash", "low"),
        ("gemini1", "gemini-3-pro", "enormous"),
    ] {
        let ask = ["run", "hi", "--provider", provider, "--providers", &file, "--model", model];
        let (code, _, told) = words(&place.run(&[&ask[..], &["--effort", effort]].concat(), &[]));
        assert_eq!(code, Some(2), "{provider} {model} {effort}: {told}");
        assert!(told.contains("--effort: "), "{provider} {model} {effort}: {told}");
    }
    let cool = ["run", "hi", "--provider", "anthropic1", "--providers", &file, "--model"];
    let more = ["claude-sonnet-4-6", "--temperature", "0.5", "--effort", "high"];
    let (code, _, told) = words(&place.run(&[&cool[..], &more].concat(), &[]));
    assert_eq!(code, Some(2), "{told}");
    assert!(told.contains("--temperature: ") && told.contains("no temperature but 1"), "{told}");
    let hot = ["run", "hi", "--provider", "openai1", "--providers", &file, "--temperature", "3"];
    let (code, _, told) = words(&place.run(&hot, &[]));
    assert_eq!((code, told.contains("from 0 to 2")), (Some(2), true), "{told}");
    for (text, why) in [("@none.txt", "cannot read none.txt"), (&"x".repeat(70_000), "longer than")]
    {
        let (code, _, told) = words(&place.run(&["run", "hi", "--instructions", text], &[]));
        assert_eq!((code, told.contains(why)), (Some(2), true), "{told}");
    }
    assert!(server.requests().is_empty());
    assert_eq!(words(&place.run(&["sessions"], &[])).1, "");
}
