//! The entries of a folder: sorted, in bounded memory, without the engine's own folder.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;

use rustix::fs::{AtFlags, Dir, FileType, statat};
use rustix::io::Errno;

use crate::fault::CallFailure;
use crate::ignore_rules::IgnoreRules;
use crate::root::private;
use crate::stop::StopCheck;

/// The entries of a folder.
#[derive(Debug, Default)]
pub(crate) struct FolderEntries {
    /// The first in the order of their names' bytes.
    pub(crate) entries: BTreeMap<Vec<u8>, FileType>,
    /// Number of further entries.
    pub(crate) more: u64,
    /// Number of entries that the rules leave out.
    pub(crate) ignored: u64,
}

/// Reads a folder's entries and keeps the first `keep` of those that the rules do not leave out.
pub(crate) fn entries(
    folder: &OwnedFd,
    shown: &str,
    keep: usize,
    rules: &IgnoreRules,
    stop: &StopCheck,
) -> Result<FolderEntries, CallFailure> {
    let fault = |errno: Errno| CallFailure::os("list", shown, errno);
    let mut entries = FolderEntries::default();
    for entry in Dir::read_from(folder).map_err(fault)? {
        stop.check()?;
        let entry = entry.map_err(fault)?;
        let name = entry.file_name().to_bytes();
        if name == b"." || name == b".." || private(name) {
            continue;
        }
        let told = entry.file_type();
        let unknown = told == FileType::Unknown;
        let kind = if unknown { kind_at(folder, OsStr::from_bytes(name)) } else { told };
        if rules.ignores(OsStr::from_bytes(name), kind == FileType::Directory) {
            entries.ignored = entries.ignored.saturating_add(1);
            continue;
        }
        if entries.entries.len() >= keep {
            entries.more = entries.more.saturating_add(1);
            if entries.entries.last_key_value().is_none_or(|(last, _)| name > last.as_slice()) {
                continue;
            }
            entries.entries.pop_last();
        }
        entries.entries.insert(name.to_vec(), kind);
    }
    Ok(entries)
}

/// Asks for a type that the folder itself does not tell. What is gone meanwhile has none.
pub(crate) fn kind_at(folder: &OwnedFd, name: &OsStr) -> FileType {
    statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)
        .map_or(FileType::Unknown, |stat| FileType::from_raw_mode(stat.st_mode))
}
