//! The workspace folder, as a handle, and how a path in a model's words is found below it.
//!
//! A path is walked name by name, each opened relative to the handle before it and never through
//! a symbolic link: links are read and followed here. So a link cannot lead out of the workspace,
//! and no folder that is swapped for a link meanwhile can either. There is one code path on every
//! kernel; `openat2` would not tell whether a link inside the workspace leads into the engine's
//! own folder.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{AtFlags, FileType, Mode, OFlags, fsync, mkdirat, openat, readlinkat, statat};
use rustix::io::Errno;

use crate::error::SetupError;
use crate::fault::CallFailure;

/// The engine's own folder, which tools neither read nor write, wherever it lies.
const PRIVATE: &str = ".windlass";
/// Links that one path may lead through.
const LINKS: u32 = 40;
/// Names that one path may have. Each costs an open handle during the walk.
const NAMES: usize = 128;

const FOLDER: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// Workspace folder, held open.
#[derive(Debug)]
pub(crate) struct WorkspaceRoot {
    folder: Arc<OwnedFd>,
    path: PathBuf,
    given: PathBuf,
}

/// Target of a path: a name in a folder that is held open.
#[derive(Debug)]
pub(crate) struct ResolvedPath {
    /// The folder that holds it, or the folder itself where `name` is absent.
    pub(crate) folder: Arc<OwnedFd>,
    /// Its name, which is no symbolic link at the time of the walk.
    pub(crate) name: Option<OsString>,
    /// The path as the model wrote it.
    pub(crate) shown: String,
}

/// Treatment of missing folders on the way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MissingFolders {
    /// Refuses the path.
    Refuse,
    /// Creates the missing folders.
    Create,
    /// Only counts the missing folders.
    Count,
}

/// Target of a path if the missing folders on the way were created.
#[derive(Debug)]
pub(crate) enum ForeseenPath {
    /// No folder is missing.
    Resolved(ResolvedPath),
    /// A new name in a new folder, the last of so many.
    InsideMissing(usize),
}

impl WorkspaceRoot {
    /// Opens a workspace and holds its folder.
    pub(crate) fn open(given: &Path) -> Result<Self, SetupError> {
        let failed = |error: std::io::Error| {
            let shown = given.display();
            SetupError::new(format!(
                "cannot open the workspace `{shown}`: {error}; name a folder that exists and \
                 that you may read"
            ))
            .caused_by(error)
        };
        let path = given.canonicalize().map_err(failed)?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder = rustix::fs::open(&path, flags, Mode::empty());
        let folder = folder.map_err(|errno| failed(errno.into()))?;
        let given = std::path::absolute(given).map_err(failed)?;
        Ok(Self { folder: Arc::new(folder), path, given })
    }

    /// Folder of the workspace, held open.
    pub(crate) fn folder(&self) -> &Arc<OwnedFd> {
        &self.folder
    }

    /// Absolute path of the workspace.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Finds where a path leads.
    pub(crate) fn resolve(
        &self,
        path: &str,
        missing: MissingFolders,
    ) -> Result<ResolvedPath, CallFailure> {
        let mut walk = PathWalk::new(self, path, missing)?;
        let name = walk.run()?;
        Ok(walk.place(name))
    }

    /// Finds where a path would lead if the folders on the way were created that are missing.
    /// Creates nothing.
    pub(crate) fn resolve_preview(&self, path: &str) -> Result<ForeseenPath, CallFailure> {
        let mut walk = PathWalk::new(self, path, MissingFolders::Count)?;
        match (walk.run()?, walk.absent) {
            (name, 0) => Ok(ForeseenPath::Resolved(walk.place(name))),
            (Some(_), folders) => Ok(ForeseenPath::InsideMissing(folders)),
            (None, _) => Err(CallFailure::os("write", path, Errno::ISDIR)),
        }
    }

