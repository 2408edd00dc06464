//! Arguments of `windlass approvals`.

use clap::{Args as ClapArgs, Subcommand};

use super::LocationArgs;

/// Arguments of `windlass approvals`.
#[derive(Debug, ClapArgs)]
pub(crate) struct ApprovalsArgs {
    #[command(subcommand)]
    pub(crate) command: ApprovalsCommand,
}

/// What to do with the approvals.
#[derive(Debug, Subcommand)]
pub(crate) enum ApprovalsCommand {
    /// List the calls that you allowed for a session or for good.
    List(ListApprovalsArgs),
    /// Revoke one of them: such calls are asked about again, also in running sessions.
    Revoke {
        /// Id, as the list shows it.
        id: String,
    },
}

/// Arguments of `windlass approvals list`.
#[derive(Debug, ClapArgs)]
pub(crate) struct ListApprovalsArgs {
    /// List the approvals of every workspace and of the tenants of servers.
    #[arg(long)]
    pub(crate) all: bool,
    /// Print one JSON object a line.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) place: LocationArgs,
}
