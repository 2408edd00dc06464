//! A coding task over real files, in two API families, and its files taken back by `windlass undo`.

#![expect(clippy::unwrap_used, reason = "it is all test code, also what its tests share")]

mod common;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::time::{Duration, Instant};

use common::server::Server;
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

/// Sends two more prompts: the requests of both say once what was undone.
fn told_once(place: &Place, family: Family) {
    let server = ModelServer::start(Script::respond(|_| Reply::say("Well."))).unwrap();
    let base_url = server.base_url();
    for prompt in ["And now?", "And then?"] {
        let at = ["run", prompt, "--session", "s", "--base-url", &base_url];
        let mut command = place.command(&[&at[..], &family.flags()].concat());
        command.env("ANTHROPIC_API_KEY", "k");
        ok(place.without_terminal_as(&command));
        let requests = server.samples();
        let last = requests.last().unwrap().json.clone().unwrap().to_string();
        let told = r"before that turn:\na.txt\nb.txt\nc.txt\nmade/d.txt\n</context>";
        assert_eq!(last.matches(told).count(), 1, "{family:?}: {last}");
    }
}

/// Runs one turn of the session `s`, in which the model makes these calls at once.
fn turn(place: &Place, calls: Vec<(&'static str, Value)>) {
    let respond = move |request: &windlass_testkit::http::Request| {
        let body = request.json.clone().unwrap().to_string();
        let made = body.contains("_call_output");
        let answer = calls
            .iter()
            .filter(|_| !made)
            .fold(Answer::new(), |answer, (name, call)| answer.call(*name, call.clone()));
        Reply::answer(if made { answer.text("Done.") } else { answer })
    };
    let server = ModelServer::start(Script::respond(respond)).unwrap();
    let base_url = server.base_url();
    let at = ["run", "Do it.", "--session", "s", "--base-url", &base_url];
    let free = ["--sandbox", "off", "--permissions", "auto", "--window", "9000000"];
    let command = place.command(&[&at[..], &Family::OpenAi.flags(), &free].concat());
    ok(place.without_terminal_as(&command));
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
        let whole = ok(place.run(&["diff", "s"]));
        assert_eq!(whole.out, "", "what was undone is no change of the session");
        assert!(ok(place.run(&["show", "s"])).out.contains("4 files were restored"));
        told_once(&place, family);
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

    for (turn, why) in [
        ("2", "session s has no turn 2: it has 1"),
        ("0", "session s has no turn 0"),
        ("@1", "session s has no turn @1"),
        ("one", "use the number of a turn"),
    ] {
        for command in ["undo", "diff"] {
            let unknown = place.run(&[command, "s", "--turn", turn]);
            assert_eq!(unknown.code, 2, "{}", unknown.err);
            assert!(unknown.err.contains(why), "{}", unknown.err);
        }
    }
}

#[test]
fn the_first_turn_is_turn_1_wherever_it_is_named() {
    let place = Place::new();
    for path in ["one.txt", "two.txt"] {
        turn(&place, vec![("write_file", json!({ "path": path, "content": path }))]);
    }
    let shown = ok(place.run(&["show", "s"])).out;
    assert!(shown.contains("turn 1: completed") && shown.contains("turn 2: completed"), "{shown}");
    let cycles = ok(place.run(&["show", "s", "--turns"])).out;
    assert!(cycles.starts_with("turn 1, cycle 1: "), "{cycles}");
    let diff = ok(place.run(&["diff", "s", "--turn", "1"])).out;
    assert!(diff.contains("one.txt"), "{diff}");
    // The second turn has seen that the call was made, so it makes none.
    assert_eq!(ok(place.run(&["diff", "s", "--turn", "2"])).out, "");
    // Its id is where JSON has it, and names it too.
    let json = common::lines(&ok(place.run(&["show", "s", "--turns", "--json"])).out);
    let id = format!("@{}", json[0]["turn"]);
    assert!(ok(place.run(&["diff", "s", "--turn", &id])).out.contains("one.txt"));
    let undone = ok(place.run(&["undo", "s", "--turn", "1"]));
    assert!(undone.err.contains("1 of 1 files of turn 1 were restored"), "{}", undone.err);
    let shown = ok(place.run(&["show", "s"])).out;
    assert!(shown.contains("1 files were restored as before turn 1: one.txt"), "{shown}");
}

#[test]
fn a_server_shows_a_turn_and_takes_it_back() {
    let place = Place::new();
    write_files(&place);
    let respond = |request: &windlass_testkit::http::Request| {
        let body = request.json.clone().unwrap().to_string();
        Reply::answer(match body.contains("_call_output") {
            true => Answer::new().text("Done."),
            false => Family::OpenAi.edit(&[("a.txt", "old", "new"), ("b.txt", "old", "new")]),
        })
    };
    let model = ModelServer::start(Script::respond(respond)).unwrap();
    let base_url = model.base_url();
    let at = ["--base-url", &base_url, "--sandbox", "off", "--permissions", "auto"];
    let server = Server::start(&place, &[&at[..], &Family::OpenAi.flags()].concat());
    let get = |path: &str| server.get(server.token(), path, "");
    let id = server.session();
    let run = |text: &str| {
        let (path, body) = (format!("/v1/sessions/{id}/turns"), json!({ "text": text }));
        let (_, sent) = server.post(server.token(), &path, &body);
        let path = format!("{path}/{}", sent["turn"]);
        let (_, turn) = server.get(server.token(), &path, "Prefer: wait=60\r\n");
        assert_eq!(turn["outcome"]["outcome"], "completed", "{turn}");
        path
    };
    let turn = run("Replace old by new.");
    let (status, diff) = get(&format!("{turn}/diff"));
    assert_eq!(status, 200, "{diff}");
    let change = "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-old\n+new\n";
    let first = json!({"path": "a.txt", "diff": change, "reason": null});
    assert_eq!((&diff["files"][0], &diff["files"][2]), (&first, &Value::Null));
    let whole = format!("/v1/sessions/{id}/diff");
    assert_eq!(get(&whole), (200, diff));

    fs::write(place.file("b.txt"), "mine\n").unwrap();
    let undo = || server.post(server.token(), &format!("{turn}/undo"), &Value::Null);
    let files = |first: &str| {
        json!([
            {"path": "a.txt", "result": first, "reason": null},
            {"path": "b.txt", "result": "left", "reason": "`b.txt` was changed since"},
        ])
    };
    let (status, undone) = undo();
    assert_eq!((status, &undone["files"]), (200, &files("restored")), "{undone}");
    assert_eq!(texts(&place), ["old\n", "mine\n", "old\n"]);
    assert_eq!(undo().1["files"], files("unchanged"));
    assert_eq!(get(&whole).1["files"][0]["path"], "b.txt", "a.txt is as it was");
    run("And now?");
    let requests = model.samples();
    let last = requests.last().unwrap().json.clone().unwrap().to_string();
    assert_eq!(last.matches(r"before that turn:\na.txt\n</context>").count(), 1, "{last}");
}

const FILES: usize = 80;

#[test]
fn an_undo_that_is_killed_between_two_files_is_finished_by_the_next_one() {
    let place = Place::new();
    let path = |nth: usize| format!("f{nth:02}.txt");
    let mut patch = String::from("*** Begin Patch\n");
    for nth in 0..FILES {
        fs::write(place.file(&path(nth)), "old\n").unwrap();
        patch.push_str(&format!("*** Update File: {}\n@@\n-old\n+new\n", path(nth)));
    }
    for (name, mode) in [("gone.sh", 0o750), (&path(0), 0o755)] {
        fs::write(place.file(name), "old\n").unwrap();
        fs::set_permissions(place.file(name), fs::Permissions::from_mode(mode)).unwrap();
    }
    patch.push_str("*** Delete File: gone.sh\n*** End Patch\n");
    turn(&place, vec![("apply_patch", json!({ "patch": patch }))]);
    let restored = || (0..FILES).filter(|nth| content(&place, &path(*nth)) == "old\n").count();
    assert_eq!(restored(), 0);

    let mut undo = place.command(&["undo", "s"]).spawn().unwrap();
    let begun = Instant::now();
    while restored() == 0 {
        assert!(begun.elapsed() < Duration::from_secs(30), "it does nothing");
    }
    undo.kill().unwrap();
    undo.wait().unwrap();
    let before = restored();
    assert!(0 < before && before < FILES, "killed between two files: {before}");
    assert_eq!(common::count(&place.log("s"), "FilesRestored"), 0);

    let undone = ok(place.run(&["undo", "s"]));
    assert_eq!(undone.out.matches("already so ").count(), before, "{}", undone.out);
    assert_eq!(restored(), FILES);
    let mode = |name: &str| fs::metadata(place.file(name)).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode("gone.sh"), mode(&path(0))), (0o750, 0o755));
    let log = place.log("s");
    let told = log.iter().find(|fact| fact["kind"] == "FilesRestored").unwrap();
    let paths = told["body"]["paths"].as_array().unwrap();
    assert_eq!(paths.len(), FILES + 1, "the model is told of what the first one restored, too");
    ok(place.run(&["undo", "s"]));
    assert_eq!(place.log("s").len(), log.len(), "and once");
    let left = fs::read_dir(place.path()).unwrap();
    let left = left.filter(|entry| entry.as_ref().unwrap().path().is_file()).count();
    assert!(left <= FILES + 2, "one temporary file of the killed process at most: {left}");
    ok(place.run(&["replay", "s", "--verify"]));
}

