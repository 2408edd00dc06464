//! `cargo xtask bench stores`: cost of a store over its medium, as ratios.
//!
//! Sessions append facts of 300 bytes, each waiting for its acknowledgement, at 1, 16, 128 and
//! 1,000 concurrent sessions. The baseline is a bare loop over the same medium that gathers waiting
//! facts into one write and one sync and encodes the same facts, without claims, chain and checks.
//! Both run in processes of their own and take turns.

mod appends;
mod bare_file;
mod bare_postgres;
mod bare_sled;
mod bare_sqlite;
mod idle;
mod opening;
mod reading;

use std::path::Path;

use anyhow::Context as _;
use clap::{Args, ValueEnum};

use crate::rounds::Spread;
use xtask::say::say;

#[allow(
    dead_code,
    unreachable_pub,
    reason = "a file of the test kit, of which the measures need a part"
)]
#[path = "../../../../testkit/src/port.rs"]
mod port;
#[allow(
    dead_code,
    unreachable_pub,
    reason = "a file of the test kit, of which the measures need a part"
)]
#[path = "../../../../testkit/src/postgres.rs"]
mod postgres_server;

use postgres_server::PostgresServer;

pub(crate) use appends::{Course, run as append};
pub(crate) use idle::{Idle, run as idle};
pub(crate) use opening::{Opening, run as open};
pub(crate) use reading::{Reading, run as read};

/// Extent of the stores' measures.
#[derive(Debug, Args)]
pub(crate) struct Plan {
    /// Rounds of each measure; the median counts.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u16).range(1..))]
    rounds: u16,
    /// Duration of each run in milliseconds.
    #[arg(long, default_value_t = 1_000, value_parser = clap::value_parser!(u64).range(50..))]
    ms: u64,
    /// Stores to measure; all by default.
    #[arg(long, value_enum, value_delimiter = ',')]
    only: Vec<Kind>,
}

/// A store that is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Kind {
    /// Store over plain files.
    File,
    /// Store over the embedded database sled.
    Sled,
    /// Store over an SQLite database.
    Sqlite,
    /// Store over PostgreSQL with `prepared=yes`; only appends are measured.
    Postgres,
    /// PostgreSQL with `prepared=no`, as poolers need it, against the same bare loop.
    PostgresUnprepared,
}

impl Kind {
    const ALL: &'static [Self] =
        &[Self::File, Self::Sled, Self::Sqlite, Self::Postgres, Self::PostgresUnprepared];

    /// Name on the command line.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::File => "file",
            Self::Sled => "sled",
            Self::Sqlite => "sqlite",
            Self::Postgres => "postgres",
            Self::PostgresUnprepared => "postgres-unprepared",
        }
    }

    /// Least share of the bare loop's appends, for stores with a target.
    fn at_least(self) -> Option<f64> {
        match self {
            Self::File | Self::Sled | Self::Postgres => Some(0.7),
            Self::Sqlite | Self::PostgresUnprepared => None,
        }
    }

    /// Returns true for a store on a server.
    fn is_served(self) -> bool {
        match self {
            Self::File | Self::Sled | Self::Sqlite => false,
            Self::Postgres | Self::PostgresUnprepared => true,
        }
    }
}

/// Numbers of sessions that append at once.
const SESSIONS: &[usize] = &[1, 16, 128, 1_000];

/// Bytes of a fact's text.
pub(crate) const FACT_BYTES: usize = 300;

/// Measures, prints, and returns true if all targets are met.
///
/// # Errors
/// When a contestant fails.
pub(crate) fn measure(plan: &Plan) -> anyhow::Result<bool> {
    let program = std::env::current_exe()?;
    let beside = program.parent().context("this program lies in no folder")?;
    let kinds = if plan.only.is_empty() { Kind::ALL } else { &plan.only };
    let mut met = true;
    say(format_args!(
        "appends of one fact of {FACT_BYTES} bytes a second, store : bare loop over the same medium"
    ));
    for kind in kinds {
        // One for all runs, each of which has a schema of its own.
        let server = match kind.is_served() {
            true => Some(PostgresServer::start()?),
            false => None,
        };
        let url = server.as_ref().map(PostgresServer::url);
        for sessions in SESSIONS {
            met &= rounds(plan, *kind, *sessions, beside, url.as_deref())?;
        }
    }
    for kind in kinds.iter().filter(|kind| !kind.is_served()) {
        met &= opening::measure(*kind, beside, plan.rounds)?;
        met &= idle::measure(*kind, beside)?;
        if *kind == Kind::File {
            met &= reading::measure(*kind, beside, plan.rounds)?;
        }
    }
    Ok(met)
}

/// Measures one store with a number of sessions.
fn rounds(
    plan: &Plan,
    kind: Kind,
    sessions: usize,
    beside: &Path,
    url: Option<&str>,
) -> anyhow::Result<bool> {
    let mut pairs = Vec::new();
    for round in 0..plan.rounds {
        let mut rates = [0.0; 2];
        let order = if round % 2 == 0 { [true, false] } else { [false, true] };
        for bare in order {
            let course = Course {
                kind,
                bare,
                sessions,
                ms: plan.ms,
                dir: tempfile::tempdir_in(beside)?.keep(),
                url: url.map(ToOwned::to_owned),
            };
            let took = appends::spawn(&course);
            std::fs::remove_dir_all(&course.dir)?;
            let rate = took?.rate();
            if let Some(place) = rates.get_mut(usize::from(bare)) {
                *place = rate;
            }
        }
        pairs.push(rates);
    }
    let spread = |number: fn(&[f64; 2]) -> f64| {
        Spread::of(pairs.iter().map(number).collect()).context("no round was run")
    };
    let ratio = spread(|[ours, bare]| ours / bare)?;
    let (ours, bare) = (spread(|pair| pair[0])?, spread(|pair| pair[1])?);
    let least = kind.at_least();
    let met = least.is_none_or(|least| ratio.median >= least);
    let judged = match least {
        Some(least) if met => format!(", at least {least}: met"),
        Some(least) => format!(", at least {least}: MISSED"),
        None => String::new(),
    };
    say(format_args!(
        "  {:<8} {sessions:>5} sessions: {:>8.0} : {:>8.0} = {ratio}{judged}",
        kind.name(),
        ours.median,
        bare.median,
    ));
    Ok(met)
}
