//! Texts that a model reads, each as a file of prose: instructions, context, tool descriptions,
//! results and denials. A changed text is a changed file, so it is reviewed and never an accident:
//! `UPDATE_EXPECT=1 cargo test -p windlass-cli --test texts` writes them.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod agents;
#[path = "../common/mod.rs"]
mod common;
mod compactions;
mod denials;
mod prose;
mod stops;

use std::fs;
use std::process::Command;

use common::Place;
use expect_test::expect_file;
use serde_json::{Value, json};
use windlass_testkit::Answer;
use windlass_testkit::http::{ModelServer, Reply, Script};

use prose::Prose;

/// Runs turns of one session, with a model that gives these answers, and returns the last request.
fn conversation(place: &Place, flags: &[&str], turns: &[(&str, Vec<Answer>)]) -> Prose {
    let mut last = None;
    for (prompt, answers) in turns {
        let server =
            ModelServer::start(Script::list(answers.iter().cloned().map(Reply::answer))).unwrap();
        let base_url = server.base_url();
        let words = ["run", prompt, "--session", "s", "--provider", "openai-chat"];
        let done =
            place.without_terminal(&[&words[..], &["--base-url", &base_url], flags].concat());
        assert_eq!(done.code, 0, "{}", done.err);
        assert_eq!(server.misses(), Vec::<String>::new());
        last = server.samples().pop();
    }
    Prose::new(place, last.unwrap().json.unwrap())
}

/// An answer with these calls.
fn calls<'a>(calls: impl IntoIterator<Item = (&'a str, Value)>) -> Answer {
    calls.into_iter().fold(Answer::new(), |answer, (name, arguments)| answer.call(name, arguments))
}

fn done() -> Answer {
    Answer::new().text("Done.")
}

/// Texts under their titles.
fn sections<const N: usize>(texts: [(&str, String); N]) -> String {
    texts.map(|(title, text)| format!("# {title}\n\n{text}")).join("\n")
}

fn git(place: &Place, arguments: &[&str]) {
    let mut command = Command::new("git");
    command.args(["-c", "user.name=a", "-c", "user.email=a@b"]).args(arguments);
    let ended = command.current_dir(place.path()).output().unwrap();
    assert!(ended.status.success(), "{arguments:?}: {ended:?}");
}

#[test]
fn instructions_and_context() {
    let place = Place::new();
    git(&place, &["init", "-q", "-b", "main"]);
    fs::write(place.file("AGENTS.md"), "Run `make check` before you say that it works.\n").unwrap();
    assert_eq!(place.run(&["trust"]).code, 0);
    git(&place, &["add", "."]);
    git(&place, &["commit", "-q", "-m", "one"]);
    let first = conversation(&place, &[], &[("Fix the build.", vec![done()])]);
    expect_file!["first_turn.txt"].assert_eq(&first.conversation());
    fs::write(place.file("AGENTS.md"), "Run `make test` before you say that it works.\n").unwrap();
    assert_eq!(place.run(&["trust"]).code, 0);
    fs::write(place.file("note"), "a note\n").unwrap();
    let second = conversation(&place, &[], &[("Go on.", vec![done()])]);
    expect_file!["second_turn.txt"].assert_eq(&second.conversation_from(first.messages()));
}

#[test]
fn tool_descriptions() {
    let place = Place::new();
    let asked = conversation(&place, &[], &[("Hello.", vec![done()])]);
    expect_file!["tools.txt"].assert_eq(&asked.tools());
    let place = Place::new();
    let asked = conversation(&place, &["--mode", "plan"], &[("Hello.", vec![done()])]);
    expect_file!["tools_in_plan_mode.txt"].assert_eq(&asked.tool_names());
    let place = Place::new();
    let edit_file = ["--edit-tool", "edit_file"];
    let asked = conversation(&place, &edit_file, &[("Hello.", vec![done()])]);
    expect_file!["tool_for_edits.txt"].assert_eq(&asked.tool("edit_file"));
}

