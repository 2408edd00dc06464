//! PgBouncer in front of the PostgreSQL server of a run: the installed one, else Debian's package.

use std::env;

use anyhow::{Context as _, bail};

use crate::servers::{Servers, packages};
use xtask::say::say;

#[allow(
    dead_code,
    unreachable_pub,
    reason = "a file of the test kit, of which the chores need a part"
)]
#[path = "../../../testkit/src/pgbouncer.rs"]
mod pooler;
use super::port;

use pooler::{MISSING, PgBouncer, URL};

/// Finds the program, or installs it if the user is root.
///
/// # Errors
/// When it cannot be found or installed; the error says what to do.
pub(super) fn program() -> anyhow::Result<()> {
    if env::var_os(URL).is_some() {
        say(format_args!("pgbouncer: the one that {URL} names is used"));
        return Ok(());
    }
    if PgBouncer::program().is_none() {
        packages::debian("pgbouncer").context(MISSING)?;
    }
    let Some(program) = PgBouncer::program() else {
        bail!(MISSING);
    };
    say(format_args!("pgbouncer: {} is used", program.display()));
    Ok(())
}

/// Starts a pooler in front of the server, unless the environment names one.
///
/// # Errors
/// When it does not start.
pub(super) fn start(server: &str, servers: &mut Servers) -> anyhow::Result<()> {
    if env::var_os(URL).is_some() {
        return Ok(());
    }
    let pooler = PgBouncer::start(server).context("starting PgBouncer for the tests")?;
    say(format_args!(
        "pgbouncer: in transaction mode before that server, on port {} for this run",
        pooler.port()
    ));
    servers.variables.push((URL, pooler.url()));
    servers.add(pooler);
    Ok(())
}
