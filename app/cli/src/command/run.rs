//! `windlass run` and `windlass resume`.

use super::turn::{self, SessionChoice, TurnRequest};
use crate::args::{ResumeArgs, RunArgs};
use crate::exit::{ExitKind, Failure};
use crate::wiring::{Adapters, SessionRef};

pub(super) async fn run(args: RunArgs, adapters: &Adapters) -> Result<ExitKind, Failure> {
    let session = match args.session {
        Some(id) => SessionChoice::Named(id),
        None if args.continues => SessionChoice::Existing(SessionRef::last()?),
        None => SessionChoice::New,
    };
    turn::run(turn::TurnTask {
        session,
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

pub(super) async fn resume(mut args: ResumeArgs, adapters: &Adapters) -> Result<ExitKind, Failure> {
    let (session, request) = args.take_target()?;
    turn::run(turn::TurnTask {
        session: SessionChoice::Existing(session),
        request,
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
