//! `windlass run` and `windlass resume`.

use super::turn;
use crate::Layer;
use crate::args::{Resume, Run};
use crate::exit::{Exit, Failure};

pub(super) async fn run(args: Run, layer: Layer) -> Result<Exit, Failure> {
    turn::run(turn::Task {
        session: args.session,
        resumes: false,
        prompt: args.prompt,
        dry_run: args.dry_run,
        asked: args.asked,
        place: args.place,
        shape: args.shape,
        layer,
        taping: args.taping,
    })
    .await
}

pub(super) async fn resume(args: Resume, layer: Layer) -> Result<Exit, Failure> {
    turn::run(turn::Task {
        session: Some(args.session),
        resumes: true,
        prompt: args.prompt,
        dry_run: false,
        asked: args.asked,
        place: args.place,
        shape: args.shape,
        layer,
        taping: args.taping,
    })
    .await
}
