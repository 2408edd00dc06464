//! State is the user's: sessions lie in the state folder, know their workspace, and a store that
//! came with a folder is not opened.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::process::Stdio;

use common::server::Server;
use common::terminal::TerminalProcess;
use common::{Done, Place, done};
use serde_json::json;
use windlass_testkit::http::{ModelServer, Reply, Script};

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

/// Writes the configuration of a user, for its owner alone.
fn configure(place: &Place, text: &str) -> std::path::PathBuf {
    let folder = place.file("home/.config/windlass");
    fs::create_dir_all(&folder).unwrap();
    let path = folder.join("config.toml");
    fs::write(&path, text).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    path
}

#[test]
fn a_configuration_has_the_defaults_of_new_sessions_and_flags_change_them() {
    let place = Place::new();
    configure(
        &place,
        "max_samples = 7\nmodel = \"demo-script\"\ndeny = [\"web_fetch\", \"shel\"]\n\n[profiles.long]\nmax_samples = 9\n",
    );
    let samples = |session: &str| {
        let log = place.log(session);
        log[0]["body"]["settings"]["limits"]["samples"].clone()
    };
    for (session, flags, expected) in [
        ("a", &[][..], 7),
        ("b", &["--profile", "long"], 9),
        ("c", &["--profile", "long", "--max-samples", "11"], 11),
    ] {
        let ran = place.run(&[&["run", "hello", "--session", session], flags].concat());
        assert_eq!(ran.code, 0, "{}", ran.err);
        assert_eq!(samples(session), expected, "{session}");
    }
    let rules = place.log("a")[0]["body"]["settings"]["rules"].clone();
    assert_eq!(rules[0]["tool"], "web_fetch", "{rules}");
    let warned = place.run(&["run", "hello"]);
    assert!(warned.err.contains("names shel, which is no tool; is it shell?"), "{}", warned.err);
    // A session keeps its settings.
    configure(&place, "max_samples = 2\nmode = \"plan\"\n");
    let on = place.run(&["resume", "a", "hello"]);
    assert_eq!(on.code, 0, "{}", on.err);
    let log = place.log("a");
    assert_eq!(common::count(&log, "SettingsChanged"), 0, "{log:?}");
    // A rule that narrows is of all sessions, and one that allows of new ones.
    configure(
        &place,
        "deny = [\"shell(command=rm *)\"]\nallow = [\"shell\"]\npermissions = \"ask\"\n",
    );
    let on = place.run(&["resume", "a", "hello"]);
    assert_eq!(on.code, 0, "{}", on.err);
    let shown = place.run(&["show", "a"]).out;
    assert!(shown.contains("what this process permits: permissions ask, 1 more rule"), "{shown}");
}

#[test]
fn the_settings_in_force_are_printed_with_their_sources_and_without_secrets() {
    let place = Place::new();
    let text = "\nmodel = \"m-1\"\nstore = \"postgres://me:s3cret@host/db\"\n\n[profiles.fast]\n\
                deadline = \"5m\"\n\n[terminal]\ntheme = \"dark\"\n";
    let path = configure(&place, text);
    let show = |more: &[&str]| {
        let mut command = place.command(&[&["config"], more].concat());
        command.env("OPENAI_API_KEY", "sk-s3cret").env("WINDLASS_PROFILE", "fast");
        done(command.output().unwrap())
    };
    let shown = show(&["--mode", "plan"]);
    assert_eq!(shown.code, 0, "{}", shown.err);
    for (line, from) in [
        ("model = \"m-1\"", "# config.toml:2"),
        ("deadline = \"5m\"", "# profile fast, config.toml:6"),
        ("mode = \"plan\"", "# --mode"),
        ("# compaction: summary", "# default"),
        ("theme = \"dark\"", ""),
        ("# OPENAI_API_KEY is set", ""),
        ("# ANTHROPIC_API_KEY is not set", ""),
    ] {
        let fits = |shown: &str| shown.starts_with(line) && shown.ends_with(from);
        assert!(shown.out.lines().any(fits), "{line} {from}: {}", shown.out);
    }
    let json = show(&["--json"]);
    assert!(!shown.out.contains("s3cret") && !json.out.contains("s3cret"), "{}", json.out);
    let json: serde_json::Value = serde_json::from_str(&json.out).unwrap();
    let model = json["keys"].as_array().unwrap().iter().find(|key| key["key"] == "model").unwrap();
    assert_eq!((&model["values"][0], &model["from"]), (&json!("m-1"), &json!("config.toml:2")));
    assert_eq!(place.run(&["config", "path"]).out.trim(), path.to_str().unwrap());
    let checked = place.run(&["config", "check"]);
    assert_eq!(checked.code, 0, "{}", checked.err);
}

