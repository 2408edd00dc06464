//! `windlass diff`: prints what a turn or a session changed in files, as a unified diff.

use windlass_engine::core::ChangedFile;
use windlass_engine::ports::{BlobReader, unified_diff};

use super::changes::{FileContent, SessionChanges, content, note_unrecorded};
use super::closed;
use crate::args::DiffArgs;
use crate::exit::{ExitKind, Failure};
use crate::present::{print_line, visible};
use crate::wiring::Adapters;

pub(super) async fn diff(args: DiffArgs, adapters: &Adapters) -> Result<ExitKind, Failure> {
    let opened = adapters.workspace(&args.place)?.open_to_read().await?;
    let session = &args.session;
    let changes = SessionChanges::read(opened.store.clone(), session).await?;
    let changed = match args.turn {
        Some(turn) => changes.of_turn(session, turn)?,
        None => changes.whole(),
    };
    let blobs = BlobReader::new(opened.blobs.clone(), session.clone());
    for file in changed.files.values() {
        for line in of_file(&blobs, file).await?.lines() {
            print_line(&visible(line)).map_err(closed)?;
        }
    }
    note_unrecorded(&changed);
    Ok(ExitKind::Completed)
}

async fn of_file(blobs: &BlobReader, file: &ChangedFile) -> Result<String, Failure> {
    let path = &file.path;
    let read = |content| match content {
        FileContent::Absent => Ok(None),
        FileContent::Bytes(bytes) => match String::from_utf8(bytes) {
            Ok(text) => Ok(Some(text)),
            Err(_) => Err("it is no text".to_owned()),
        },
        FileContent::Missing(reason) => Err(reason),
    };
    let before = read(content(blobs, &file.before).await?);
    let after = read(content(blobs, &file.after).await?);
    let shown =
        before.and_then(|before| Ok(unified_diff(path, before.as_deref(), after?.as_deref())));
    Ok(shown.unwrap_or_else(|reason| format!("{path} differs, and is not shown: {reason}")))
}
