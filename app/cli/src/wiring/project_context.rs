//! `AGENTS.md`: instructions for the model, of the user and of a project, from the project's root to the
//! working folder. They are text and run nothing; the model follows those of a project only after the
//! user has trusted them.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use windlass_engine::core::ContextPart;

use super::tools::configured;
use crate::present::print_notice;

/// Name of the file.
const NAME: &str = "AGENTS.md";
/// Name of the file that takes the place of the one in its folder.
const OVERRIDE: &str = "AGENTS.override.md";
/// Name of the context with the user's own instructions.
const OF_USER: &str = "the user's AGENTS.md";
/// Most bytes of one file.
const MAX_FILE_BYTES: u64 = 32 * 1024;
/// Most bytes of all files.
const MAX_TOTAL_BYTES: u64 = 64 * 1024;

/// Instructions of one folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ProjectFile {
    /// Path of the file, in a canonical folder.
    pub(crate) path: PathBuf,
    /// Path relative to the project's root.
    pub(crate) from: String,
    /// Text that the model gets, cut to the limits.
    pub(crate) text: String,
}

impl ProjectFile {
    /// Returns the context for the model.
    pub(crate) fn context(self) -> ContextPart {
        let text = format!("{}\n\n{}", heading(&self.from), self.text);
        ContextPart { from: self.from, text: text.into() }
    }
}

/// Reads the files, the root's first. Reports and skips a file that cannot be read.
pub(crate) fn project_files(workspace: &Path) -> Vec<ProjectFile> {
    let root = root(workspace);
    let mut left = MAX_TOTAL_BYTES;
    let mut files = Vec::new();
    // Files nearer to the working folder are more specific, so they use the byte limit first.
    for folder in workspace.ancestors() {
        let path = match folder.join(OVERRIDE) {
            path if path.symlink_metadata().is_ok() => path,
            _ => folder.join(NAME),
        };
        match read(&path, root, left) {
            Ok(Some(file)) => {
                left = left.saturating_sub(file.text.len() as u64);
                files.push(file);
            }
            Ok(None) => {}
            Err(error) => print_notice(&format!("  {} is left out: {error}", path.display())),
        }
        if folder == root {
            break;
        }
    }
    files.reverse();
    files
}

/// Reads the user's own instructions, if there are any. Reports a file that cannot be read.
pub(super) fn user_instructions() -> Option<ContextPart> {
    let path = configured(NAME)?;
    let folder = path.parent().and_then(|folder| folder.canonicalize().ok())?;
    match read(&folder.join(NAME), Path::new("/"), MAX_FILE_BYTES) {
        Ok(file) => {
            let heading = "[The user's own instructions for all projects. They replace any earlier \
                           version of them above.]";
            let text = format!("{heading}\n\n{}", file?.text);
            Some(ContextPart { from: OF_USER.to_owned(), text: text.into() })
        }
        Err(error) => {
            print_notice(&format!("  {} is left out: {error}", path.display()));
            None
        }
    }
}

/// Reads the file of this name that is nearest to a workspace, up to the project's root. Reports one
/// that cannot be read or has more than `most` bytes, and skips it.
#[cfg_attr(not(feature = "mcp"), expect(dead_code, reason = "only servers are in such a file"))]
pub(super) fn project_file_named(workspace: &Path, name: &str, most: u64) -> Option<ProjectFile> {
    let root = root(workspace);
    let below = workspace.ancestors().take_while(|folder| folder.starts_with(root));
    let path = below.map(|folder| folder.join(name)).find(|path| path.exists())?;
    let whole = || {
        let Some(file) = within(&path, root)? else {
            return Ok(None);
        };
        if file.metadata()?.len() > most {
            return Err(io::Error::other(format!("it has more than {most} bytes")));
        }
        let mut text = String::new();
        file.take(most).read_to_string(&mut text)?;
        let from = path.strip_prefix(root).unwrap_or(&path).display().to_string();
        Ok(Some(ProjectFile { path: path.clone(), from, text }))
    };
    whole().unwrap_or_else(|error| {
        print_notice(&format!("  {} is left out: {error}", path.display()));
        None
    })
}

/// Returns true if instructions have a name of this form.
pub(super) fn is_project_file(from: &str) -> bool {
    from == OF_USER
        || Path::new(from).file_name().is_some_and(|name| name == NAME || name == OVERRIDE)
}

/// Returns the nearest folder with a `.git`, from the workspace up; else the workspace.
pub(super) fn root(workspace: &Path) -> &Path {
    let mut above = workspace.ancestors();
    above.find(|folder| folder.join(".git").exists()).unwrap_or(workspace)
}

fn read(path: &Path, root: &Path, left: u64) -> io::Result<Option<ProjectFile>> {
    let Some(file) = within(path, root)? else {
        return Ok(None);
    };
    let size = file.metadata()?.len();
    let most = MAX_FILE_BYTES.min(left);
    let mut bytes = Vec::new();
    file.take(most).read_to_end(&mut bytes)?;
    let whole = bytes.len() as u64 >= size;
    let mut text = String::from_utf8_lossy(&bytes).into_owned();
    // Invalid UTF-8 grows when it is replaced.
    let end = text.floor_char_boundary(usize::try_from(most).unwrap_or(usize::MAX));
    if !whole || end < text.len() {
        text.truncate(end);
        text.push_str(&format!("\n[cut: {end} of {size} bytes are shown]"));
    }
    if text.trim().is_empty() {
        return Ok(None);
    }
    let from = path.strip_prefix(root).unwrap_or(path).display().to_string();
    Ok(Some(ProjectFile { path: path.to_owned(), from, text }))
}

