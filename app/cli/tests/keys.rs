//! Keys go where configuration says: not to an address that only a log names, and not into the
//! environment that tools can see.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::process::Command;

use common::{Done, Place, done};
use serde_json::json;
use windlass_testkit::http::{ModelServer, Reply, Script};

const KEY: &str = "sk-hidden-0123456789";

fn server() -> ModelServer {
    ModelServer::start(Script::respond(|_| Reply::say("here"))).unwrap()
}

/// Runs the command with its sandbox off: what is hidden here must be hidden without it too.
fn with(place: &Place, words: &[&str], variables: &[(&str, &str)]) -> Done {
    let mut command = place.command(words);
    done(command.env("WINDLASS_SANDBOX", "off").envs(variables.iter().copied()).output().unwrap())
}

#[test]
fn an_address_that_only_a_log_names_gets_no_key() {
    for (provider, key, address) in [
        ("openai", "OPENAI_API_KEY", "OPENAI_BASE_URL"),
        ("openai-chat", "OPENAI_API_KEY", "OPENAI_BASE_URL"),
        ("anthropic", "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"),
        ("gemini", "GEMINI_API_KEY", ""),
        ("openrouter", "OPENROUTER_API_KEY", ""),
        ("ollama", "OLLAMA_API_KEY", "OLLAMA_HOST"),
    ] {
        let (place, planted) = (Place::new(), server());
        let url = planted.base_url();
        let words = ["run", "hi", "--session", "s", "--provider", provider, "--model", "m"];
        let began = place.run(&[&words[..], &["--base-url", &url]].concat());
        assert_eq!(began.code, 0, "{provider}: {}", began.err);
        let seen = planted.requests().len();
        for words in [&["resume", "s", "on"][..], &["run", "on", "--session", "s"]] {
            let refused = with(&place, words, &[(key, KEY)]);
            assert_eq!(refused.code, 4, "{provider}: {}", refused.err);
            for word in [url.as_str(), key, "--base-url"] {
                assert!(refused.err.contains(word), "{provider} {word}: {}", refused.err);
            }
            assert!(!refused.err.contains(KEY), "{}", refused.err);
        }
        assert_eq!(planted.requests().len(), seen, "{provider}: nothing was sent");
        // Without a key there is none to send.
        let bare = place.run(&["resume", "s", "on"]);
        assert_eq!(bare.code, 0, "{provider}: {}", bare.err);
        let named = with(&place, &["resume", "s", "on", "--base-url", &url], &[(key, KEY)]);
        assert_eq!(named.code, 0, "{provider}: {}", named.err);
        if !address.is_empty() {
            let root = url.trim_end_matches("/v1");
            let value = if provider.starts_with("openai") { url.as_str() } else { root };
            let named = with(&place, &["resume", "s", "on"], &[(key, KEY), (address, value)]);
            assert_eq!(named.code, 0, "{provider}: {}", named.err);
        }
    }
}

#[test]
fn a_session_at_the_address_of_its_provider_keeps_its_key() {
    let (place, theirs) = (Place::new(), server());
    let variables = [("OPENAI_API_KEY", KEY), ("OPENAI_BASE_URL", &theirs.base_url())];
    let words = ["run", "hi", "--session", "s", "--model", "m"];
    assert_eq!(with(&place, &words, &variables).code, 0);
    let resumed = with(&place, &["resume", "s", "on"], &variables);
    assert_eq!(resumed.code, 0, "{}", resumed.err);
    let authorized = |request: &windlass_testkit::http::Request| {
        request.header("authorization") == Some(&format!("Bearer {KEY}"))
    };
    assert!(theirs.samples().iter().all(authorized));
}

/// A place whose model runs a command, and the answer that it gives: what the command printed.
fn tool_sees(line: &'static str) -> (Place, ModelServer) {
    let script = Script::respond(move |request| match request.asked().results.first() {
        None => Reply::call("shell", json!({"command": line})),
        Some((_, result)) => Reply::say(format!("saw: {result}")),
    });
    (Place::new(), ModelServer::start(script).unwrap())
}

/// Prints the environment of a command and of all processes above it, and what they have open.
const SPY: &str = "env; pid=$$; while [ \"$pid\" -gt 1 ]; do \
    tr '\\0' '\\n' < /proc/$pid/environ || echo denied; ls -l /proc/$pid/fd || echo denied; \
    pid=$(awk '/^PPid:/ { print $2 }' /proc/$pid/status); \
    case \"$(cat /proc/$pid/comm)\" in windlass*) found=$pid;; esac; \
    [ -n \"$found\" ] && [ \"$pid\" != \"$found\" ] && break; done; echo end $found";

