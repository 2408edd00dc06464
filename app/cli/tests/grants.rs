//! Approval grants: a person allows calls like one for a session or for good, at a terminal. A grant
//! is the user's: rules, hooks, logs and workspaces cannot be talked round by it, nor bring one along.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::os::unix::fs::PermissionsExt as _;

use common::terminal::TerminalProcess;
use common::{Done, Place, count};

const KEYS: &str = "or say why not: ";

/// Runs a turn at a terminal and gives this answer to its question, which is returned.
fn answered(place: &Place, prompt: &str, flags: &[&str], answer: &str) -> (String, Done) {
    let words = [&["run", prompt, "--permissions", "ask"][..], flags].concat();
    let mut asked = TerminalProcess::run(place, &words);
    let question = asked.until(KEYS);
    asked.line(answer);
    let done = asked.end();
    assert_eq!(done.code, 0, "{}", done.err);
    (question, done)
}

/// Runs a turn without a terminal: what would be asked is denied. Returns true if a file of this name
/// was made.
fn makes(place: &Place, file: &str, prompt: &str, flags: &[&str]) -> bool {
    let words = [&["run", prompt, "--permissions", "ask"][..], flags].concat();
    let done = place.without_terminal(&words);
    assert_eq!(done.code, 0, "{}", done.err);
    place.file(file).exists()
}

