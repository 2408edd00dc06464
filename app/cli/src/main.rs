//! `windlass`: runs durable agent turns from a terminal. The composition root: it chooses the
//! adapters, and holds no rule about turns.

mod args;
mod command;
mod exit;
mod present;
mod signals;
mod watch;
mod wiring;

use std::process::ExitCode;

use clap::Parser as _;
use clap::error::ErrorKind;
use tracing_subscriber::EnvFilter;

use crate::args::Args;
use crate::exit::{Exit, Failure};

fn main() -> ExitCode {
    let args = match Args::try_parse() {
        Ok(args) => args,
        Err(error) => return refuse(&error),
    };
    let filter = EnvFilter::try_from_env("WINDLASS_LOG").unwrap_or_else(|_| EnvFilter::new("warn"));
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .without_time()
        .init();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build();
    let result = match runtime {
        Ok(runtime) => {
            let result = runtime.block_on(command::run(args));
            // A tool that does not end must not hold the process.
            runtime.shutdown_background();
            result
        }
        Err(error) => Err(Failure::new(
            Exit::Failed,
            format!("the async runtime does not start: {error}"),
        )),
    };
    match result {
        Ok(exit) => exit.into(),
        Err(failure) => {
            present::complain(&failure.message);
            failure.exit.into()
        }
    }
}

/// Help and the version are no errors; everything else about the words of a command is usage.
fn refuse(error: &clap::Error) -> ExitCode {
    let _ = error.print();
    let asked = [ErrorKind::DisplayHelp, ErrorKind::DisplayVersion].contains(&error.kind());
    if asked {
        Exit::Completed.into()
    } else {
        Exit::Usage.into()
    }
}
