//! Change of several files as a person is shown it before a patch is applied.

use similar::{ChangeTag, TextDiff};
use windlass_ports::FileChange;

use super::patched_files::{PatchedFile, PatchedFiles};

/// Lines around a change that are shown. A heading and these fit in the lines around it that a
/// difference shows.
const AROUND: usize = 2;

/// Returns the change of the only file, or the changed parts of all files, each below a line with its
/// path. `None` if a file is not text.
pub(super) fn change(patched: &PatchedFiles) -> Option<FileChange> {
    let changed = || patched.files.iter().filter(|file| file.is_written() || file.is_deleted());
    let mut files = changed();
    if let (Some(only), None) = (files.next(), files.next())
        && only.after.is_some()
    {
        let before = text(only.before.as_deref()).ok()?;
        return Some(FileChange { before, after: text(only.after.as_deref()).ok()?? });
    }
    let (mut before, mut after) = (String::new(), String::new());
    for file in changed() {
        add(file, &mut before, &mut after)?;
    }
    (!after.is_empty() || !before.is_empty()).then_some(FileChange { before: Some(before), after })
}

fn text(bytes: Option<&[u8]>) -> Result<Option<String>, std::str::Utf8Error> {
    bytes.map(|bytes| std::str::from_utf8(bytes).map(str::to_owned)).transpose()
}

/// Adds the changed parts of a file. A new file is only in `after`, a deleted one only in `before`.
fn add(file: &PatchedFile, before: &mut String, after: &mut String) -> Option<()> {
    let old = text(file.before.as_deref()).ok()?;
    let new = text(file.after.as_deref()).ok()?;
    let path = &file.path;
    match (old, new) {
        (Some(old), Some(new)) => {
            let difference = TextDiff::from_lines(&old, &new);
            for group in difference.grouped_ops(AROUND) {
                let line = group.first().map_or(0, |op| op.old_range().start) + 1;
                let heading = format!("*** {path}, line {line}\n");
                before.push_str(&heading);
                after.push_str(&heading);
                for change in group.iter().flat_map(|op| difference.iter_changes(op)) {
                    let line = change.value();
                    let end = if line.ends_with('\n') { "" } else { "\n" };
                    if change.tag() != ChangeTag::Insert {
                        before.extend([line, end]);
                    }
                    if change.tag() != ChangeTag::Delete {
                        after.extend([line, end]);
                    }
                }
            }
        }
        (None, Some(new)) => after.extend(["*** ", path, " (new)\n", &new]),
        (Some(old), None) => before.extend(["*** ", path, " (deleted)\n", &old]),
        (None, None) => {}
    }
    Some(())
}
