//! State is the user's: sessions lie in the state folder, know their workspace, and a store that
//! came with a folder is not opened.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use common::server::Server;
use common::{Done, Place, done};
use serde_json::json;

/// Runs in another workspace of the same user.
fn in_folder(place: &Place, folder: &Path, words: &[&str]) -> Done {
    done(place.command(words).current_dir(folder).output().unwrap())
}

fn other(place: &Place) -> std::path::PathBuf {
    let folder = place.state().with_file_name("other");
    fs::create_dir_all(&folder).unwrap();
    folder.canonicalize().unwrap()
}

#[test]
fn a_turn_leaves_nothing_in_its_workspace_and_its_state_is_for_the_owner_alone() {
    let place = Place::new();
    let ran = place.run(&["run", "hello", "--session", "s"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let left: Vec<_> = fs::read_dir(place.path()).unwrap().collect();
    assert!(left.is_empty(), "{left:?}");
    let mut folders = vec![place.state()];
    while let Some(folder) = folders.pop() {
        assert_eq!(
            fs::metadata(&folder).unwrap().permissions().mode() & 0o777,
            0o700,
            "{folder:?}"
        );
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => folders.push(path),
                false => {
                    let mode = fs::metadata(&path).unwrap().permissions().mode();
                    assert_eq!(mode & 0o777, 0o600, "{path:?}");
                }
            }
        }
    }
}

#[test]
fn the_state_folder_is_found_by_variable_then_by_xdg_then_at_home() {
    let place = Place::new();
    let at = |set: &[(&str, &Path)]| {
        let mut command = place.command(&["run", "hello"]);
        command.env_remove("WINDLASS_HOME").envs(set.iter().copied());
        done(command.output().unwrap())
    };
    let (home, state) = (place.file("me"), place.file("xdg"));
    assert_eq!(at(&[("HOME", &home)]).code, 0);
    assert!(home.join(".local/state/windlass/store/lanes").is_dir());
    assert_eq!(at(&[("HOME", &home), ("XDG_STATE_HOME", &state)]).code, 0);
    assert!(state.join("windlass/store/lanes").is_dir());
    let own = place.file("own");
    assert_eq!(at(&[("WINDLASS_HOME", &own), ("XDG_STATE_HOME", &state)]).code, 0);
    assert!(own.join("store/lanes").is_dir());
    let relative = at(&[("WINDLASS_HOME", Path::new("here"))]);
    assert_eq!(relative.code, 2, "{}", relative.err);
    assert!(relative.err.contains("not an absolute path"), "{}", relative.err);
    let mut homeless = place.command(&["run", "hello"]);
    homeless.env_remove("WINDLASS_HOME").env_remove("HOME");
    let homeless = done(homeless.output().unwrap());
    assert_eq!(homeless.code, 2, "{}", homeless.err);
    assert!(homeless.err.contains("WINDLASS_HOME"), "{}", homeless.err);
}

#[test]
fn sessions_of_this_workspace_are_listed_and_all_on_request() {
    let place = Place::new();
    let other = other(&place);
    assert_eq!(place.run(&["run", "hello", "--session", "mine"]).code, 0);
    assert_eq!(in_folder(&place, &other, &["run", "hello", "--session", "theirs"]).code, 0);
    let here = place.run(&["sessions"]);
    assert!(here.out.contains("mine") && !here.out.contains("theirs"), "{}", here.out);
    assert!(here.err.contains("1 session of another workspace"), "{}", here.err);
    let there = place.run(&["sessions", "--workspace", other.to_str().unwrap()]);
    assert!(there.out.contains("theirs") && !there.out.contains("mine"), "{}", there.out);
    let all = place.run(&["sessions", "--all"]);
    assert!(all.out.contains("mine") && all.out.contains("theirs"), "{}", all.out);
    assert!(all.out.contains(&format!("in {}", other.display())), "{}", all.out);
    let json = common::lines(&place.run(&["sessions", "--all", "--json"]).out);
    assert!(json.iter().any(|one| one["workspace"] == json!(other)), "{json:?}");
}

#[test]
fn a_session_of_another_workspace_is_said_to_be_one() {
    let place = Place::new();
    let other = other(&place);
    assert_eq!(in_folder(&place, &other, &["run", "hello", "--session", "s"]).code, 0);
    let refused = place.run(&["run", "hello", "--session", "s"]);
    assert_eq!(refused.code, 2, "{}", refused.err);
    let there = other.to_str().unwrap();
    assert!(refused.err.contains(&format!("belongs to the workspace {there}")), "{}", refused.err);
    assert!(refused.err.contains(&format!("--workspace {there}")), "{}", refused.err);
    let there = place.run(&["run", "go on", "--session", "s", "--workspace", there]);
    assert_eq!(there.code, 0, "{}", there.err);
    let here = place.run(&["resume", "s", "go on"]);
    assert_eq!(here.code, 0, "{}", here.err);
    let said = format!("it was opened in {}; its tools now work in", other.display());
    assert!(here.err.contains(&said), "{}", here.err);
}

