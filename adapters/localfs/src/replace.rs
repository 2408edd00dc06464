//! Puts content in a file's place in one step: a reader sees the old content or the new.

use std::ffi::OsStr;
use std::fs::File;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Write;

use rustix::fs::{
    Access, AtFlags, Mode, OFlags, Stat, accessat, fchmod, fchown, fsync, openat, renameat, statat,
    unlinkat,
};
use rustix::io::Errno;
use rustix::process::{Gid, Uid};

use crate::fault::CallFailure;
use crate::root::ResolvedPath;
use crate::stop::StopCheck;

/// Bytes that are written between two looks at whether to stop.
const STEP: usize = 1024 * 1024;

/// File to write, with its content.
pub(crate) struct FileReplacement<'a> {
    /// The place; what it names is a regular file or does not exist.
    pub(crate) target: &'a ResolvedPath,
    /// Content of the whole file.
    pub(crate) content: &'a [u8],
    /// The file that stands there.
    pub(crate) before: Option<Stat>,
    /// File whose mode and owner a new file gets.
    pub(crate) like: Option<Stat>,
    /// True if the file must be unchanged since it was read, or must not have appeared.
    pub(crate) unchanged: bool,
    /// The call's idempotency key.
    pub(crate) key: &'a str,
    /// When to stop. Nothing has changed then.
    pub(crate) stop: &'a StopCheck,
}

/// Puts content in a file's place: written beside it, synced, renamed over it.
///
/// The file keeps its mode and, where that is allowed, its owner. Other names of the same file
/// (hard links) keep the old content.
pub(crate) fn replace(put: &FileReplacement<'_>) -> Result<(), CallFailure> {
    put_in_place(put)?;
    sync(put.target)
}

/// As [`replace`], but without the sync of the folder. A failure changed nothing.
pub(crate) fn put_in_place(put: &FileReplacement<'_>) -> Result<(), CallFailure> {
    let staged = StagedFile::new(put)?;
    put.stop.check()?;
    staged.check()?;
    staged.put()
}

/// New content that lies beside its place. It is removed again unless it is put there.
pub(crate) struct StagedFile<'a> {
    name: &'a OsStr,
    target: &'a ResolvedPath,
    /// File that must still be there; `None` if nothing must be, or it does not matter.
    expected: Option<Option<Stat>>,
    beside: TemporaryFile<'a>,
}

impl<'a> StagedFile<'a> {
    /// Writes content beside its place and syncs it.
    pub(crate) fn new(put: &FileReplacement<'a>) -> Result<Self, CallFailure> {
        let target = put.target;
        let Some(name) = target.name.as_deref() else {
            return Err(CallFailure::os("write", &target.shown, Errno::ISDIR));
        };
        if let Some(before) = &put.before {
            writable(target, before)?;
        }
        let beside = TemporaryFile::new(put)?;
        fill(put, &beside)?;
        Ok(Self { name, target, expected: put.unchanged.then_some(put.before), beside })
    }

    /// Fails if somebody else changed the file.
    pub(crate) fn check(&self) -> Result<(), CallFailure> {
        match &self.expected {
            Some(expected) => unchanged(self.target, self.name, expected.as_ref()),
            None => Ok(()),
        }
    }

    /// Renames the new content over the old. [`sync`] makes that last.
    pub(crate) fn put(self) -> Result<(), CallFailure> {
        self.beside.rename(self.name)
    }
}

/// Syncs the folder of a file, without which a rename may be lost.
pub(crate) fn sync(place: &ResolvedPath) -> Result<(), CallFailure> {
    fsync(&place.folder).map_err(|errno| {
        CallFailure::Message(format!(
            "`{}` was written, but its folder could not be synced ({errno}): it may be lost when \
             the machine fails",
            place.shown
        ))
    })
}

/// A file that is marked read-only stays as it is, although a rename would get around that.
pub(crate) fn writable(place: &ResolvedPath, before: &Stat) -> Result<(), CallFailure> {
    let name = place.name.as_deref().unwrap_or(OsStr::new("."));
    let access = accessat(&place.folder, name, Access::WRITE_OK, AtFlags::empty());
    let marked = before.st_mode & 0o222 == 0;
    match access {
        Ok(()) if !marked => Ok(()),
        Err(Errno::ROFS) => Err(CallFailure::os("write", &place.shown, Errno::ROFS)),
        Ok(()) | Err(_) => Err(CallFailure::Message(format!(
            "`{}` is read-only; nothing was changed: leave it or ask the user",
            place.shown
        ))),
    }
}

/// Fails if a file is not the one that was read, or is there and was not.
pub(crate) fn unchanged(
    place: &ResolvedPath,
    name: &OsStr,
    before: Option<&Stat>,
) -> Result<(), CallFailure> {
    let now = statat(&place.folder, name, AtFlags::SYMLINK_NOFOLLOW);
    let marks =
        |stat: &Stat| (stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime, stat.st_mtime_nsec);
    let same = match (&now, before) {
        (Ok(now), Some(before)) => marks(now) == marks(before),
        (Err(Errno::NOENT), None) => true,
        (Ok(_) | Err(_), _) => false,
    };
    if same {
        return Ok(());
    }
    Err(CallFailure::Message(format!(
        "`{}` was changed by somebody else meanwhile; nothing was written: read it again",
        place.shown
    )))
}

