//! Entry points of the fuzz targets and of the tests over their seeds: properties of paths and tools files for
//! any bytes.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::Path;

use crate::root::{ForeseenPath, MissingFolders, WorkspaceRoot};
use crate::tools_file;

/// Checks that any path of a model leads to a folder inside of the workspace or is refused, and that looking
/// creates nothing. `workspace` may hold anything, including links that lead out.
///
/// # Panics
/// When a property does not hold.
pub fn path(workspace: &Path, data: &[u8]) {
    let (Ok(text), Ok(root)) = (std::str::from_utf8(data), WorkspaceRoot::open(workspace)) else {
        return;
    };
    let before = names(workspace);
    let found = root.resolve(text, MissingFolders::Refuse).ok();
    let ahead = root.resolve_preview(text).ok().and_then(|ahead| match ahead {
        ForeseenPath::Resolved(place) => Some(place),
        ForeseenPath::InsideMissing(_) => None,
    });
    for place in found.into_iter().chain(ahead) {
        let inside = real(&place.folder);
        assert!(inside.is_none_or(|real| real.starts_with(root.path())), "{text:?}");
        let name = place.name.as_deref().map(OsStr::as_encoded_bytes);
        assert!(name.is_none_or(|name| !name.contains(&b'/') && name != b".." && name != b"."));
    }
    assert_eq!(before, names(workspace), "{text:?}");
}

/// Any bytes as a tools file: refused in words, or at most so many tools, each with its own name.
///
/// # Panics
/// When a property does not hold.
pub fn tools_file(data: &[u8]) {
    if let Some(names) = tools_file::names(data) {
        assert!(names.len() <= tools_file::TOOLS);
        let different: BTreeSet<&String> = names.iter().collect();
        assert_eq!(different.len(), names.len());
    }
}

/// Returns the path of an open folder, if the system knows it.
fn real(folder: &impl std::os::fd::AsRawFd) -> Option<std::path::PathBuf> {
    std::fs::read_link(format!("/proc/self/fd/{}", folder.as_raw_fd())).ok()
}

fn names(folder: &Path) -> BTreeSet<std::ffi::OsString> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name()).collect()
}
