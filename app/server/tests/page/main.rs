//! The page. Its pure parts are tested by Node alone. `cargo xtask test` names the programs; where one
//! cannot be had, the tests that need it say on standard error that they are skipped.

mod programs;

use std::path::Path;

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
