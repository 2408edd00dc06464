//! Commands, one in each file.

mod approvals;
mod attach;
mod compact;
mod config;
mod copy;
mod cycles;
mod damage;
mod diff;
mod doctor;
mod erase;
mod export;
mod export_format;
mod follow;
mod fork;
mod import;
mod init;
mod inputs;
mod ledger;
mod lines;
mod log;
mod manual;
#[cfg(feature = "mcp")]
mod mcp;
#[cfg(all(feature = "mcp", feature = "server"))]
mod mcp_serve;
mod output;
mod outputs;
mod processes;
mod prompt;
mod rekey;
mod repair;
mod replay;
mod retry;
mod rewind;
mod run;
mod salvage_files;
mod sandbox;
#[cfg(feature = "server")]
mod serve;
mod session_checks;
mod sessions;
mod show;
mod skills;
mod trust;
mod turn;
mod turn_runtime;
mod undo;
mod vacuum;
mod verify;

#[cfg(test)]
mod batch_tests;

pub(crate) use turn::TurnRequest;
use windlass_engine::core::{Scope, Seq, SessionId};
use windlass_engine::ports::{LogStore, StoreErrorKind};

use crate::args::{Args, Command};
use crate::exit::{ExitKind, Failure};
use crate::wiring::Adapters;

pub(crate) use attach::token as server_token;
pub(crate) use prompt::images as read_images;
#[cfg(feature = "server")]
pub(crate) use serve::end_within;

/// Runs the command with these adapters.
pub(crate) async fn run(args: Args, adapters: &Adapters) -> Result<ExitKind, Failure> {
    match args.command {
        #[cfg(feature = "server")]
        Command::Chat(args) => Box::pin(crate::chat::chat(*args, adapters)).await,
        #[cfg(not(feature = "server"))]
        Command::Chat(_) => Err(Failure::not_built("the terminal", "server")),
        Command::Run(args) => Box::pin(run::run(args, adapters)).await,
        Command::Resume(args) => Box::pin(run::resume(args, adapters)).await,
        #[cfg(feature = "server")]
        Command::Serve(args) => serve::serve(args, adapters).await,
        #[cfg(not(feature = "server"))]
        Command::Serve(_) => Err(Failure::not_built("the server", "server")),
        Command::Sessions(args) => sessions::sessions(args, adapters).await,
        Command::Show(args) => show::show(args, adapters).await,
        Command::Log(args) => log::log(args, adapters).await,
        Command::Verify(args) => verify::verify(args, adapters).await,
        Command::Replay(args) => replay::replay(args, adapters).await,
        Command::Export(args) => export::export(args, adapters).await,
        Command::Import(args) => import::import(args, adapters).await,
        Command::Copy(args) => copy::copy(args, adapters).await,
        Command::Fork(args) => fork::fork(args, adapters).await,
        Command::Rewind(args) => rewind::rewind(args, adapters).await,
        Command::Undo(args) => undo::undo(args, adapters).await,
        Command::Diff(args) => diff::diff(args, adapters).await,
        Command::Repair(args) => repair::repair(args, adapters).await,
        Command::Erase(args) => erase::erase(args, adapters).await,
        Command::Compact(args) => Box::pin(compact::compact(args, adapters)).await,
        Command::Inputs(args) => inputs::inputs(args, adapters).await,
        Command::Processes(args) => processes::processes(args, adapters).await,
        Command::Vacuum(args) => vacuum::vacuum(args, adapters).await,
        Command::Rekey(args) => rekey::rekey(args, adapters).await,
        Command::Sandbox(args) => sandbox::sandbox(args, adapters),
        Command::Trust(args) => trust::trust(&args),
        Command::Skills(args) => skills::skills_of(&args),
        Command::Approvals(args) => approvals::approvals(&args, adapters),
        #[cfg(feature = "mcp")]
        Command::Mcp(args) => Box::pin(mcp::mcp(args, adapters)).await,
        #[cfg(not(feature = "mcp"))]
        Command::Mcp(_) => Err(Failure::not_built("MCP servers", "mcp")),
        Command::Doctor(args) => doctor::doctor(args, adapters).await,
        Command::Config(args) => config::config(*args, adapters),
        Command::Init(args) => init::init(args, adapters).await,
        Command::Completions(args) => manual::completions(&args, adapters),
        Command::Man(args) => manual::man(&args, adapters),
        Command::Attach(args) => attach::attach(args).await,
    }
}

/// Returns the scope of the person at the terminal.
pub(crate) fn me() -> Scope {
    let user = std::env::var("USER").ok().filter(|user| !user.is_empty());
    Scope::local(user.unwrap_or_else(|| "user".to_owned()))
}

/// Creates the failure of writing to standard output.
pub(crate) fn closed(error: std::io::Error) -> Failure {
    Failure::new(ExitKind::Failed, format!("cannot write to standard output: {error}"))
}

/// Returns the number of facts from after a position up to and with another one, which the log must
/// have.
async fn limit_at(
    store: &dyn LogStore,
    session: &SessionId,
    at: Seq,
    after: Seq,
) -> Result<usize, Failure> {
    if at < after {
        let words = format!("--at {at} lies before --after {after}: nothing is between them");
        return Err(Failure::usage(words));
    }
    require_position(store, session, at).await?;
    Ok(usize::try_from(at.0.saturating_sub(after.0)).unwrap_or(usize::MAX))
}

/// Checks that the log has a position. One that cannot be read may be there.
async fn require_position(
    store: &dyn LogStore,
    session: &SessionId,
    at: Seq,
) -> Result<(), Failure> {
    let is_there = match store.read(session, Seq(at.0.saturating_sub(1)), 1).await {
        Ok(facts) => at > Seq::ZERO && !facts.is_empty(),
        Err(error) if error.kind == StoreErrorKind::Unknown => return Err(error.into()),
        // What can be read is printed, and then the error.
        Err(_) => true,
    };
    match is_there {
        true => Ok(()),
        false => Err(Failure::usage(format!(
            "session {session} has no position {at}: `windlass log {session}` shows its positions"
        ))),
    }
}
