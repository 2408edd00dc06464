//! `windlass repair`: cuts a log off at a position, with what is cut off saved first.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use windlass::core::Seq;
use windlass_file::FileStore;

use super::saving::Saving;
use crate::args::Repair;
use crate::exit::{Exit, Failure};
use crate::present::tell;
use crate::wiring::{Site, StoreUrl};

pub(super) async fn repair(args: Repair) -> Result<Exit, Failure> {
    let site = Site::new(&args.place)?;
    let StoreUrl::File(folder) = &site.store else {
        let words = format!(
            "{} cannot be repaired: only a store of the kind file can. Copy its sessions to another \
             store",
            site.store
        );
        return Err(Failure::usage(words));
    };
    // What is named must be there, and nothing is created where it is not.
    drop(site.open_to_read().await?);
    if !folder.exists() {
        return Err(Failure::usage(format!("there is no store {}", site.store)));
    }
    let folder = folder.clone();
    let done = tokio::task::spawn_blocking(move || cut_off(&folder, &args)).await;
    done.map_err(|error| Failure::new(Exit::Store, format!("repairing the store: {error}")))?
}

/// Cuts a log off; nobody else can have the session from before the saving until it is done.
fn cut_off(folder: &Path, args: &Repair) -> Result<Exit, Failure> {
    let (id, at) = (&args.session, Seq(args.truncate_at));
    let cut = FileStore::cut(folder, id, at)?;
    let path = args.save.clone();
    let path = path.unwrap_or_else(|| PathBuf::from(format!("{id}-after-{at}.jsonl")));
    let mut saving = Saving::new(&path)?;
    let mut failed = None;
    let read = cut.behind(&mut |remains| match saving.take(&remains) {
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
    if let Err(failure) = saved {
        saving.remove();
        return Err(failure);
    }
    let done = cut.finish().map_err(|error| {
        let mut failure = Failure::from(error);
        // It may be cut off in part: what was saved stays.
        let words = format!(". What is to be cut off is in {}", path.display());
        failure.message.push_str(&words);
        failure
    })?;
    tell(&format!(
        "session {id} ends at {} now: {} bytes were cut off, and the {} facts that could be read of \
         them are in {}",
        done.kept,
        done.cut_bytes,
        saving.facts(),
        path.display(),
    ));
    if let Some((path, bytes)) = saving.damaged() {
        let shown = path.display();
        tell(&format!("  {bytes} bytes that are damaged are in {shown}"));
    }
    Ok(Exit::Completed)
}
