//! Arguments of the sandbox.

use std::ffi::OsString;

use clap::{Args as ClapArgs, ValueEnum};

use super::LocationArgs;

/// Profile of the sandbox.
#[derive(Debug, Clone, Default, ClapArgs)]
pub(crate) struct SandboxFlag {
    /// Profile of the sandbox for commands of tools [default: workspace].
    ///
    /// workspace writes the workspace and temporary files, without a network; read-only writes temporary
    /// files alone; full has a network and writes everywhere; off confines nothing, and a person is asked
    /// unless --permissions auto is given. sandbox.toml in your configuration folder defines others.
    #[arg(long = "sandbox", value_name = "PROFILE", env = "WINDLASS_SANDBOX")]
    pub(crate) profile: Option<String>,
}

/// Decision about calls that ask to run outside of the sandbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum EscalationMode {
    /// A person is asked about each.
    Ask,
    /// They are refused.
    Never,
}

/// Arguments of `windlass sandbox`.
#[derive(Debug, ClapArgs)]
pub(crate) struct SandboxArgs {
    #[command(flatten)]
    pub(crate) sandbox: SandboxFlag,
    #[command(flatten)]
    pub(crate) place: LocationArgs,
    /// Program with its arguments.
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,
}
