//! `windlass repair`: truncates a log at a position, or accepts unattributed damage. It saves the
//! removed data first.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use windlass_engine::core::{Seq, SessionId};
use windlass_engine::ports::StoreError;
use windlass_file::{DamageLocation, FileStore, SalvagedData};

use super::salvage_files::SalvageFiles;
use crate::args::RepairArgs;
use crate::exit::{ExitKind, Failure};
use crate::present::print_notice;
use crate::wiring::Adapters;

pub(super) async fn repair(args: RepairArgs, adapters: &Adapters) -> Result<ExitKind, Failure> {
    let site = adapters.workspace(&args.place)?;
    let Some(folder) = site.store.file_folder() else {
        let words = format!(
            "cannot repair {}: only a file store can be repaired. Copy its sessions to another \
             store",
            site.store
        );
        return Err(Failure::usage(words));
    };
    // The named store must exist, and a missing one is not created.
    let store = site.open_to_read().await?.store;
    let session = match &args.session {
        Some(name) => Some(name.resolve(&site, &*store).await?),
        None => None,
    };
    drop(store);
    if !folder.exists() {
        return Err(Failure::usage(format!("there is no store {}", site.store)));
    }
    let folder = folder.to_owned();
    let work = move || match (&session, args.truncate_at, args.lost) {
        (Some(id), Some(at), _) => cut_off(&folder, id, Seq(at), args.save.as_deref()),
        (_, _, Some(at)) => accept_loss(&folder, at, args.save.as_deref()),
        (_, _, None) => Err(Failure::usage(
            "name the damage: SESSION --truncate-at SEQ, or --lost LANE/SEGMENT@OFFSET",
        )),
    };
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|error| {
        Failure::new(ExitKind::Store, format!("cannot repair the store: {error}"))
    })?
}

/// Truncates a log. The session stays claimed from before the saving to the end.
fn cut_off(
    folder: &Path,
    id: &SessionId,
    at: Seq,
    save: Option<&Path>,
) -> Result<ExitKind, Failure> {
    let mut cut = FileStore::truncate(folder, id, at)?;
    if let Some(path) = saved_before(cut.salvage_path()) {
        let done = cut.finish()?;
        print_notice(&format!(
            "session {id} ends at {} now: this finishes an interrupted repair, which saved what was \
             cut off in {}",
            done.last,
            path.display()
        ));
        return Ok(ExitKind::Completed);
    }
    let path = save.map(Path::to_owned);
    let path = path.unwrap_or_else(|| PathBuf::from(format!("{id}-after-{at}.jsonl")));
    let mut saving = SalvageFiles::new(&path)?;
    saved(&mut saving, |take| cut.salvage(take))?;
    cut.record_salvage(&absolute(&path)?)?;
    let done = cut.finish().map_err(|error| {
        // It may be truncated in part, so the saved data stays.
        let mut failure = Failure::from(error);
        let words = format!(". The facts to be cut off are in {}", path.display());
        failure.message.push_str(&words);
        failure
    })?;
    print_notice(&format!(
        "session {id} ends at {} now: {} bytes were cut off, and the {} facts that could be read of \
         them are in {}",
        done.last,
        done.cut_bytes,
        saving.facts(),
        path.display(),
    ));
    if let Some((path, bytes)) = saving.damaged() {
        let shown = path.display();
        print_notice(&format!("  {bytes} damaged bytes are in {shown}"));
    }
    Ok(ExitKind::Completed)
}

/// Accepts the loss of a damaged stretch that belongs to no known session.
fn accept_loss(
    folder: &Path,
    at: DamageLocation,
    save: Option<&Path>,
) -> Result<ExitKind, Failure> {
    let mut loss = FileStore::discard(folder, at)?;
    if let Some(path) = saved_before(loss.salvage_path()) {
        loss.finish()?;
        print_notice(&format!(
            "the loss at {at} is accepted: this finishes an interrupted repair, which saved its bytes \
             in {}",
            path.display()
        ));
        return Ok(ExitKind::Completed);
    }
    let path = save.map(Path::to_owned);
    let path = path.unwrap_or_else(|| PathBuf::from(at.to_string().replace(['/', '@'], "-")));
    let mut saving = SalvageFiles::of_bytes(&path);
    saved(&mut saving, |take| loss.bytes(take))?;
    let saved_in = saving.damaged().map_or(path.as_path(), |(path, _)| path);
    loss.record_salvage(&absolute(saved_in)?)?;
    loss.finish()?;
    if let Some((path, bytes)) = saving.damaged() {
        print_notice(&format!(
            "the loss at {at} is accepted, and its {bytes} bytes are in {}",
            path.display()
        ));
    }
    print_notice(
        "  sessions that were only there are lost, and others may have lost their last facts: \
         windlass verify reports those that lost some in between",
    );
    Ok(ExitKind::Completed)
}

/// Returns the file of an interrupted repair, if it is still there.
fn saved_before(path: Option<&Path>) -> Option<PathBuf> {
    path.filter(|path| path.exists()).map(Path::to_owned)
}

fn absolute(path: &Path) -> Result<PathBuf, Failure> {
    std::path::absolute(path).map_err(|error| {
        Failure::new(ExitKind::Store, format!("cannot resolve {}: {error}", path.display()))
    })
}

/// Saves all passed data durably, or nothing.
fn saved(
    saving: &mut SalvageFiles,
    hand_over: impl FnOnce(
        &mut dyn FnMut(SalvagedData<'_>) -> ControlFlow<()>,
    ) -> Result<(), StoreError>,
) -> Result<(), Failure> {
    let mut failed = None;
    let read = hand_over(&mut |remains| match saving.save(&remains) {
        Ok(()) => ControlFlow::Continue(()),
        Err(failure) => {
            failed = Some(failure);
            ControlFlow::Break(())
        }
    });
    let saved = read
        .map_err(Failure::from)
        .and_then(|()| failed.map_or(Ok(()), Err))
        .and_then(|()| saving.sync());
    if saved.is_err() {
        saving.remove();
    }
    saved
}