#[test]
fn a_tool_sees_no_key_in_the_environment_of_any_process_above_it() {
    let (place, server) = tool_sees(SPY);
    let url = server.base_url();
    std::fs::write(
        place.file("providers.toml"),
        format!(
            "[[provider]]\nname = \"own\"\napi = \"openai-chat\"\nbase_url = \"{url}\"\nmodel = \
             \"m\"\nkey_env = \"MY_OWN_VARIABLE\"\n"
        ),
    )
    .unwrap();
    let state = place.state();
    let store = format!("file:{}", state.join("named").display());
    let variables = [
        ("OPENAI_API_KEY", KEY),
        ("ANTHROPIC_API_KEY", KEY),
        ("OPENAI_BASE_URL", url.as_str()),
        ("WINDLASS_TOKEN", KEY),
        ("WINDLASS_STORE", store.as_str()),
        ("OTHER", "is-seen"),
    ];
    for words in [
        &["run", "hi", "--provider", "openai-chat", "--model", "m", "--permissions", "auto"][..],
        &[
            "run",
            "hi",
            "--provider",
            "own",
            "--providers",
            "providers.toml",
            "--permissions",
            "auto",
        ],
    ] {
        // A variable is a secret if the file that is used names it.
        let own = if words.contains(&"own") { KEY } else { "none" };
        let ran = with(&place, words, &[&variables[..], &[("MY_OWN_VARIABLE", own)]].concat());
        assert_eq!(ran.code, 0, "{}", ran.err);
        assert!(ran.out.contains("end "), "{}", ran.out);
        assert!(!ran.out.contains(KEY), "{}", ran.out);
        assert!(!ran.out.contains(&store), "{}", ran.out);
        assert!(!ran.out.contains("memfd"), "{}", ran.out);
        let request = server.samples().pop().unwrap();
        assert_eq!(request.header("authorization"), Some(&*format!("Bearer {KEY}")));
    }
    assert!(state.join("named/lanes").is_dir(), "the store of the variable was used");
    assert!(!state.join("store").exists());
}

#[test]
fn the_memory_and_the_environment_of_the_process_are_closed_to_its_user() {
    let (place, server) = tool_sees(
        "cat /proc/$PPID/environ > /dev/null && echo it-is-open; head -c 1 /proc/$PPID/mem; echo done",
    );
    let setpriv = Command::new("setpriv").arg("--version").output();
    if rustix::process::getuid().is_root() && setpriv.is_err() {
        return;
    }
    let url = server.base_url();
    let words =
        ["run", "hi", "--provider", "openai-chat", "--model", "m", "--base-url", url.as_str()];
    let plain = place.command(&words);
    let mut command = match rustix::process::getuid().is_root() {
        false => place.command(&words),
        true => {
            // Root may read everything; another user may not.
            let mut command = Command::new("setpriv");
            command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]);
            let program = place.file("program");
            std::fs::copy(plain.get_program(), &program).unwrap();
            let parents = [place.path().to_owned(), place.state().parent().unwrap().to_owned()];
            for folder in &parents {
                std::os::unix::fs::chown(folder, Some(65534), Some(65534)).unwrap();
            }
            command.arg(program).args(words).current_dir(place.path());
            command.env_clear().envs(plain.get_envs().filter_map(|(k, v)| Some((k, v?))));
            command
        }
    };
    let ran = done(command.output().unwrap());
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.out.contains("done") && !ran.out.contains("it-is-open"), "{}", ran.out);
    assert!(ran.out.contains("ermission denied"), "{}", ran.out);
}

#[test]
fn a_short_key_does_not_rewrite_the_words_of_an_error() {
    let refusal = || Reply::error(400, "bad", "the index of extra text is wrong");
    let server = ModelServer::start(Script::respond(move |_| refusal())).unwrap();
    let place = Place::new();
    let url = server.base_url();
    let words = ["run", "hi", "--provider", "openai-chat", "--model", "m", "--base-url", &url];
    let ran = with(&place, &words, &[("OPENAI_API_KEY", "x")]);
    assert!(ran.err.contains("the index of extra text"), "{}", ran.err);
    let recording = [&words[..], &["--record", "tape", "--hide", "SHORT"]].concat();
    let refused = with(&place, &recording, &[("SHORT", "x")]);
    assert_eq!(refused.code, 2, "{}", refused.err);
    assert!(refused.err.contains("shorter than 8"), "{}", refused.err);
}
