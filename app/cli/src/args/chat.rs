//! Arguments of `windlass chat`.

use std::path::PathBuf;

use clap::Args as ClapArgs;
use windlass_engine::core::Permissions;

use super::parse::words;
use super::{
    EscalationMode, LocationArgs, ProgramSharingArgs, RecoverMode, ServeArgs, SettingsArgs,
};
use crate::config::TerminalConfig;

/// Arguments of `windlass chat`.
#[derive(Debug, ClapArgs)]
pub(crate) struct ChatArgs {
    /// First message.
    #[arg(value_parser = words)]
    pub(crate) prompt: Option<String>,
    /// Continue this session: its id, the beginning of its id, or last.
    #[arg(long, value_name = "SESSION")]
    pub(crate) resume: Option<String>,
    /// Continue the newest session of this workspace.
    #[arg(short = 'c', long = "continue", conflicts_with = "resume")]
    pub(crate) continues: bool,
    /// Use the sessions of a server, for example http://127.0.0.1:8620.
    ///
    /// Without it, sessions run in this process.
    #[arg(long, value_name = "URL")]
    pub(crate) server: Option<String>,
    /// File with the server's token [default: the variable WINDLASS_TOKEN].
    #[arg(long, value_name = "FILE", requires = "server")]
    pub(crate) token_file: Option<PathBuf>,
    /// Print one line for each change, and redraw nothing.
    ///
    /// For screen readers and simple terminals. ACCESSIBLE=1 and TERM=dumb do the same.
    #[arg(long)]
    pub(crate) plain: bool,
    /// Leave AGENTS.md files out.
    #[arg(long)]
    pub(crate) no_agents: bool,
    #[command(flatten)]
    pub(crate) place: LocationArgs,
    #[command(flatten)]
    pub(crate) shape: SettingsArgs,
    #[command(flatten)]
    pub(crate) sharing: ProgramSharingArgs,
    /// Look and keys by the configuration.
    #[arg(skip)]
    pub(crate) terminal: TerminalConfig,
}

impl ChatArgs {
    /// Returns the arguments of a server in this process with these settings.
    pub(crate) fn serve_args(&self) -> ServeArgs {
        let shape = SettingsArgs {
            // The person may widen and narrow what a session was opened with, up to what is usual.
            mode: None,
            permissions: self.shape.permissions.filter(|named| *named == Permissions::Auto),
            // A person is there to ask.
            escalation: self.shape.escalation.or(Some(EscalationMode::Ask)),
            ..self.shape.clone()
        };
        // Calls that were allowed when a process ended are asked about again where they matter.
        let recover = Some(RecoverMode::Hold);
        ServeArgs::own(recover, self.no_agents, self.place.clone(), shape, self.sharing)
    }
}
