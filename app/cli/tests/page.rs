//! The page of the built command, driven by Chromium: `windlass serve` with its demo model, one person
//! with a mouse, and what became of their sessions and of their folder. The page itself is tested in
//! windlass-server, against a model that waits where it is told to; this shares its scripts. `cargo xtask
//! test` names the programs; where one is missing the test says on standard error that it is skipped.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;
#[expect(dead_code, reason = "this needs no Node without a browser")]
#[path = "../../server/tests/page/programs.rs"]
mod programs;

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use common::Place;
use common::server::Server;
use windlass_engine::ports::ToolExecutor as _;
use windlass_interaction::{ASK_USER_TOOL, InteractionTools};

/// The longest that the script may take, in seconds.
const LONGEST_S: u32 = 240;

#[test]
fn a_person_drives_the_built_command_with_its_demo_model() {
    let Some(browser) = programs::browser() else {
        return;
    };
    let place = Place::new();
    let server = Server::start(&place, &["--provider", "demo", "--permissions", "ask"]);
    // The folder for temporary files of tests is below the one that everything is built into.
    let temporary = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let shots = temporary.parent().unwrap_or(temporary).join("page-screenshots");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/page/demo.mjs");
    let done = Command::new("timeout")
        .args(["--kill-after=5", &LONGEST_S.to_string(), &browser.node])
        .arg(script)
        .env("WINDLASS_TEST_CHROMIUM", &browser.chromium)
        .env("WINDLASS_TEST_PLAYWRIGHT", &browser.modules)
        .env("PAGE_LINK", &server.link)
        .env("PAGE_SHOTS", &shots)
        .stdin(Stdio::null())
        .output()
        .unwrap();
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
