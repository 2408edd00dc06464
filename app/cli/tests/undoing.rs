//! A coding task over real files, in two API families, and its files taken back by `windlass undo`.

#![expect(clippy::unwrap_used, reason = "it is all test code, also what its tests share")]

mod common;

use std::fs;

use common::{Done, Place};
use serde_json::{Value, json};
use windlass_testkit::Answer;
use windlass_testkit::http::{ModelServer, Reply, Script};

/// Checks the files, slowly enough that the call returns first.
const TESTS: &str =
    "sleep 0.3; for f in a b c; do grep -q '^new$' $f.txt && echo pass $f || echo fail $f; done";

#[derive(Debug, Clone, Copy, PartialEq)]
enum Family {
    OpenAi,
    Anthropic,
}

impl Family {
    fn flags(self) -> [&'static str; 4] {
        match self {
            Self::OpenAi => ["--provider", "openai", "--model", "gpt-5.1"],
            Self::Anthropic => ["--provider", "anthropic", "--model", "claude-sonnet-4-5"],
        }
    }

    /// Changes the only line of files.
    fn edit(self, files: &[(&str, &str, &str)]) -> Answer {
        if self == Self::Anthropic {
            return files.iter().fold(Answer::new(), |answer, (path, old, new)| {
                answer.call("edit_file", json!({"path": path, "old": old, "new": new}))
            });
        }
        let each = files
            .iter()
            .map(|(path, old, new)| format!("*** Update File: {path}\n@@\n-{old}\n+{new}\n"));
        let patch = format!("*** Begin Patch\n{}*** End Patch\n", each.collect::<String>());
        Answer::new().call("apply_patch", json!({ "patch": patch }))
    }

    /// The model: it looks, edits, tests in the background, reads that `c` fails, and corrects it.
    fn answer(self, sample: usize, request: &Value) -> Answer {
        let call = |name: &str, arguments: Value| Answer::new().call(name, arguments);
        match sample {
            0 => call("grep", json!({"pattern": "^old$"})),
            1 => {
                let wrong =
                    [("a.txt", "old", "new"), ("b.txt", "old", "new"), ("c.txt", "old", "nwe")];
                self.edit(&wrong)
                    .call("write_file", json!({"path": "made/d.txt", "content": "d\n"}))
            }
            2 => call("exec_command", json!({"cmd": TESTS, "yield_time_ms": 0})),
            3 => call("write_stdin", json!({"id": process(request), "yield_time_ms": 5_000})),
            4 if request.to_string().contains("fail c") => self.edit(&[("c.txt", "nwe", "new")]),
            5 => {
                let steps = json!([{"step": "replace old", "status": "completed"}]);
                call("update_plan", json!({ "plan": steps }))
            }
            _ => Answer::new().text("Done."),
        }
    }
}

/// Returns the id of the process that the latest answer says runs.
fn process(request: &Value) -> u64 {
    let text = request.to_string();
    let (_, rest) = text.rsplit_once("[process ").unwrap();
    rest.split(' ').next().unwrap().parse().unwrap()
}

fn write_files(place: &Place) {
    for name in ["a.txt", "b.txt", "c.txt"] {
        fs::write(place.file(name), "old\n").unwrap();
    }
}

fn texts(place: &Place) -> [String; 3] {
    ["a.txt", "b.txt", "c.txt"].map(|name| fs::read_to_string(place.file(name)).unwrap())
}

/// Runs the task as the session `s`.
fn task(place: &Place, family: Family) {
    write_files(place);
    let respond = move |request: &windlass_testkit::http::Request| {
        let body = request.json.clone().unwrap();
        let turns = ["input", "messages"].iter().find_map(|key| body[*key].as_array()).unwrap();
        let calls = |item: &&Value| {
            let blocks = item["content"].as_array();
            let uses =
                blocks.is_some_and(|blocks| blocks.iter().any(|it| it["type"] == "tool_use"));
            uses || item["type"].as_str().is_some_and(|kind| kind.ends_with("_call"))
        };
        let sample = match family {
            Family::Anthropic => turns.iter().filter(calls).count(),
            // The second answer has two calls.
            Family::OpenAi => match turns.iter().filter(calls).count() {
                few @ (0 | 1) => few,
                many => many - 1,
            },
        };
        Reply::answer(family.answer(sample, &body))
    };
    let server = ModelServer::start(Script::respond(respond)).unwrap();
    let base_url = server.base_url();
    let at = ["run", "Replace old by new.", "--session", "s", "--base-url", &base_url];
    let free = ["--sandbox", "off", "--permissions", "auto"];
    let mut command = place.command(&[&at[..], &family.flags(), &free].concat());
    command.env("ANTHROPIC_API_KEY", "k");
    let ended = place.without_terminal_as(&command);
    assert_eq!(ended.code, 0, "{family:?}: {}", ended.err);
    assert_eq!(texts(place), ["new\n"; 3], "{family:?}: {}", ended.err);
}