#[test]
fn an_invalid_configuration_stops_turns_but_not_what_repairs_it() {
    let place = Place::new();
    let path = configure(&place, "\nmodle = \"m\"\n");
    let words = format!("{}:2:1: unknown key `modle`; did you mean `model`?", path.display());
    for turn in [&["run", "hello"][..], &["sessions"], &["resume", "s"]] {
        let ran = place.run(turn);
        assert!(ran.code == 2 && ran.err.contains(&words), "{turn:?}: {}", ran.err);
    }
    let ran = place.run(&["run", "hello", "--json"]);
    assert_eq!(common::lines(&ran.out).pop().unwrap()["kind"], "TurnSettled");
    for (command, code) in
        [(&["config"][..], 2), (&["config", "check"], 2), (&["doctor", "--provider", "demo"], 2)]
    {
        let ran = place.run(command);
        assert!(ran.code == code && ran.err.contains(&words), "{command:?}: {}", ran.err);
    }
    let doctor = place.run(&["doctor", "--provider", "demo"]);
    assert!(doctor.out.contains("provider   demo"), "{}", doctor.out);
    for fine in [&["config", "path"][..], &["run", "--help"]] {
        assert_eq!(place.run(fine).code, 0, "{fine:?}");
    }
    fs::write(&path, "model = \"demo-script\"\n").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o666)).unwrap();
    let ran = place.run(&["run", "hello"]);
    assert!(ran.code == 2 && ran.err.contains("other users may write it"), "{}", ran.err);
    let unknown = place.run(&["run", "hello", "--profile", "x"]);
    assert_eq!(unknown.code, 2, "{}", unknown.err);
}

