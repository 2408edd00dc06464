//! Arguments of commands for whole stores.

use std::time::Duration;

use clap::Args as ClapArgs;

use super::LocationArgs;
use super::parse::age;
use crate::wiring::SessionRef;

/// Arguments of `windlass copy`.
#[derive(Debug, ClapArgs)]
pub(crate) struct CopyArgs {
    /// Sessions to copy [default: all].
    pub(crate) session: Vec<SessionRef>,
    /// Source store, as in --store.
    #[arg(long, value_name = "URL", env = "WINDLASS_COPY_FROM", hide_env_values = true)]
    pub(crate) from: String,
    /// Target store, as in --store.
    #[arg(long, value_name = "URL", env = "WINDLASS_COPY_TO", hide_env_values = true)]
    pub(crate) to: String,
    /// Source of the master key of an encrypted source store, as in --encrypt-key
    /// [default: that of your configuration].
    #[arg(long, value_name = "SOURCE")]
    pub(crate) from_key: Option<String>,
    /// Source of the master key of an encrypted target store; a new one is encrypted with it.
    #[arg(long, value_name = "SOURCE")]
    pub(crate) to_key: Option<String>,
}

/// Arguments of `windlass vacuum`.
#[derive(Debug, ClapArgs)]
pub(crate) struct VacuumArgs {
    /// Permanently erase settled sessions unchanged for this long, for example 90days [default: none].
    #[arg(long, value_name = "DUR", value_parser = age)]
    pub(crate) erase_after: Option<Duration>,
    #[command(flatten)]
    pub(crate) place: LocationArgs,
}

/// Arguments of `windlass rekey`.
#[derive(Debug, ClapArgs)]
pub(crate) struct RekeyArgs {
    /// Source of the new master key, as in --encrypt-key [default: the first key there].
    ///
    /// A source may have several keys, separated by white space or commas: the first one encrypts, the others
    /// decrypt.
    #[arg(long, value_name = "SOURCE")]
    pub(crate) new_key: Option<String>,
    #[command(flatten)]
    pub(crate) place: LocationArgs,
}
