//! `windlass`: runs durable agent turns from a terminal. The composition root: it chooses the
//! adapters, and holds no rule about turns.
//!
//! It is a library so that a test program can be this very program with a layer over its store.
//! What users embed is the crate `windlass`; nothing here is promised to them.

#![cfg_attr(
    not(feature = "server"),
    expect(
        dead_code,
        unused_imports,
        reason = "some of the wiring is for the server alone"
    )
)]

mod approver;
mod args;
mod attach;
mod command;
mod exit;
mod present;
mod signals;
mod watch;
mod wiring;

use std::io::IsTerminal as _;
use std::process::ExitCode;
use std::sync::Arc;

use clap::Parser as _;
use clap::error::ErrorKind;
use tracing_subscriber::EnvFilter;
use windlass_engine::ports::LogStore;

use crate::args::Args;
use crate::exit::{ExitKind, Failure};
use crate::present::{JsonPresenter, Presenter as _};

/// Wraps a store in a layer. The program itself adds none.
pub type StoreLayer = fn(Arc<dyn LogStore>) -> Arc<dyn LogStore>;

/// Runs the program on the words that it was started with. Turns run on what `layer` makes of
/// their store; commands that only read have the store itself.
#[must_use]
pub fn main(layer: StoreLayer) -> ExitCode {
    let args = match Args::try_parse() {
        Ok(args) => args,
        Err(error) => return refuse(&error),
    };
    tracing_subscriber::fmt()
        .with_env_filter(filter())
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal())
        .without_time()
        .init();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build();
    let result = match runtime {
        Ok(runtime) => {
            let result = runtime.block_on(command::run(args, layer));
            // What still runs is dropped, which kills tools; what does not end must not hold the
            // process.
            runtime.shutdown_timeout(signals::GRACE);
            result
        }
        Err(error) => Err(Failure::new(
            ExitKind::Failed,
            format!("cannot start the async runtime: {error}"),
        )),
    };
    match result {
        Ok(exit) => exit.into(),
        Err(failure) => {
            present::print_error(&failure.message);
            failure.exit.into()
        }
    }
}

/// Returns the filter of the log. An unreadable filter is reported and replaced by the default.
fn filter() -> EnvFilter {
    let filter = std::env::var("WINDLASS_LOG").unwrap_or_else(|_| "warn".to_owned());
    EnvFilter::try_new(&filter).unwrap_or_else(|error| {
        present::print_error(&format!(
            "WINDLASS_LOG is not a filter such as windlass=debug, so only warnings are logged: \
             {error}"
        ));
        EnvFilter::new("warn")
    })
}

/// Returns true if the words ask for a turn with `--json`, though they do not parse.
fn asks_for_json() -> bool {
    let mut words = std::env::args_os().skip(1);
    let turns = words
        .next()
        .is_some_and(|word| word == "run" || word == "resume");
    turns
        && words
            .take_while(|word| word != "--")
            .any(|word| word == "--json")
}

/// Help and the version are no errors; everything else about the words of a command is usage.
fn refuse(error: &clap::Error) -> ExitCode {
    let _ = error.print();
    let asked = [ErrorKind::DisplayHelp, ErrorKind::DisplayVersion].contains(&error.kind());
    if asked {
        ExitKind::Completed.into()
    } else {
        if asks_for_json() {
            let failure = Failure::usage(error.to_string());
            let now = windlass_engine::ports::Clock::now(&wiring::clock());
            // Standard output may be what failed.
            let _ = JsonPresenter.failed(&failure, None, now);
        }
        ExitKind::Usage.into()
    }
}
