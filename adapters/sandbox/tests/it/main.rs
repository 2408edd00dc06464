//! The conformance suite on each tier that works here, and tests of what only one tier does.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "a test fails by panicking, and says what it skips"
)]

use std::process::ExitCode;
use std::sync::Arc;

use libtest_mimic::{Arguments, Failed, Trial};
use windlass_ports::{Sandbox, SandboxErrorKind};
use windlass_sandbox::{ProfileScope, SandboxConfig, SandboxTier, SystemSandbox};
use windlass_testkit::sandbox::{CASES, SandboxFixture};

const TIERS: [(&str, SandboxTier); 3] = [
    ("namespaces", SandboxTier::Namespaces),
    ("landlock", SandboxTier::Landlock),
    ("bubblewrap", SandboxTier::Bubblewrap),
];

#[derive(Clone, Copy)]
struct Fixture(SandboxTier);

impl SandboxFixture for Fixture {
    fn open(&self) -> Arc<dyn Sandbox> {
        Arc::new(SystemSandbox::new(SandboxConfig { tier: self.0, ..SandboxConfig::default() }))
    }
}

/// Returns true if a tier works here. One that does not is named, and its cases are skipped.
fn works(tier: SandboxTier) -> bool {
    let scope = ProfileScope { workspace: "/".into(), ..ProfileScope::default() };
    let profile = scope.profile("read-only").expect("a built-in profile");
    match Fixture(tier).open().strength(&profile) {
        Ok(_) => true,
        Err(error)
            if error.kind == SandboxErrorKind::Unavailable && !error.context.contains("helper") =>
        {
            // Standard output is the list of tests.
            eprintln!("skips {tier:?}: {error}");
            false
        }
        Err(error) => panic!("{tier:?}: {error}"),
    }
}

fn main() -> ExitCode {
    if let Some(code) = windlass_sandbox::helper() {
        return ExitCode::from(code);
    }
    let arguments = Arguments::from_args();
    let mut trials = Vec::new();
    for (name, tier) in TIERS {
        let works = works(tier);
        for (case, check) in CASES {
            trials.push(
                Trial::test(format!("{name}::{case}"), move || {
                    check(&Fixture(tier)).map_err(Failed::from)
                })
                .with_ignored_flag(!works),
            );
        }
    }
    libtest_mimic::run(&arguments, trials).exit_code()
}
