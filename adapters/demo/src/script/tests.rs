//! The script plays whole turns against tools that return what real ones do.

use serde_json::{Value, json};

use super::*;
use crate::request::Dialect;

const ALL: [&str; 5] = ["list_dir", "read_file", "grep", "write_file", "shell"];

/// Plays a turn: answers each call by `tool`, until the script says something.
fn play(
    prompt: &str,
    tools: &[&str],
    tool: impl Fn(&str, &str) -> String,
) -> (Vec<String>, String) {
    let mut input = vec![json!({ "role": "user", "content": prompt })];
    let mut calls = Vec::new();
    for _ in 0..100 {
        let tools: Vec<Value> =
            tools.iter().map(|name| json!({ "type": "function", "name": name })).collect();
        let body = json!({ "model": MODEL, "input": input, "tools": tools }).to_string();
        let asked = ParsedRequest::parse(Dialect::Responses, body.as_bytes()).unwrap();
        assert_eq!(next(&asked), next(&asked));
        match next(&asked) {
            ModelAction::Answer(text) | ModelAction::AnswerSlowly(text) => return (calls, text),
            ModelAction::Call { tool: name, arguments } => {
                let first = calls.len();
                for (number, arguments) in (first..).zip(&arguments) {
                    assert!(serde_json::from_str::<Value>(arguments).unwrap().is_object());
                    input.push(json!({ "type": "function_call", "call_id": format!("c{number}"),
                        "name": name, "arguments": arguments }));
                    calls.push(format!("{name} {arguments}"));
                }
                for (number, arguments) in (first..).zip(&arguments) {
                    input.push(json!({ "type": "function_call_output",
                        "call_id": format!("c{number}"), "output": tool(&name, arguments) }));
                }
            }
        }
    }
    panic!("the script does not end");
}

