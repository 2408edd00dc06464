//! Files taken back: content put in place of what a call wrote, if nobody changed it since.

use std::path::Path;

use rustix::fs::{AtFlags, Stat, statat, unlinkat};
use rustix::process::{getegid, geteuid};
use windlass_ports::{FileRestorer, FileToRestore, RestoreResult};

use crate::error::SetupError;
use crate::fault::CallFailure;
use crate::open;
use crate::replace::{FileReplacement, replace, sync, unchanged, writable};
use crate::root::{ForeseenPath, MissingFolders, ResolvedPath, WorkspaceRoot};
use crate::stop::StopCheck;

/// Restores files of one workspace folder. Nothing of git's own is written.
#[derive(Debug)]
pub struct LocalFileRestorer {
    root: WorkspaceRoot,
}

impl LocalFileRestorer {
    /// Opens a workspace folder.
    ///
    /// # Errors
    /// [`SetupError`] when the folder does not exist or cannot be read.
    pub fn open(root: &Path) -> Result<Self, SetupError> {
        Ok(Self { root: WorkspaceRoot::open(root)? })
    }

    /// Checks that a file has the expected content, and returns its status. `None` if it has the
    /// earlier content already.
    fn check(&self, file: &FileToRestore) -> Result<Option<Option<Stat>>, CallFailure> {
        let path = &file.path;
        // The record may be of a log that somebody else wrote, and git runs what is in there.
        if path.split('/').any(|part| part == ".git") {
            return Err(CallFailure::Message(format!("`{path}` is git's own")));
        }
        if self.root.canonical(path)? != *path {
            let moved = format!("`{path}` leads through a symbolic link now");
            return Err(CallFailure::Message(moved));
        }
        let (now, stat) = match self.root.resolve_preview(path)? {
            ForeseenPath::InsideMissing(_) => (None, None),
            ForeseenPath::Resolved(place) => present(&place, file)?,
        };
        if now == file.content {
            return Ok(None);
        }
        if now != file.expected {
            let changed = format!("`{path}` was changed since");
            return Err(CallFailure::Message(changed));
        }
        Ok(Some(stat))
    }

    fn put(&self, file: &FileToRestore, stat: Option<Stat>) -> Result<(), CallFailure> {
        let place = self.root.resolve(&file.path, MissingFolders::Create)?;
        let Some(content) = &file.content else {
            return delete(&place, stat.as_ref());
        };
        let like = match (stat, file.mode) {
            (None, Some(mode)) => Some(like(&place, mode)?),
            (Some(_), _) | (None, None) => None,
        };
        replace(&FileReplacement {
            target: &place,
            content,
            before: stat,
            like,
            unchanged: true,
            key: "undo",
            stop: &StopCheck::never(),
        })
    }
}

impl FileRestorer for LocalFileRestorer {
    fn restore(&self, file: &FileToRestore) -> RestoreResult {
        let put = self.check(file).and_then(|found| match found {
            None => Ok(RestoreResult::Unchanged),
            Some(stat) => self.put(file, stat).map(|()| RestoreResult::Restored),
        });
        put.unwrap_or_else(left)
    }

    fn preview(&self, file: &FileToRestore) -> RestoreResult {
        let found = self.check(file).map(|found| match found {
            None => RestoreResult::Unchanged,
            Some(_) => RestoreResult::Restored,
        });
        found.unwrap_or_else(left)
    }
}

fn left(failure: CallFailure) -> RestoreResult {
    let reason = match failure {
        CallFailure::Message(reason) => reason,
        CallFailure::Halted(_) => String::from("it was stopped"),
    };
    RestoreResult::Left { reason }
}

/// Returns the content of a file, and its status; reads no more than is compared.
fn present(
    place: &ResolvedPath,
    file: &FileToRestore,
) -> Result<(Option<Vec<u8>>, Option<Stat>), CallFailure> {
    if open::target(place)?.is_none() {
        return Ok((None, None));
    }
    let longest = [&file.expected, &file.content].into_iter().flatten().map(Vec::len).max();
    let (opened, stat) = open::file(place)?;
    let content = open::first_bytes(opened, longest.unwrap_or(0).saturating_add(1));
    let content = content
        .map_err(|error| CallFailure::Message(format!("cannot read `{}`: {error}", place.shown)))?;
    Ok((Some(content), Some(stat)))
}

fn delete(place: &ResolvedPath, stat: Option<&Stat>) -> Result<(), CallFailure> {
    let name = place.name.as_deref().unwrap_or_default();
    if let Some(stat) = stat {
        writable(place, stat)?;
    }
    unchanged(place, name, stat)?;
    unlinkat(&place.folder, name, AtFlags::empty())
        .map_err(|errno| CallFailure::os("delete", &place.shown, errno))?;
    sync(place)
}

/// Returns the status of a file of this process with these permission bits.
fn like(place: &ResolvedPath, mode: u32) -> Result<Stat, CallFailure> {
    let mut stat = statat(&place.folder, ".", AtFlags::SYMLINK_NOFOLLOW)
        .map_err(|errno| CallFailure::os("create", &place.shown, errno))?;
    stat.st_mode = mode;
    (stat.st_uid, stat.st_gid) = (geteuid().as_raw(), getegid().as_raw());
    Ok(stat)
}