fn ok(done: Done) -> Done {
    assert_eq!(done.code, 0, "{}\n{}", done.out, done.err);
    done
}

#[test]
fn a_task_is_shown_and_taken_back_in_both_families() {
    for family in [Family::OpenAi, Family::Anthropic] {
        let place = Place::new();
        task(&place, family);
        let diff = ok(place.run(&["diff", "s"]));
        for name in ["a", "b", "c"] {
            let change = format!("--- a/{name}.txt\n+++ b/{name}.txt\n@@ -1 +1 @@\n-old\n+new\n");
            assert!(diff.out.contains(&change), "{}", diff.out);
        }
        assert!(diff.out.contains("--- /dev/null\n+++ b/made/d.txt\n"), "{}", diff.out);
        assert!(!diff.out.contains("nwe"), "one difference a file: {}", diff.out);
        assert!(diff.err.contains("is not recorded"), "a process ran: {}", diff.err);

        let dry = ok(place.run(&["undo", "s", "--dry-run"]));
        assert!(dry.out.contains("would restore a.txt\n"), "{}", dry.out);
        assert_eq!(texts(&place), ["new\n"; 3]);

        let undone = ok(place.run(&["undo", "s"]));
        assert_eq!(texts(&place), ["old\n"; 3]);
        assert!(!place.file("made/d.txt").exists());
        assert_eq!(undone.out.matches("restored ").count(), 4, "{}", undone.out);
        // A repetition, as after a crash, finds it done.
        let again = ok(place.run(&["undo", "s"]));
        assert_eq!(again.out.matches("already so ").count(), 4, "{}", again.out);
        ok(place.run(&["verify", "s"]));
        ok(place.run(&["replay", "s", "--verify"]));
    }
}

#[test]
fn what_somebody_changed_since_is_left_and_links_are_not_followed() {
    let place = Place::new();
    task(&place, Family::Anthropic);
    fs::write(place.file("a.txt"), "mine\n").unwrap();
    fs::remove_file(place.file("b.txt")).unwrap();
    fs::rename(place.file("made"), place.file("elsewhere")).unwrap();
    std::os::unix::fs::symlink("elsewhere", place.file("made")).unwrap();
    let undone = place.run(&["undo", "s"]);
    assert_eq!(undone.code, 1, "{}", undone.err);
    for line in [
        "left a.txt: `a.txt` was changed since\n",
        "left b.txt: `b.txt` was changed since\n",
        "left made/d.txt: `made/d.txt` leads through a symbolic link now\n",
        "restored c.txt\n",
    ] {
        assert!(undone.out.contains(line), "{line}: {}", undone.out);
    }
    assert_eq!(fs::read_to_string(place.file("a.txt")).unwrap(), "mine\n");
    assert!(!place.file("b.txt").exists() && place.file("elsewhere/d.txt").exists());
    assert_eq!(fs::read_to_string(place.file("c.txt")).unwrap(), "old\n");

    fs::create_dir(place.file("other")).unwrap();
    let other = place.file("other");
    let mut elsewhere = place.command(&["undo", "s"]);
    let refused = common::done(elsewhere.current_dir(&other).output().unwrap());
    assert_eq!(refused.code, 2, "{}", refused.err);
    assert!(refused.err.contains("undo it there, or name its folder"), "{}", refused.err);

    let unknown = place.run(&["undo", "s", "--turn", "1"]);
    assert_eq!(unknown.code, 2, "{}", unknown.err);
    assert!(unknown.err.contains("session s has no turn 1"), "{}", unknown.err);
}
