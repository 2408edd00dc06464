//! The built command with a providers file, against scripted servers: a provider of the user's own,
//! a chain, a route, Anthropic, and a session that changes its provider between two turns.

#![expect(clippy::unwrap_used, reason = "a test may stop")]

use std::path::Path;
use std::process::{Command, Output};

use tempfile::TempDir;
use windlass_testkit::http::{ModelServer, Reply, Script};

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
    let (code, said, told) = words(&place.run(&first, &[("OPENAI_API_KEY", "sk-1")]));
    assert_eq!((code, said.as_str()), (Some(0), "one"), "{told}");
    let keys = [("ANTHROPIC_API_KEY", "sk-2"), ("ANTHROPIC_BASE_URL", &*messages.base_url())];
    let second = ["run", "and now?", "--session", "s1", "--provider", "anthropic"];
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
