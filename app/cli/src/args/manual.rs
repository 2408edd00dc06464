//! Arguments of `windlass completions` and `windlass man`.

use std::path::PathBuf;

use clap::Args as ClapArgs;
use clap_complete::Shell;

/// Arguments of `windlass completions`.
#[derive(Debug, ClapArgs)]
pub(crate) struct CompletionsArgs {
    /// Shell that reads them.
    pub(crate) shell: Shell,
}

/// Arguments of `windlass man`.
#[derive(Debug, ClapArgs)]
pub(crate) struct ManArgs {
    /// Folder for a page of each command [default: print the page of windlass].
    #[arg(value_name = "DIR")]
    pub(crate) folder: Option<PathBuf>,
}
