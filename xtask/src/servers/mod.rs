//! Servers that tests run against: found or fetched, started in temporary folders on loopback ports,
//! and ended with the chore, however that ends. And programs that tests drive a server of ours with.

mod browser;
mod nats;
mod packages;
mod postgres;
mod schemathesis;

use std::process::Command;

use xtask::say::say;

/// Servers that run, and what tells tests of them.
#[derive(Default)]
pub(crate) struct Servers {
    variables: Vec<(&'static str, String)>,
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
                Ok(()) => postgres::start(&mut servers)?,
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
    browser::found()?;
    browser::agui(&mut Servers::default())?;
    schemathesis::found()?;
    Ok(())
}
