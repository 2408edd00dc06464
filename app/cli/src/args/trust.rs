//! Arguments of `windlass trust`.

use std::path::PathBuf;

use clap::Args as ClapArgs;

/// Arguments of `windlass trust`.
#[derive(Debug, ClapArgs)]
pub(crate) struct TrustArgs {
    /// Folder whose instructions are meant [default: the current one].
    #[arg(value_name = "DIR")]
    pub(crate) folder: Option<PathBuf>,
    /// Remove the trust in the instructions of the folder and of all below it.
    #[arg(long)]
    pub(crate) remove: bool,
    /// List what is trusted or refused.
    #[arg(long, conflicts_with_all = ["folder", "remove"])]
    pub(crate) list: bool,
}