/// Introduces a file. A changed file is shown again, so each version says that it replaces the one
/// before.
fn heading(from: &str) -> String {
    let folder = Path::new(from).parent().filter(|folder| !folder.as_os_str().is_empty());
    let place = match folder {
        None => "the project's root and all below it".to_owned(),
        Some(folder) => format!("`{}` and all below it", folder.display()),
    };
    let replaced = match from.strip_suffix(OVERRIDE) {
        None => format!("any earlier version of {from}"),
        Some(folder) => format!("any earlier version of {from}, and {folder}{NAME},"),
    };
    format!("[The project's instructions for {place}. They replace {replaced} above.]")
}

/// Opens the file, if it exists. A link may lead to another file of the project, but not outside of
/// it.
fn within(path: &Path, root: &Path) -> io::Result<Option<File>> {
    let real: PathBuf = match path.canonicalize() {
        Ok(real) => real,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    if !real.starts_with(root) {
        return Err(io::Error::other("it is a link that leads out of the project"));
    }
    // Checked before opening: opening a pipe waits for its writer.
    if !real.metadata()?.is_file() {
        return Err(io::Error::other("it is not a plain file"));
    }
    File::open(&real).map(Some)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    fn project() -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::TempDir::new().unwrap();
        let root = dir.path().canonicalize().unwrap().join("project");
        fs::create_dir_all(root.join(".git")).unwrap();
        fs::create_dir_all(root.join("a/b")).unwrap();
        (dir, root)
    }

    fn told(workspace: &Path) -> Vec<(String, String)> {
        let parts = project_files(workspace).into_iter().map(ProjectFile::context);
        let told = |part: ContextPart| {
            let (heading, text) = part.text.split_once("]\n\n").unwrap();
            assert!(heading.ends_with(&format!("any earlier version of {} above.", part.from)));
            (part.from, text.to_owned())
        };
        parts.map(told).collect()
    }

    #[test]
    fn files_from_the_root_down_to_the_working_folder_are_told() {
        let (dir, root) = project();
        fs::write(dir.path().join(NAME), "of another project").unwrap();
        fs::write(root.join(NAME), "of the root").unwrap();
        fs::write(root.join("a/b").join(NAME), b"of b \xff").unwrap();
        let pair = |from: &str, text: &str| (from.to_owned(), text.to_owned());
        assert_eq!(
            told(&root.join("a/b")),
            [pair("AGENTS.md", "of the root"), pair("a/b/AGENTS.md", "of b \u{fffd}")]
        );
        assert_eq!(told(&root), [pair("AGENTS.md", "of the root")]);
        fs::remove_dir(root.join(".git")).unwrap();
        assert_eq!(told(&root.join("a")), [], "without a root only the folder itself");
    }

    #[test]
    fn an_override_takes_the_place_of_the_file_in_its_folder() {
        let (_dir, root) = project();
        for (path, text) in
            [("AGENTS.md", "root"), ("a/AGENTS.md", "a"), ("a/AGENTS.override.md", "o")]
        {
            fs::write(root.join(path), text).unwrap();
        }
        let files = project_files(&root.join("a"));
        let seen: Vec<_> = files.iter().map(|file| (&*file.from, &*file.text)).collect();
        assert_eq!(seen, [("AGENTS.md", "root"), ("a/AGENTS.override.md", "o")]);
        assert!(seen.iter().all(|(from, _)| is_project_file(from)));
        let text = heading("a/AGENTS.override.md");
        let words =
            "They replace any earlier version of a/AGENTS.override.md, and a/AGENTS.md, above.";
        assert!(text.contains(words) && text.contains("for `a` and all below it"), "{text}");
    }

    #[test]
    fn each_file_says_for_which_folder_it_is() {
        assert!(heading("AGENTS.md").contains("for the project's root and all below it."));
        assert!(heading("a/b/AGENTS.md").contains("for `a/b` and all below it."));
    }

    #[test]
    fn links_out_of_the_project_and_pipes_are_left_out() {
        let (dir, root) = project();
        let secret = dir.path().join("secret");
        fs::write(&secret, "secret").unwrap();
        symlink(&secret, root.join(NAME)).unwrap();
        fs::write(root.join("note"), "a note").unwrap();
        symlink("../note", root.join("a").join(NAME)).unwrap();
        let pipe = root.join("a/b").join(NAME);
        let made = std::process::Command::new("mkfifo").arg(&pipe).status();
        assert!(made.unwrap().success());
        let told = told(&root.join("a/b"));
        assert_eq!(told, [("a/AGENTS.md".to_owned(), "a note".to_owned())]);
    }

    #[test]
    fn what_is_too_long_is_cut_with_a_mark_and_the_nearest_is_told_first() {
        let (_dir, root) = project();
        let long = "é".repeat(40_000);
        for folder in ["", "a", "a/b"] {
            fs::write(root.join(folder).join(NAME), &long).unwrap();
        }
        let told = told(&root.join("a/b"));
        let total: usize = told.iter().map(|(_, text)| text.len()).sum();
        assert!(total as u64 <= MAX_TOTAL_BYTES + 3 * 60, "{total}");
        let (from, nearest) = told.last().unwrap();
        assert_eq!(from, "a/b/AGENTS.md");
        assert!(nearest.len() as u64 >= MAX_FILE_BYTES, "{}", nearest.len());
        let marked = told.iter().all(|(_, text)| text.contains("[cut: "));
        assert!(marked);
    }
}