#[test]
fn a_question_about_the_folder_is_answered_with_what_the_tools_returned() {
    let (calls, answer) = play("What is in this folder?", &ALL, |tool, _| match tool {
        "list_dir" => "src/\nCargo.toml (9 bytes)\nREADME.md (30 bytes)\n".into(),
        _ => "# Capstan\nIt turns.\n".into(),
    });
    assert_eq!(calls, [r#"list_dir {"path":"."}"#, r#"read_file {"path":"README.md"}"#]);
    for needle in ["3 entries", "Cargo.toml", "“Capstan”", "a script and not a model"] {
        assert!(answer.contains(needle), "{answer}");
    }
}

#[test]
fn what_the_tools_say_against_it_ends_up_in_the_answer() {
    let (calls, answer) =
        play("list the files", &ALL, |_, _| "cannot list `.`: permission denied".into());
    assert_eq!(calls.len(), 1);
    assert!(answer.contains("permission denied"), "{answer}");

    let (_, answer) = play("look here", &ALL, |tool, _| match tool {
        "list_dir" => "a.txt (1 bytes)\n".into(),
        _ => "cannot read `a.txt`: is gone".into(),
    });
    assert!(answer.contains("cannot read `a.txt`: is gone"), "{answer}");
}

#[test]
fn writes_and_reads_back() {
    let (calls, answer) = play("write a.txt: hello there", &ALL, |tool, _| match tool {
        "write_file" => "created `a.txt` (12 bytes)".into(),
        _ => "hello there\n".into(),
    });
    assert_eq!(
        calls,
        [
            r#"write_file {"content":"hello there\n","path":"a.txt"}"#,
            r#"read_file {"path":"a.txt"}"#
        ]
    );
    assert!(answer.contains("created `a.txt`") && answer.contains("“hello there”"), "{answer}");
}

#[test]
fn runs_and_searches() {
    let (calls, answer) = play("run: echo hi", &ALL, |_, _| "hi\n".into());
    assert_eq!(calls, [r#"shell {"command":"echo hi"}"#]);
    assert!(answer.contains("    hi\n"), "{answer}");
    let (_, answer) = play("search main", &ALL, |_, _| "a:1: main\nb:2: main\n[2 files]\n".into());
    assert!(answer.contains("2 lines"), "{answer}");
}

#[test]
fn repeats_a_call_step_by_step_or_all_at_once() {
    let prompt = r#"repeat 5: count {"n": {step}}"#;
    let (calls, answer) = play(prompt, &["count"], |_, arguments| format!("got {arguments}"));
    assert_eq!(calls.len(), 5);
    assert_eq!(calls[4], r#"count {"n": 5}"#);
    assert!(answer.contains("5 times") && answer.contains(r#"5. “got {"n": 5}”"#), "{answer}");
    let (together, _) =
        play(&prompt.replace("repeat", "together"), &["count"], |_, _| String::new());
    assert_eq!(together, calls);
    let (many, answer) = play("repeat 60: count", &["count"], |_, _| "x".into());
    assert_eq!(many.len(), 60);
    assert!(answer.contains("and 40 more"));
}

#[test]
fn says_slowly_what_it_is_given() {
    let (calls, answer) = play("Slowly: run: one two", &ALL, |_, _| String::new());
    assert_eq!(calls, [] as [&str; 0]);
    assert!(answer.starts_with("run: one two (I am "), "{answer}");
    let most = format!("slowly: {}", "word ".repeat(6_000));
    assert!(play(&most, &[], |_, _| String::new()).1.starts_with("word"));
    for unclear in [format!("{most} more"), "slowly:".into()] {
        let (_, answer) = play(&unclear, &[], |_, _| String::new());
        assert!(answer.starts_with("I say between 1 and 6000 words"));
    }
}

#[test]
fn without_the_tool_it_says_so() {
    for prompt in ["what is here?", "read a.txt", "run: x", "write a: b", "search x", "repeat 2: x"]
    {
        let (calls, answer) = play(prompt, &[], |_, _| String::new());
        assert_eq!(calls, [] as [&str; 0]);
        assert!(answer.contains("does not offer") && answer.contains("script"), "{answer}");
    }
    let (calls, answer) = play("what is here?", &["list_dir"], |_, _| "a.txt (1 bytes)\n".into());
    assert_eq!(calls.len(), 1);
    assert!(answer.contains("1 entry") && answer.contains("read_file, which"), "{answer}");
}

#[test]
fn anything_else_is_greeted() {
    for prompt in ["hi", "", "repeat 0: x"] {
        let (calls, answer) = play(prompt, &ALL, |_, _| String::new());
        assert_eq!(calls, [] as [&str; 0]);
        assert!(answer.contains("not a model") && answer.contains("shell"), "{answer}");
    }
}

#[test]
fn edits_plans_and_asks() {
    let tools = ["read_file", "edit_file", "update_plan", "ask_user"];
    let (calls, answer) = play("edit a.txt: one => two", &tools, |tool, _| format!("{tool} ok"));
    assert_eq!(
        calls,
        [r#"read_file {"path":"a.txt"}"#, r#"edit_file {"new":"two","old":"one","path":"a.txt"}"#]
    );
    assert!(answer.contains("edit_file ok"), "{answer}");
    let (calls, answer) = play("plan: look; mend", &tools, |_, _| "shown".into());
    assert_eq!(calls.len(), 3);
    assert!(calls[1].contains(r#"{"status":"completed","step":"look"}"#), "{calls:?}");
    assert!(!calls[2].contains("pending") && answer.contains("followed"), "{calls:?}");
    let (calls, answer) = play("ask: which? | left | right", &tools, |_, _| "left".into());
    assert_eq!(calls, [r#"ask_user {"choices":["left","right"],"question":"which?"}"#]);
    assert!(answer.contains("You answered: “left”"), "{answer}");
    assert!(play("show markdown", &[], |_, _| String::new()).1.contains("```rust"));
}
