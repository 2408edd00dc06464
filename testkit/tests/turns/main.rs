//! The life of a turn, as transcripts: what happens (`>`), which facts follow, and which effects
//! the driver runs, winds down, or never begins. All laws are checked on the way.
//!
//! After a change of behaviour, `UPDATE_EXPECT=1 cargo test -p windlass-testkit --test turns`
//! writes the new transcripts; read the difference before you keep it.

mod answers;
mod approvals;
mod budgets;
mod calls;
mod compaction;
mod compaction_around;
mod dry_run;
mod durability;
mod eager;
mod failures;
mod goals;
mod graceful;
mod hooks;
mod inputs;
mod interrupts;
mod limits;
mod no_way_around;
mod open_questions;
mod policy;
mod prompts;
mod reconcile;
mod restarted_calls;
mod restarted_hooks;
mod restarts;
mod rules;
mod session_hooks;
mod steering;
mod steering_kept;
mod turn_hooks;

use expect_test::Expect;
use windlass_testkit::world::transcript;

#[track_caller]
fn check(script: &str, expected: Expect) {
    let told = transcript(script).unwrap_or_else(|error| format!("{error}\n"));
    expected.assert_eq(&told);
}
