//! Schemathesis, which tests a server against its own OpenAPI document: from PyPI, pinned with all that
//! it needs by digests, in a virtual environment below the target folder.

use std::env;

use anyhow::{Context as _, ensure};

use crate::servers::Servers;
use crate::servers::packages::Kept;
use crate::servers::python::venv;
use xtask::say::say;

/// Variable that names the program.
const SCHEMATHESIS: &str = "WINDLASS_TEST_SCHEMATHESIS";

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
        venv(&kept).with_context(|| {
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
