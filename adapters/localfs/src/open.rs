//! Opening what a place names: a regular file or a folder, and nothing that blocks or acts.

use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;

use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat, fstat, openat, statat};
use rustix::io::Errno;

use crate::fault::CallFailure;
use crate::root::{ResolvedPath, folder_at};

/// Opens a regular file for reading.
///
/// The type is asked before the file is opened, since opening some devices acts on them, and
/// again afterwards, since the name may have changed hands. A FIFO does not block either way.
pub(crate) fn file(place: &ResolvedPath) -> Result<(File, Stat), CallFailure> {
    let Some(name) = &place.name else {
        return Err(CallFailure::os("read", &place.shown, Errno::ISDIR));
    };
    file_at(&place.folder, name).map_err(|refused| refused.fault("read", &place.shown))
}

/// A file or a folder, opened.
#[derive(Debug)]
pub(crate) enum OpenEntry {
    /// Regular file, open for reading.
    File(File),
    /// Folder, open for listing.
    Folder(OwnedFd),
}

/// Opens what a place names, be it a file or a folder.
pub(crate) fn either(place: &ResolvedPath) -> Result<OpenEntry, CallFailure> {
    let Some(name) = &place.name else {
        return folder(place).map(OpenEntry::Folder);
    };
    let stat = statat(&place.folder, name, AtFlags::SYMLINK_NOFOLLOW)
        .map_err(|errno| CallFailure::os("open", &place.shown, errno))?;
    match FileType::from_raw_mode(stat.st_mode) == FileType::Directory {
        true => folder(place).map(OpenEntry::Folder),
        false => file(place).map(|(file, _)| OpenEntry::File(file)),
    }
}

/// Opens a regular file by its name in a folder, not through a link.
pub(crate) fn file_at(folder: &OwnedFd, name: &OsStr) -> Result<(File, Stat), OpenError> {
    regular(&statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)?)?;
    let flags =
        OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = openat(folder, name, flags, Mode::empty())?;
    let stat = fstat(&file)?;
    regular(&stat)?;
    Ok((File::from(file), stat))
}

/// Reads at most the first bytes of a file.
pub(crate) fn first_bytes(file: impl Read, most: usize) -> std::io::Result<Vec<u8>> {
    let mut content = Vec::new();
    file.take(most as u64).read_to_end(&mut content)?;
    Ok(content)
}

/// Checks a place that is to be written: a regular file, or nothing yet.
pub(crate) fn target(place: &ResolvedPath) -> Result<Option<Stat>, CallFailure> {
    let Some(name) = &place.name else {
        return Err(CallFailure::os("write", &place.shown, Errno::ISDIR));
    };
    match statat(&place.folder, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => {
            let fit = regular(&stat);
            fit.map_err(|refused| refused.fault("write", &place.shown))?;
            Ok(Some(stat))
        }
        Err(Errno::NOENT) => Ok(None),
        Err(errno) => Err(CallFailure::os("write", &place.shown, errno)),
    }
}

/// Opens a folder for reading.
pub(crate) fn folder(place: &ResolvedPath) -> Result<OwnedFd, CallFailure> {
    let name = place.name.as_deref().unwrap_or(OsStr::new("."));
    folder_at(&place.folder, name).map_err(|errno| match errno {
        Errno::NOTDIR => CallFailure::Message(format!("`{}` is not a folder", place.shown)),
        _ => CallFailure::os("open", &place.shown, errno),
    })
}

/// Reason for refusing to open a file.
#[derive(Debug, Clone, Copy)]
pub(crate) enum OpenError {
    /// The operating system said no.
    Os(Errno),
    /// It is something else than a regular file.
    Irregular(FileType),
}

impl From<Errno> for OpenError {
    fn from(errno: Errno) -> Self {
        Self::Os(errno)
    }
}

impl OpenError {
    /// The same in words for the model.
    pub(crate) fn fault(self, doing: &str, path: &str) -> CallFailure {
        match self {
            Self::Os(errno) => CallFailure::os(doing, path, errno),
            Self::Irregular(FileType::Directory) => CallFailure::os(doing, path, Errno::ISDIR),
            Self::Irregular(kind) => CallFailure::Message(format!(
                "cannot {doing} `{path}`: it is a {}, not a regular file",
                kind_name(kind)
            )),
        }
    }
}

/// Returns the name of a file type.
pub(crate) fn kind_name(kind: FileType) -> &'static str {
    match kind {
        FileType::RegularFile => "file",
        FileType::Directory => "folder",
        FileType::Symlink => "symbolic link",
        FileType::Fifo => "FIFO",
        FileType::Socket => "socket",
        FileType::CharacterDevice | FileType::BlockDevice => "device",
        FileType::Unknown => "special file",
    }
}

fn regular(stat: &Stat) -> Result<(), OpenError> {
    let kind = FileType::from_raw_mode(stat.st_mode);
    if kind != FileType::RegularFile {
        return Err(OpenError::Irregular(kind));
    }
    Ok(())
}
