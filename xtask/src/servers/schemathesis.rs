//! Schemathesis, which tests a server against its own OpenAPI document: from PyPI, pinned with all that
//! it needs by digests, in a virtual environment below the target folder.

use std::env;

use anyhow::{Context as _, ensure};

use crate::servers::Servers;
use crate::servers::packages::{Kept, bounded, on_path};
use xtask::say::say;

/// Variable that names the program.
const SCHEMATHESIS: &str = "WINDLASS_TEST_SCHEMATHESIS";

/// Time limit of each step of the installation, in seconds.
const STEP_S: u32 = 300;

/// Finds the program, or installs it.
///
/// # Errors
/// When it cannot be found or installed; the error says what to do.
pub(super) fn found() -> anyhow::Result<String> {
    if let Ok(program) = env::var(SCHEMATHESIS) {
        say(format_args!("schemathesis: {program} is used, as {SCHEMATHESIS} says"));
        return Ok(program);
    }
    let kept = Kept::new("schemathesis", &["requirements.txt"])?;
    let program = kept.folder.join("venv/bin/schemathesis");
    if !kept.fits() {
        install(&kept).with_context(|| {
            format!(
                "installing Schemathesis: python3 with its module venv (Debian: python3-venv) and \
                 a package index are needed, or name its program with {SCHEMATHESIS}"
            )
        })?;
        ensure!(program.is_file(), "pip left no program in {}", program.display());
        kept.done()?;
    }
    say(format_args!("schemathesis: {} is used", program.display()));
    let name = program.to_str().map(str::to_owned);
    name.with_context(|| format!("{} is not UTF-8", program.display()))
}

/// Passes the path of the program to tests.
pub(super) fn tell(program: String, servers: &mut Servers) {
    servers.variables.push((SCHEMATHESIS, program));
}

fn install(kept: &Kept) -> anyhow::Result<()> {
    let python = on_path(&["python3"]).context("there is no python3 on this machine")?;
    say(format_args!(
        "schemathesis: installing it from PyPI (once) into {}",
        kept.folder.display()
    ));
    kept.empty()?;
    let venv = kept.folder.join("venv");
    let mut make = bounded(STEP_S, &python);
    make.args(["-m", "venv"]).arg(&venv);
    kept.install("make a virtual environment", &mut make)?;
    let mut pip = bounded(STEP_S, venv.join("bin/python"));
    pip.args(["-m", "pip", "install", "--quiet", "--no-input", "--retries", "1"]);
    pip.args(["--disable-pip-version-check", "--require-hashes", "--only-binary=:all:"]);
    pip.arg("--requirement").arg(kept.folder.join("requirements.txt"));
    kept.install("install schemathesis", &mut pip)
}
