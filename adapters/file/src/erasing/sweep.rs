//! Sweeping: files that a process was writing when it died, and that never got their name.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::time::Duration;

use windlass_core::SessionId;

use crate::places::{self, COLD, Places};

/// From which age on nobody is still writing a file: each is written in one go.
const ABANDONED: Duration = Duration::from_secs(60 * 60);

/// Removes what holds anything of these sessions: snapshots that were not finished, whoever wrote
/// them, and segments of settled sessions, whose writers hold a lock that is ours now.
pub(super) fn unfinished(places: &Places, sessions: &[SessionId]) -> io::Result<()> {
    let doomed: HashSet<&str> = sessions.iter().map(SessionId::as_str).collect();
    let snapshots = places.snapshots();
    remove_those(&snapshots, |name| {
        let of = places::part_of(name).and_then(|name| name.strip_suffix(".snap"));
        of.is_some_and(|session| doomed.contains(session))
    })?;
    segments(places)
}

/// Removes what nobody is writing any more. The lane of settled sessions is held.
pub(crate) fn sweep(places: &Places) -> io::Result<()> {
    segments(places)?;
    let mut folders = vec![places.snapshots()];
    folders.extend(
        places
            .list_lanes()?
            .into_iter()
            .map(|lane| places.lane(lane)),
    );
    for folder in folders {
        remove_those(&folder, |name| {
            places::part_of(name).is_some() && is_old(&folder.join(name))
        })?;
    }
    Ok(())
}

/// Removes segments of settled sessions that were not finished.
fn segments(places: &Places) -> io::Result<()> {
    remove_those(&places.lane(COLD), |name| {
        let number = name.strip_suffix(".part");
        number.is_some_and(|number| u32::from_str_radix(number, 16).is_ok())
    })
}

fn is_old(path: &Path) -> bool {
    let changed = fs::symlink_metadata(path).and_then(|found| found.modified());
    changed.is_ok_and(|changed| changed.elapsed().is_ok_and(|age| age > ABANDONED))
}

fn remove_those(folder: &Path, doomed: impl Fn(&str) -> bool) -> io::Result<()> {
    let names = places::names(folder)?;
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
