//! A session in which everything is hostile: no command lets any of it steer a terminal.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod common;

use std::path::Path;
use std::process::{Command, Stdio};

use common::Place;
use serde_json::json;
use windlass_testkit::Answer;
use windlass_testkit::http::{ModelServer, Reply, Script};

/// Erases the screen, writes the clipboard, returns to the line's begin, and hides in each way.
const HOSTILE: &str = "a\u{1b}[2J\u{1b}]52;c;aGk=\u{7}\r\u{8}\u{7f}\u{9b}31m\u{9d}0;t\u{9c}\u{202e}\u{2066}\u{200b}\u{feff}\u{e0041}\u{2028}z";

/// Returns the first character that a terminal must not get.
fn harmful(text: &str) -> Option<char> {
    let text = text.replace("\r\n", "\n");
    let bad = |c: &char| match c {
        '\n' | '\t' => false,
        c => c.is_control() || is_hidden(*c),
    };
    text.chars().find(bad)
}

fn is_hidden(c: char) -> bool {
    matches!(c, '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{e0000}'..='\u{e0fff}')
}

fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// Runs commands one after the other at one terminal. Returns what each one wrote.
fn at_terminal(place: &Place, commands: &[Vec<String>]) -> Vec<String> {
    const END: &str = "=== the end of a command ===";
    let mut line = String::new();
    for command in commands {
        let words: Vec<String> = command.iter().map(|word| quoted(word)).collect();
        let program = env!("CARGO_BIN_EXE_windlass");
        line.push_str(&format!(
            "'{program}' {} < /dev/null; echo; echo '{END}'\n",
            words.join(" ")
        ));
    }
    std::fs::write(place.file("commands.sh"), line).unwrap();
    let output = Command::new("script")
        .args(["-qec", "sh commands.sh", "/dev/null"])
        .current_dir(place.path())
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", place.file("home"))
        .env("WINDLASS_HOME", place.state())
        .env("WINDLASS_LOG", "debug")
        .env("NO_COLOR", "1")
        .env("SHELL", "/bin/sh")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let screen = String::from_utf8(output.stdout).unwrap();
    let all: Vec<String> = screen.split(END).map(str::to_owned).collect();
    assert_eq!(all.len(), commands.len() + 1, "{screen:?}");
    all
}

fn words(line: &str) -> Vec<String> {
    line.split(' ').map(|word| word.replace("HOSTILE", HOSTILE)).collect()
}

/// Checks every command without a terminal, and then at one.
fn check(place: &Place, lines: &[&str]) {
    let commands: Vec<Vec<String>> = lines.iter().map(|line| words(line)).collect();
    let mut faults = Vec::new();
    for (line, command) in lines.iter().zip(&commands) {
        let command: Vec<&str> = command.iter().map(String::as_str).collect();
        let done = place.without_terminal(&command);
        if let Some(c) = harmful(&done.err) {
            faults.push(format!("{line}: {c:?} on standard error: {:?}", done.err));
        }
        // A pipe gets texts and envelopes as they are. What is made for people is always visible.
        let exact = ["log", "export", "run", "resume"].contains(&command[0])
            || command.iter().any(|word| matches!(*word, "--json" | "--output"));
        if let Some(c) = harmful(&done.out).filter(|_| !exact) {
            faults.push(format!("{line}: {c:?} on standard output: {:?}", done.out));
        }
    }
    for (line, screen) in lines.iter().zip(at_terminal(place, &commands)) {
        if let Some(c) = harmful(&screen) {
            let at = screen.find(c).unwrap_or_default();
            let around: String = screen[..at].chars().rev().take(60).collect();
            let around: String = around.chars().rev().collect();
            faults.push(format!("{line}: {c:?} at the terminal, after {around:?}"));
        }
    }
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}

