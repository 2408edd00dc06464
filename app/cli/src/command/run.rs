//! `windlass run` and `windlass resume`.

use super::turn::{self, TurnRequest};
use crate::args::{ResumeArgs, RunArgs};
use crate::exit::{ExitKind, Failure};
use crate::wiring::Adapters;

pub(super) async fn run(args: RunArgs, adapters: &Adapters) -> Result<ExitKind, Failure> {
    turn::run(turn::TurnTask {
        session: args.session,
        resumes: false,
        request: TurnRequest::Prompt(args.prompt),
        dry_run: args.dry_run,
        input: args.input,
        place: args.place,
        settings: args.shape,
        sharing: args.sharing,
        adapters,
        recording: args.recording,
    })
    .await
}

pub(super) async fn resume(args: ResumeArgs, adapters: &Adapters) -> Result<ExitKind, Failure> {
    turn::run(turn::TurnTask {
        session: Some(args.session),
        resumes: true,
        request: TurnRequest::Prompt(args.prompt),
        dry_run: false,
        input: args.input,
        place: args.place,
        settings: args.shape,
        sharing: args.sharing,
        adapters,
        recording: args.recording,
    })
    .await
}