    /// Returns where a path leads: relative to the workspace, through no symbolic link. Names of
    /// folders that are missing are part of it. Creates nothing.
    pub(crate) fn canonical(&self, path: &str) -> Result<String, CallFailure> {
        let mut walk = PathWalk::new(self, path, MissingFolders::Count)?;
        let name = walk.run()?;
        walk.names.extend(name);
        let names: Vec<_> = walk.names.iter().map(|name| name.to_string_lossy()).collect();
        Ok(if names.is_empty() { String::from(".") } else { names.join("/") })
    }

    /// The names of a path that a model wrote.
    fn parse(&self, path: &str) -> Result<VecDeque<OsString>, CallFailure> {
        if path.contains('\0') {
            return Err(CallFailure::Message(String::from(
                "a path has no zero bytes: leave them out",
            )));
        }
        let outside = || {
            CallFailure::Message(format!(
                "`{path}` is outside the workspace: use a path relative to the workspace folder, \
                 without `..`"
            ))
        };
        let relative = self.relative(Path::new(path)).ok_or_else(outside)?;
        let mut names = VecDeque::new();
        for component in relative.components() {
            match component {
                Component::Normal(name) => names.push_back(name.to_owned()),
                Component::CurDir => {}
                Component::ParentDir | Component::RootDir | Component::Prefix(_) => {
                    return Err(outside());
                }
            }
        }
        Ok(names)
    }

    /// A path relative to the workspace; `None` when it is an absolute path elsewhere.
    fn relative<'a>(&self, path: &'a Path) -> Option<&'a Path> {
        if path.is_relative() {
            return Some(path);
        }
        let inside = path.strip_prefix(&self.path);
        inside.or_else(|_| path.strip_prefix(&self.given)).ok()
    }
}

/// Returns true if a name is the engine's own folder, also on a file system that ignores case.
pub(crate) fn private(name: &[u8]) -> bool {
    name.eq_ignore_ascii_case(PRIVATE.as_bytes())
}

/// Opens a folder by its name, not through a link.
pub(crate) fn folder_at(at: &OwnedFd, name: &OsStr) -> Result<OwnedFd, Errno> {
    openat(at, name, FOLDER, Mode::empty())
}

/// Walk along a path, folder by folder.
struct PathWalk<'a> {
    root: &'a WorkspaceRoot,
    path: &'a str,
    missing: MissingFolders,
    /// The folders from below the root to where the walk stands.
    stack: Vec<Arc<OwnedFd>>,
    /// The names of those folders, and of missing ones below them.
    names: Vec<OsString>,
    /// Folders below those that are missing, where the walk is to count them. A folder that is
    /// not there has nothing in it, so no link either.
    absent: usize,
    rest: VecDeque<OsString>,
    links: u32,
}

impl<'a> PathWalk<'a> {
    fn new(
        root: &'a WorkspaceRoot,
        path: &'a str,
        missing: MissingFolders,
    ) -> Result<Self, CallFailure> {
        Ok(Self {
            root,
            path,
            missing,
            stack: Vec::new(),
            names: Vec::new(),
            absent: 0,
            rest: root.parse(path)?,
            links: 0,
        })
    }

    /// A name in the folder where the walk stands.
    fn place(&self, name: Option<OsString>) -> ResolvedPath {
        ResolvedPath { folder: self.here().clone(), name, shown: self.path.to_owned() }
    }

    /// Walks to the last folder; the name in it, or `None` when the path is that folder.
    fn run(&mut self) -> Result<Option<OsString>, CallFailure> {
        while let Some(name) = self.rest.pop_front() {
            if name == ".." {
                // Only a link's own target says so. Up is where the walk came from.
                self.names.pop();
                if self.absent > 0 {
                    self.absent -= 1;
                } else {
                    self.stack.pop().ok_or_else(|| self.leads_out())?;
                }
                continue;
            }
            if private(name.as_bytes()) {
                return Err(CallFailure::Message(format!(
                    "`{}` is in `{PRIVATE}`, the engine's own state, which tools leave alone",
                    self.path
                )));
            }
            if self.stack.len() + self.absent >= NAMES {
                return Err(CallFailure::Message(format!("`{}` is nested too deeply", self.path)));
            }
            if self.rest.is_empty() {
                match self.link(&name)? {
                    Some(target) => self.follow(&target)?,
                    None => return Ok(Some(name)),
                }
            } else {
                self.enter(&name)?;
            }
        }
        Ok(None)
    }

