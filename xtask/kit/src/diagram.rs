//! `kit diagram`: the state chart, drawn from the reviewed table.

use std::fs;

use anyhow::{Context as _, anyhow};
use clap::Args;
use windlass_testkit::explore::{Table, chart};

use xtask::say::{complain, say};
use xtask::step::root;

/// Task for the chart.
#[derive(Debug, Args)]
pub(super) struct Plan {
    /// Write nothing; fail if the page differs from the chart
    #[arg(long)]
    check: bool,
}

/// Path of the chart.
const PAGE: &str = "docs/state-chart.md";

/// Draws the chart or checks it, and returns true if it is right.
///
/// # Errors
/// When the table or the page cannot be read or written.
pub(super) fn run(plan: &Plan) -> anyhow::Result<bool> {
    let table = Table::reviewed().map_err(|error| anyhow!("the reviewed table: {error}"))?;
    let drawn = chart(&table);
    let path = root().join(PAGE);
    if plan.check {
        let page = fs::read_to_string(&path);
        let page = page.with_context(|| format!("reading {}", path.display()))?;
        if page == drawn {
            say(format_args!("{PAGE} shows the reviewed table"));
            return Ok(true);
        }
        complain(format_args!(
            "{PAGE} is not what the reviewed table draws: run `cargo xtask diagram`"
        ));
        return Ok(false);
    }
    fs::write(&path, drawn).with_context(|| format!("writing {}", path.display()))?;
    say(format_args!("wrote {PAGE}"));
    Ok(true)
}
