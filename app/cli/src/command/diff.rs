//! `windlass diff`: prints what a turn or a session changed in files, as a unified diff.

use windlass_engine::core::ChangedFiles;
use windlass_engine::ports::BlobReader;
use windlass_engine::{ChangesDiff, MAX_DIFF_BYTES, UndoError, diff_changes, read_changes};

use super::closed;
use crate::args::DiffArgs;
use crate::exit::{ExitKind, Failure};
use crate::present::{TurnNumbers, print_line, print_notice, visible};
use crate::wiring::Adapters;

/// Most paths that are named where files are left out.
const NAMED: usize = 20;

pub(super) async fn diff(args: DiffArgs, adapters: &Adapters) -> Result<ExitKind, Failure> {
    let site = adapters.workspace(&args.place)?;
    let opened = site.open_to_read().await?;
    let session = &args.session.resolve(&site, &*opened.store).await?;
    let numbers = TurnNumbers::read(opened.store.clone(), session).await?;
    let named = args.turn.map(|turn| numbers.find(session, turn)).transpose()?;
    let changes = read_changes(opened.store.clone(), session).await?;
    let changed = match named {
        Some(turn) => changes.of_turn(turn).ok_or_else(|| {
            let session = session.clone();
            Failure::usage(UndoError::NoTurn { session, turn }.to_string())
        })?,
        None => changes.whole(),
    };
    let blobs = BlobReader::new(opened.blobs.clone(), session.clone());
    let shown = diff_changes(&blobs, &changed).await;
    for file in &shown.files {
        let text = match &file.diff {
            Ok(diff) => diff.clone(),
            Err(reason) => format!("{} differs, and is not shown: {reason}", file.path),
        };
        for line in text.lines() {
            print_line(&visible(line)).map_err(closed)?;
        }
    }
    note_left_out(&shown);
    note_unrecorded(&changed);
    Ok(ExitKind::Completed)
}

fn note_left_out(ChangesDiff { files, left_out: paths }: &ChangesDiff) {
    if paths.is_empty() {
        return;
    }
    let named: Vec<String> = paths.iter().take(NAMED).map(|path| visible(path)).collect();
    let more = paths.len().saturating_sub(NAMED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    print_notice(&format!(
        "{} of {} files left out, since all together would be longer than {MAX_DIFF_BYTES} bytes: \
         {}{more}",
        paths.len(),
        paths.len().saturating_add(files.len()),
        named.join(", "),
    ));
}

/// Prints remarks on changes that are not recorded.
pub(super) fn note_unrecorded(changed: &ChangedFiles) {
    if changed.ran_process {
        print_notice("calls also ran processes: what those changed in files is not recorded");
    }
    if changed.lost_call {
        print_notice(
            "nobody knows how a call ended: it may have changed files that are not listed",
        );
    }
}