/// A model is offered the tool for edits that it is trained on, unless the command says otherwise.
#[test]
fn the_tool_for_edits_fits_the_model() {
    let offered = |flags: &[&str]| {
        let place = Place::new();
        let names = conversation(&place, flags, &[("Hello.", vec![done()])]).tool_names();
        let edits = names.lines().filter(|name| ["apply_patch", "edit_file"].contains(name));
        edits.collect::<Vec<_>>().join(" ")
    };
    assert_eq!(offered(&["--model", "gpt-5.1"]), "apply_patch");
    assert_eq!(offered(&["--model", "claude-sonnet-4-6"]), "edit_file");
    assert_eq!(offered(&["--model", "nobody-knows-it"]), "edit_file");
    assert_eq!(offered(&["--model", "gpt-5.1", "--edit-tool", "edit_file"]), "edit_file");
    assert_eq!(offered(&["--model", "gpt-4o", "--edit-tool", "both"]), "edit_file apply_patch");
}

#[test]
fn results_of_the_shell() {
    let place = Place::new();
    let shell = |arguments: Value| calls([("shell", arguments)]);
    let answers = vec![
        shell(json!({"command": "echo out; echo err >&2"})),
        shell(json!({"command": "true"})),
        shell(json!({"command": "echo so far; exit 3"})),
        shell(json!({"command": "kill -9 $$"})),
        shell(json!({"command": "echo Name?; read name || exec sleep 60", "timeout_ms": 500})),
        shell(
            json!({"command": "sleep 61 & until grep -q sleep /proc/$!/comm; do :; done; echo on"}),
        ),
        shell(json!({"command": "seq 1000 20000"})),
        shell(json!({"command": "head -c 9000 /dev/zero | tr '\\0' x; echo; echo end"})),
        shell(json!({"command": "printf 'caf\\351\\n'"})),
        done(),
    ];
    let asked = conversation(&place, &[], &[("Try the shell.", answers)]);
    expect_file!["results_of_the_shell.txt"].assert_eq(&asked.calls());
}

#[test]
fn results_of_the_file_tools() {
    let place = Place::new();
    let lines: String = (1..=3_000).map(|n| format!("line {n}\n")).collect();
    fs::write(place.file("long.txt"), lines).unwrap();
    fs::write(place.file("empty.txt"), "").unwrap();
    let code = "fn main() {\n    let Total = 1;\n    print(Total);\n    print(Total);\n}\n";
    fs::write(place.file("main.x"), code).unwrap();
    let edit =
        |old: &str, new: &str| ("edit_file", json!({"path": "main.x", "old": old, "new": new}));
    let patch = |body: &str| {
        let patch = format!("*** Begin Patch\n{body}\n*** End Patch\n");
        ("apply_patch", json!({ "patch": patch }))
    };
    let answers = vec![
        calls([("read_file", json!({"path": "long.txt"}))]),
        calls([("read_file", json!({"path": "long.txt", "offset": 2_999}))]),
        calls([("read_file", json!({"path": "empty.txt"}))]),
        calls([("read_file", json!({"path": "gone.txt"}))]),
        calls([("list_dir", json!({}))]),
        calls([("grep", json!({"pattern": "Total", "glob": "*.x"}))]),
        calls([("grep", json!({"pattern": "nowhere"}))]),
        calls([("write_file", json!({"path": "new/file.txt", "content": "text\n"}))]),
        calls([edit("print(Total);", "show(Total);")]),
        calls([edit("    let total = 1;", "    let total = 2;")]),
        calls([edit("let   Total = 1;", "let Total = 2;")]),
        calls([edit("nothing like it", "x")]),
        calls([edit("nothing like it", "x")]),
        calls([edit("nothing like it", "x")]),
        calls([edit("let Total = 1; // once", "let Total = 2;")]),
        calls([edit("let Total = 1;", "let Total = 2;")]),
        calls([("glob", json!({"pattern": "*.x"}))]),
        calls([patch("*** Add File: b.x\n+new\n*** Update File: main.x\n-let Total\n+let Sum")]),
        calls([patch("*** Add File: b.x\nnew")]),
        calls([patch("*** Add File: b.x\n+new\n*** Update File: main.x\n-    let Total = 2;\n+")]),
        done(),
    ];
    let both = ["--edit-tool", "both", "--max-samples", "40"];
    let asked = conversation(&place, &both, &[("Try the files.", answers)]);
    expect_file!["results_of_the_file_tools.txt"].assert_eq(&asked.calls());
}

