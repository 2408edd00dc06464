//! `windlass`: runs durable agent turns from a terminal. This is the composition root: it chooses
//! the adapters, and contains no rule about turns.
//!
//! It is a library so that a program can be this command with adapters of its own: [`Command`] has
//! the built-in ones and takes more. Programs that run turns themselves embed the crate `windlass`.

#![cfg_attr(
    not(feature = "server"),
    expect(dead_code, unused_imports, reason = "some of the wiring is for the server alone")
)]

mod approver;
mod args;
mod attach;
mod builder;
#[cfg(feature = "server")]
mod chat;
mod command;
mod config;
mod exit;
mod person;
mod present;
mod secrets;
mod signals;
mod watch;
mod wiring;

use std::backtrace::Backtrace;
use std::fs::File;
use std::io::{self, IsTerminal as _};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::error::ErrorKind;
use tracing_subscriber::EnvFilter;
use windlass_engine::ports::LogStore;

use crate::args::Args;
use crate::exit::{ExitKind, Failure};
use crate::present::{JsonPresenter, Presenter as _};
use crate::wiring::Adapters;

/// Time after which an idle thread for blocking work ends. The allocator returns what was freed of a
/// thread's memory by others when the thread allocates again or ends.
const IDLE_THREAD: Duration = Duration::from_secs(1);

/// Filter of the log by default. The library of the MCP client warns of what servers do, which their
/// states show.
const DEFAULT_FILTER: &str = "warn,rmcp=off";

/// Files that the runtime opens to start, and a few more.
const START_FILES: usize = 8;

pub use crate::builder::Command;
pub use crate::wiring::{ProviderScheme, ProviderSetup, ToolScheme, ToolSetup};

/// Wraps a store in a layer. The program itself adds none.
#[doc(hidden)]
pub type StoreLayer = fn(Arc<dyn LogStore>) -> Arc<dyn LogStore>;

/// Runs the program with its command-line arguments.
fn start(adapters: Result<Adapters, Failure>) -> ExitCode {
    // The helper of the sandbox has one thread, so nothing precedes it.
    #[cfg(feature = "sandbox")]
    if let Some(code) = windlass_sandbox::helper() {
        return ExitCode::from(code);
    }
    std::panic::set_hook(Box::new(|panic| {
        // Its text may be anything, of a tool or of an adapter too.
        present::print_error(&format!("a defect, please report it: {panic}"));
        if std::env::var_os("RUST_BACKTRACE").is_some() {
            present::print_error(&Backtrace::force_capture().to_string());
        }
    }));
    if let Err(failure) = check_open_files().and_then(|()| secrets::receive()) {
        return fail_early(&failure);
    }
    let adapters = match adapters {
        Ok(adapters) => adapters,
        Err(failure) => return fail_early(&failure),
    };
    let args = match Args::read(&adapters) {
        Ok(args) => args,
        Err(error) => return refuse(&error),
    };
    if let Err(failure) = secrets::hide(&wiring::secret_variables(&args.command, &adapters)) {
        return fail_early(&failure);
    }
    tracing_subscriber::fmt()
        .with_env_filter(filter())
        .with_writer(|| present::VisibleStderr)
        .with_ansi(io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none())
        .without_time()
        .init();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .thread_keep_alive(IDLE_THREAD)
        .enable_all()
        .build();
    let result = match runtime {
        Ok(runtime) => {
            let result = runtime.block_on(async {
                signals::survive_file_limit();
                command::run(args, &adapters).await
            });
            // Running effects are dropped, which kills tools. An effect that does not end must not
            // delay the process.
            runtime.shutdown_timeout(signals::GRACE);
            result
        }
        Err(error) => {
            let words = format!("cannot start the async runtime: {error}");
            return fail_early(&Failure::new(ExitKind::Failed, words));
        }
    };
    match result {
        Ok(exit) => exit.into(),
        Err(failure) => fail(&failure),
    }
}

/// Checks that the runtime can open the files that it needs to start: it panics without them.
fn check_open_files() -> Result<(), Failure> {
    let opened = (0..START_FILES).map(|_| File::open("/dev/null"));
    let opened: io::Result<Vec<File>> = opened.collect();
    opened.map(drop).map_err(|error| {
        let words = format!(
            "cannot open {START_FILES} files to start with: {error}; raise the limit of open files \
             (ulimit -n), or close what this process inherits"
        );
        Failure::new(ExitKind::Failed, words)
    })
}

/// Reports a failure before the command began. A turn with `--json` prints its last line all the
/// same.
fn fail_early(failure: &Failure) -> ExitCode {
    print_last_line(failure);
    fail(failure)
}

/// Prints the last line of a turn with `--json`, if the arguments ask for one.
fn print_last_line(failure: &Failure) {
    if asks_for_json() {
        let now = windlass_engine::ports::Clock::now(&wiring::clock());
        // Standard output itself may have failed.
        let _ = JsonPresenter::default().failed(failure, None, now);
    }
}

fn fail(failure: &Failure) -> ExitCode {
    present::print_error(&failure.message);
    failure.exit.into()
}

/// Returns the filter of the log. An unreadable filter is reported and replaced by the default.
fn filter() -> EnvFilter {
    let filter = std::env::var("WINDLASS_LOG").unwrap_or_else(|_| DEFAULT_FILTER.to_owned());
    EnvFilter::try_new(&filter).unwrap_or_else(|error| {
        present::print_error(&format!(
            "WINDLASS_LOG is not a filter such as windlass=debug, so only warnings are logged: \
             {error}"
        ));
        EnvFilter::new(DEFAULT_FILTER)
    })
}

/// Returns true if invalid arguments ask for a turn with `--json`.
fn asks_for_json() -> bool {
    let mut words = std::env::args_os().skip(1);
    let turns = words.next().is_some_and(|word| word == "run" || word == "resume");
    turns && words.take_while(|word| word != "--").any(|word| word == "--json")
}

/// Prints help or the version, or reports invalid arguments.
fn refuse(error: &clap::Error) -> ExitCode {
    let asked = [ErrorKind::DisplayHelp, ErrorKind::DisplayVersion].contains(&error.kind());
    if asked {
        let _ = error.print();
        ExitKind::Completed.into()
    } else {
        // It repeats the arguments.
        present::print_notice(error.to_string().trim_end());
        print_last_line(&Failure::usage(error.to_string()));
        ExitKind::Usage.into()
    }
}
