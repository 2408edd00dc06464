//! A soak of a few seconds, or of as many minutes as `WINDLASS_SOAK_MINUTES` says.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(clippy::print_stdout, reason = "what happened is to be read")]

use std::process::Command;

#[test]
fn a_server_holds_its_promises_under_random_clients_and_faults() {
    let minutes = std::env::var("WINDLASS_SOAK_MINUTES").unwrap_or_else(|_| "0.04".to_owned());
    let mut soak = Command::new(env!("CARGO_BIN_EXE_xtask-soak"));
    soak.args(["--minutes", &minutes, "--seed", "1", "--persons", "4"]);
    let output = soak.output().unwrap();
    let (out, err) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    println!("{out}{err}");
    assert!(output.status.success(), "{}: {out}{err}", output.status);
    assert!(out.contains("lost 0, twice 0, stuck 0"), "{out}");
}
