//! Kill the process while a tool runs: its processes end before the session goes on, and no call is
//! run beside what its first run left.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::path::Path;
use std::process::Child;
use std::time::{Duration, Instant};

use common::server::Server;
use common::{Place, count, lines};
use serde_json::{Value, json};
use windlass_testkit::http::{ModelServer, Reply, Script};

/// Says of each earlier process whether it lives; runs for long the first time, with a child in the
/// background, one in a session of its own, and one that knows nothing of its run.
const SCRIPT: &str = "cat > /dev/null
for p in $(cat pids 2> /dev/null); do [ -z \"$(tr -d '\\0' < /proc/$p/cmdline)\" ] || echo $p >> overlaps; done
echo $$ >> pids
[ -e first ] && { echo again; exit 0; }
touch first
sleep 301 & echo $! >> pids
setsid sleep 302 & echo $! >> pids
env -i sleep 303 & echo $! >> pids
env -i setsid sleep 304 & echo $! >> pids
exec 1> /dev/null 2> /dev/null
touch started
wait";

const OFF: [&str; 4] = ["--sandbox", "off", "--permissions", "auto"];
/// Words of the warning.
const ENDED: &str = "ended the processes of a call that outlived";

/// Writes a tools file with the script as the tool `work`.
fn tools(place: &Place, effect: &str) -> String {
    let tools = json!({"tools": [{
        "name": "work", "description": "Works.", "parameters": {"type": "object"},
        "command": ["sh", "-c", SCRIPT], "effect": effect, "concurrency": "exclusive",
    }]});
    let path = place.file("tools.json");
    std::fs::write(&path, tools.to_string()).unwrap();
    path.to_str().unwrap().to_owned()
}

fn wait_for(path: &Path) {
    let end = Instant::now() + Duration::from_secs(60);
    while !path.exists() {
        assert!(Instant::now() < end, "{} is not there", path.display());
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// The processes that the tool named and that live.
fn living(place: &Place) -> Vec<String> {
    let pids = std::fs::read_to_string(place.file("pids")).unwrap_or_default();
    let lives = |pid: &&str| {
        std::fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|line| !line.is_empty())
    };
    pids.lines().filter(lives).map(str::to_owned).collect()
}

/// Waits until the tool runs with all its children, and the log of its session says so: a tool that
/// only reads may run ahead of the log. A process that is just starting its program has no command
/// line.
fn wait_for_all(place: &Place, session: &str) {
    wait_for(&place.file("started"));
    let end = Instant::now() + Duration::from_secs(60);
    while living(place).len() != 5 || count(&place.log(session), "CallStarted") == 0 {
        assert!(Instant::now() < end, "{:?}", living(place));
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Kills a command once its tool runs with all its children.
fn kill(place: &Place, child: &mut Child) {
    wait_for_all(place, "s");
    child.kill().unwrap();
    child.wait().unwrap();
}

/// Files of locks that are there.
fn locks(place: &Place) -> Vec<String> {
    let folders = std::fs::read_dir(place.state().join("runs")).unwrap().flatten();
    let files = folders.flat_map(|folder| std::fs::read_dir(folder.path()).unwrap().flatten());
    files.map(|file| file.file_name().into_string().unwrap()).collect()
}

/// Runs the tool, kills the command, and resumes. Answers the log and what was said.
fn killed(place: &Place, prompt: &str, effect: &str) -> (Vec<Value>, String) {
    let tools = tools(place, effect);
    let more = [&["--tools", &tools][..], &OFF].concat();
    let run = [&["run", prompt, "--session", "s"][..], &more].concat();
    let mut child = place.command(&run).spawn().unwrap();
    kill(place, &mut child);
    let resumed = place.run(&[&["resume", "s"][..], &more].concat());
    assert_eq!(resumed.code, 0, "{}", resumed.err);
    assert_eq!(living(place), Vec::<String>::new());
    assert_eq!(std::fs::read_to_string(place.file("overlaps")).unwrap_or_default(), "");
    assert_eq!(locks(place), Vec::<String>::new());
    assert!(resumed.err.contains(ENDED), "{}", resumed.err);
    (place.log("s"), resumed.err)
}

#[test]
fn a_call_is_not_run_again_beside_its_first_run() {
    let place = Place::new();
    let (log, said) = killed(&place, "repeat 1: work {}", "read_only");
    assert_eq!(count(&log, "CallStarted"), 2, "it ran again");
    assert!(said.contains("session=s") && said.contains("call="), "{said}");
    assert!(said.contains("processes=5"), "{said}");
}

#[test]
fn a_command_of_the_shell_that_nobody_waits_for_is_ended_and_unknown() {
    let place = Place::new();
    let command = SCRIPT.strip_prefix("cat > /dev/null\n").unwrap();
    let prompt = format!("repeat 1: shell {}", json!({"command": command}));
    let (log, _) = killed(&place, &prompt, "read_only");
    let observed = log.iter().find(|fact| fact["kind"] == "CallObserved").unwrap();
    assert_eq!(observed["body"]["observation"]["status"], "unknown");
    assert_eq!(count(&log, "CallStarted"), 1);
}

#[test]
fn the_model_is_asked_once_nothing_of_an_effectful_call_lives() {
    let place = Place::new();
    let pids = place.file("pids");
    let script = Script::respond(move |request| match request.asked().results.is_empty() {
        true => Reply::call("work", json!({})),
        false => {
            let pids = std::fs::read_to_string(&pids).unwrap_or_default();
            let lives = |pid: &str| {
                std::fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|line| !line.is_empty())
            };
            Reply::say(format!("{} live", pids.lines().filter(|pid| lives(pid)).count()))
        }
    });
    let server = ModelServer::start(script).unwrap();
    let tools = tools(&place, "effectful");
    let base_url = server.base_url();
    let provider = ["--provider", "openai-chat", "--base-url", &base_url];
    let more = [&provider[..], &["--tools", &tools], &OFF].concat();
    let run = [&["run", "work", "--session", "s"][..], &more].concat();
    let mut child = place.command(&run).spawn().unwrap();
    kill(&place, &mut child);
    let resumed = place.run(&[&["resume", "s", "--tools", &tools][..], &OFF].concat());
    assert_eq!((resumed.code, resumed.out.trim()), (0, "0 live"), "{}", resumed.err);
}

#[test]
fn a_server_ends_what_the_one_before_it_left_running() {
    let place = Place::new();
    let tools = tools(&place, "read_only");
    let words = [&["--tools", &tools][..], &OFF].concat();
    let server = Server::start(&place, &words);
    let session = server.session();
    server.send(&session, "repeat 1: work {}");
    wait_for_all(&place, &session);
    server.stop("KILL");
    let server = Server::start(&place, &words);
    let end = Instant::now() + Duration::from_secs(60);
    let log = loop {
        let log = lines(&place.run(&["log", &session]).out);
        if count(&log, "TurnSettled") == 1 {
            break log;
        }
        assert!(Instant::now() < end, "the turn does not settle: {log:?}");
        std::thread::sleep(Duration::from_millis(50));
    };
    assert_eq!(count(&log, "CallStarted"), 2);
    assert_eq!(living(&place), Vec::<String>::new());
    assert_eq!(std::fs::read_to_string(place.file("overlaps")).unwrap_or_default(), "");
    assert_eq!(locks(&place), Vec::<String>::new());
    let said = server.stop("TERM").err;
    assert!(said.contains(ENDED), "{said}");
}
