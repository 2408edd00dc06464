//! Walk over the files of a folder.

use std::path::Path;

use ignore::{DirEntry, WalkBuilder};

use crate::files::fuzzy::Entry;

/// Most entries.
const ENTRIES: usize = 50_000;
/// Most levels below the folder.
const LEVELS: usize = 20;
/// The one hidden folder that is walked.
const OWN: &str = ".windlass";

/// Returns the files and folders below a folder, sorted by path.
pub(super) fn entries(root: &Path) -> Vec<Entry> {
    let mut builder = WalkBuilder::new(root);
    builder.max_depth(Some(LEVELS)).hidden(false).require_git(false).filter_entry(is_shown);
    let walk = builder.build().filter_map(Result::ok).filter(|entry| entry.depth() > 0);
    let paths = walk.filter_map(|entry| path_of(root, &entry)).take(ENTRIES);
    let mut entries: Vec<Entry> = paths.map(Entry::new).collect();
    entries.sort_unstable_by(|one, other| one.path.cmp(&other.path));
    entries
}

fn is_shown(entry: &DirEntry) -> bool {
    let name = entry.file_name().to_string_lossy();
    entry.depth() == 0 || !name.starts_with('.') || name == OWN
}

/// Returns the path below the folder, if it can be written in a text.
fn path_of(root: &Path, entry: &DirEntry) -> Option<String> {
    let path = entry.path().strip_prefix(root).ok()?.to_str()?;
    let folder = entry.file_type().is_some_and(|kind| kind.is_dir());
    let plain = !path.contains(char::is_control) && !path.contains('"');
    plain.then(|| format!("{path}{}", if folder { "/" } else { "" }))
}
