//! The page of the built command, driven by Chromium: `windlass serve` with its demo model, one person
//! with a mouse, and what became of their sessions and of their folder. The page itself is tested in
//! windlass-server, against a model that waits where it is told to; this shares its scripts. `cargo xtask
//! test` names the programs; where one is missing the test says on standard error that it is skipped.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;
#[expect(dead_code, reason = "this needs no Node without a browser")]
#[path = "../../server/tests/page/programs.rs"]
mod programs;

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use common::Place;
use common::server::Server;
use common::tmux::Tmux;
use programs::Browser;
use windlass_engine::ports::ToolExecutor as _;
use windlass_interaction::{ASK_USER_TOOL, InteractionTools};

/// The longest that the script may take, in seconds.
const LONGEST_S: u32 = 240;

/// A script at the page of this server.
fn script(name: &str, browser: &Browser, server: &Server) -> Command {
    // The folder for temporary files of tests is below the one that everything is built into.
    let temporary = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let shots = temporary.parent().unwrap_or(temporary).join("page-screenshots");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/page").join(name);
    let mut command = Command::new("timeout");
    command
        .args(["--kill-after=5", &LONGEST_S.to_string(), &browser.node])
        .arg(script)
        .env("WINDLASS_TEST_CHROMIUM", &browser.chromium)
        .env("WINDLASS_TEST_PLAYWRIGHT", &browser.modules)
        .env("PAGE_LINK", &server.link)
        .env("PAGE_SHOTS", &shots)
        .stdin(Stdio::null());
    command
}

#[test]
fn a_person_drives_the_built_command_with_its_demo_model() {
    let Some(browser) = programs::browser() else {
        return;
    };
    let place = Place::new();
    let server = Server::start(&place, &["--provider", "demo", "--permissions", "ask"]);
    let done = script("demo.mjs", &browser, &server).output().unwrap();
    let told = String::from_utf8_lossy(&done.stdout);
    let faults = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{told}{faults}");
    // Not by a macro: the runner would keep it to itself where the test passes.
    std::io::stderr().write_all(told.as_bytes()).unwrap();

    // What the person wrote is what was written, and what they interrupted does not run any more.
    let written = std::fs::read_to_string(place.file("a.txt")).unwrap();
    assert_eq!(written, "from a person\n");
    let pid = std::fs::read_to_string(place.file("pid")).unwrap();
    let running = std::fs::read_to_string(format!("/proc/{}/cmdline", pid.trim()));
    assert_ne!(running.unwrap_or_default(), "sleep\u{0}600\u{0}");

    assert_eq!(server.stop("TERM").code, 0);
    let sessions: Vec<&str> =
        told.lines().filter_map(|line| line.strip_prefix("session ")).collect();
    assert_eq!(sessions.len(), 2, "{told}");
    // The tool that the page declares is the command's own.
    let own = InteractionTools::new().with_questions().tools();
    let own = own.iter().find(|tool| tool.name == ASK_USER_TOOL).unwrap();
    let opened = &place.log(sessions[0])[0]["body"]["settings"]["tools"];
    let mut tools = opened.as_array().unwrap().iter();
    let declared = tools.find(|tool| tool["name"] == ASK_USER_TOOL).unwrap();
    assert_eq!(declared["description"], own.description);
    let json = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
    assert_eq!(json(declared["parameters"].as_str().unwrap()), json(&own.parameters));
    assert_eq!(
        (&declared["client"], &declared["timeout_ms"]),
        (&true.into(), &own.timeout_ms.into())
    );
    for session in sessions {
        let verified = place.run(&["verify", session]);
        assert_eq!(verified.code, 0, "{}{}", verified.out, verified.err);
    }
}

#[test]
fn a_page_and_a_terminal_share_a_session() {
    let Some(browser) = programs::browser().filter(|_| Tmux::is_installed()) else {
        return;
    };
    let place = Place::new();
    let server = Server::start(&place, &["--provider", "demo", "--permissions", "ask"]);
    let mut page = script("shared.mjs", &browser, &server);
    let mut page = page.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut orders = page.stdin.take().unwrap();
    let mut lines = BufReader::new(page.stdout.take().unwrap()).lines();
    let mut told = String::new();
    let mut until = |start: &str| {
        for line in lines.by_ref() {
            let line = line.unwrap();
            told += &format!("{line}\n");
            if let Some(rest) = line.strip_prefix(start) {
                return rest.to_owned();
            }
        }
        panic!("the page has not said {start:?}: {told}")
    };
    let session = until("session ");
    let at = format!("http://{}", server.at());
    let mut command = place.command(&["chat", "--server", &at, "--resume", &session]);
    let terminal = Tmux::start(100, 30, command.env("WINDLASS_TOKEN", server.token()));
    terminal.wait_for("› hello from the page");
    terminal.send("show markdown");
    terminal.wait_for("› write a.txt: from the page");
    terminal.wait_for("May it run? write_file a.txt");
    // Keys that come at once still go to the message.
    std::thread::sleep(Duration::from_millis(700));
    terminal.press(&["1"]);
    until("ok: an approval that the terminal gives closes on the page");
    assert_eq!(std::fs::read_to_string(place.file("a.txt")).unwrap(), "from the page\n");
    terminal.send("write b.txt: from the terminal");
    until("@the terminal asks too");
    terminal.wait_for("May it run? write_file b.txt");
    orders.write_all(b"done\n").unwrap();
    terminal.wait_until("the question is closed", |screen| {
        !screen.contains("May it run?") && screen.contains("from the terminal”")
    });
    until("ok: an approval that the page gives, of a turn of the terminal");
    assert!(page.wait().unwrap().success());
    server.stop("TERM");
}
