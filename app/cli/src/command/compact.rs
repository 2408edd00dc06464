//! `windlass compact`: summarizes the conversation of a session.

use super::turn::{self, SessionChoice, TurnRequest};
use crate::args::{CompactArgs, InputArgs, ProgramSharingArgs};
use crate::exit::{ExitKind, Failure};
use crate::wiring::Adapters;

pub(super) async fn compact(args: CompactArgs, adapters: &Adapters) -> Result<ExitKind, Failure> {
    turn::run(turn::TurnTask {
        session: SessionChoice::Existing(args.session),
        request: TurnRequest::Compaction(args.focus),
        dry_run: false,
        input: InputArgs::default(),
        place: args.place,
        settings: args.shape,
        sharing: ProgramSharingArgs::default(),
        adapters,
        recording: args.recording,
    })
    .await
}
