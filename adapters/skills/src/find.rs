//! Find: reads the `SKILL.md` files below a folder, within bounds.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Component, Path, PathBuf};

use rustix::fs::{Mode, OFlags, open, openat};
use rustix::io::Errno;

/// Name of the file of a skill.
pub const SKILL_FILE: &str = "SKILL.md";
/// Levels of folders below the first one that are searched.
const MAX_DEPTH: usize = 4;
/// Most folders that are searched.
const MAX_FOLDERS: usize = 2_000;
/// Most skills of one folder.
const MAX_SKILLS: usize = 200;
/// Most bytes of a file; a longer one is left out.
const MAX_BYTES: u64 = 64 * 1024;

/// A `SKILL.md` that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillFile {
    /// Canonical path of the file.
    pub path: PathBuf,
    /// Its whole text.
    pub text: String,
}

/// A file or folder that was left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillProblem {
    /// Path of the file or folder.
    pub path: PathBuf,
    /// Reason, and what to do.
    pub reason: String,
}

/// Result of a search.
#[derive(Debug, Default)]
pub struct FoundSkills {
    /// Files by path.
    pub files: Vec<SkillFile>,
    /// Files and folders that were left out.
    pub problems: Vec<SkillProblem>,
}

/// Reads the skills below a folder. A missing folder has none. Folders of a skill and hidden ones are
/// not searched for more.
///
/// Links are followed only to what is below `within`, if that is given: a project must not bring in
/// files from elsewhere.
#[must_use]
pub fn find(folder: &Path, within: Option<&Path>) -> FoundSkills {
    let mut found = FoundSkills::default();
    let mut search = Search { within, left: MAX_FOLDERS, found: &mut found };
    search.folder(folder, 0);
    found
}

struct Search<'a> {
    within: Option<&'a Path>,
    left: usize,
    found: &'a mut FoundSkills,
}

impl Search<'_> {
    fn problem(&mut self, path: &Path, reason: impl Into<String>) {
        self.found.problems.push(SkillProblem { path: path.to_owned(), reason: reason.into() });
    }

    fn folder(&mut self, folder: &Path, depth: usize) {
        let entries = match fs::read_dir(folder) {
            Ok(entries) => entries,
            Err(error) if is_absent(&error) => return,
            Err(error) => return self.problem(folder, error.to_string()),
        };
        if let Err(reason) = self.inside(folder) {
            return self.problem(folder, reason);
        }
        let mut names: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        names.sort();
        for path in names {
            let hidden = |name: &OsStr| name.to_string_lossy().starts_with('.');
            if path.file_name().is_none_or(hidden) || !path.is_dir() {
                continue;
            }
            let Some(left) = self.left.checked_sub(1) else {
                return self.problem(&path, format!("more than {MAX_FOLDERS} folders"));
            };
            self.left = left;
            let file = path.join(SKILL_FILE);
            if file.symlink_metadata().is_ok() {
                self.file(file);
            } else if depth + 1 < MAX_DEPTH {
                self.folder(&path, depth + 1);
            }
        }
    }

    fn file(&mut self, path: PathBuf) {
        if self.found.files.len() >= MAX_SKILLS {
            return self.problem(&path, format!("it is beyond the first {MAX_SKILLS} skills"));
        }
        let real = match self.inside(&path) {
            Ok(real) => real,
            Err(reason) => return self.problem(&path, reason),
        };
        // A link may lead to one that was found by its own path.
        if self.found.files.iter().any(|file| file.path == real) {
            return;
        }
        let opened = open_without_links(&real).map_err(|error| error.to_string());
        match opened.and_then(|file| read_text(file, MAX_BYTES)) {
            Ok(text) => self.found.files.push(SkillFile { path: real, text }),
            Err(reason) => self.problem(&path, reason),
        }
    }

    fn inside(&self, path: &Path) -> Result<PathBuf, String> {
        let real = path.canonicalize().map_err(|error| error.to_string())?;
        match self.within {
            Some(within) if !real.starts_with(within) => {
                Err("it is a link that leads out of the project".to_owned())
            }
            Some(_) | None => Ok(real),
        }
    }
}

fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// Opens a file by an absolute path, one folder after the other and through no link: whoever may write to
/// a skill must not lead the reader elsewhere between a check and the opening. A pipe does not block.
pub(crate) fn open_without_links(path: &Path) -> io::Result<File> {
    let link = |errno: Errno| match errno {
        Errno::LOOP | Errno::NOTDIR => io::Error::other("it leads through a link or a file"),
        other => other.into(),
    };
    let folder = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut here = open("/", folder, Mode::empty())?;
    let parent = path.parent().unwrap_or(path);
    for part in parent.components().filter_map(normal) {
        here = openat(&here, part, folder, Mode::empty()).map_err(link)?;
    }
    let name = path.file_name().unwrap_or_default();
    let flags =
        OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    openat(&here, name, flags, Mode::empty()).map(File::from).map_err(link)
}

fn normal(part: Component<'_>) -> Option<&OsStr> {
    match part {
        Component::Normal(name) => Some(name),
        Component::Prefix(_) | Component::RootDir | Component::CurDir | Component::ParentDir => {
            None
        }
    }
}

/// Reads a plain file of text, of at most `most` bytes.
pub(crate) fn read_text(file: File, most: u64) -> Result<String, String> {
    let said = |error: io::Error| error.to_string();
    if !file.metadata().map_err(said)?.is_file() {
        return Err("it is not a plain file".to_owned());
    }
    let mut bytes = Vec::new();
    file.take(most.saturating_add(1)).read_to_end(&mut bytes).map_err(said)?;
    if bytes.len() as u64 > most {
        return Err(format!("it has more than {most} bytes"));
    }
    String::from_utf8(bytes).map_err(|_| "it is not UTF-8 text".to_owned())
}
