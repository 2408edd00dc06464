//! Removal of unfinished files that a dead process left behind.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::time::Duration;

use windlass_core::SessionId;

use crate::paths::{self, MERGED_WRITER, StorePaths};

/// Age of an abandoned file. Each file is written without a pause.
const ABANDONED: Duration = Duration::from_secs(60 * 60);

/// Removes unfinished snapshots of these sessions, and unfinished segments of merged sessions,
/// whose lock the caller holds.
pub(super) fn unfinished(paths: &StorePaths, sessions: &[SessionId]) -> io::Result<()> {
    let doomed: HashSet<&str> = sessions.iter().map(SessionId::as_str).collect();
    let snapshots = paths.checkpoints();
    remove_those(&snapshots, |name| {
        let of = paths::part_of(name).and_then(|name| name.strip_suffix(".snap"));
        of.is_some_and(|session| doomed.contains(session))
    })?;
    segments(paths)
}

/// Removes abandoned files. The caller holds the lane of merged sessions.
pub(crate) fn sweep(paths: &StorePaths) -> io::Result<()> {
    segments(paths)?;
    let mut folders = vec![paths.checkpoints()];
    folders.extend(paths.list_writers()?.into_iter().map(|lane| paths.writer_folder(lane)));
    for folder in folders {
        remove_those(&folder, |name| paths::part_of(name).is_some() && is_old(&folder.join(name)))?;
    }
    Ok(())
}

/// Removes unfinished segments of merged sessions.
fn segments(paths: &StorePaths) -> io::Result<()> {
    remove_those(&paths.writer_folder(MERGED_WRITER), |name| {
        let number = name.strip_suffix(".part");
        number.is_some_and(|number| u32::from_str_radix(number, 16).is_ok())
    })
}

fn is_old(path: &Path) -> bool {
    let changed = fs::symlink_metadata(path).and_then(|found| found.modified());
    changed.is_ok_and(|changed| changed.elapsed().is_ok_and(|age| age > ABANDONED))
}

fn remove_those(folder: &Path, doomed: impl Fn(&str) -> bool) -> io::Result<()> {
    let names = paths::names(folder)?;
    let mut removed = false;
    for name in names.iter().filter(|name| doomed(name)) {
        match fs::remove_file(folder.join(name)) {
            Ok(()) => removed = true,
            // Whoever wrote it has finished it, or swept it away.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    match removed {
        true => File::open(folder)?.sync_all(),
        false => Ok(()),
    }
}
