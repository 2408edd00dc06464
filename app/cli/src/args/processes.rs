//! Arguments of `windlass processes`.

use clap::{Args as ClapArgs, Subcommand};
use windlass_engine::core::SessionId;

use super::parse::session;
use super::shared::LocationArgs;

/// Arguments of `windlass processes`.
#[derive(Debug, ClapArgs)]
#[command(
    mut_arg("workspace", |arg| arg.global(true)),
    mut_arg("store", |arg| arg.global(true))
)]
pub(crate) struct ProcessesArgs {
    /// Id of the session.
    #[arg(value_parser = session)]
    pub(crate) session: SessionId,
    #[command(flatten)]
    pub(crate) place: LocationArgs,
    #[command(subcommand)]
    pub(crate) command: Option<ProcessesCommand>,
}

/// What to do with the processes.
#[derive(Debug, Subcommand)]
pub(crate) enum ProcessesCommand {
    /// List the processes (the default).
    List,
    /// Stop a process, with all that it started.
    Stop {
        /// Id of the process.
        process: u64,
    },
}
