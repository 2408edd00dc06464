//! Arguments of the commands that show and take back changes, of files or of the conversation.

use clap::Args as ClapArgs;

use super::LocationArgs;
use crate::present::TurnRef;
use crate::wiring::SessionRef;

/// Arguments of `windlass undo`.
#[derive(Debug, ClapArgs)]
pub(crate) struct UndoArgs {
    /// Id of the session, the unique beginning of it, or last.
    pub(crate) session: SessionRef,
    /// Turn to undo, by its number or @ID; by default the latest one that changed files.
    #[arg(long, value_name = "TURN")]
    pub(crate) turn: Option<TurnRef>,
    /// Print what would be restored, and change nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) place: LocationArgs,
}

/// Arguments of `windlass diff`.
#[derive(Debug, ClapArgs)]
pub(crate) struct DiffArgs {
    /// Id of the session, the unique beginning of it, or last.
    pub(crate) session: SessionRef,
    /// Turn whose changes are printed, by its number or @ID; by default all turns.
    #[arg(long, value_name = "TURN")]
    pub(crate) turn: Option<TurnRef>,
    #[command(flatten)]
    pub(crate) place: LocationArgs,
}

/// Arguments of `windlass rewind`.
#[derive(Debug, ClapArgs)]
pub(crate) struct RewindArgs {
    /// Id of the session, the unique beginning of it, or last.
    pub(crate) session: SessionRef,
    /// Position to return to; nothing may be in progress there.
    ///
    /// `windlass log` shows positions.
    #[arg(long, value_name = "SEQ", required_unless_present = "turns")]
    pub(crate) to: Option<u64>,
    /// Return to before the last N turns.
    #[arg(long, value_name = "N", conflicts_with = "to")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) turns: Option<u32>,
    #[command(flatten)]
    pub(crate) place: LocationArgs,
}
