//! Denials as the model reads them, in every dialect: that it is one, whose it is, and its reason.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::{Place, count};
use serde_json::json;
use windlass_testkit::Answer;
use windlass_testkit::http::{ModelServer, Reply, Script};

const HOOKS: &str = r#"{"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [{
    "type": "command",
    "command": "if grep -q 'echo hook'; then echo '{\"decision\":\"block\",\"reason\":\"not on Fridays\"}'; fi"
}]}], "Stop": [{"hooks": [
    {"type": "command", "command": "test -e once || echo '{\"decision\":\"block\",\"reason\":\"run the tests\"}'"},
    {"type": "command", "command": "test -e once || echo '{\"decision\":\"block\",\"reason\":\"mend the docs\"}'; touch once"}
]}]}}"#;

#[test]
fn a_model_reads_who_denied_a_call_and_the_reason() {
    for provider in ["openai", "openai-chat", "anthropic"] {
        let place = Place::new();
        std::fs::write(place.file("hooks.json"), HOOKS).unwrap();
        let shell = |words: &str| json!({ "command": words });
        let calls = Answer::new()
            .call("shell", shell("echo rule"))
            .call("shell", shell("echo hook"))
            .call("shell", shell("echo person"));
        let replies = [calls, Answer::new().text("So be it."), Answer::new().text("Done.")];
        let server = ModelServer::start(Script::list(replies.map(Reply::answer))).unwrap();
        let base_url = server.base_url();
        let at = ["run", "hello", "--session", "s", "--provider", provider, "--model", "m"];
        let more = ["--base-url", &base_url, "--hooks", "hooks.json", "--permissions", "ask"];
        let rule = ["--deny", "shell(command=echo rule)"];
        let words = [&at[..], &more, &rule].concat();
        let mut command = place.command(&words);
        command.env("ANTHROPIC_API_KEY", "k");
        let ended = place.without_terminal_as(&command);
        assert_eq!(ended.code, 0, "{provider}: {}", ended.err);
        let samples = server.samples();
        let read = samples[1].json.as_ref().unwrap().to_string();
        for denial in [
            "Denied by a rule of the user, which forbids this call.",
            "Denied by a hook: not on Fridays",
            "Denied: this call needs a person's approval, and nobody can be asked",
        ] {
            assert!(read.contains(denial), "{provider}: {denial}: {read}");
        }
        if provider == "anthropic" {
            assert_eq!(read.matches("\"is_error\":true").count(), 3, "{read}");
        }
        // Both hooks of the end are asked, and the model reads both reasons.
        let read = samples[2].json.as_ref().unwrap().to_string();
        for reason in ["run the tests", "mend the docs"] {
            assert!(read.contains(reason), "{provider}: {reason}: {read}");
        }
    }
}

#[test]
fn a_rule_on_a_command_is_about_each_part_of_it() {
    let place = Place::new();
    let calls = |rules: &[&str], session: &str, prompt: &str| {
        let words = [&["run", prompt, "--session", session], rules].concat();
        let ended = place.without_terminal(&words);
        assert_eq!(ended.code, 0, "{prompt}: {}", ended.err);
        count(&place.log(session), "CallStarted")
    };
    let allow = ["--permissions", "ask", "--allow", "shell(command=git log *)"];
    for (nth, (line, started)) in (0..).zip([
        ("git log -1 | git log -2", 1),
        ("git log -1; touch x", 0),
        ("git log $(touch x)", 0),
        ("git log -1 > x", 0),
        ("sudo git log -1", 0),
        ("$GIT log -1", 0),
        ("git log 'x", 0),
    ]) {
        let started: usize = started;
        let prompt = format!("run: {line}");
        assert_eq!(calls(&allow, &format!("a{nth}"), &prompt), started, "{line}");
        assert!(!place.file("x").exists(), "{line}");
    }
    std::fs::write(place.file("kept"), "").unwrap();
    let deny = ["--deny", "shell(command=rm *)", "--deny", "write_file(path=secret/*)"];
    for (nth, (prompt, started)) in (0..).zip([
        ("run: true", 1),
        ("run: true; /bin/r'm' kept", 0),
        ("run: env X=1 sh -c 'rm kept'", 0),
        ("run: $(echo rm) kept", 0),
        // The script reads the file in any case.
        ("write secret/y: one", 1),
        ("write ./x/../secret/y: one", 1),
        ("write x/y: one", 2),
    ]) {
        let started: usize = started;
        assert_eq!(calls(&deny, &format!("d{nth}"), prompt), started, "{prompt}");
        assert!(place.file("kept").exists(), "{prompt}");
    }
}

#[test]
fn a_rule_on_a_path_holds_through_links() {
    let place = Place::new();
    std::fs::create_dir(place.file("secret")).unwrap();
    std::os::unix::fs::symlink("secret", place.file("link")).unwrap();
    let deny = ["--deny", "write_file(path=secret/*)"];
    let write = |path: &str| json!({ "path": path, "content": "x" });
    // The second call is decided before the first one has made the link that it goes through.
    let calls = Answer::new()
        .call("write_file", write("link/a"))
        .call("shell", json!({ "command": "ln -s secret later" }))
        .call("write_file", write("later/b"))
        .call("write_file", write("open/c"));
    let replies = [calls, Answer::new().text("So be it.")].map(Reply::answer);
    let server = ModelServer::start(Script::list(replies)).unwrap();
    let base_url = server.base_url();
    let at = ["run", "hello", "--session", "s", "--provider", "openai", "--model", "m"];
    let off = ["--sandbox", "off", "--permissions", "auto"];
    let words = [&at[..], &["--base-url", &base_url], &off, &deny].concat();
    let ended = place.without_terminal(&words);
    assert_eq!(ended.code, 0, "{}", ended.err);
    assert_eq!(std::fs::read_dir(place.file("secret")).unwrap().count(), 0);
    assert!(place.file("open/c").exists());
    let log = place.log("s");
    let outputs: Vec<&str> = log
        .iter()
        .filter(|fact| fact["kind"] == "CallObserved")
        .filter_map(|fact| fact["body"]["observation"]["output"].as_str())
        .collect();
    assert!(outputs.iter().any(|text| text.starts_with("Denied by a rule")), "{outputs:?}");
    assert!(outputs.iter().any(|text| text.contains("leads elsewhere")), "{outputs:?}");
}
