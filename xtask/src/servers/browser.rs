//! What tests of the page are driven with: Debian's Chromium and Node, and `playwright-core` and
//! `axe-core` from npm, pinned by a lock file and unpacked below the target folder.

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, ensure};

use crate::servers::Servers;
use crate::servers::packages::{Kept, bounded, debian, on_path};
use xtask::say::say;

/// The variable that names the program of Chromium.
const CHROMIUM: &str = "WINDLASS_TEST_CHROMIUM";

/// The variable that names the program of Node.
const NODE: &str = "WINDLASS_TEST_NODE";

/// The variable that names the folder `node_modules` in which `playwright-core` is.
const PLAYWRIGHT: &str = "WINDLASS_TEST_PLAYWRIGHT";

/// The oldest Node that will do.
const OLDEST_NODE: u32 = 20;

/// How long npm may take, in seconds.
const NPM_S: u32 = 300;

/// What the three of them are.
#[derive(Debug)]
pub(super) struct Browser {
    chromium: String,
    node: String,
    modules: String,
}

/// Finds all of it, or fetches what is missing.
///
/// # Errors
/// When a part is neither there nor to be had, with what to do.
pub(super) fn found() -> anyhow::Result<Browser> {
    let chromium = named(CHROMIUM, chromium)?;
    let node = named(NODE, node)?;
    let modules = named(PLAYWRIGHT, || modules(&node))?;
    say(format_args!(
        "browser: {chromium} is used, driven by {node} with the packages in {modules}"
    ));
    Ok(Browser {
        chromium,
        node,
        modules,
    })
}

impl Browser {
    /// Has tests told of it.
    pub(super) fn tell(self, servers: &mut Servers) {
        servers.variables.extend([
            (CHROMIUM, self.chromium),
            (NODE, self.node),
            (PLAYWRIGHT, self.modules),
        ]);
    }
}

/// What the environment names, else what is found.
fn named(variable: &str, find: impl FnOnce() -> anyhow::Result<PathBuf>) -> anyhow::Result<String> {
    let found = match env::var(variable) {
        Ok(named) => return Ok(named),
        Err(_) => find()?,
    };
    let name = found.display().to_string();
    let name = found
        .to_str()
        .map(str::to_owned)
        .with_context(|| format!("{name} is not UTF-8: name another place with {variable}"))?;
    Ok(name)
}

fn chromium() -> anyhow::Result<PathBuf> {
    let there = || on_path(&["chromium", "chromium-browser"]);
    if let Some(program) = there() {
        return Ok(program);
    }
    debian("chromium")?;
    there().context(
        "there is no Chromium on this machine: install it (Debian: apt-get install chromium), or \
         name one with WINDLASS_TEST_CHROMIUM",
    )
}

fn node() -> anyhow::Result<PathBuf> {
    if on_path(&["node"]).is_none() || on_path(&["npm"]).is_none() {
        debian("npm")?;
    }
    let program = on_path(&["node"]).context(
        "there is no Node on this machine: install it (Debian: apt-get install nodejs npm), or \
         name one with WINDLASS_TEST_NODE",
    )?;
    let version = Command::new(&program)
        .arg("--version")
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("asking {} for its version", program.display()))?;
    let told = String::from_utf8_lossy(&version.stdout).trim().to_owned();
    ensure!(
        major(&told).is_some_and(|major| major >= OLDEST_NODE),
        "{} is {told}, and {OLDEST_NODE} or later is needed: install it, or name one with {NODE}",
        program.display()
    );
    Ok(program)
}

/// The first number of a version such as `v20.20.2`.
fn major(version: &str) -> Option<u32> {
    let number = version.strip_prefix('v').unwrap_or(version);
    number.split('.').next()?.parse().ok()
}

/// The folder of the packages, installed first where the lock file says others than are there.
fn modules(node: &str) -> anyhow::Result<PathBuf> {
    let kept = Kept::new("page", &["package.json", "package-lock.json"])?;
    let modules = kept.folder.join("node_modules");
    if kept.fits() {
        return Ok(modules);
    }
    say(format_args!(
        "browser: installing playwright-core and axe-core from npm (once) into {}",
        kept.folder.display()
    ));
    kept.empty()?;
    let mut npm = bounded(NPM_S, "npm");
    npm.args(["ci", "--ignore-scripts", "--no-audit", "--no-fund"]);
    npm.args(["--fetch-retries", "1"]);
    npm.current_dir(&kept.folder);
    // npm is a script for the Node that is first on the path, which another may be named instead of.
    if on_path(&["node"]).is_none_or(|first| first != Path::new(node)) {
        let own = Path::new(node).parent().map(PathBuf::from);
        let others = env::var_os("PATH").unwrap_or_default();
        let folders = own.into_iter().chain(env::split_paths(&others));
        let path = env::join_paths(folders).context("putting Node on the path")?;
        npm.env("PATH", path);
    }
    kept.install("install playwright-core", &mut npm).with_context(|| {
        format!("installing playwright-core: npm must reach a registry, or name a node_modules that has it with {PLAYWRIGHT}")
    })?;
    ensure!(
        modules.join("playwright-core/package.json").is_file(),
        "npm left no playwright-core in {}",
        modules.display()
    );
    kept.done()?;
    Ok(modules)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_of_node_is_read() {
        assert_eq!(major("v20.20.2"), Some(20));
        assert_eq!(major("18"), Some(18));
        assert_eq!(major("nightly"), None);
    }

    #[test]
    fn the_lock_file_names_no_place() {
        let lock = include_str!("../../tools/page/package-lock.json");
        assert!(
            !lock.contains("resolved") && !lock.contains("://"),
            "{lock}"
        );
        assert_eq!(lock.matches("\"integrity\"").count(), 2);
    }
}
