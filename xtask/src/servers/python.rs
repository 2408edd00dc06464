//! Packages from PyPI, pinned with all that they need by digests, in virtual environments below the
//! target folder; among them those that test the Python client, and MCP servers.

use std::env;

use anyhow::{Context as _, ensure};

use crate::servers::Servers;
use crate::servers::packages::{Kept, bounded, on_path};
use xtask::say::say;

/// Variable that names a Python with `pytest`, `mypy` and `setuptools`.
const PYTHON: &str = "WINDLASS_TEST_PYTHON";

/// Variable that names a Python with `mcp-server-fetch`, `mcp-server-git` and `mcp-server-time`.
const MCP: &str = "WINDLASS_TEST_MCP_PYTHON";

/// Time limit of each step of an installation, in seconds.
const STEP_S: u32 = 300;

/// Finds or installs what tests the Python client, and passes the path of its Python to tests.
///
/// # Errors
/// When it cannot be found or installed; the error says what to do.
pub(super) fn client(servers: &mut Servers) -> anyhow::Result<()> {
    let python = match env::var(PYTHON) {
        Ok(named) => named,
        Err(_) => installed("python-client", "pytest", PYTHON)?,
    };
    say(format_args!("python: {python} is used"));
    servers.variables.push((PYTHON, python));
    Ok(())
}

/// Finds or installs MCP servers, and passes the path of their Python to tests.
///
/// # Errors
/// When they cannot be found or installed; the error says what to do.
pub(super) fn mcp(servers: &mut Servers) -> anyhow::Result<()> {
    let python = match env::var(MCP) {
        Ok(named) => named,
        Err(_) => installed("mcp-python", "mcp-server-git", MCP)?,
    };
    say(format_args!("mcp: {python} is used"));
    servers.variables.push((MCP, python));
    Ok(())
}

/// Returns the Python of the packages that `folder` pins, and installs them if they differ.
fn installed(folder: &str, package: &str, variable: &str) -> anyhow::Result<String> {
    let kept = Kept::new(folder, &["requirements.txt"])?;
    let program = kept.folder.join("venv/bin/python");
    if !kept.fits() {
        venv(&kept).with_context(|| {
            format!(
                "installing {package}: python3 with its module venv (Debian: python3-venv) and a \
                 package index are needed, or name a Python that has it with {variable}"
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
