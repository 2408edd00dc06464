//! The page, driven by Chromium against a real server with a scripted model; its pure parts are tested
//! by Node alone. `cargo xtask test` names the programs; where one cannot be had, the tests that need it
//! say on standard error that they are skipped. Screenshots go to `page-screenshots` in the target folder.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod answers;
mod programs;
mod recorded;
mod world;

use std::io::Write as _;
use std::path::Path;

use serde_json::json;
use windlass_server::windlass_engine::core::{
    EffectClass, FailureKind, Limits, Observation, ObservationStatus, Retry,
};
use windlass_server::windlass_engine::ports::StoreErrorKind;
use windlass_testkit::faulty::{Fault, FaultyStore, Operation};
use windlass_testkit::provider::{ScriptedProvider, Step, call, fail, say};
use windlass_testkit::tools::ScriptedTool;
use windlass_testkit::{Answer, Gate};

use crate::answers::{HOSTILE, STORY, busy, by_model, overloaded, said_so_far, two_halves};
use crate::recorded::RecordedProvider;
use crate::world::World;

#[test]
fn there_is_a_browser_or_all_is_skipped() {
    if let Some(browser) = programs::browser() {
        let said = format!("page: {} is driven by {}\n", browser.chromium, browser.node);
        std::io::stderr().write_all(said.as_bytes()).unwrap();
    }
}

/// Facts in, views and timelines out: over the golden logs, and over streams cut anywhere.
#[test]
fn its_pure_parts_hold_over_logs_and_cut_streams() {
    let Some(mut node) = programs::node() else {
        return;
    };
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/page");
    let output = node
        .args(["--test", "--test-reporter=tap"])
        .arg(folder.join("fold.test.mjs"))
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{told}");
    let passed = told.lines().find_map(|line| line.strip_prefix("# pass "));
    let passed: u32 = passed.unwrap().trim().parse().unwrap();
    assert!(passed >= 15, "only {passed} tests ran: {told}");
}

/// The link, whose token goes from the address into the tab; a new session; an answer that streams.
#[test]
fn a_session_is_begun_by_the_link_and_its_answer_streams() {
    let (half, end) = (Gate::new(), Gate::new());
    let answer = two_halves(&half, &end);
    World::new(ScriptedProvider::new([answer, say("Once more.")]))
        .gate("half", &half)
        .gate("end", &end)
        .drive("stream");
}

/// In the middle of an answer a page is loaded anew, and a connection is lost: each character is there once.
#[test]
fn a_reload_in_the_middle_of_an_answer_shows_each_character_once() {
    let (half, end) = (Gate::new(), Gate::new());
    World::new(ScriptedProvider::new([two_halves(&half, &end)]))
        .gate("half", &half)
        .gate("end", &end)
        .drive("reload");
}

/// A question shows what will run; it is allowed with other arguments, or denied with a reason, and both
/// are what happens.
#[test]
fn a_call_is_approved_with_an_edit_and_another_is_denied() {
    let pay = ScriptedTool::new("pay", EffectClass::Effectful).runs(|call, _| {
        let output = format!("paid by {}", call.arguments);
        Ok(Observation::new(ObservationStatus::Done, output))
    });
    let script = [
        call("pay", json!({ "to": "ann", "cents": 500 })),
        call("pay", json!({ "to": "bob", "cents": 7 })),
        say("Ann is paid, Bob is not."),
    ];
    World::new(ScriptedProvider::new(script)).tool(pay).asking().drive("approve");
}

/// What is said while a turn runs is heard in it, or after it; a turn is stopped, and what waits goes on;
/// one that fails says so.
#[test]
fn a_turn_is_steered_followed_up_and_interrupted() {
    let (first, second, third) = (Gate::new(), Gate::new(), Gate::new());
    let script = [
        said_so_far("A long story begins here and would go on.", &first),
        said_so_far("As you wish: a short one.", &second),
        say("And the sequel."),
        said_so_far("This one is cut.", &third),
        say("Gone on with."),
        fail(FailureKind::Authentication, Retry::Never),
    ];
    World::new(ScriptedProvider::new(script))
        .gate("first", &first)
        .gate("second", &second)
        .gate("third", &third)
        .drive("steer");
}

/// A store that fails is told beside the link, and so is that it works again; the turn settles.
#[test]
fn a_store_that_fails_for_a_while_is_told() {
    let works = Gate::new();
    let again = works.clone();
    let store = FaultyStore::responding(move |operation, number| match operation {
        Operation::Append if number == 3 => vec![Fault::Fail(StoreErrorKind::Full)],
        Operation::Probe if number == 1 => vec![Fault::Wait(again.clone())],
        Operation::Append
        | Operation::Claim
        | Operation::Read
        | Operation::Release
        | Operation::Probe => Vec::new(),
    });
    World::new(ScriptedProvider::new([say("There."), say("There.")]))
        .store(store)
        .gate("works", &works)
        .drive("store");
}

