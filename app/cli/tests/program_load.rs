//! Many programs on one server: a hundred that wait for a person, twelve that flood maps with keys, and one line
//! of another session. Resident memory is checked on Linux alone, which says it.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]
#![allow(clippy::print_stderr, reason = "it says what it has measured")]

mod common;

use std::time::{Duration, Instant};

use common::Place;
use common::server::{Server, sha256};
use serde_json::{Value, json};
use windlass_testkit::http::{ModelServer, Reply, Request, Script};

const RUNTIMES: [&str; 2] = ["ptclisp", "javascript"];
/// What a prompt begins with; the kind of program and the language follow.
const TASK: &str = "Your task: ";
/// Sessions whose programs wait for a person.
const WAITING: usize = 100;
/// Sessions whose programs compute without end.
const FLOODING: usize = 12;
/// Most bytes that all waiting programs add.
const MOST_ADDED: u64 = 50 << 20;
/// Most bytes that may be resident while others compute.
const MOST_RESIDENT: u64 = 300 << 20;
/// How long anything may take. Programs of one line take a second on an idle machine at most; this is a guard
/// against starvation alone, as the machine of a test may be busy and its build slow.
const PATIENCE: Duration = Duration::from_secs(10);

/// A program that holds a megabyte or more while a person is asked about its call.
fn waiting(runtime: &str) -> &'static str {
    match runtime {
        "ptclisp" => {
            "(def rows (mapv (fn [n] {:id n}) (range 12000)))
             (return [(tool/count {:n 1}) (count rows)])"
        }
        _ => {
            "const rows = Array.from({ length: 12000 }, (_, n) => ({ id: n }));
             return [await tools.count({ n: 1 }), rows.length];"
        }
    }
}

/// A program that fills a map until its limits end it. The texts of the second one have the same hash.
fn flooding(runtime: &str) -> &'static str {
    match runtime {
        "ptclisp" => "(loop [m {} n 0] (recur (assoc m (str \"k\" (mod n 5000)) n) (inc n)))",
        _ => {
            "const m = new Map();
             for (let n = 0; ; n++) {
               let text = '';
               for (let bit = 0; bit < 16; bit++) text += n >> bit & 1 ? '\\u0101\\u0208' : '\\u0102\\u0101';
               m.set(text, n);
             }"
        }
    }
}

/// The model writes the program that the last prompt names, and the same again after a fault.
fn reply(request: &Request) -> Reply {
    let asked = request.json.as_ref().map(Value::to_string).unwrap_or_default();
    // The last prompt of the session.
    let (_, asked) = asked.rsplit_once(TASK).unwrap_or_default();
    let mut words = asked.split([' ', '"']);
    let named = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let source = match named {
        ("wait", runtime) => waiting(runtime),
        ("flood", runtime) => flooding(runtime),
        (_, "ptclisp") => "(return 42)",
        _ => "return 42;",
    };
    Reply::call("run_program", json!({ "source": source }))
}

struct Load {
    server: Server,
    model: ModelServer,
    place: Place,
}

impl Load {
    fn start() -> Self {
        let model = ModelServer::start(Script::respond(reply)).unwrap();
        let place = Place::new();
        let tools = place.counter("effectful");
        let file = format!(
            "program_idle = \"1s\"\n\n[[tenant]]\nname = \"acme\"\nworkspace = \".\"\n\
             provider = \"openai-chat\"\nbase_url = \"{}\"\nmodel = \"scripted\"\nagents = false\n\
             tools = {tools:?}\npermissions = \"ask\"\nprograms = [\"ptclisp\", \"javascript\"]\n\n\
             [tenant.quota]\nturns = 1000\nrequests_per_second = 10000\nburst = 10000\n\n\
             [[token]]\nsha256 = \"{}\"\ntenant = \"acme\"\nprincipal = \"ann\"\n\
             rights = [\"read\", \"run\", \"approve\"]\n",
            model.base_url(),
            sha256("ann"),
        );
        std::fs::write(place.file("server.toml"), file).unwrap();
        let server = Server::start(&place, &["--config", "server.toml"]);
        Self { server, model, place }
    }

    /// Opens a session whose model writes programs: the path of its turns.
    fn open(&self, runtime: &str) -> String {
        let (status, opened) =
            self.server.post("ann", "/v1/sessions", &json!({"program": runtime}));
        assert_eq!(status, 201, "{opened}");
        format!("/v1/sessions/{}/turns", opened["id"].as_str().unwrap())
    }

