//! `windlass undo`: restores the files that a turn changed, as far as nobody changed them since.

use std::sync::Arc;

use windlass_engine::core::{Reject, SessionId};
use windlass_engine::ports::{Clock as _, RestoreResult};
use windlass_engine::{ChangeError, UndoError, UndoReport, UndoRequest};
use windlass_localfs::LocalFileRestorer;

use super::closed;
use super::diff::note_unrecorded;
use crate::args::UndoArgs;
use crate::exit::{ExitKind, Failure};
use crate::present::{TurnNumbers, TurnRef, print_line, print_notice, visible};
use crate::wiring::{self, Adapters};

pub(super) async fn undo(args: UndoArgs, adapters: &Adapters) -> Result<ExitKind, Failure> {
    let site = adapters.workspace(&args.place)?;
    let opened = site.open_to_read().await?;
    let session = &args.session.resolve(&site, &*opened.store).await?;
    let files = LocalFileRestorer::open(&site.workspace);
    let files = Arc::new(files.map_err(|error| Failure::usage(error.to_string()))?);
    // Another folder than that of the session is named by the user.
    let here = args.place.workspace.is_none().then(|| site.workspace.display().to_string());
    let numbers = TurnNumbers::read(opened.store.clone(), session).await?;
    let request = UndoRequest {
        turn: args.turn.map(|turn| numbers.find(session, turn)).transpose()?,
        workspace: here,
        dry_run: args.dry_run,
        scope: super::me(),
    };
    let stores = (opened.store.clone(), opened.blobs.clone());
    let now = wiring::clock().now();
    let undone = windlass_engine::undo(stores, session, files, request, now).await;
    let done = undone.map_err(|error| failure(session, error))?;
    let left = report(&done, args.dry_run).map_err(closed)?;
    note_unrecorded(&done.changed);
    print_notice(&summary(session, &done, numbers.name(done.turn), args.dry_run));
    Ok(if left == 0 { ExitKind::Completed } else { ExitKind::Failed })
}

fn failure(session: &SessionId, error: UndoError) -> Failure {
    match error {
        UndoError::Change(ChangeError::Rejected(Reject::TurnRunning(_))) => {
            Failure::usage(format!(
                "a turn of session {session} is open: `windlass resume {session}` continues it; undo \
             afterwards"
            ))
        }
        UndoError::NoTurn { .. }
        | UndoError::NothingChanged(_)
        | UndoError::OtherWorkspace { .. } => Failure::usage(error.to_string()),
        UndoError::Store(error) => error.into(),
        UndoError::Change(error) => error.into(),
        UndoError::Send(error) => error.into(),
    }
}

/// Prints a line for each file. Returns the number of those that were left.
fn report(done: &UndoReport, dry_run: bool) -> std::io::Result<usize> {
    for (path, result) in &done.files {
        let path = visible(path);
        match result {
            RestoreResult::Restored if dry_run => print_line(&format!("would restore {path}"))?,
            RestoreResult::Restored => print_line(&format!("restored {path}"))?,
            RestoreResult::Unchanged => print_line(&format!("already so {path}"))?,
            RestoreResult::Left { reason } => {
                print_line(&format!("left {path}: {}", visible(reason)))?;
            }
        }
    }
    Ok(done.count(|result| matches!(result, RestoreResult::Left { .. })))
}

fn summary(session: &SessionId, done: &UndoReport, turn: TurnRef, dry_run: bool) -> String {
    let restored = done.count(|result| *result == RestoreResult::Restored);
    let all = done.files.len();
    match (dry_run, restored, &done.unrecorded) {
        (true, _, _) => format!("dry run: nothing of turn {turn} was changed back"),
        (false, _, Some(why)) => format!(
            "{restored} of {all} files of turn {turn} were restored, and the log of session \
             {session} does not say so: {why}. Repeat the command, so that the model is told"
        ),
        (false, 0, None) => format!("no file of turn {turn} was changed back"),
        (false, _, None) => format!(
            "{restored} of {all} files of turn {turn} were restored. The model of session {session} \
             is told with your next prompt"
        ),
    }
}
