//! Arguments of `windlass serve`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args as ClapArgs;

use super::{LocationArgs, SettingsArgs};

/// Arguments of `windlass serve`.
#[derive(Debug, ClapArgs)]
pub(crate) struct ServeArgs {
    /// The address that it listens at [default: what the configuration says, else 127.0.0.1:8620].
    /// Port 0 takes a free one, which is printed.
    #[arg(long, value_name = "ADDR")]
    pub(crate) listen: Option<SocketAddr>,
    /// Tenants, tokens, limits and hosts, in TOML [default: windlass/server.toml in your
    /// configuration folder].
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// The file that keeps the token, readable for its owner alone; made where it is missing
    /// [default: a new token at each start, which is kept nowhere].
    #[arg(long, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,
    /// Print a new token, and the SHA-256 of it that the configuration is to have; serve nothing.
    #[arg(long)]
    pub(crate) new_token: bool,
    /// The most sessions that this node drives at a time, where the store is one that several nodes
    /// may be on [default: what the configuration says, else 10000].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) most_sessions: Option<u32>,
    /// NATS servers that carry what streams to the other nodes, nats://HOST/PLACE [default: what the
    /// configuration says, else the store's own server]. Name one with a password by the variable.
    #[arg(
        long,
        value_name = "URL",
        env = "WINDLASS_LIVE",
        hide_env_values = true
    )]
    pub(crate) live: Option<String>,
    /// Tell the models nothing of AGENTS.md files.
    #[arg(long)]
    pub(crate) no_agents: bool,
    #[command(flatten)]
    pub(crate) place: LocationArgs,
    #[command(flatten)]
    pub(crate) shape: SettingsArgs,
}