#[test]
fn the_store_of_the_configuration_is_the_one_of_all_commands_and_none_of_a_folder_counts() {
    let place = Place::new();
    let store = format!("file:{}", place.file("own").display());
    configure(&place, &format!("store = \"{store}\"\n"));
    // A configuration that came with the workspace is not read.
    let inside = place.file(".windlass");
    fs::create_dir_all(&inside).unwrap();
    fs::write(inside.join("config.toml"), "permissions = \"auto\"\nnonsense = 1\n").unwrap();
    let ran = place.run(&["run", "hello", "--session", "s"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(place.file("own").is_dir() && !place.stored("").exists());
    assert_eq!(place.log("s")[0]["kind"], "SessionOpened");
}

#[test]
fn a_first_configuration_is_written_for_its_owner_and_never_over_another() {
    let place = Place::new();
    let path = place.file("home/.config/windlass/config.toml");
    let unnamed = place.without_terminal(&["init"]);
    assert!(unnamed.code == 2 && unnamed.err.contains("--provider"), "{}", unnamed.err);
    let unknown = place.run(&["init", "--provider", "nobody"]);
    assert!(unknown.code == 2 && unknown.err.contains("there are: openai"), "{}", unknown.err);
    assert!(!path.exists());
    let made = place.run(&["init", "--provider", "demo", "--model", "demo-script"]);
    assert_eq!(made.code, 0, "{}", made.err);
    assert!(made.err.contains("demo is reached"), "{}", made.err);
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.ends_with("\nprovider = \"demo\"\nmodel = \"demo-script\"\n"), "{text}");
    assert_eq!(place.run(&["config", "check"]).code, 0);
    let again = place.run(&["init", "--provider", "openai"]);
    assert!(again.code == 2 && again.err.contains("--force"), "{}", again.err);
    assert_eq!(fs::read_to_string(&path).unwrap(), text);
    let keyless = place.run(&["init", "--provider", "anthropic", "--force"]);
    assert_eq!(keyless.code, 0, "{}", keyless.err);
    assert!(keyless.err.contains("ANTHROPIC_API_KEY is not set"), "{}", keyless.err);
    assert!(fs::read_to_string(&path).unwrap().ends_with("\nprovider = \"anthropic\"\n"));
}

#[test]
fn a_first_configuration_is_asked_for_at_a_terminal() {
    let place = Place::new();
    let mut asked = TerminalProcess::run(&place, &["init"]);
    asked.until("Provider [demo]: ");
    asked.line("");
    asked.until("Base URL [the provider's own]: ");
    asked.line("");
    asked.until("Model [demo-script]: ");
    asked.line("mine");
    let ended = asked.end();
    assert_eq!(ended.code, 0, "{}", ended.err);
    let text = fs::read_to_string(place.file("home/.config/windlass/config.toml")).unwrap();
    assert!(text.ends_with("\nprovider = \"demo\"\nmodel = \"mine\"\n"), "{text}");
}

#[test]
fn a_price_of_the_built_in_list_has_its_date_and_a_named_one_precedes_it() {
    let place = Place::new();
    let shown = |more: &[&str]| {
        let words = ["config", "--provider", "anthropic", "--model", "claude-sonnet-4-5"];
        place.run(&[&words, more].concat()).out
    };
    let price = |shown: &str| {
        let line = shown.lines().find(|line| line.starts_with("# price: ")).map(str::to_owned);
        line.map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
    };
    let listed = price(&shown(&[])).unwrap();
    assert!(listed.starts_with("# price: 3,0.3,15 # list of 20"), "{listed}");
    assert_eq!(price(&shown(&["--base-url", "http://gateway/v1"])), None);
    assert_eq!(price(&shown(&["--price", "1,0.5,2"])), None);
    configure(&place, "[models.claude-sonnet-4-5]\nprice = [2, 1, 4]\n");
    let own = shown(&[]);
    assert!(own.contains("price = \"2,1,4\"") && price(&own).is_none(), "{own}");
}

/// A program in place of the system's, which keeps keys in a file.
const KEYRING: &str = "#!/bin/sh\nfor last; do :; done\ncase $1 in\nstore) cat > \"$HOME/key-$last\" ;;\n\
                       lookup) cat \"$HOME/key-$last\" ;;\nesac\n";

#[test]
fn a_key_of_the_keyring_is_used_and_shown_nowhere() {
    let place = Place::new();
    let programs = place.file("bin");
    fs::create_dir_all(&programs).unwrap();
    fs::create_dir_all(place.file("home")).unwrap();
    let server = ModelServer::start(Script::respond(|_| Reply::say("hello"))).unwrap();
    let base_url = server.base_url();
    let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap());
    let init = ["init", "--provider", "openai-chat", "--base-url", &base_url, "--keyring"];
    let without = done(place.command(&init).env("PATH", programs.as_os_str()).output().unwrap());
    assert_eq!(without.code, 4, "{}", without.err);
    for words in ["there is no program secret-tool", "OPENAI_API_KEY", "[keys] of config.toml"] {
        assert!(without.err.contains(words), "{}", without.err);
    }
    assert!(!place.file("home/.config").exists());
    let program = programs.join("secret-tool");
    fs::write(&program, KEYRING).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let mut made = place.command(&init);
    let mut made = made.env("PATH", &path).stdin(Stdio::piped()).spawn().unwrap();
    made.stdin.take().unwrap().write_all(b"sk-s3cret-key\n").unwrap();
    made.wait_with_output().unwrap();
    let text = fs::read_to_string(place.file("home/.config/windlass/config.toml")).unwrap();
    assert!(text.ends_with("\n[keys]\nOPENAI_API_KEY = \"keyring\"\n"), "{text}");
    let run = |words: &[&str]| done(place.command(words).env("PATH", &path).output().unwrap());
    let ran = run(&["run", "hello", "--model", "m", "--session", "s"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let asked = server.requests();
    let last = asked.iter().rfind(|asked| !asked.body.is_empty()).unwrap();
    assert_eq!(last.header("authorization"), Some("Bearer sk-s3cret-key"));
    let shown = run(&["config"]);
    assert!(shown.out.contains("# OPENAI_API_KEY is set"), "{}", shown.out);
    assert!(!format!("{shown:?}{ran:?}{:?}", place.log("s")).contains("s3cret"));
    // A variable precedes it, and a place without a key is reported.
    fs::remove_file(place.file("home/key-OPENAI_API_KEY")).unwrap();
    let gone = run(&["run", "hello", "--model", "m"]);
    assert!(gone.err.contains("secret-tool has no key for OPENAI_API_KEY"), "{}", gone.err);
    let named = ["run", "hello", "--model", "m"];
    let named = place.command(&named).env("OPENAI_API_KEY", "sk-own").output();
    assert!(!done(named.unwrap()).err.contains("cannot read"));
}