#[test]
fn nothing_raw_of_a_session_reaches_a_terminal() {
    let place = Place::new();
    let mut edit = json!({ "path": format!("x{HOSTILE}"), "old": HOSTILE, "new": "y" });
    let calls = Answer::new()
        .model(HOSTILE)
        .reasoning(HOSTILE)
        .text(HOSTILE)
        .call("write_file", json!({ "path": format!("x{HOSTILE}"), "content": HOSTILE }))
        .call("read_file", json!({ "path": format!("gone{HOSTILE}") }))
        .call("edit_file", edit.take())
        .call("list_dir", json!({}))
        .call("shell", json!({ "command": format!("printf %s '{HOSTILE}'; exit 3") }))
        .call(HOSTILE, json!({ HOSTILE: HOSTILE }))
        .call_text("shell", format!("{{\"{HOSTILE}"));
    let replies = [
        Reply::answer(calls),
        Reply::answer(Answer::new().model(HOSTILE).text(HOSTILE)),
        Reply::error(400, HOSTILE, HOSTILE),
        Reply::error(400, HOSTILE, HOSTILE),
        Reply::error(400, HOSTILE, HOSTILE),
    ];
    let server = ModelServer::start(Script::list(replies)).unwrap();
    let base_url = server.base_url();
    let at = ["--session", "s", "--provider", "openai", "--model", HOSTILE, "--sandbox", "off"];
    let auto = ["--permissions", "auto"];
    let command = [&["run", HOSTILE, "--base-url", &base_url], &at[..], &auto].concat();
    let done = place.without_terminal(&command);
    assert_eq!(done.code, 0, "{}", done.err);
    assert_eq!(harmful(&done.err), None, "{:?}", done.err);
    let calls = place.log("s");
    let ended = calls.iter().filter(|fact| fact["kind"] == "CallObserved");
    let ended: Vec<u64> = ended.map(|fact| fact["body"]["call"].as_u64().unwrap()).collect();
    assert_eq!(ended.len(), 7);
    let shell = format!("show s --output {}", ended[4]);
    std::fs::write(place.file("AGENTS.md"), HOSTILE).unwrap();
    std::fs::write(place.file(&format!("import{HOSTILE}")), HOSTILE).unwrap();
    let exported = place.run(&["export", "s"]).out;
    std::fs::write(place.file("exported"), &exported).unwrap();
    std::fs::write(place.file("broken"), exported.replacen("hostile", HOSTILE, 1) + HOSTILE)
        .unwrap();
    check(
        &place,
        &[
            "sessions",
            "sessions --all",
            "sessions --json",
            "show s",
            "show s --turns",
            "show s --turns --json",
            "show s --cache",
            &shell,
            "log s",
            "log HOSTILE",
            "verify",
            "verify s",
            "replay s --verify",
            "replay s --verify --json",
            "replay s",
            "export s",
            "inputs s",
            "inputs s --json",
            "doctor",
            "doctor --provider HOSTILE",
            "doctor --tools HOSTILE",
            "doctor --store HOSTILE",
            "trust",
            "trust HOSTILE",
            "import exported",
            "import broken",
            "import importHOSTILE",
            "import HOSTILE",
            "fork s --at 2",
            "fork s --at 3",
            "rewind s --to 3",
            "compact s",
            "show HOSTILE",
            "HOSTILE",
            "--HOSTILE",
            "run --HOSTILE",
            "run HOSTILE --provider HOSTILE",
            "run HOSTILE --model HOSTILE --provider openai --base-url HOSTILE",
            "run HOSTILE --allow HOSTILE",
            "run HOSTILE --hooks HOSTILE",
            "resume s HOSTILE",
            "resume s HOSTILE --json",
            "sessions --workspace HOSTILE",
            "attach HOSTILE s",
            "copy --from HOSTILE --to HOSTILE",
            "repair HOSTILE",
            "vacuum",
            "erase HOSTILE",
            "run HOSTILE --provider demo",
            "run HOSTILE --provider demo --json",
            "erase s",
        ],
    );
}

/// Puts text before each value of a key that people read: one with a blank in it.
fn spoiled(log: &str, key: &str, escaped: &str) -> String {
    let begin = format!("\"{key}\":\"");
    let mut parts = log.split(&begin);
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let value = part.split('"').next().unwrap_or_default();
        let read = value.contains(' ') || matches!(key, "model" | "provider" | "workspace");
        out.push_str(&begin);
        out.push_str(if read { escaped } else { "" });
        out.push_str(part);
    }
    out
}

/// Keys of an exported fact whose values are free text.
const TEXTS: &[&str] =
    &["workspace", "reason", "message", "model", "provider", "from", "output", "summary", "text"];

#[test]
fn nothing_raw_of_an_imported_session_reaches_a_terminal() {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testkit/golden/v1");
    let raw = json!(HOSTILE).to_string();
    let escaped = raw.trim_matches('"');
    let (mut spoiled_keys, mut logs) = (0, 0);
    for entry in std::fs::read_dir(golden).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "jsonl") {
            continue;
        }
        let mut text = std::fs::read_to_string(&path).unwrap();
        let id: serde_json::Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
        let mut place = Place::new();
        let before = spoiled_keys;
        for key in TEXTS {
            // What a request or a compaction was made of cannot be changed: the import tells.
            let changed = spoiled(&text, key, escaped);
            let other = Place::new();
            std::fs::write(other.file("import"), &changed).unwrap();
            if changed != text && other.run(&["import", "import"]).code == 0 {
                spoiled_keys += 1;
                (text, place) = (changed, other);
            }
        }
        if spoiled_keys == before {
            continue;
        }
        logs += 1;
        let session = id["session"].as_str().unwrap();
        let all = [
            "show S",
            "show S --turns",
            "show S --cache",
            "sessions --all",
            "verify",
            "inputs S",
            "log S",
            "replay S --verify",
        ];
        let all: Vec<String> = all
            .iter()
            .map(|line| match line.split_once('S') {
                Some((before, after)) => format!("{before}{session}{after}"),
                None => (*line).to_owned(),
            })
            .collect();
        check(&place, &all.iter().map(String::as_str).collect::<Vec<_>>());
    }
    assert!(spoiled_keys > 60 && logs > 30, "{spoiled_keys} keys of {logs} logs");
}
