//! Servers that tests run against: found or fetched, started in temporary folders on loopback ports,
//! and ended with the chore, however that ends. And programs that tests drive a server of ours with.

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
mod schemathesis;

use std::process::Command;

use xtask::say::say;

/// Servers that run, and what tells tests of them.
#[derive(Default)]
pub(crate) struct Servers {
    variables: Vec<(&'static str, String)>,
    /// Modules whose tests lack what they need, and skip.
    without: Vec<&'static str>,
    /// Ended when they are dropped.
    running: Vec<Box<dyn std::any::Any>>,
}

/// How a server runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Size {
    /// As one process.
    One,
    /// As many as it takes that the loss of one is not felt, where it can.
    Cluster,
}

impl Servers {
    /// Starts those that an adapter's tests run against, or all for no adapter in particular. One that
    /// cannot be had is said, and its tests say that they are skipped; `needed` makes that an error.
    ///
    /// # Errors
    /// When one does not start, or one that is needed cannot be had.
    pub(crate) fn start(adapter: Option<&str>, size: Size) -> anyhow::Result<Self> {
        let mut servers = Self::default();
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
            match schemathesis::found() {
                Ok(program) => schemathesis::tell(program, &mut servers),
                Err(error) => say(format_args!(
                    "schemathesis: {error:#}; its tests say so too"
                )),
            }
        }
        Ok(servers)
    }

    /// Starts a pooler before a PostgreSQL server. Where there is none, what is held behind one is left out.
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

    /// Whether the tests in modules of this name have what they need.
    pub(crate) fn has(&self, module: &str) -> bool {
        !self.without.contains(&module)
    }

    /// Tells a command of the servers.
    pub(crate) fn tell(&self, command: &mut Command) {
        for (name, value) in &self.variables {
            command.env(name, value);
        }
    }

    fn add(&mut self, running: impl std::any::Any) {
        self.running.push(Box::new(running));
    }
}

/// `cargo xtask servers`: finds or fetches the servers' programs, and those that drive ours.
///
/// # Errors
/// When one can neither be found nor fetched.
pub(crate) fn fetch() -> anyhow::Result<()> {
    nats::program()?;
    postgres::program()?;
    pgbouncer::program()?;
    browser::found()?;
    browser::agui(&mut Servers::default())?;
    schemathesis::found()?;
    Ok(())
}