fn fill(put: &FileReplacement<'_>, beside: &TemporaryFile<'_>) -> Result<(), CallFailure> {
    let mut file = &beside.file;
    for part in put.content.chunks(STEP) {
        put.stop.check()?;
        file.write_all(part).map_err(|error| beside.fault(&error))?;
    }
    if let Some(before) = put.before.as_ref().or(put.like.as_ref()) {
        let (uid, gid) = (Uid::from_raw(before.st_uid), Gid::from_raw(before.st_gid));
        // Only a privileged process may give a file away; the writer owns it otherwise.
        let _ = fchown(file, Some(uid), Some(gid));
        let mode = Mode::from_raw_mode(before.st_mode & 0o777);
        fchmod(file, mode).map_err(|errno| beside.fault(&errno.into()))?;
    }
    file.sync_all().map_err(|error| beside.fault(&error))
}

/// The new content beside the old, removed again unless it is renamed.
struct TemporaryFile<'a> {
    target: &'a ResolvedPath,
    file: File,
    name: String,
    renamed: bool,
}

impl<'a> TemporaryFile<'a> {
    /// The name follows from the idempotency key, so a second run of a call that died in the
    /// first clears away what that left.
    fn new(put: &FileReplacement<'a>) -> Result<Self, CallFailure> {
        let mut hasher = DefaultHasher::new();
        (put.key, &put.target.name).hash(&mut hasher);
        let name = format!(".windlass-{:016x}.tmp", hasher.finish());
        let place = put.target;
        let fault = |errno| CallFailure::os("write", &place.shown, errno);
        match unlinkat(&place.folder, &name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(errno) => return Err(fault(errno)),
        }
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mode = if put.before.or(put.like).is_some() { 0o600 } else { 0o666 };
        let file = openat(&place.folder, &name, flags, Mode::from_raw_mode(mode)).map_err(fault)?;
        Ok(Self { target: place, file: File::from(file), name, renamed: false })
    }

    fn rename(mut self, name: &OsStr) -> Result<(), CallFailure> {
        let folder = &self.target.folder;
        let renamed = renameat(folder, &self.name, folder, name);
        renamed.map_err(|errno| CallFailure::os("write", &self.target.shown, errno))?;
        self.renamed = true;
        Ok(())
    }

    fn fault(&self, error: &std::io::Error) -> CallFailure {
        match Errno::from_io_error(error) {
            Some(errno) => CallFailure::os("write", &self.target.shown, errno),
            None => CallFailure::Message(format!("cannot write `{}`: {error}", self.target.shown)),
        }
    }
}

impl Drop for TemporaryFile<'_> {
    fn drop(&mut self) {
        if !self.renamed {
            let _ = unlinkat(&self.target.folder, &self.name, AtFlags::empty());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::open;
    use crate::root::{MissingFolders, WorkspaceRoot};
    use crate::stop::tests::{asked, never};

    /// What is read, changed by somebody else, and then written.
    fn race(unchanged: bool, meanwhile: impl FnOnce(&std::path::Path)) -> (String, bool) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("f");
        std::fs::write(&path, "old").unwrap();
        let place =
            WorkspaceRoot::open(dir.path()).unwrap().resolve("f", MissingFolders::Refuse).unwrap();
        let before = open::target(&place).unwrap();
        meanwhile(&path);
        let written = replace(&FileReplacement {
            target: &place,
            content: b"mine",
            before,
            like: None,
            unchanged,
            key: "k",
            stop: &never(),
        });
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
        (std::fs::read_to_string(&path).unwrap(), written.is_ok())
    }

    #[test]
    fn a_stop_just_before_the_end_changes_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let place =
            WorkspaceRoot::open(dir.path()).unwrap().resolve("f", MissingFolders::Refuse).unwrap();
        let written = replace(&FileReplacement {
            target: &place,
            content: b"",
            before: None,
            like: None,
            unchanged: false,
            key: "k",
            stop: &asked(),
        });
        assert!(matches!(written, Err(CallFailure::Halted(_))));
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    }

    #[test]
    fn an_edit_does_not_write_over_what_somebody_else_wrote() {
        let theirs = |path: &std::path::Path| std::fs::write(path, "theirs").unwrap();
        assert_eq!(race(true, theirs), (String::from("theirs"), false));
        let replaced = |path: &std::path::Path| {
            let beside = path.with_extension("new");
            std::fs::write(&beside, "new").unwrap();
            std::fs::rename(beside, path).unwrap();
        };
        assert_eq!(race(true, replaced), (String::from("new"), false));
        assert_eq!(race(true, |_| ()), (String::from("mine"), true));
        assert_eq!(race(false, theirs), (String::from("mine"), true));
    }
}