#[cfg(all(feature = "javascript", feature = "ptclisp"))]
#[test]
fn guides_of_programs() {
    let place = Place::new();
    let list = json!({"type": "array", "items": {"type": "string"}});
    let total = json!({"type": "number"});
    let properties = json!({"total": total, "notes": list});
    let schema = json!({"type": "object", "properties": properties, "required": ["total"]});
    fs::write(place.file("schema.json"), schema.to_string()).unwrap();
    let data = json!({"limit": 3, "owner": {"name": "Ann", "tags": ["a"]}, "rows": [{"id": 1}]});
    fs::write(place.file("data.json"), data.to_string()).unwrap();
    let guide = |place: &Place, flags: &[&str], answer: Answer| {
        let asked = conversation(place, flags, &[("Count.", vec![answer])]);
        asked.instructions("## How you work here", "\n## Tools\n")
    };
    let returns = calls([("run_program", json!({"source": "(return {:total 1})"}))]);
    let files = ["--answer-schema", "schema.json", "--program-data", "data.json"];
    let flags = [&["--program", "ptclisp", "--max-samples", "20"], &files[..]].concat();
    expect_file!["guide_of_ptclisp.txt"].assert_eq(&guide(&place, &flags, returns));
    let place = Place::new();
    let returns = Answer::new().text("```javascript\nreturn 1\n```");
    let flags = ["--program", "javascript", "--program-transport", "text"];
    expect_file!["guide_of_javascript.txt"].assert_eq(&guide(&place, &flags, returns));
}

#[cfg(feature = "javascript")]
#[test]
fn results_of_programs() {
    let place = Place::new();
    fs::write(place.file("data.txt"), "one\ntwo\n").unwrap();
    let program = |source: &str| calls([("run_program", json!({"source": source}))]);
    let answers = vec![
        program("const text = await tools.read_file({path: \"data.txt\"}); text.split(\"\\n\")"),
        program("await tools.shell({command: \"grep three data.txt\"})"),
        program("await tools.shell({command: \"cat data.txt\"})"),
        program("await tools.read_file({path: \"gone.txt\"})"),
        program("print(\"looking\"); memory.seen = 1; \"0123456789\".repeat(4000)"),
        done(),
    ];
    let asked = conversation(&place, &["--program", "javascript"], &[("Try.", answers)]);
    expect_file!["results_of_programs.txt"].assert_eq(&asked.calls());
}

#[cfg(all(feature = "javascript", feature = "ptclisp"))]
#[test]
fn corrections_of_programs() {
    let place = Place::new();
    fs::write(place.file("data.txt"), "one\ntwo\n").unwrap();
    let program = |source: &str| ("run_program", json!({"source": source}));
    let answers = vec![
        calls([program(
            "const text = await tools.read_file({path: \"data.txt\"});\n\
             await tools.write_file({path: \"new.txt\", content: text});\n\
             const none = null;\nnone.length",
        )]),
        calls([program("let x = 1;")]),
        calls([program("return 1"), program("return 2")]),
        Answer::new().text("```javascript\nreturn 1\n```"),
        Answer::new().text("```python\nprint(1)\n```"),
        done(),
    ];
    let asked = conversation(&place, &["--program", "javascript"], &[("Try.", answers)]);
    expect_file!["corrections_of_programs.txt"].assert_eq(&asked.talk());

    let place = Place::new();
    let text = |text: &str| Answer::new().text(text);
    let answers = vec![
        text("```python\nprint(1)\n```"),
        text("```js\nreturn 1\n```\n```js\nreturn 2\n```"),
        text("```\nreturn 1\n```"),
        text("It is 1."),
        text("```js\nlet n = 1;\n```"),
        text("```js\nreturn {n: 1}\n```"),
    ];
    let flags = ["--program", "javascript", "--program-transport", "text"];
    let schema = ["--answer-signature", "{n :int}", "--answer-retries", "2", "--max-samples", "7"];
    let asked = conversation(&place, &[&flags[..], &schema].concat(), &[("Try.", answers)]);
    expect_file!["corrections_of_programs_in_text.txt"].assert_eq(&asked.talk());
}
