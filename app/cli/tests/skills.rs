//! Skills: what a project and the user bring, when the model gets it, and how long it stays.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::fs;

use common::server::Server;
use common::{Place, count, lines};
use serde_json::{Value, json};
use windlass_testkit::Answer;
use windlass_testkit::http::{ModelServer, Reply, Request, Script};

const BODY: &str = "Run pdftotext on the file first.";

fn skill(name: &str, body: &str) -> String {
    format!("---\nname: {name}\ndescription: Works with {name}.\n---\n{body}\n")
}

/// A project with a skill, and one of the user.
fn project() -> Place {
    let place = Place::new();
    write(&place, ".git/HEAD", "ref: refs/heads/main\n");
    write(&place, ".agents/skills/pdf/SKILL.md", &skill("pdf", BODY));
    write(&place, ".agents/skills/pdf/references/forms.md", "Forms are special.");
    write(&place, "home/.config/windlass/skills/notes/SKILL.md", &skill("notes", "Keep notes."));
    place
}

fn write(place: &Place, path: &str, text: &str) {
    let path = place.file(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn held(request: &Request, words: &str) -> usize {
    String::from_utf8(request.body.clone()).unwrap().matches(words).count()
}

#[test]
fn a_project_has_skills_once_they_are_trusted_and_a_model_reads_them_step_by_step() {
    let place = project();
    let activate =
        |arguments: Value| Reply::answer(Answer::new().call("activate_skill", arguments));
    let model = ModelServer::start(Script::list([
        Reply::say("nothing"),
        activate(json!({"name": "pdf"})),
        activate(json!({"name": "pdf", "file": "references/forms.md"})),
        Reply::say("done"),
    ]))
    .unwrap();
    let url = model.base_url();
    let run = |more: &[&str]| {
        let words = ["--provider", "openai-chat", "--model", "m", "--base-url", &url];
        let done = place.run(&[more, &words].concat());
        assert_eq!(done.code, 0, "{}", done.err);
        done
    };
    let untrusted = run(&["run", "hi"]);
    assert!(untrusted.err.contains("not used: .agents/skills/pdf/SKILL.md"), "{}", untrusted.err);
    let request = model.samples().pop().unwrap();
    assert_eq!((held(&request, "Works with pdf."), held(&request, "Works with notes.")), (0, 1));

    assert_eq!(place.run(&["trust"]).code, 0);
    let trusted = run(&["run", "hi", "--session", "s"]);
    assert!(!trusted.err.contains("SKILL.md"), "{}", trusted.err);
    let samples = model.samples();
    let seen = |at: usize, words: &str| held(&samples[at], words);
    // The catalogue, then the instructions, then one of the files.
    assert_eq!((seen(1, "Works with pdf."), seen(1, BODY)), (1, 0));
    assert_eq!((seen(2, BODY), seen(2, "Forms are special.")), (1, 0));
    assert_eq!((seen(3, "- references/forms.md"), seen(3, "Forms are special.")), (1, 1));
}

#[test]
fn a_skill_that_the_user_names_is_there_at_once_and_after_a_compaction() {
    let place = project();
    assert_eq!(place.run(&["trust"]).code, 0);
    let model = ModelServer::start(Script::respond(|_| Reply::say("done"))).unwrap();
    let url = model.base_url();
    let provider = ["--provider", "openai-chat", "--model", "m", "--base-url", &url];
    let words = ["run", "Read a.pdf as $pdf says.", "--session", "s", "--compaction", "slide"];
    let done = place.run(&[&words[..], &provider].concat());
    assert_eq!(done.code, 0, "{}", done.err);
    assert_eq!(held(&model.samples().pop().unwrap(), BODY), 1);
    for at in 0..4 {
        assert_eq!(
            place.run(&["resume", "s", &format!("more {at} {}", "x".repeat(3_000))]).code,
            0
        );
    }
    let compacted = place.run(&["compact", "s"]);
    assert_eq!(compacted.code, 0, "{}", compacted.err);
    assert_eq!(count(&place.log("s"), "Compacted"), 1);
    assert_eq!(place.run(&["resume", "s", "go on, still with $pdf"]).code, 0);
    let last = model.samples().pop().unwrap();
    assert!(held(&last, &"x".repeat(3_000)) < 4, "some of the inputs were dropped");
    assert_eq!(held(&last, BODY), 1, "the skill was kept, and is not repeated");
}

#[test]
fn the_list_says_of_each_skill_whether_it_is_used_and_why_not() {
    let place = project();
    let list = || -> Vec<(String, String)> {
        let done = place.run(&["skills", "--json"]);
        assert_eq!(done.code, 0, "{}", done.err);
        let word = |row: &Value, name: &str| row[name].as_str().unwrap().to_owned();
        lines(&done.out).iter().map(|row| (word(row, "state"), word(row, "name"))).collect()
    };
    let row = |state: &str, name: &str| (state.to_owned(), name.to_owned());
    assert_eq!(list(), [row("used", "notes"), row("untrusted", "pdf")]);
    assert_eq!(place.run(&["trust"]).code, 0);
    write(&place, "home/.agents/skills/pdf/SKILL.md", &skill("pdf", "Another."));
    write(&place, "home/.claude/skills/broken/SKILL.md", "---\nname: broken\n---\n");
    write(&place, "home/.config/windlass/skills.toml", "disabled = [\"notes\"]\n");
    let expected = [
        row("used", "pdf"),
        row("disabled", "notes"),
        row("hidden", "pdf"),
        row("invalid", "broken"),
    ];
    assert_eq!(list(), expected);
    let text = place.run(&["skills"]).out;
    assert!(text.contains("it has no description"), "{text}");
    write(&place, "home/.config/windlass/skills.toml", "disable = 1\n");
    let wrong = place.run(&["skills"]);
    assert_eq!(wrong.code, 2, "{}", wrong.err);
    assert!(wrong.err.contains("it may have: disabled"), "{}", wrong.err);
}

#[test]
fn a_project_of_broken_skills_does_not_flood_the_terminal() {
    let place = project();
    for at in 0..60 {
        write(&place, &format!(".claude/skills/s{at}/SKILL.md"), &"x".repeat(70_000));
    }
    let done = place.run(&["run", "hi"]);
    assert_eq!(done.code, 0, "{}", done.err);
    assert_eq!(done.err.matches("is left out").count(), 20, "{}", done.err);
    assert!(done.err.contains("40 more remarks on skills: windlass skills"), "{}", done.err);
}

#[test]
fn a_check_names_each_fault() {
    let place = project();
    write(&place, "Bad/SKILL.md", "---\nname: other\nversion: 1\n---\n");
    let good = place.run(&["skills", "check", ".agents/skills/pdf"]);
    assert_eq!((good.code, good.out.lines().count()), (0, 1), "{}", good.out);
    let bad = place.run(&["skills", "check", ".agents/skills/pdf", "Bad/SKILL.md"]);
    assert_eq!((bad.code, bad.out.lines().count()), (1, 4), "{}", bad.out);
    assert_eq!(place.run(&["skills", "check", "none"]).code, 2);
}

#[test]
fn a_server_lists_the_skills_of_its_workspace() {
    let place = project();
    assert_eq!(place.run(&["trust"]).code, 0);
    let server = Server::start(&place, &["--token-file", "token"]);
    let session = server.session();
    server.send(&session, "hi");
    let end = std::time::Instant::now() + std::time::Duration::from_secs(60);
    while count(&place.log(&session), "TurnSettled") == 0 {
        assert!(std::time::Instant::now() < end, "the turn does not end");
    }
    server.stop("TERM");
    let log = serde_json::to_string(&place.log(&session)).unwrap();
    assert!(log.contains("Works with pdf.") && log.contains("activate_skill"), "{log}");
}
