//! `windlass run` and `windlass resume`.

use super::{prompt, turn};
use crate::args::{Resume, Run};
use crate::exit::{Exit, Failure};
use crate::wiring::Site;

pub(super) async fn run(args: Run) -> Result<Exit, Failure> {
    let text = args.prompt.as_deref().ok_or_else(prompt::missing)?;
    turn::run(turn::Task {
        session: args.session,
        must_exist: false,
        prompt: Some(prompt::read(text)?),
        dry_run: args.dry_run,
        site: Site::new(&args.place)?,
        shape: args.shape,
    })
    .await
}

pub(super) async fn resume(args: Resume) -> Result<Exit, Failure> {
    let text = args.prompt.as_deref().map(prompt::read).transpose()?;
    turn::run(turn::Task {
        session: Some(args.session),
        must_exist: true,
        prompt: text,
        dry_run: false,
        site: Site::new(&args.place)?,
        shape: args.shape,
    })
    .await
}
