//! Kill the process while a tool runs: its processes end before the session goes on, and no call is
//! run beside what its first run left.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, Stdio};
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

/// A model that starts a process, then runs a command that lasts, and after that asks what became of
/// the process.
fn asks_for_its_process() -> Script {
    Script::respond(|request| {
        let results = request.asked().results;
        let process = || {
            let (_, rest) = results[0].1.split_once("[process ").unwrap();
            rest.split(' ').next().unwrap().parse::<u64>().unwrap()
        };
        match results.len() {
            0 => Reply::call(
                "exec_command",
                json!({"cmd": "sleep 305 & echo $$ $! | tr ' ' '\\n' > pids; echo up; wait", "yield_time_ms": 0}),
            ),
            1 => Reply::call(
                "shell",
                json!({"command": "until [ -s pids ]; do :; done; touch started; sleep 306"}),
            ),
            2 => Reply::call("list_processes", json!({})),
            3 => Reply::call("write_stdin", json!({"id": process()})),
            _ => Reply::say(format!("{}\n{}", results[2].1, results[3].1)),
        }
    })
}

#[test]
fn a_process_of_a_killed_command_is_ended_and_the_model_learns_that_it_is_lost() {
    let place = Place::new();
    let server = ModelServer::start(asks_for_its_process()).unwrap();
    let base_url = server.base_url();
    let provider = ["--provider", "openai-chat", "--base-url", &base_url];
    let run = [&["run", "work", "--session", "s"][..], &provider, &OFF].concat();
    let mut child = place.command(&run).spawn().unwrap();
    wait_for(&place.file("started"));
    assert_eq!(living(&place).len(), 2);
    let listed = place.run(&["processes", "s"]).out;
    assert!(listed.contains("  runs   sleep 305 & echo"), "{listed}");
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(living(&place).len(), 2, "nothing ended them yet");
    let resumed = place.run(&[&["resume", "s"][..], &OFF].concat());
    assert_eq!(resumed.code, 0, "{}", resumed.err);
    assert_eq!(living(&place), Vec::<String>::new());
    let answer: Vec<&str> = resumed.out.trim().lines().collect();
    assert!(answer[0].contains("Lost: process"), "{answer:?}");
    assert!(answer[1].contains("Lost: process") && answer.len() == 2, "{answer:?}");
    let started = place.log("s").iter().filter(|fact| fact["kind"] == "CallStarted").count();
    assert_eq!(started, 4, "no call ran again");
    assert_eq!(locks(&place), Vec::<String>::new());
}

#[test]
fn a_process_survives_the_turn_in_a_server_and_ends_with_that_or_the_next() {
    let place = Place::new();
    let server = Server::start(&place, &OFF);
    let session = server.session();
    let start = json!({"cmd": "echo $$ > pids; echo up; exec sleep 307", "yield_time_ms": 0});
    for turn in 1..=2 {
        server.send(&session, &format!("repeat 1: exec_command {start}"));
        let end = Instant::now() + Duration::from_secs(60);
        while count(&lines(&place.run(&["log", &session]).out), "TurnSettled") < turn
            || living(&place).is_empty()
        {
            assert!(Instant::now() < end, "the turn does not settle");
            std::thread::sleep(Duration::from_millis(20));
        }
        if turn == 2 {
            break;
        }
        let path = format!("/v1/sessions/{session}/processes");
        let (status, listed) = server.get(server.token(), &path, "");
        assert_eq!((status, &listed["processes"][0]["running"]), (200, &json!(true)), "{listed}");
        let process = listed["processes"][0]["process"].as_u64().unwrap();
        let stopped = place.run(&["processes", &session, "stop", &process.to_string()]);
        assert_eq!(stopped.code, 0, "{}", stopped.err);
        assert_eq!(living(&place), Vec::<String>::new());
        std::fs::remove_file(place.file("pids")).unwrap();
    }
    server.stop("KILL");
    assert_eq!(living(&place).len(), 1, "nothing ended it yet");
    // The next one does not open the session, whose turns have all ended.
    let server = Server::start(&place, &OFF);
    let end = Instant::now() + Duration::from_secs(60);
    while !living(&place).is_empty() {
        assert!(Instant::now() < end, "{:?}", living(&place));
        std::thread::sleep(Duration::from_millis(20));
    }
    std::fs::remove_file(place.file("pids")).unwrap();
    server.send(&session, &format!("repeat 1: exec_command {start}"));
    while living(&place).is_empty() {
        assert!(Instant::now() < end, "it does not start");
        std::thread::sleep(Duration::from_millis(20));
    }
    server.stop("TERM");
    assert_eq!(living(&place), Vec::<String>::new());
}

