//! The life of a turn, as transcripts: what happens (`>`), which facts follow, and which effects
//! the driver runs, winds down, or never begins. All laws are checked on the way, and the log that
//! is recorded replays the same.
//!
//! After a change of behaviour, `UPDATE_EXPECT=1 cargo test -p windlass-testkit --test turns`
//! writes the new transcripts; read the difference before you keep it.

mod agents;
mod agents_detached;
mod agents_opened;
mod answers;
mod approval_grants;
mod approvals;
mod boundaries;
mod budgets;
mod calls;
mod ceilings;
mod children;
mod choices;
mod client_tools;
mod commands;
mod compaction;
mod compaction_around;
mod compaction_charged;
mod compaction_requested;
mod dry_run;
mod durability;
mod eager;
mod failures;
mod forging;
mod goals;
mod goals_between;
mod graceful;
mod histories;
mod hooks;
mod images;
mod inputs;
mod interrupts;
mod late_words;
mod limits;
mod no_way_around;
mod open_questions;
mod pausing;
mod pausing_opening;
mod policy;
mod programs;
mod programs_bounded;
mod programs_cut;
mod programs_steered;
mod prompts;
mod queue;
mod rare_orders;
mod rare_waits;
mod reconcile;
mod restarted_calls;
mod restarted_hooks;
mod restarts;
mod rewinds;
mod rules;
mod said_under_keys;
mod scenes;
mod session_hooks;
mod shapes;
mod shapes_around;
mod steering;
mod steering_kept;
mod turn_hooks;

use expect_test::Expect;
use windlass_core::{decide, replay};
use windlass_testkit::world::{Script, Transitions, run, transcript};

/// Runs the steps of a transcript, which are its lines that start with `>`, and compares it with
/// what happens. A text without such lines is a script: its transcript is yet to be written.
#[track_caller]
fn check(expected: Expect) {
    let script = steps(expected.data());
    let told = transcript(&script);
    assert_eq!(told.as_ref().err(), None, "{script}");
    let told = told.unwrap_or_default();
    let opening = script.lines().find(|line| line.starts_with("open"));
    let opening = opening.map_or_else(String::new, |line| format!("> {line}\n"));
    let told = opening + &told;
    let folded = scenes::fold(&told);
    assert_eq!(scenes::unfold(&folded), told);
    expected.assert_eq(&folded);
    replays(&script);
}

fn steps(text: &str) -> String {
    let lines = || text.lines().map(str::trim).filter(|line| !line.is_empty());
    let steps = lines().filter_map(|line| line.strip_prefix("> "));
    let steps = steps.map(|step| step.split(" => ").next().unwrap_or(step));
    match steps.collect::<Vec<&str>>().as_slice() {
        [] => lines().collect::<Vec<&str>>().join("\n"),
        steps => steps.join("\n"),
    }
}

/// The engine that wrote a log decides as it did when it is asked again.
#[track_caller]
fn replays(script: &str) {
    let script: Result<Script, String> = script.parse();
    let Some(world) = script.ok().and_then(|script| run(Transitions::CORE, &script).ok()) else {
        // What is wrong with it is what the transcript says.
        return;
    };
    let told = replay(decide, world.log().iter().cloned());
    let told = told.map(|told| (told.divergences, told.request_divergences));
    assert_eq!(told, Ok((Vec::new(), Vec::new())));
}
