//! Entry points of the fuzz targets and of the tests over their seeds: properties of paths, patterns and tools
//! files for any bytes.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::Path;

use crate::glob::Glob;
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

/// A pattern, and after a line break a path: they fit as a plain reading of the pattern says.
///
/// # Panics
/// When a property does not hold.
pub fn glob(data: &[u8]) {
    let mut parts = data.splitn(2, |byte| *byte == b'\n');
    let pattern = parts.next().and_then(|text| std::str::from_utf8(text).ok());
    let (Some(pattern), Some(path)) = (pattern, parts.next()) else {
        return;
    };
    if pattern.len() > 64 || path.len() > 128 {
        return;
    }
    let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
    let held = if pattern.contains('/') { path } else { name };
    let plain = fits(pattern.trim_start_matches('/').as_bytes(), held);
    let read = Glob::new(pattern).map(|glob| glob.fits(path, name));
    assert_eq!(read.ok(), Some(plain), "{pattern:?}");
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

/// Matches a pattern step by step: tracks the reachable places of the pattern.
fn fits(pattern: &[u8], path: &[u8]) -> bool {
    let mut table = vec![vec![None; path.len().saturating_add(1)]; pattern.len().saturating_add(1)];
    from(pattern, path, 0, 0, &mut table)
}

fn from(
    pattern: &[u8],
    path: &[u8],
    p: usize,
    at: usize,
    table: &mut Vec<Vec<Option<bool>>>,
) -> bool {
    let known = table.get(p).and_then(|row| row.get(at)).copied().flatten();
    if let Some(known) = known {
        return known;
    }
    let rest = pattern.get(p..).unwrap_or_default();
    let byte = path.get(at).copied();
    let answer = match rest {
        [] => byte.is_none(),
        // Nothing, or anything that ends with a slash.
        [b'*', b'*', b'/', ..] => {
            from(pattern, path, p + 3, at, table)
                || (at..path.len()).any(|end| {
                    path.get(end) == Some(&b'/') && from(pattern, path, p + 3, end + 1, table)
                })
        }
        [b'*', b'*', ..] => (at..=path.len()).any(|end| from(pattern, path, p + 2, end, table)),
        [b'*', ..] => {
            from(pattern, path, p + 1, at, table)
                || (byte.is_some_and(|byte| byte != b'/') && from(pattern, path, p, at + 1, table))
        }
        [b'?', ..] => {
            byte.is_some_and(|byte| byte != b'/') && from(pattern, path, p + 1, at + 1, table)
        }
        [one, ..] => byte == Some(*one) && from(pattern, path, p + 1, at + 1, table),
    };
    if let Some(cell) = table.get_mut(p).and_then(|row| row.get_mut(at)) {
        *cell = Some(answer);
    }
    answer
}

/// Returns the path of an open folder, if the system knows it.
fn real(folder: &impl std::os::fd::AsRawFd) -> Option<std::path::PathBuf> {
    std::fs::read_link(format!("/proc/self/fd/{}", folder.as_raw_fd())).ok()
}

fn names(folder: &Path) -> BTreeSet<std::ffi::OsString> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name()).collect()
}
