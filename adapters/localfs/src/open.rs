//! Opening what a place names: a regular file or a folder, and nothing that blocks or acts.

use std::ffi::OsStr;
use std::fs::File;
use std::os::fd::OwnedFd;

use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat, fstat, openat, statat};
use rustix::io::Errno;

use crate::fault::Fault;
use crate::root::{Place, folder_at};

/// Opens a regular file for reading.
///
/// The type is asked before the file is opened, since opening some devices acts on them, and
/// again afterwards, since the name may have changed hands. A FIFO does not block either way.
pub(crate) fn file(place: &Place) -> Result<(File, Stat), Fault> {
    let Some(name) = &place.name else {
        return Err(Fault::os("read", &place.shown, Errno::ISDIR));
    };
    file_at(&place.folder, name).map_err(|refused| refused.fault("read", &place.shown))
}

/// A file or a folder, opened.
#[derive(Debug)]
pub(crate) enum Opened {
    /// Regular file, open for reading.
    File(File),
    /// Folder, open for listing.
    Folder(OwnedFd),
}

/// Opens what a place names, be it a file or a folder.
pub(crate) fn either(place: &Place) -> Result<Opened, Fault> {
    let Some(name) = &place.name else {
        return folder(place).map(Opened::Folder);
    };
    let stat = statat(&place.folder, name, AtFlags::SYMLINK_NOFOLLOW)
        .map_err(|errno| Fault::os("open", &place.shown, errno))?;
    match FileType::from_raw_mode(stat.st_mode) == FileType::Directory {
        true => folder(place).map(Opened::Folder),
        false => file(place).map(|(file, _)| Opened::File(file)),
    }
}

/// Opens a regular file by its name in a folder, not through a link.
pub(crate) fn file_at(folder: &OwnedFd, name: &OsStr) -> Result<(File, Stat), Refused> {
    regular(&statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)?)?;
    let flags =
        OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = openat(folder, name, flags, Mode::empty())?;
    let stat = fstat(&file)?;
    regular(&stat)?;
    Ok((File::from(file), stat))
}

/// Checks a place that is to be written: a regular file, or nothing yet.
pub(crate) fn target(place: &Place) -> Result<Option<Stat>, Fault> {
    let Some(name) = &place.name else {
        return Err(Fault::os("write", &place.shown, Errno::ISDIR));
    };
    match statat(&place.folder, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => {
            let fit = regular(&stat);
            fit.map_err(|refused| refused.fault("write", &place.shown))?;
            Ok(Some(stat))
        }
        Err(Errno::NOENT) => Ok(None),
        Err(errno) => Err(Fault::os("write", &place.shown, errno)),
    }
}

/// Opens a folder for reading.
pub(crate) fn folder(place: &Place) -> Result<OwnedFd, Fault> {
    let name = place.name.as_deref().unwrap_or(OsStr::new("."));
    folder_at(&place.folder, name).map_err(|errno| match errno {
        Errno::NOTDIR => Fault::Said(format!("`{}` is not a folder", place.shown)),
        _ => Fault::os("open", &place.shown, errno),
    })
}

/// Reason for refusing to open a file.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Refused {
    /// The operating system said no.
    Os(Errno),
    /// It is something else than a regular file.
    Irregular(FileType),
}

impl From<Errno> for Refused {
    fn from(errno: Errno) -> Self {
        Self::Os(errno)
    }
}

impl Refused {
    /// The same in words for the model.
    pub(crate) fn fault(self, doing: &str, path: &str) -> Fault {
        match self {
            Self::Os(errno) => Fault::os(doing, path, errno),
            Self::Irregular(FileType::Directory) => Fault::os(doing, path, Errno::ISDIR),
            Self::Irregular(kind) => Fault::Said(format!(
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

fn regular(stat: &Stat) -> Result<(), Refused> {
    let kind = FileType::from_raw_mode(stat.st_mode);
    if kind != FileType::RegularFile {
        return Err(Refused::Irregular(kind));
    }
    Ok(())
}