fn content(place: &Place, name: &str) -> String {
    fs::read_to_string(place.file(name)).unwrap()
}

#[test]
fn what_is_too_long_to_be_kept_or_shown_is_named() {
    let place = Place::new();
    let long = 17 << 20;
    fs::File::create(place.file("long.txt")).unwrap().set_len(long).unwrap();
    let write =
        |path: &str, content: &str| ("write_file", json!({ "path": path, "content": content }));
    let half = "a line\n".repeat(67_000);
    turn(&place, vec![write("long.txt", "x"), write("one.txt", &half), write("two.txt", &half)]);
    let diff = ok(place.run(&["diff", "s"]));
    let missing = format!("long.txt differs, and is not shown: its {long} bytes were not stored");
    assert!(diff.out.contains(&missing), "{}", diff.err);
    assert!(diff.out.contains("+++ b/one.txt") && !diff.out.contains("two.txt"));
    assert!(diff.err.contains("1 of 3 files left out"), "{}", diff.err);
    assert!(diff.err.contains("bytes: two.txt"), "{}", diff.err);

    let undone = place.run(&["undo", "s"]);
    assert_eq!(undone.code, 1, "{}", undone.err);
    let left = format!("left long.txt: its {long} bytes were not stored\n");
    assert!(undone.out.contains(&left), "{}", undone.out);
    assert_eq!(content(&place, "long.txt"), "x");
    assert!(!place.file("one.txt").exists() && !place.file("two.txt").exists());
}
