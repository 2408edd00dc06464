//! nats-server: the one on the path if it is new enough, else the package of Debian's testing suite,
//! pinned by its digest and unpacked below the target folder.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, bail};

use crate::servers::{Servers, Size};
use xtask::say::say;
use xtask::step::step;
use xtask::tools::target;

#[allow(
    dead_code,
    unreachable_pub,
    reason = "a file of the test kit, of which the chores need a part"
)]
#[path = "../../../testkit/src/nats.rs"]
mod server;
use super::port;

use server::{MISSING, NatsServer, REPLICAS, URL};

/// Version to fetch. Debian 12 has 2.9 and Debian 13 has 2.10; testing has this one.
const VERSION: &str = "2.15.1";

/// Packages by architecture, as Rust names it: the file in Debian's pool and its SHA-256.
const PACKAGES: &[(&str, &str, &str)] = &[(
    "x86_64",
    "nats-server_2.15.1-1_amd64.deb",
    "31ef4ceaa84e8248d449e508472e3770c17c3695cb5cb0ee96e03912724ea884",
)];

/// Path of the package below a mirror.
const POOL: &str = "pool/main/n/nats-server";

/// Debian's signing keys, installed by debian-archive-keyring.
const KEYS: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";

/// Mirror for a machine that names none.
const MIRROR: &str = "http://deb.debian.org/debian";

/// Finds the program, or fetches it.
///
/// # Errors
/// When it cannot be found or fetched; the error says what to do.
pub(super) fn program() -> anyhow::Result<()> {
    if let Ok(url) = env::var(URL) {
        say(format_args!("nats: the server at {url} is used, as {URL} says"));
        return Ok(());
    }
    if let Some(program) = NatsServer::program() {
        say(format_args!("nats: {} is used", program.display()));
        return Ok(());
    }
    let fetched = fetch();
    fetched.with_context(|| format!("{MISSING}; or install nats-server 2.15 or later by hand"))
}

/// Starts one server, or a cluster of three, unless the environment names one.
///
/// # Errors
/// When it does not start.
pub(super) fn start(servers: &mut Servers, size: Size) -> anyhow::Result<()> {
    if env::var_os(URL).is_some() {
        return Ok(());
    }
    let nodes = match size {
        Size::One => 1,
        Size::Cluster => 3,
    };
    let running = NatsServer::start_in(&servers.data, nodes, "sync_interval: always", "");
    let running = running.context("starting nats-server")?;
    let url = running.url();
    say(format_args!(
        "nats: {nodes} of nats-server at {url}, each syncs before it answers; data in {}",
        servers.data.display()
    ));
    servers.variables.push((URL, url));
    servers.variables.push((REPLICAS, nodes.to_string()));
    servers.add(running);
    Ok(())
}

/// Fetches the package, verifies its digest, and unpacks the program.
fn fetch() -> anyhow::Result<()> {
    let package = PACKAGES.iter().find(|(arch, ..)| *arch == env::consts::ARCH);
    let Some((_, file, digest)) = package else {
        bail!("no package is pinned for {}", env::consts::ARCH);
    };
    let folder = target()?.join("tools").join(format!("nats-server-{VERSION}"));
    let unpacked = folder.join("unpacked");
    fs::create_dir_all(&unpacked).with_context(|| format!("making {}", folder.display()))?;
    let deb = folder.join(file);
    let url = format!("{}/{POOL}/{file}", mirror());
    say(format_args!(
        "nats: no nats-server 2.15 or later here: fetching {VERSION} once from {url} into {}",
        folder.display()
    ));
    // apt's own downloader: it takes the machine's proxies, and checks the digest.
    let mut download = Command::new("/usr/lib/apt/apt-helper");
    download.args(["-o", "APT::Sandbox::User=root", "download-file", &url]);
    download.arg(&deb).arg(format!("SHA256:{digest}"));
    let deb = match step("fetch nats-server", &mut download) {
        Ok(()) => deb,
        Err(error) => {
            say(format_args!(
                "nats: the pinned package was not to be had ({error:#}): Debian's testing suite \
                 may have moved on, so what it offers now is asked for, and held to what its signed \
                 lists say"
            ));
            offered(&folder.join("apt"))?
        }
    };
    let mut unpack = Command::new("dpkg-deb");
    step("unpack nats-server", unpack.arg("-x").arg(&deb).arg(&unpacked))?;
    let from = unpacked.join("usr/sbin/nats-server");
    let to = folder.join("nats-server");
    fs::rename(&from, &to).with_context(|| format!("moving {}", from.display()))?;
    remove(&unpacked);
    remove(&folder.join("apt"));
    let _ = fs::remove_file(&deb);
    if NatsServer::program().is_none() {
        bail!("{} is not what was expected: it does not tell its version", to.display());
    }
    Ok(())
}

/// Fetches the package that the testing suite offers now, through lists of its own: apt checks their
/// signature with Debian's keys, and the package by them. The machine's own lists stay as they are.
fn offered(folder: &Path) -> anyhow::Result<PathBuf> {
    for part in ["state/lists/partial", "cache/archives/partial", "got"] {
        let part = folder.join(part);
        fs::create_dir_all(&part).with_context(|| format!("making {}", part.display()))?;
    }
    let sources = folder.join("sources.list");
    let suite = format!("deb [signed-by={KEYS}] {} testing main\n", mirror());
    fs::write(&sources, suite).with_context(|| format!("writing {}", sources.display()))?;
    let apt = |words: &[&str]| {
        let mut command = Command::new("apt-get");
        command.args(["-q", "-o", "APT::Sandbox::User=root"]);
        for (key, value) in [
            ("Dir::Etc::SourceList", sources.display().to_string()),
            ("Dir::Etc::SourceParts", "-".to_owned()),
            ("Dir::State", folder.join("state").display().to_string()),
            ("Dir::Cache", folder.join("cache").display().to_string()),
        ] {
            command.arg("-o").arg(format!("{key}={value}"));
        }
        command.args(words).current_dir(folder.join("got"));
        command
    };
    step("read the lists of Debian's testing suite", &mut apt(&["update"]))?;
    step("fetch nats-server", &mut apt(&["download", "nats-server"]))?;
    let got = folder.join("got");
    let entries = fs::read_dir(&got).with_context(|| format!("reading {}", got.display()))?;
    let debs = entries.flatten().map(|entry| entry.path());
    let deb = debs.filter(|path| path.extension().is_some_and(|end| end == "deb")).max();
    deb.context("Debian's testing suite offers no nats-server for this machine")
}

fn remove(folder: &Path) {
    // What was unpacked beside the program is not needed; left behind, it does no harm.
    let _ = fs::remove_dir_all(folder);
}

/// Returns the Debian mirror that apt is configured with.
fn mirror() -> String {
    let folder = PathBuf::from("/etc/apt");
    let parts = fs::read_dir(folder.join("sources.list.d"));
    let parts = parts.into_iter().flatten().flatten().map(|entry| entry.path());
    let files = std::iter::once(folder.join("sources.list")).chain(parts);
    let found = files.filter_map(|file| fs::read_to_string(file).ok()).find_map(|text| {
        let words = text
            .lines()
            .filter(|line| line.starts_with("URIs:") || line.starts_with("deb "))
            .flat_map(|line| line.split_whitespace().map(str::to_owned));
        let mut mirrors: Vec<String> = words
            .filter(|word| word.starts_with("http"))
            .map(|word| word.trim_end_matches('/').to_owned())
            .filter(|word| word.ends_with("/debian"))
            .collect();
        mirrors.pop()
    });
    found.unwrap_or_else(|| MIRROR.to_owned())
}