#[test]
fn a_process_ends_with_the_command_that_ran_its_turn() {
    let place = Place::new();
    let line = "sleep 308 & echo $$ $! | tr ' ' '\\n' > pids; echo up; wait";
    let start = json!({"cmd": line, "yield_time_ms": 500});
    let start = format!("repeat 1: exec_command {start}");
    let done = place.run(&[&["run", &start, "--session", "s"][..], &OFF].concat());
    assert_eq!(done.code, 0, "{}", done.err);
    assert!(done.out.contains(" runs, "), "{}", done.out);
    assert_eq!(std::fs::read_to_string(place.file("pids")).unwrap().lines().count(), 2);
    assert_eq!(living(&place), Vec::<String>::new());
}

#[test]
fn the_number_and_the_life_of_processes_are_those_of_the_flags() {
    let place = Place::new();
    let run = |session: &str, times: u32, wait_ms: u64, flags: &[&str]| {
        let call = json!({"cmd": "sleep 309", "yield_time_ms": wait_ms});
        let prompt = format!("repeat {times}: exec_command {call}");
        let done = place.run(&[&["run", &prompt, "--session", session][..], &OFF, flags].concat());
        assert_eq!(done.code, 0, "{}", done.err);
        let log = place.log(session);
        let observed = log.into_iter().filter(|fact| fact["kind"] == "CallObserved");
        observed.map(|fact| fact["body"]["observation"]["output"].to_string()).collect::<Vec<_>>()
    };
    let outputs = run("most", 2, 0, &["--processes", "1"]);
    assert!(outputs[0].contains(" runs, "), "{outputs:?}");
    assert!(outputs[1].contains("1 processes of this session run"), "{outputs:?}");
    let begun = Instant::now();
    let outputs = run("life", 1, 30_000, &["--process-life", "300ms"]);
    assert!(
        begun.elapsed() < Duration::from_secs(20) && !outputs[0].contains(" runs, "),
        "{outputs:?}"
    );
}

/// The first line is on the screen while the command waits for the second.
#[test]
fn the_output_of_a_running_command_is_on_the_screen() {
    let place = Place::new();
    let command = "echo first; until [ -e go ]; do sleep 0.01; done; echo second";
    let prompt = format!("repeat 1: shell {}", json!({"command": command}));
    let words = [&["run", &prompt][..], &OFF].concat();
    let mut screen = common::terminal::TerminalProcess::on_screens(&place, &words);
    screen.until("  | first\r\n");
    std::fs::write(place.file("go"), "").unwrap();
    screen.until("  | second\r\n");
    screen.screen_to_end();
}

#[test]
fn the_output_of_a_running_command_is_on_standard_output_as_json() {
    let place = Place::new();
    let command = "echo first; until [ -e go ]; do sleep 0.01; done; echo second; sleep 60";
    for (tool, line) in [("shell", "command"), ("exec_command", "cmd")] {
        let prompt = format!("repeat 1: {tool} {}", json!({line: command}));
        let words = [&["run", &prompt, "--json"][..], &OFF].concat();
        let mut child = place.command(&words).stdout(Stdio::piped()).spawn().unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut until = |wanted: &str| {
            let facts =
                out.by_ref().map(|line| serde_json::from_str::<Value>(&line.unwrap()).unwrap());
            let mut told = facts
                .filter(|fact| fact["kind"] == "CallProgress" || fact["kind"] == "CallObserved");
            let first = told.next().unwrap();
            assert_eq!(
                (&first["kind"], &first["body"]["text"]),
                (&json!("CallProgress"), &json!(wanted))
            );
        };
        until("first");
        std::fs::write(place.file("go"), "").unwrap();
        until("second");
        drop(out);
        child.kill().unwrap();
        child.wait().unwrap();
        std::fs::remove_file(place.file("go")).unwrap();
    }
}

/// Both streams of a server have a line while the command waits to print the next.
#[test]
fn the_output_of_a_running_command_reaches_the_streams_of_a_server() {
    let place = Place::new();
    let server = Server::start(&place, &OFF);
    let command = "echo first; until [ -e go ]; do sleep 0.01; done; echo second";
    for stream in ["events", "agui"] {
        let session = server.session();
        let mut watch = server.connect();
        write!(
            watch,
            "GET /v1/sessions/{session}/{stream} HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\n\
             Accept: text/event-stream\r\n\r\n",
            server.at(),
            server.token()
        )
        .unwrap();
        server.send(&session, &format!("repeat 1: shell {}", json!({"command": command})));
        let mut told = BufReader::new(watch).lines().map(Result::unwrap);
        let mut until = |text: &str| {
            let text = format!("\"text\":\"{text}\"");
            told.find(|line| line.contains("CallProgress") && line.contains(&text)).unwrap();
        };
        until("first");
        std::fs::write(place.file("go"), "").unwrap();
        until("second");
        std::fs::remove_file(place.file("go")).unwrap();
    }
    server.stop("TERM");
}
