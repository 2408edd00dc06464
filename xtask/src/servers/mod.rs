//! Servers that tests run against: found or fetched, started in temporary folders on loopback ports,
//! and stopped when the chore ends, even if it is killed. Also the programs that drive our server.

mod browser;
mod nats;
mod packages;
mod pgbouncer;
#[allow(
    dead_code,
    unreachable_pub,
    reason = "a file of the test kit, of which the chores need a part"
)]
#[path = "../../../testkit/src/port.rs"]
mod port;
mod postgres;
mod python;
mod schemathesis;

use std::path::{Path, PathBuf};
use std::process::Command;

pub(crate) use browser::mcp_kit;
use xtask::say::say;
use xtask::step::program;

/// Folder in memory, on systems that have one.
const MEMORY: &str = "/dev/shm";

/// Free kibibytes that [`MEMORY`] must have to hold the data of servers.
const ROOM_KIB: u64 = 4 << 20;

/// Running servers, with the variables that name them to tests.
pub(crate) struct Servers {
    /// Folder below which they keep their data.
    data: PathBuf,
    variables: Vec<(&'static str, String)>,
    /// Modules whose tests lack a server and skip.
    without: Vec<&'static str>,
    /// Handles that stop their server on drop.
    running: Vec<Box<dyn std::any::Any>>,
}

/// Number of processes of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Size {
    /// One process for each server.
    One,
    /// A cluster that survives the loss of one process, for servers that have one.
    Cluster,
}

impl Servers {
    /// Starts the servers of an adapter's tests, or all servers for `None`. With `None`, a missing
    /// program is reported, and its tests are skipped.
    ///
    /// # Errors
    /// When a server does not start, or a program that the adapter needs is missing.
    pub(crate) fn start(adapter: Option<&str>, size: Size) -> anyhow::Result<Self> {
        let mut servers = Self::none();
        if adapter.is_none_or(|adapter| adapter == "nats") {
            let needed = adapter.is_some();
            match nats::program() {
                Ok(()) => nats::start(&mut servers, size)?,
                Err(error) if needed => return Err(error),
                Err(error) => say(format_args!("nats: {error:#}; its tests say so too")),
            }
        }
        if adapter.is_none_or(|adapter| adapter == "postgres") {
            match postgres::program() {
                Ok(()) => {
                    let server = postgres::start(&mut servers)?;
                    servers.pool(&server)?;
                }
                Err(error) if adapter.is_some() => return Err(error),
                Err(error) => say(format_args!("postgres: {error:#}; its tests say so too")),
            }
        }
        if adapter.is_none() {
            match browser::found() {
                Ok(browser) => browser.tell(&mut servers),
                Err(error) => say(format_args!("browser: {error:#}; its tests say so too")),
            }
            if let Err(error) = browser::agui(&mut servers) {
                say(format_args!("agui: {error:#}; its test says so too"));
            }
            if let Err(error) = browser::typescript(&mut servers) {
                say(format_args!("typescript: {error:#}; its test says so too"));
            }
            if let Err(error) = browser::mcp(&mut servers).and_then(|()| python::mcp(&mut servers))
            {
                say(format_args!("mcp: {error:#}; its tests say so too"));
            }
            if let Err(error) = python::client(&mut servers) {
                say(format_args!("python: {error:#}; its test says so too"));
            }
            match schemathesis::found() {
                Ok(program) => schemathesis::tell(program, &mut servers),
                Err(error) => say(format_args!("schemathesis: {error:#}; its tests say so too")),
            }
        }
        Ok(servers)
    }

    /// Starts no server. Those that follow, and those that tests start, keep their data in memory if
    /// there is room: a sync costs microseconds there. They are configured to sync, so stores find the
    /// durability that they ask for; tests end servers and never the machine.
    /// Returns no servers.
    pub(crate) fn none() -> Self {
        let mut servers = Self {
            data: port::data_folder(),
            variables: Vec::new(),
            without: Vec::new(),
            running: Vec::new(),
        };
        let named = std::env::var_os(port::DATA).is_some();
        if !named && has_room(Path::new(MEMORY)) {
            servers.data = PathBuf::from(MEMORY);
            servers.variables.push((port::DATA, MEMORY.to_owned()));
        }
        servers
    }

    /// Starts a pooler in front of a PostgreSQL server. Without PgBouncer, the pooled cases are skipped.
    ///
    /// # Errors
    /// When it does not start.
    fn pool(&mut self, server: &str) -> anyhow::Result<()> {
        if let Err(error) = pgbouncer::program() {
            say(format_args!(
                "pgbouncer: {error:#}; the tests behind one are skipped, and say so too"
            ));
            self.without.push("pooled");
            return Ok(());
        }
        pgbouncer::start(server, self)
    }

    /// Returns true when the tests in modules of this name can run.
    pub(crate) fn has(&self, module: &str) -> bool {
        !self.without.contains(&module)
    }

    /// Sets the variables that name the servers on a command.
    pub(crate) fn tell(&self, command: &mut Command) {
        for (name, value) in &self.variables {
            command.env(name, value);
        }
    }

    fn add(&mut self, running: impl std::any::Any) {
        self.running.push(Box::new(running));
    }
}

/// Returns true if the folder exists and has [`ROOM_KIB`] free.
fn has_room(folder: &Path) -> bool {
    let df = program("df").arg("-Pk").arg(folder).output();
    df.is_ok_and(|df| free_kib(&String::from_utf8_lossy(&df.stdout)) >= Some(ROOM_KIB))
}

/// Reads the fourth column of the second line that `df -Pk` prints.
fn free_kib(printed: &str) -> Option<u64> {
    let columns = printed.lines().nth(1)?;
    columns.split_whitespace().nth(3)?.parse().ok()
}

/// Runs `cargo xtask servers`: finds or fetches all programs that tests use.
///
/// # Errors
/// When one cannot be found or fetched.
pub(crate) fn fetch() -> anyhow::Result<()> {
    nats::program()?;
    postgres::program()?;
    pgbouncer::program()?;
    browser::found()?;
    browser::agui(&mut Servers::none())?;
    browser::typescript(&mut Servers::none())?;
    browser::mcp(&mut Servers::none())?;
    python::mcp(&mut Servers::none())?;
    python::client(&mut Servers::none())?;
    schemathesis::found()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_free_room_of_a_folder_is_read() {
        let printed = "Filesystem 1024-blocks Used Available Capacity Mounted on\n\
                       tmpfs          12341316   16  12341300       1% /dev/shm\n";
        assert_eq!(free_kib(printed), Some(12_341_300));
        assert_eq!(free_kib("df: no such folder\n"), None);
        assert!(!has_room(Path::new("no-such-folder-here")));
    }
}
