//! Entry points of the fuzz targets and of the tests over their seeds: properties of paths, patches and tools
//! files for any bytes.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::Path;

use crate::patch::apply::apply;
use crate::patch::parse::parse;
use crate::patch::{FileAction, Patch, PatchLine};
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

/// Any bytes as a patch: refused with a line and a reason, or the same when it is written again.
/// Applied to any text it has a place or none.
///
/// # Panics
/// When a property does not hold.
pub fn patch(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let mut patch = match parse(text) {
        Ok(patch) => patch,
        Err(fault) => {
            let said = fault.to_string();
            assert!(said.starts_with("line ") && said.len() < 600, "{said}");
            return;
        }
    };
    assert!(patch.paths().count() > 0 && patch.paths().all(|path| !path.is_empty()));
    for file in &patch.files {
        if let FileAction::Update { chunks, .. } = &file.action {
            let _ = apply(data, chunks);
        }
    }
    let again = parse(&written(&patch));
    assert!(again.is_ok(), "{text:?}: {again:?}");
    let mut again = again.unwrap_or(Patch { files: Vec::new() });
    forget_lines(&mut patch);
    forget_lines(&mut again);
    assert_eq!(patch, again, "{text:?}");
}

fn forget_lines(patch: &mut Patch) {
    for file in &mut patch.files {
        if let FileAction::Update { chunks, .. } = &mut file.action {
            chunks.iter_mut().for_each(|chunk| chunk.line = 0);
        }
    }
}

/// Writes a patch.
fn written(patch: &Patch) -> String {
    let mut text = String::from("*** Begin Patch\n");
    for file in &patch.files {
        match &file.action {
            FileAction::Add { content } => {
                text.push_str(&format!("*** Add File: {}\n", file.path));
                content
                    .split_terminator('\n')
                    .for_each(|line| text.push_str(&format!("+{line}\n")));
            }
            FileAction::Delete => text.push_str(&format!("*** Delete File: {}\n", file.path)),
            FileAction::Update { move_to, chunks } => {
                text.push_str(&format!("*** Update File: {}\n", file.path));
                if let Some(path) = move_to {
                    text.push_str(&format!("*** Move to: {path}\n"));
                }
                for chunk in chunks {
                    let contexts = chunk.contexts.iter().map(|place| format!("@@ {place}\n"));
                    text.extend(std::iter::once(String::from("@@\n")).chain(contexts));
                    for line in &chunk.lines {
                        let (mark, line) = match line {
                            PatchLine::Keep(line) => (' ', line),
                            PatchLine::Remove(line) => ('-', line),
                            PatchLine::Add(line) => ('+', line),
                        };
                        text.push_str(&format!("{mark}{line}\n"));
                    }
                    if chunk.at_end {
                        text.push_str("*** End of File\n");
                    }
                }
            }
        }
    }
    text + "*** End Patch\n"
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
