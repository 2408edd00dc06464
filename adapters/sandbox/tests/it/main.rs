//! The conformance suite on each tier that works here, and tests of what only one tier does.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "a test fails by panicking, and says what it skips"
)]

mod hosts;

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Command, ExitCode};
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
    for (name, tier) in TIERS {
        let works = works(tier);
        trials.push(
            Trial::test(format!("{name}::allowed_hosts"), move || hosts::check(tier))
                .with_ignored_flag(!works),
        );
    }
    trials.push(Trial::test("an_ordinary_user", an_ordinary_user));
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// An administrator's run holds the tiers to the suite once more as an ordinary user: the kernel gives
/// namespaces of such a user other rights.
fn an_ordinary_user() -> Result<(), Failed> {
    let name = "setpriv";
    if !rustix::process::geteuid().is_root()
        || Command::new(name).arg("--version").output().is_err()
    {
        eprintln!("skips: the whole run is an ordinary user's, or there is no {name}");
        return Ok(());
    }
    let folder = tempfile::tempdir()?;
    std::fs::set_permissions(folder.path(), Permissions::from_mode(0o755))?;
    let program = folder.path().join("it");
    std::fs::copy(std::env::current_exe()?, &program)?;
    let tried = Command::new(name)
        .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
        .arg(program)
        .args(["--skip", "an_ordinary_user", "namespaces::"])
        .current_dir("/")
        .env("HOME", "/nonexistent")
        .output()?;
    let said = String::from_utf8_lossy(&tried.stdout);
    match tried.status.success() {
        true => Ok(()),
        false => Err(Failed::from(format!("{said}{}", String::from_utf8_lossy(&tried.stderr)))),
    }
}