    /// Has a session write a program of this kind: the path of the turn.
    fn send(&self, path: &str, kind: &str, runtime: &str) -> String {
        let input = json!({"text": format!("{TASK}{kind} {runtime}")});
        let (status, sent) = self.server.post("ann", path, &input);
        assert_eq!(status, 202, "{sent}");
        format!("{path}/{}", sent["turn"])
    }

    /// Waits for the end of a turn.
    fn ended(&self, turn: &str) -> Value {
        let (_, ended) = self.server.get("ann", turn, "Prefer: wait=60\r\n");
        assert_eq!(ended["outcome"]["outcome"], "completed", "{ended}");
        ended
    }

    /// The time that a program of one line takes in a session of its own.
    fn line(&self, runtime: &str) -> Duration {
        let began = Instant::now();
        let turn = self.send(&self.open(runtime), "line", runtime);
        self.ended(&turn);
        began.elapsed()
    }

    fn approvals(&self) -> Vec<Value> {
        let (status, open) = self.server.get("ann", "/v1/approvals", "");
        assert_eq!(status, 200, "{open}");
        open["approvals"].as_array().unwrap().clone()
    }

    /// Allows the call of a session whose program was dropped, which ends with it, and has the session wait again.
    fn goes_on_from_the_record(&self, (session, runtime): &(String, &str)) {
        let open = self.approvals();
        let is_its = |one: &&Value| session.contains(one["session"].as_str().unwrap());
        let question = open.iter().find(is_its).unwrap();
        let path = session.replace("/turns", "/approvals");
        let answer = json!({"decision": "allow", "digest": question["digest"]});
        let (status, answered) =
            self.server.post("ann", &format!("{path}/{}", question["call"]), &answer);
        assert_eq!(status, 202, "{answered}");
        self.ended(&format!("{session}/{}", question["turn"]));
        assert_eq!(self.place.counted().len(), 1);
        self.send(session, "wait", runtime);
    }

    /// Bytes that are resident, where the system says.
    fn resident(&self) -> Option<u64> {
        let file = format!("/proc/{}/status", self.server.child().id());
        let status = std::fs::read_to_string(file).ok()?;
        let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
        let kib: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
        Some(kib << 10)
    }
}

/// Looks again and again until it is so, or nobody has the patience.
fn eventually(what: &str, mut is: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is() {
        assert!(began.elapsed() < 3 * PATIENCE, "{what}");
        std::thread::sleep(Duration::from_millis(100));
    }
}

#[test]
fn programs_that_wait_and_programs_that_flood_leave_room_for_one_line() {
    let load = Load::start();
    let begun = load.resident();
    let sessions = RUNTIMES.iter().cycle().take(WAITING);
    let sessions: Vec<(String, &str)> =
        sessions.map(|runtime| (load.open(runtime), *runtime)).collect();
    for (session, runtime) in &sessions {
        load.ended(&load.send(session, "line", runtime));
    }
    // The sessions themselves are no programs that wait.
    let before = load.resident();
    if before.is_none() {
        eprintln!("resident memory is not checked: the system does not say it");
    }
    for (session, runtime) in &sessions {
        load.send(session, "wait", runtime);
    }
    eventually("not all programs wait", || load.approvals().len() == WAITING);
    let mib = |bytes: Option<u64>| bytes.unwrap_or_default() >> 20;
    let held = load.resident();
    let added = || Some(load.resident()?.saturating_sub(before?));
    eprintln!("{} MiB at first", mib(begun));
    eprintln!("{} MiB before, {} MiB with {WAITING} that wait", mib(before), mib(held));
    eventually("waiting programs hold too much", || {
        added().is_none_or(|added| added <= MOST_ADDED)
    });
    eprintln!("they add {} MiB once they are idle", mib(added()));

    load.goes_on_from_the_record(&sessions[0]);
    eventually("one waits no more", || load.approvals().len() == WAITING);

    let asked = load.model.samples().len();
    for runtime in RUNTIMES.iter().cycle().take(FLOODING) {
        load.send(&load.open(runtime), "flood", runtime);
    }
    eventually("not all flood", || load.model.samples().len() >= asked + FLOODING);
    let mut most = load.resident();
    for runtime in RUNTIMES.iter().cycle().take(6) {
        let took = load.line(runtime);
        eprintln!("{runtime}: one line beside {FLOODING} that flood took {took:?}");
        assert!(took < PATIENCE, "{runtime} took {took:?}");
        most = most.max(load.resident());
    }
    eprintln!("at most {} MiB were resident", mib(most));
    assert!(most.is_none_or(|most| most < MOST_RESIDENT), "{} MiB", mib(most));
}
