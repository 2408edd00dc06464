//! Packages from PyPI, pinned with all that they need by digests, in virtual environments below the
//! target folder; among them those that test the Python client.

use std::env;

use anyhow::{Context as _, ensure};

use crate::servers::Servers;
use crate::servers::packages::{Kept, bounded, on_path};
use xtask::say::say;

/// Variable that names a Python with `pytest`, `mypy` and `setuptools`.
const PYTHON: &str = "WINDLASS_TEST_PYTHON";

/// Time limit of each step of an installation, in seconds.
const STEP_S: u32 = 300;

/// Finds or installs what tests the Python client, and passes the path of its Python to tests.
///
/// # Errors
/// When it cannot be found or installed; the error says what to do.
pub(super) fn client(servers: &mut Servers) -> anyhow::Result<()> {
    let python = match env::var(PYTHON) {
        Ok(named) => named,
        Err(_) => installed()?,
    };
    say(format_args!("python: {python} is used"));
    servers.variables.push((PYTHON, python));
    Ok(())
}

fn installed() -> anyhow::Result<String> {
    let kept = Kept::new("python-client", &["requirements.txt"])?;
    let program = kept.folder.join("venv/bin/python");
    if !kept.fits() {
        venv(&kept).with_context(|| {
            format!(
                "installing pytest: python3 with its module venv (Debian: python3-venv) and a \
                 package index are needed, or name a Python that has it with {PYTHON}"
            )
        })?;
        ensure!(program.is_file(), "there is no {}", program.display());
        kept.done()?;
    }
    let name = program.to_str().map(str::to_owned);
    name.with_context(|| format!("{} is not UTF-8", program.display()))
}

/// Installs the packages of `requirements.txt` into a new virtual environment.
pub(super) fn venv(kept: &Kept) -> anyhow::Result<()> {
    let python = on_path(&["python3"]).context("there is no python3 on this machine")?;
    say(format_args!("python: installing from PyPI (once) into {}", kept.folder.display()));
    kept.empty()?;
    let venv = kept.folder.join("venv");
    let mut make = bounded(STEP_S, &python);
    make.args(["-m", "venv"]).arg(&venv);
    kept.install("make a virtual environment", &mut make)?;
    let mut pip = bounded(STEP_S, venv.join("bin/python"));
    pip.args(["-m", "pip", "install", "--quiet", "--no-input", "--retries", "1"]);
    pip.args(["--disable-pip-version-check", "--require-hashes", "--only-binary=:all:"]);
    pip.arg("--requirement").arg(kept.folder.join("requirements.txt"));
    kept.install("install the packages", &mut pip)
}
