//! `.gitignore` rules that apply in a folder: its own and those of the folders above it.

use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use crate::fault::CallFailure;
use crate::open::file_at;
use crate::root::{WorkspaceRoot, folder_at};

/// Name of the files with the rules.
const RULES: &str = ".gitignore";
/// Most bytes of a file of rules. The rest of a longer one does not apply.
const MOST: u64 = 1024 * 1024;

/// Use of `.gitignore` rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum IgnoredFiles {
    /// Leaves ignored files and folders out.
    LeaveOut,
    /// Treats ignored files and folders like others.
    Include,
}

impl IgnoredFiles {
    /// The use that the argument `include_ignored` asks for.
    pub(crate) fn asked(include: bool) -> Self {
        if include { Self::Include } else { Self::LeaveOut }
    }
}

/// Rules that apply in one folder.
#[derive(Debug, Clone, Default)]
pub(crate) struct IgnoreRules {
    /// Path of the folder below the top of the git repository, with its last slash.
    base: Vec<u8>,
    /// Rules of the folder itself or of the nearest one above it.
    nearest: Option<Arc<FolderRules>>,
    off: bool,
}

/// Rules of one file.
#[derive(Debug)]
struct FolderRules {
    rules: Gitignore,
    /// Length of the base of the folder that the file lies in, in bytes.
    base: usize,
    above: Option<Arc<FolderRules>>,
}

impl IgnoreRules {
    /// Reads the rules of a folder of the workspace. Those of a repository that the workspace lies in
    /// are among them, unless it ignores the workspace as a whole.
    ///
    /// # Errors
    /// [`CallFailure`] when the path leads nowhere.
    pub(crate) fn of(
        root: &WorkspaceRoot,
        path: &str,
        ignored: IgnoredFiles,
    ) -> Result<Self, CallFailure> {
        if ignored == IgnoredFiles::Include {
            return Ok(Self { off: true, ..Self::default() });
        }
        let mut rules = Self::above(root.path());
        rules.read_exclude(root.folder());
        rules.read(root.folder());
        let mut folder = root.folder().clone();
        for name in Path::new(&root.canonical(path)?).components() {
            let name = name.as_os_str();
            let Ok(below) = folder_at(&folder, name) else {
                break;
            };
            if name != "." {
                rules = rules.enter(name, &below);
            }
            folder = Arc::new(below);
        }
        Ok(rules)
    }

    /// The rules of the repository around a folder, without those of the folder itself.
    fn above(folder: &Path) -> Self {
        let has_git = |path: &&Path| path.join(".git").symlink_metadata().is_ok();
        let Some(top) = folder.ancestors().find(has_git).filter(|top| *top != folder) else {
            return Self::default();
        };
        let mut rules = Self::default();
        let mut at = top.to_owned();
        for name in folder.strip_prefix(top).unwrap_or(Path::new("")).components() {
            if let Ok(open) = File::open(&at).map(OwnedFd::from) {
                rules.read_exclude(&open);
                rules.read(&open);
            }
            let name = name.as_os_str();
            if rules.ignores(name, true) {
                return Self::default();
            }
            rules.base.extend_from_slice(name.as_bytes());
            rules.base.push(b'/');
            at.push(name);
        }
        rules
    }

    /// Returns the rules that apply in a folder of this one.
    pub(crate) fn enter(&self, name: &OsStr, folder: &OwnedFd) -> Self {
        if self.off {
            return self.clone();
        }
        let mut below = self.clone();
        below.base.extend_from_slice(name.as_bytes());
        below.base.push(b'/');
        below.read(folder);
        below
    }

    /// Returns true if a name in the folder is ignored.
    pub(crate) fn ignores(&self, name: &OsStr, is_dir: bool) -> bool {
        if self.nearest.is_none() {
            return false;
        }
        let path = [&self.base, name.as_bytes()].concat();
        let mut next = self.nearest.as_ref();
        while let Some(folder) = next {
            let path = path.get(folder.base..).unwrap_or_default();
            match folder.rules.matched(Path::new(OsStr::from_bytes(path)), is_dir) {
                Match::Ignore(_) => return true,
                Match::Whitelist(_) => return false,
                Match::None => next = folder.above.as_ref(),
            }
        }
        false
    }

    /// Adds the rules of a folder's `.gitignore`. A link is not read.
    fn read(&mut self, folder: &OwnedFd) {
        if let Ok((file, _)) = file_at(folder, OsStr::new(RULES)) {
            self.add(file);
        }
    }

    /// Adds the rules that git has for a repository of this folder.
    fn read_exclude(&mut self, folder: &OwnedFd) {
        let git = folder_at(folder, OsStr::new(".git"));
        let info = git.and_then(|git| folder_at(&git, OsStr::new("info")));
        if let Ok(info) = info
            && let Ok((file, _)) = file_at(&info, OsStr::new("exclude"))
        {
            self.add(file);
        }
    }

    /// Adds the lines of a file. One that does not read is left out, as git does.
    fn add(&mut self, file: File) {
        let mut text = Vec::new();
        if file.take(MOST).read_to_end(&mut text).is_err() {
            return;
        }
        let mut builder = GitignoreBuilder::new("");
        for line in String::from_utf8_lossy(&text).lines() {
            let _ = builder.add_line(None, line);
        }
        if let Ok(rules) = builder.build()
            && !rules.is_empty()
        {
            let above = self.nearest.take();
            let base = self.base.len();
            self.nearest = Some(Arc::new(FolderRules { rules, base, above }));
        }
    }
}