#[test]
fn a_store_that_came_with_a_folder_is_named_and_not_opened() {
    let planted = Place::new();
    let ran = planted.run(&["run", "hello", "--session", "s", "--store", "file:.windlass"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let found = planted.path().canonicalize().unwrap().join(".windlass");
    for words in [&["sessions"][..], &["run", "hello", "--json"], &["doctor"]] {
        let done = planted.run(words);
        assert_eq!(done.code, 0, "{words:?}: {}", done.err);
        let told = done.err.lines().filter(|line| line.contains(".windlass"));
        let told: Vec<&str> = told.collect();
        assert_eq!(told.len(), 1, "{words:?}: {}", done.err);
        assert!(told[0].contains(&format!("--store file:{}", found.display())), "{told:?}");
        assert!(!done.out.contains("\"s\""), "{words:?}");
    }
    let resumed = planted.run(&["resume", "s"]);
    assert_eq!(resumed.code, 2, "{}", resumed.err);
    // The line that is told works.
    let line = planted.run(&["sessions"]).err;
    let words = line.split("windlass copy ").nth(1).unwrap().lines().next().unwrap();
    let words: Vec<&str> = ["copy"].into_iter().chain(words.split(' ')).collect();
    assert_eq!(planted.run(&words).code, 0);
    let listed = planted.run(&["sessions"]);
    assert!(listed.out.contains("s  "), "{}", listed.out);
}

#[test]
fn a_linked_store_in_a_workspace_is_not_opened_either() {
    let place = Place::new();
    let theirs = Place::new();
    assert_eq!(theirs.run(&["run", "hello", "--session", "s"]).code, 0);
    symlink(theirs.stored(""), place.file(".windlass")).unwrap();
    let listed = place.run(&["sessions"]);
    assert_eq!(listed.out, "");
    assert!(listed.err.contains("is not opened"), "{}", listed.err);
}

#[test]
fn a_server_serves_the_sessions_of_its_workspace() {
    let place = Place::new();
    let other = other(&place);
    assert_eq!(place.run(&["run", "hello", "--session", "mine"]).code, 0);
    assert_eq!(in_folder(&place, &other, &["run", "hello", "--session", "theirs"]).code, 0);
    let server = Server::start(&place, &[]);
    let (status, sessions) = server.get(server.token(), "/v1/sessions", "");
    let ids: Vec<&str> = sessions["sessions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["id"].as_str().unwrap())
        .collect();
    assert_eq!((status, ids), (200, vec!["mine"]));
    assert_eq!(server.get(server.token(), "/v1/sessions/mine", "").0, 200);
    for path in ["/v1/sessions/theirs", "/v1/sessions/theirs/history"] {
        assert_eq!(server.get(server.token(), path, "").0, 404, "{path}");
    }
    let body = json!({"text": "go on"});
    let (status, sent) = server.post(server.token(), "/v1/sessions/theirs/turns", &body);
    assert_eq!(status, 404, "{sent}");
}

#[test]
fn a_session_is_named_by_the_beginning_of_its_id_or_as_the_last_one() {
    let place = Place::new();
    let run = |words: &[&str]| {
        let done = place.run(words);
        assert_eq!(done.code, 0, "{words:?}: {}", done.err);
        done
    };
    for name in ["alpha-one", "alpha-two"] {
        run(&["run", &format!("hello {name}"), "--session", name]);
    }
    run(&["run", "generated"]);
    assert!(run(&["show", "alpha-o"]).out.contains("hello alpha-one"));
    assert_eq!(run(&["log", "alpha-t"]).out, run(&["log", "alpha-two"]).out);
    for (name, words) in [("alpha", "type more of it"), ("alp", "no session alp")] {
        for command in [&["show", name][..], &["resume", name, "x"], &["fork", name, "--at", "1"]] {
            let refused = place.run(command);
            assert_eq!(refused.code, 2, "{command:?}: {}", refused.err);
            assert!(refused.err.contains(words), "{command:?}: {}", refused.err);
        }
    }
    let several = place.run(&["undo", "alpha"]).err;
    for line in ["alpha-one  20", "Z  hello alpha-one", "alpha-two  20", "Z  hello alpha-two"] {
        assert!(several.contains(line), "{several}");
    }
    // An id that exists wins, and a new one is created whatever it begins.
    run(&["run", "short", "--session", "alpha"]);
    assert!(!run(&["show", "alpha"]).out.contains("hello"));

    // The last one is that which changed last.
    run(&["resume", "alpha-one", "again"]);
    run(&["run", "-c", "by run"]);
    run(&["resume", "--last", "by resume"]);
    run(&["resume", "last", "by name"]);
    let shown = run(&["show", "alpha-one"]).out;
    let inputs = ["again", "by run", "by resume", "by name"];
    assert!(inputs.iter().all(|input| shown.contains(input)), "{shown}");
    assert_eq!(run(&["show", "last"]).out, shown);
    assert_eq!(place.run(&["resume", "--last", "alpha-one", "x"]).code, 2);
    let elsewhere = Place::new();
    let mut command = elsewhere.command(&["run", "--continue", "x"]);
    let none = done(command.env("WINDLASS_HOME", place.state()).output().unwrap());
    assert_eq!(none.code, 2, "{}", none.err);
    assert!(none.err.contains("there is no session of"), "{}", none.err);

    let ids: Vec<String> = common::lines(&run(&["sessions", "--json"]).out)
        .iter()
        .map(|session| session["session"].as_str().unwrap().to_owned())
        .collect();
    let listed = run(&["sessions"]).out;
    for (id, line) in ids.iter().zip(listed.lines()) {
        let short = line.split_whitespace().next().unwrap();
        assert!(id.starts_with(short) && short.len() < 26, "{line}");
        assert_eq!(run(&["log", short]).out, run(&["log", id]).out);
    }
}