    fn here(&self) -> &Arc<OwnedFd> {
        self.stack.last().unwrap_or(&self.root.folder)
    }

    fn enter(&mut self, name: &OsStr) -> Result<(), CallFailure> {
        let fault = |errno| CallFailure::os("open", self.path, errno);
        if self.absent > 0 {
            self.absent += 1;
            self.names.push(name.to_owned());
            return Ok(());
        }
        let opened = match folder_at(self.here(), name) {
            Err(Errno::NOENT) if self.missing == MissingFolders::Count => {
                self.absent = 1;
                self.names.push(name.to_owned());
                return Ok(());
            }
            Err(Errno::NOENT) if self.missing == MissingFolders::Create => {
                match mkdirat(self.here(), name, Mode::from_raw_mode(0o777)) {
                    Ok(()) | Err(Errno::EXIST) => {
                        fsync(self.here()).map_err(fault)?;
                        folder_at(self.here(), name)
                    }
                    Err(errno) => {
                        return Err(CallFailure::os("create a folder for", self.path, errno));
                    }
                }
            }
            opened => opened,
        };
        match opened {
            Ok(folder) => {
                self.stack.push(Arc::new(folder));
                self.names.push(name.to_owned());
            }
            Err(errno @ (Errno::NOTDIR | Errno::LOOP)) => match self.link(name)? {
                Some(target) => self.follow(&target)?,
                None => return Err(fault(errno)),
            },
            Err(errno) => return Err(fault(errno)),
        }
        Ok(())
    }

    /// The target of a name that is a symbolic link.
    fn link(&self, name: &OsStr) -> Result<Option<PathBuf>, CallFailure> {
        let fault = |errno| CallFailure::os("open", self.path, errno);
        if self.absent > 0 {
            return Ok(None);
        }
        match statat(self.here(), name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) if FileType::from_raw_mode(stat.st_mode) == FileType::Symlink => {
                let target = readlinkat(self.here(), name, Vec::new()).map_err(fault)?;
                Ok(Some(PathBuf::from(OsString::from_vec(target.into_bytes()))))
            }
            Ok(_) | Err(Errno::NOENT) => Ok(None),
            Err(errno) => Err(fault(errno)),
        }
    }

    /// Puts a link's target in front of what is left to walk.
    fn follow(&mut self, target: &Path) -> Result<(), CallFailure> {
        self.links += 1;
        if self.links > LINKS {
            return Err(CallFailure::Message(format!(
                "`{}` leads through too many links",
                self.path
            )));
        }
        let relative = self.root.relative(target).ok_or_else(|| self.leads_out())?;
        if target.is_absolute() {
            self.stack.clear();
            self.names.clear();
        }
        for component in relative.components().rev() {
            match component {
                Component::Normal(name) => self.rest.push_front(name.to_owned()),
                Component::ParentDir => self.rest.push_front(OsString::from("..")),
                Component::CurDir | Component::RootDir | Component::Prefix(_) => {}
            }
        }
        if self.rest.len() > NAMES {
            return Err(CallFailure::Message(format!("`{}` is nested too deeply", self.path)));
        }
        Ok(())
    }

    fn leads_out(&self) -> CallFailure {
        CallFailure::Message(format!(
            "`{}` leads out of the workspace through a symbolic link: only files inside the \
             workspace can be used",
            self.path
        ))
    }
}