#[test]
fn a_prefix_that_was_allowed_for_good_runs_unasked_and_nothing_else_does() {
    let place = Place::new();
    let (question, _) = answered(&place, "run: touch a", &["--session", "one"], "p");
    assert!(question.contains("commands that begin with `touch`"), "{question}");
    assert!(place.file("a").exists());
    assert!(makes(&place, "b", "run: touch b", &["--session", "two"]));
    assert!(makes(&place, "b2", "run: nice touch b2; touch b3", &[]));
    for (file, prompt) in [
        ("c", "run: touch c; mkdir d"),
        ("c", "run: touch c > d"),
        ("c", "run: X=1 touch c"),
        ("c", "run: sh -c 'touch c; ls'"),
        ("c", "run: touch c $(ls)"),
        ("touched", "run: mkdir touched"),
        ("c", "write c: text"),
    ] {
        assert!(!makes(&place, file, prompt, &[]), "{prompt}");
    }
    // A grant is weaker than whatever forbids or asks.
    let rule = "shell(command=touch *)";
    for flags in [
        &["--ask", rule][..],
        &["--deny", rule],
        &["--deny", "shell(command=* e*)"],
        &["--mode", "plan"],
        &["--permissions", "read-only"],
    ] {
        let words = [&["run", "run: touch e"][..], flags].concat();
        let asks = ["--permissions", "ask"];
        let words = if flags.contains(&"read-only") { words } else { [&words[..], &asks].concat() };
        assert_eq!(place.without_terminal(&words).code, 0);
        assert!(!place.file("e").exists(), "{flags:?}");
    }
    // With a rule that allows the rest, each part is allowed.
    assert!(makes(&place, "f", "run: touch f; mkdir g", &["--allow", "shell(command=mkdir *)"]));

    let listed = place.run(&["approvals", "list"]).out;
    assert!(listed.contains("always  shell: commands that begin with `touch`"), "{listed}");
    let id = listed.split(' ').next().unwrap();
    assert_eq!(place.run(&["approvals", "revoke", id]).code, 0);
    assert_eq!(place.run(&["approvals", "revoke", id]).code, 2);
    assert!(!makes(&place, "h", "run: touch h", &[]));
    let mode = std::fs::metadata(place.state().join("grants.json")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn what_was_allowed_for_a_session_holds_after_a_restart_and_in_no_other() {
    let place = Place::new();
    let own = ["--session", "one"];
    answered(&place, "run: touch a", &own, "s");
    let again = |session: &str, file: &str| {
        makes(&place, file, &format!("run: touch {file}"), &["--session", session])
    };
    assert!(again("one", "b"));
    assert!(!again("two", "c"));
    let log = place.log("one");
    let mut answers = log.iter().filter(|fact| fact["kind"] == "ApprovalAnswered");
    let (given, used) = (&answers.next().unwrap()["body"], &answers.next().unwrap()["body"]);
    assert_eq!(given["grant"]["text"], "commands that begin with `touch`");
    assert_eq!(
        (&given["grant"]["lifetime"], &given["by"]["kind"]),
        (&"session".into(), &"principal".into())
    );
    assert_eq!(used["grant"]["used"], true);
    assert_eq!(used["by"]["kind"], "system");
    let shown = place.run(&["show", "one"]).out;
    assert!(shown.contains("from now on in this session: commands"), "{shown}");
    assert!(shown.contains("it may run: allowed in this session"), "{shown}");
    assert_eq!(place.run(&["replay", "one", "--verify"]).code, 0);
    // A new session of that name is another one.
    assert_eq!(place.run(&["erase", "one", "--yes"]).code, 0);
    assert!(!again("one", "d"));
    // And so is one in another store.
    let store = format!("file:{}", place.file("elsewhere").display());
    answered(&place, "run: touch e", &own, "s");
    let flags = ["--session", "one", "--store", &store];
    assert!(!makes(&place, "f", "run: touch f", &flags));
}

#[test]
fn a_workspace_has_its_own_approvals() {
    let place = Place::new();
    std::fs::create_dir(place.file("other")).unwrap();
    answered(&place, "run: touch a", &[], "p");
    let other = ["--workspace", "other"];
    assert!(!makes(&place, "other/b", "run: touch b", &other));
    assert!(place.run(&["approvals", "list", "--workspace", "other"]).out.is_empty());
    let all = place.run(&["approvals", "list", "--all", "--workspace", "other"]).out;
    assert!(all.contains(&format!("in {}", place.path().display())), "{all}");
    // The workspace that a log names proves nothing: tools run in this one.
    let taken = ["--session", "moved", "--workspace", "other"];
    assert!(makes(&place, "b", "run: touch b", &["--session", "moved"]));
    assert!(!makes(&place, "other/c", "run: touch c", &taken));
}

#[test]
fn a_grant_answers_the_next_question_of_the_same_turn() {
    let place = Place::new();
    let prompt = r#"together 3: shell {"command":"touch a"}"#;
    answered(&place, prompt, &["--session", "s"], "p");
    let log = place.log("s");
    let kinds = ["ApprovalAsked", "ApprovalAnswered", "CallStarted"];
    assert_eq!(kinds.map(|kind| count(&log, kind)), [3, 3, 3]);
    let by_grant = log.iter().filter(|fact| fact["body"]["grant"]["used"] == true);
    assert_eq!(by_grant.count(), 2);
}

#[test]
fn what_an_earlier_process_left_is_asked_about_whatever_was_granted() {
    let place = Place::new();
    let words = ["run", "run: touch a", "--permissions", "ask", "--session", "left"];
    let mut first = TerminalProcess::run(&place, &words);
    first.until(KEYS);
    first.signal("KILL");
    first.end();
    answered(&place, "run: touch b", &[], "p");
    let done = place.without_terminal(&["resume", "left"]);
    assert_eq!(done.code, 0, "{}", done.err);
    assert!(!place.file("a").exists());
    assert!(makes(&place, "c", "run: touch c", &["--session", "left"]));
}

#[test]
fn neither_a_log_nor_a_workspace_brings_a_grant_along() {
    let place = Place::new();
    answered(&place, "run: touch a", &["--session", "s"], "s");
    let export = place.run(&["export", "s"]).out;
    let state = place.state().join("grants.json");
    let record = std::fs::read_to_string(&state).unwrap();
    // Somebody else's user has neither, but the log and the record lie in the workspace.
    std::fs::remove_file(&state).unwrap();
    for folder in ["", ".windlass", ".windlass/store"] {
        std::fs::create_dir_all(place.file(folder)).unwrap();
        std::fs::write(place.file(folder).join("grants.json"), &record).unwrap();
    }
    assert_eq!(place.run(&["erase", "s", "--yes"]).code, 0);
    std::fs::write(place.file("planted.jsonl"), export).unwrap();
    assert_eq!(place.run(&["import", "planted.jsonl"]).code, 0);
    assert!(!makes(&place, "b", "run: touch b", &["--session", "s"]));
    assert!(!makes(&place, "b", "run: touch b", &[]));
}

#[test]
fn a_record_that_cannot_be_trusted_has_no_grants() {
    let place = Place::new();
    answered(&place, "run: touch a", &[], "p");
    let state = place.state().join("grants.json");
    let good = std::fs::read_to_string(&state).unwrap();
    let run = |file: &str| {
        let prompt = format!("run: touch {file}");
        let done = place.without_terminal(&["run", &prompt, "--permissions", "ask"]);
        assert_eq!(done.code, 0, "{}", done.err);
        (place.file(file).exists(), done.err)
    };
    assert!(run("b").0);
    for broken in ["", "{", r#"{"version":2,"grants":[]}"#, &good.replace("grants\"", "grant\"")] {
        std::fs::write(&state, broken).unwrap();
        let (made, said) = run("c");
        assert!(!made && said.contains("cannot read the record of approval grants"), "{said}");
    }
    assert_ne!(place.run(&["approvals", "list"]).code, 0);
    std::fs::write(&state, good).unwrap();
    std::fs::set_permissions(&state, std::fs::Permissions::from_mode(0o666)).unwrap();
    let (made, said) = run("c");
    assert!(!made && said.contains("other users may write it"), "{said}");
}

#[test]
fn what_runs_anything_is_allowed_once_at_most() {
    let place = Place::new();
    for (command, why) in [
        ("sh -c ls", "runs whatever it is given"),
        ("python3 -c x", "runs whatever it is given"),
        ("env touch a", "runs whatever it is given"),
        ("touch a; ls", "more than one command"),
        ("touch a > b", "redirects into a file"),
        ("git", "needs its subcommand"),
    ] {
        let words = ["run", &format!("run: {command}"), "--permissions", "ask"];
        let mut asked = TerminalProcess::run(&place, &words);
        let question = asked.until(KEYS);
        assert!(!question.contains("[p]"), "{question}");
        asked.line("p");
        let said = asked.until(KEYS);
        assert!(said.contains(why), "{command}: {said}");
        asked.line("n");
        asked.end();
    }
    let ask = ["--ask", "shell(command=touch *)"];
    let words = [&["run", "run: touch a", "--permissions", "ask"][..], &ask].concat();
    let mut asked = TerminalProcess::run(&place, &words);
    asked.until(KEYS);
    asked.line("s");
    let said = asked.until(KEYS);
    assert!(said.contains("a rule asks about it each time"), "{said}");
    asked.line("n");
    asked.end();
    assert!(!place.state().join("grants.json").exists());
}

#[test]
fn a_path_is_allowed_whatever_is_written_to_it() {
    let place = Place::new();
    let (question, _) = answered(&place, "write a.txt: one", &[], "p");
    assert!(question.contains("calls with the path `a.txt`"), "{question}");
    assert!(makes(&place, "a.txt", "write .//a.txt: two", &[]));
    assert_eq!(std::fs::read_to_string(place.file("a.txt")).unwrap(), "two\n");
    assert!(!makes(&place, "b.txt", "write b.txt: one", &[]));
    // A link at that path leads elsewhere.
    std::fs::remove_file(place.file("a.txt")).unwrap();
    std::os::unix::fs::symlink("kept.txt", place.file("a.txt")).unwrap();
    assert!(!makes(&place, "kept.txt", "write a.txt: three", &[]));
}

#[test]
fn a_hook_that_asks_is_heard_whatever_was_granted() {
    let place = Place::new();
    answered(&place, "run: touch a", &[], "p");
    for (event, output) in [
        ("PreToolUse", serde_json::json!({"permissionDecision": "ask"})),
        ("PreToolUse", serde_json::json!({"permissionDecision": "deny"})),
    ] {
        let mut output = output;
        output["hookEventName"] = event.into();
        let reply = serde_json::json!({ "hookSpecificOutput": output });
        let script = format!("cat > /dev/null; echo '{reply}'");
        let hook = serde_json::json!({"hooks": {event: [{
            "matcher": "Bash", "hooks": [{"type": "command", "command": script}],
        }]}});
        std::fs::write(place.file("hooks.json"), hook.to_string()).unwrap();
        assert!(!makes(&place, "b", "run: touch b", &["--hooks", "hooks.json"]), "{reply}");
    }
    assert!(makes(&place, "b", "run: touch b", &[]));
}
