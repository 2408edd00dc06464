//! PostgreSQL: the installed programs, else Debian's package.

use std::env;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use anyhow::{Context as _, ensure};

use crate::servers::Servers;
use xtask::say::say;
use xtask::step::{program as command, step};

#[allow(
    dead_code,
    unreachable_pub,
    reason = "a file of the test kit, of which the chores need a part"
)]
#[path = "../../../testkit/src/postgres.rs"]
mod server;
use super::port;

use server::{MISSING, PostgresServer, URL};

/// Finds the programs, or installs them if the user is root.
///
/// # Errors
/// When they cannot be found or installed; the error says what to do.
pub(super) fn program() -> anyhow::Result<()> {
    if env::var_os(URL).is_some() {
        say(format_args!("postgres: the server that {URL} names is used"));
        return Ok(());
    }
    if let Some(programs) = PostgresServer::programs() {
        say(format_args!("postgres: {} is used", programs.display()));
        return Ok(());
    }
    let root = std::fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0);
    ensure!(root && Path::new("/usr/bin/apt-get").exists(), MISSING);
    say(format_args!(
        "there is no PostgreSQL on this machine, and tests need its programs: installing Debian's \
         package postgresql (once; it stays installed)"
    ));
    apt(&["update", "-qq"])?;
    apt(&["install", "-y", "-qq", "--no-install-recommends", "postgresql"])?;
    ensure!(PostgresServer::programs().is_some(), MISSING);
    Ok(())
}

fn apt(arguments: &[&str]) -> anyhow::Result<()> {
    let mut apt = command("apt-get");
    apt.env("DEBIAN_FRONTEND", "noninteractive").args(arguments);
    step("install postgresql", &mut apt).context(MISSING)
}

/// Starts a server, unless the environment names one, and returns its URL.
///
/// # Errors
/// When it does not start.
pub(super) fn start(servers: &mut Servers) -> anyhow::Result<String> {
    if let Ok(url) = env::var(URL) {
        return Ok(url);
    }
    let server = PostgresServer::start_in(&servers.data);
    let server = server.context("starting PostgreSQL for the tests")?;
    say(format_args!(
        "postgres: a server on port {} for this run, in {}",
        server.port(),
        server.data().display()
    ));
    let url = server.url();
    servers.variables.push((URL, url.clone()));
    servers.add(server);
    Ok(url)
}
