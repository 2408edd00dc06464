//! `windlass undo`: restores the files that a turn changed, as far as nobody changed them since.

use windlass_engine::core::{ChangedFile, SessionId};
use windlass_engine::ports::{BlobReader, Clock as _};
use windlass_localfs::{FileRestorer, FileToRestore, RestoreResult};

use super::changes::{FileContent, SessionChanges, content, note_unrecorded};
use super::closed;
use crate::args::UndoArgs;
use crate::exit::{ExitKind, Failure};
use crate::present::{print_line, print_notice, visible};
use crate::wiring::{self, Adapters};

pub(super) async fn undo(args: UndoArgs, adapters: &Adapters) -> Result<ExitKind, Failure> {
    let (site, session) = (adapters.workspace(&args.place)?, &args.session);
    let opened = site.open_to_read().await?;
    let changes = SessionChanges::read(opened.store.clone(), session).await?;
    let named = args.turn.or_else(|| changes.latest().map(|turn| turn.0));
    let Some(turn) = named else {
        return Err(Failure::usage(format!("session {session} has changed no file by its tools")));
    };
    let changed = changes.of_turn(session, turn)?;
    // A log is not believed about where to write: another folder than this one is named by the user.
    let elsewhere = changes.workspace.as_ref().filter(|recorded| **recorded != site.workspace);
    if let (None, Some(recorded)) = (&args.place.workspace, elsewhere) {
        return Err(Failure::usage(format!(
            "session {session} was opened in {}: undo it there, or name its folder with --workspace",
            recorded.display()
        )));
    }
    let root = &site.workspace;
    let failed = |error: &dyn std::error::Error| Failure::usage(error.to_string());
    let restorer = FileRestorer::open(root).map_err(|error| failed(&error))?;
    let restorer = if args.dry_run { restorer.dry_run() } else { restorer };
    let blobs = BlobReader::new(opened.blobs.clone(), session.clone());
    let mut planned = Vec::new();
    for file in changed.files.values() {
        planned.push(match changed.disturbed.contains(&file.path) {
            true => Err((file.path.clone(), "somebody else changed it during the turn".to_owned())),
            false => plan(&blobs, file).await?,
        });
    }
    let (now, me) = (wiring::clock().now(), super::me());
    let restore = || restore(&restorer, planned);
    let results = windlass_engine::with_idle_session(&*opened.store, session, &me, now, restore);
    let results = results.await?;
    let kept = report(&results, args.dry_run).map_err(closed)?;
    note_unrecorded(&changed);
    print_notice(&summary(session, turn, &results, args.dry_run));
    Ok(if kept == 0 { ExitKind::Completed } else { ExitKind::Failed })
}

/// A file to restore, or its path and the reason why it cannot be.
type Planned = Result<FileToRestore, (String, String)>;

async fn plan(blobs: &BlobReader, file: &ChangedFile) -> Result<Planned, Failure> {
    let known = |content| match content {
        FileContent::Absent => Ok(None),
        FileContent::Bytes(bytes) => Ok(Some(bytes)),
        FileContent::Missing(reason) => Err((file.path.clone(), reason)),
    };
    let before = known(content(blobs, &file.before).await?);
    let after = known(content(blobs, &file.after).await?);
    Ok(before.and_then(|content| {
        let (path, mode) = (file.path.clone(), file.mode);
        Ok(FileToRestore { path, expected: after?, content, mode })
    }))
}

fn restore(restorer: &FileRestorer, planned: Vec<Planned>) -> Vec<(String, RestoreResult)> {
    let each = planned.into_iter().map(|planned| match planned {
        Ok(file) => {
            let result = restorer.restore(&file);
            (file.path, result)
        }
        Err((path, reason)) => (path, RestoreResult::Left { reason }),
    });
    each.collect()
}

/// Prints a line for each file. Returns the number of those that were left.
fn report(results: &[(String, RestoreResult)], dry_run: bool) -> std::io::Result<usize> {
    let mut left = 0;
    for (path, result) in results {
        let path = visible(path);
        match result {
            RestoreResult::Restored if dry_run => print_line(&format!("would restore {path}"))?,
            RestoreResult::Restored => print_line(&format!("restored {path}"))?,
            RestoreResult::Unchanged => print_line(&format!("already so {path}"))?,
            RestoreResult::Left { reason } => {
                left += 1;
                print_line(&format!("left {path}: {}", visible(reason)))?;
            }
        }
    }
    Ok(left)
}

fn summary(
    session: &SessionId,
    turn: u64,
    results: &[(String, RestoreResult)],
    dry_run: bool,
) -> String {
    let restored = results.iter().filter(|(_, result)| *result == RestoreResult::Restored).count();
    match (dry_run, restored) {
        (true, _) => format!("dry run: nothing of turn {turn} was changed back"),
        (false, 0) => format!("no file of turn {turn} was changed back"),
        (false, _) => format!(
            "{restored} of {} files of turn {turn} were restored. The model of session {session} is \
             not told: say so in your next prompt",
            results.len()
        ),
    }
}
