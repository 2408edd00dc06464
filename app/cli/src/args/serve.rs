//! Arguments of `windlass serve`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args as ClapArgs, ValueEnum};
use serde::Deserialize;

use super::{LocationArgs, ProgramSharingArgs, SettingsArgs};

/// What happens after a restart to calls that were allowed and had not started.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum RecoverMode {
    /// They run, as far as the server still permits them.
    #[default]
    Run,
    /// A person is asked about each that may change something.
    Hold,
}

/// Arguments of `windlass serve`.
#[derive(Debug, ClapArgs)]
pub(crate) struct ServeArgs {
    /// Address to listen at [default: the configuration's, else 127.0.0.1:8620].
    ///
    /// Port 0 picks a free port and prints it.
    #[arg(long, value_name = "ADDR")]
    pub(crate) listen: Option<SocketAddr>,
    /// Configuration file [default: windlass/server.toml in your configuration folder].
    ///
    /// Sets tenants, tokens, limits and hosts, in TOML.
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// File that stores the token [default: a new, unsaved token at each start].
    ///
    /// A missing file is created, readable for its owner alone.
    #[arg(long, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,
    /// Print a new token and its SHA-256 for the configuration, and serve nothing.
    #[arg(long)]
    pub(crate) new_token: bool,
    /// Most sessions that this node drives at a time [default: the configuration's, else 10000].
    ///
    /// For stores that several nodes can share.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) most_sessions: Option<u32>,
    /// What happens after a restart to calls that were allowed and had not started
    /// [default: the configuration's, else run].
    ///
    /// With hold, a person is asked about each that may change something.
    #[arg(long, value_enum, value_name = "run|hold")]
    pub(crate) recover: Option<RecoverMode>,
    /// NATS servers for live events, nats://HOST/PLACE [default: the configuration's, else the store's].
    ///
    /// They carry live events to the other nodes. Use the variable for a URL with a password.
    #[arg(long, value_name = "URL", env = "WINDLASS_LIVE", hide_env_values = true)]
    pub(crate) live: Option<String>,
    /// Leave AGENTS.md files out.
    #[arg(long)]
    pub(crate) no_agents: bool,
    #[command(flatten)]
    pub(crate) place: LocationArgs,
    #[command(flatten)]
    pub(crate) shape: SettingsArgs,
    #[command(flatten)]
    pub(crate) sharing: ProgramSharingArgs,
}

impl ServeArgs {
    /// Creates the arguments of a server for the person who starts it: it has no configuration and no
    /// address.
    pub(crate) fn own(
        recover: Option<RecoverMode>,
        no_agents: bool,
        place: LocationArgs,
        shape: SettingsArgs,
        sharing: ProgramSharingArgs,
    ) -> Self {
        Self {
            listen: None,
            config: None,
            token_file: None,
            new_token: false,
            most_sessions: None,
            recover,
            live: None,
            no_agents,
            place,
            shape,
            sharing,
        }
    }
}