/// A turn with a retry, calls side by side and reasoning: its timeline tells where the time went, and its
/// meters what it took.
#[test]
fn a_timeline_tells_where_the_time_went_and_meters_what_it_took() {
    let (thinks, looks) = (Gate::new(), Gate::new());
    let look = ScriptedTool::new("look", EffectClass::ReadOnly)
        .reports(["looking left", "looking right"])
        .before(&looks)
        .says("nothing there\n".repeat(400));
    let asks = Answer::new()
        .reasoning("First I look in both places.")
        .call("look", json!({ "place": "left" }))
        .call("look", json!({ "place": "right" }))
        .tokens(1200, 80);
    let script = [
        overloaded(),
        Step::from(asks).end_after(&thinks),
        Answer::new().text(STORY).tokens(2400, 300).into(),
    ];
    World::new(ScriptedProvider::new(script))
        .tool(look)
        .gate("thinks", &thinks)
        .gate("looks", &looks)
        .drive("timeline");
}

/// A session is forked at the end of a turn; the fork goes on, and the session stays as it was.
#[test]
fn a_session_is_forked_at_a_turn() {
    let look = ScriptedTool::new("look", EffectClass::ReadOnly).says("nothing there");
    let script = [
        call("look", json!({ "place": "left" })),
        say("Nothing there."),
        say("The fork says something else."),
    ];
    World::new(ScriptedProvider::new(script)).tool(look).drive("fork");
}

/// A session is rewound into a turn: what followed there is faded, also after a reload.
#[test]
fn what_was_rewound_is_faded() {
    let look = ScriptedTool::new("look", EffectClass::ReadOnly).says("nothing there");
    let script = [
        call("look", json!({ "place": "left" })),
        say("Nothing there."),
        say("Nothing there either."),
        say("As you wish."),
    ];
    World::new(ScriptedProvider::new(script)).tool(look).drive("rewind");
}

/// A model that answers in place of the requested one is warned of, and a person compacts the
/// conversation.
#[test]
fn another_model_is_warned_of_and_a_conversation_is_compacted() {
    let says = |text| by_model("m-small", text);
    let script = [
        says("The table of winds."),
        says("The table of tides."),
        says("## Goal\nTables.\n## Done\nNamed two.\n## Open\nNone.\n## Facts\nwinds, tides"),
        says("You are welcome."),
    ];
    World::new(RecordedProvider(ScriptedProvider::new(script))).drive("compact");
}

/// Markup, script, control characters and words that run backwards stay text, wherever they stand.
#[test]
fn hostile_text_stays_text() {
    let tool = ScriptedTool::new("echo", EffectClass::Effectful).says(HOSTILE);
    let hidden = format!("git log{}; rm", " ".repeat(9_000));
    let asks = Answer::new()
        .reasoning(HOSTILE)
        .text(format!("{HOSTILE}\n\n[click](javascript:alert(1)) <b>{HOSTILE}</b>"))
        .call(
            "echo",
            json!({ "text": HOSTILE, "line": hidden, "<img src=x onerror=hit()>": "\u{202e}" }),
        );
    let script = [asks.into(), say(HOSTILE)];
    World::new(ScriptedProvider::new(script)).tool(tool).asking().drive("hostile");
}

/// All of it without a mouse.
#[test]
fn the_keyboard_is_enough() {
    let pay = ScriptedTool::new("pay", EffectClass::Effectful).says("paid");
    let script = [call("pay", json!({ "cents": 1 })), say("Paid."), say("Hello again.")];
    World::new(ScriptedProvider::new(script)).tool(pay).asking().drive("keyboard");
}

/// Wide and narrow, light and dark: nothing is cut off sideways, and axe finds nothing to mend.
#[test]
fn it_can_be_read_in_narrow_windows_and_in_the_dark_and_by_screen_readers() {
    let look = ScriptedTool::new("look", EffectClass::ReadOnly).says("nothing there\n".repeat(40));
    let pay = ScriptedTool::new("pay", EffectClass::Effectful).says("paid");
    let asks = Answer::new()
        .reasoning("First I look, then I ask whether I may pay.")
        .text("I look at both places first.")
        .call("look", json!({ "place": "left", "depth": 2 }))
        .tokens(1200, 80);
    let pays = Answer::new()
        .text("Now I would pay.")
        .call(
            "pay",
            json!({ "to": "ann", "cents": 500, "note": "for the ticket of the ferry to the island" }),
        )
        .tokens(2400, 60);
    let script = [
        overloaded(),
        asks.into(),
        Answer::new().text(STORY).tokens(1900, 310).into(),
        pays.into(),
    ];
    World::new(ScriptedProvider::new(script)).tool(look).tool(pay).asking().drive("looks");
}

/// A log of ten thousand facts is folded, listed and searched without the tab hanging.
#[test]
fn a_long_log_does_not_hang_the_tab() {
    let look = ScriptedTool::new("look", EffectClass::ReadOnly).says("nothing there");
    let limits = Limits::default().with(|it| {
        it.samples = 4_000;
        it.calls = 8_000;
    });
    World::new(busy(1_700)).tool(look).limits(limits).drive("long_log");
}
