//! The life of a turn, as transcripts: what happens (`>`), which facts follow, and which effects
//! the driver runs, winds down, or never begins. All laws are checked on the way.
//!
//! After a change of behaviour, `UPDATE_EXPECT=1 cargo test -p windlass-testkit --test turns`
//! writes the new transcripts; read the difference before you keep it.

mod answers;
mod calls;
mod durability;
mod failures;
mod inputs;
mod interrupts;
mod limits;
mod policy;
mod restarted_calls;
mod restarts;

use expect_test::Expect;
use windlass_testkit::world::transcript;

#[track_caller]
fn check(script: &str, expected: Expect) {
    let told = transcript(script).unwrap_or_else(|error| format!("{error}\n"));
    expected.assert_eq(&told);
}
