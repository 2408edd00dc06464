//! A model of a disk under a folder: what is on it for good, and what is only on its way.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use super::change::{Change, Names, Naming, Node, ROOT};
use super::strace::{Arg, Call, Step};

/// The recording does not say all that was done to the files.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the recording of system calls is not all: {0}")]
pub struct Overlooked(pub(super) String);

#[derive(Debug, Clone)]
struct Pending<T> {
    /// The number of its call, and whether that has ended.
    call: usize,
    ended: bool,
    change: T,
}

#[derive(Debug, Clone, Default)]
struct File {
    is_folder: bool,
    /// With every change.
    now: Vec<u8>,
    /// With every change that is synced.
    synced: Vec<u8>,
    pending: Vec<Pending<Change>>,
}

#[derive(Debug, Clone, Copy)]
struct Open {
    node: Node,
    at: usize,
    append: bool,
    sync: bool,
}

/// The disk, after so many steps.
#[derive(Debug)]
pub(super) struct Disk<'a> {
    root: &'a Path,
    journal: &'a Path,
    calls: &'a [Call],
    files: Vec<File>,
    now: Names,
    synced: Names,
    pending: Vec<Pending<Naming>>,
    open: BTreeMap<i64, Open>,
    /// The numbers under which the journal is open, and what is in it.
    journals: Vec<i64>,
    pub(super) acknowledged: Vec<u8>,
    /// By the number of the call, which changes a sync covers: those that ended before it began.
    covers: BTreeMap<usize, Vec<usize>>,
}

/// A disk's content that may be found after a loss of power: names, and contents by node.
pub(super) struct Content {
    pub(super) names: Names,
    pub(super) contents: BTreeMap<Node, Option<Vec<u8>>>,
}

impl<'a> Disk<'a> {
    pub(super) fn new(root: &'a Path, journal: &'a Path, calls: &'a [Call]) -> Self {
        let folder = File { is_folder: true, ..File::default() };
        Self {
            root,
            journal,
            calls,
            files: vec![folder],
            now: Names::new(),
            synced: Names::new(),
            pending: Vec::new(),
            open: BTreeMap::new(),
            journals: Vec::new(),
            acknowledged: Vec::new(),
            covers: BTreeMap::new(),
        }
    }

    /// The folder with every change.
    pub(super) fn applied(&self) -> Content {
        self.content(self.now.clone(), |file| file.now.clone())
    }

    /// The folder as it may be found: `keep` says which changes of names are there, and makes of the
    /// changes of a file what is there of them.
    pub(super) fn found(
        &self,
        mut keep_name: impl FnMut() -> bool,
        mut keep: impl FnMut(&Change, &mut Vec<u8>),
    ) -> Content {
        let mut names = self.synced.clone();
        for pending in &self.pending {
            if keep_name() {
                pending.change.apply(&mut names);
            }
        }
        self.content(names, |file| {
            let mut bytes = file.synced.clone();
            for pending in &file.pending {
                keep(&pending.change, &mut bytes);
            }
            bytes
        })
    }

    fn content(&self, names: Names, mut bytes: impl FnMut(&File) -> Vec<u8>) -> Content {
        let mut contents = BTreeMap::new();
        for node in names.values() {
            if let Some(file) = self.files.get(*node) {
                let content = (!file.is_folder).then(|| bytes(file));
                contents.insert(*node, content);
            }
        }
        Content { names, contents }
    }

    /// Goes on by a step.
    pub(super) fn step(&mut self, step: Step) -> Result<(), Overlooked> {
        match step {
            Step::Begin(number) => self.begin(number),
            Step::End(number) => self.end(number),
        }
    }

    /// What begins may have an effect from here on.
    fn begin(&mut self, number: usize) -> Result<(), Overlooked> {
        let call = self.call(number)?;
        let Some(Arg::Word(first)) = call.args.first() else {
            return Ok(());
        };
        let fd = first.parse().unwrap_or(-1);
        match call.name.as_str() {
            "write" if self.journals.contains(&fd) => {
                // Whoever reads it believes it from here on.
                self.acknowledged.extend_from_slice(call.bytes(1)?);
            }
            "write" | "pwrite64" => {
                let Some(open) = self.open.get(&fd).copied() else {
                    return Ok(());
                };
                let bytes = call.bytes(1)?.clone();
                let file = self.file(open.node)?;
                let at = match call.name.as_str() {
                    "pwrite64" => call.number(3)?,
                    _ if open.append => file.now.len(),
                    _ => open.at,
                };
                file.pending.push(Pending {
                    call: number,
                    ended: false,
                    change: Change::Write { at, bytes },
                });
            }
            "fsync" | "fdatasync" => {
                let Some(open) = self.open.get(&fd).copied() else {
                    return Ok(());
                };
                let ended = self.ended(open.node)?;
                self.covers.insert(number, ended);
            }
            "close" => {
                self.open.remove(&fd);
                self.journals.retain(|journal| *journal != fd);
            }
            _ => {}
        }
        Ok(())
    }

    fn end(&mut self, number: usize) -> Result<(), Overlooked> {
        let call = self.call(number)?;
        if call.result < 0 {
            for file in &mut self.files {
                file.pending.retain(|pending| pending.call != number);
            }
            return Ok(());
        }
        match call.name.as_str() {
            "openat" => self.opened(number, self.path(call, 0)?, 2),
            "open" => self.opened(number, call.path_at(0)?, 1),
            "dup" | "dup2" | "dup3" => self.doubled(call),
            "fcntl" if call.word(1).is_some_and(|it| it.starts_with("F_DUPFD")) => {
                self.doubled(call)
            }
            "lseek" => {
                if let Some(open) = self.open.get_mut(&call.fd()) {
                    open.at = usize::try_from(call.result).unwrap_or_default();
                }
                Ok(())
            }
            "write" | "pwrite64" => self.written(number, call),
            "ftruncate" => {
                let length = call.number(1)?;
                self.lengthened(number, call.fd(), |_| length)
            }
            "fallocate" => {
                let end = call.number(2)?.saturating_add(call.number(3)?);
                match call.word(1) {
                    Some("0") => self.lengthened(number, call.fd(), |len| len.max(end)),
                    Some("FALLOC_FL_KEEP_SIZE") => Ok(()),
                    _ => self.unknown(call),
                }
            }
            "fsync" | "fdatasync" => self.covered(number, call.fd()),
            "mkdir" => self.made(number, &call.path_at(0)?),
            "mkdirat" => self.made(number, &self.path(call, 0)?),
            "rename" => self.renamed(number, &call.path_at(0)?, &call.path_at(1)?),
            "renameat" | "renameat2" => {
                let from = self.path(call, 0)?;
                let to = self.path(call, 2)?;
                self.renamed(number, &from, &to)
            }
            "unlink" | "rmdir" => self.removed(number, &call.path_at(0)?),
            "unlinkat" => self.removed(number, &self.path(call, 0)?),
            "writev" | "pwritev" | "pwritev2" | "copy_file_range" => {
                let target = match call.name.as_str() {
                    "copy_file_range" => call.word(2).and_then(|word| word.parse().ok()),
                    _ => Some(call.fd()),
                };
                match target.is_some_and(|fd| self.open.contains_key(&fd)) {
                    true => self.unknown(call),
                    false => Ok(()),
                }
            }
            "link" | "linkat" | "sync" | "syncfs" | "creat" => self.unknown(call),
            _ => Ok(()),
        }
    }

    fn unknown(&self, call: &Call) -> Result<(), Overlooked> {
        Err(Overlooked(format!("this kit does not know {}", call.name)))
    }

    /// A path that may begin at an open folder, which is not known where that is recorded.
    fn path(&self, call: &Call, folder: usize) -> Result<PathBuf, Overlooked> {
        let path = call.path_at(folder + 1)?;
        let fd = call.word(folder).and_then(|word| word.parse().ok());
        if path.is_relative() && fd.is_some_and(|fd: i64| self.open.contains_key(&fd)) {
            let what = format!("{} names a file beside an open folder", call.name);
            return Err(Overlooked(what));
        }
        Ok(path)
    }

    fn call(&self, number: usize) -> Result<&'a Call, Overlooked> {
        let calls: &'a [Call] = self.calls;
        let missing = || Overlooked(format!("there is no call {number}"));
        calls.get(number).ok_or_else(missing)
    }

    fn file(&mut self, node: Node) -> Result<&mut File, Overlooked> {
        let missing = || Overlooked(format!("there is no file {node}"));
        self.files.get_mut(node).ok_or_else(missing)
    }

    /// The calls whose changes a sync of this file or folder covers if it begins now.
    fn ended(&mut self, node: Node) -> Result<Vec<usize>, Overlooked> {
        let file = self.file(node)?;
        if !file.is_folder {
            let ended = file.pending.iter().filter(|pending| pending.ended);
            return Ok(ended.map(|pending| pending.call).collect());
        }
        let named = self.pending.iter().filter(|pending| pending.change.is_in(node));
        Ok(named.map(|pending| pending.call).collect())
    }

    fn covered(&mut self, number: usize, fd: i64) -> Result<(), Overlooked> {
        let covers = self.covers.remove(&number).unwrap_or_default();
        let Some(open) = self.open.get(&fd).copied() else {
            return Ok(());
        };
        self.sync(open.node, &covers)
    }

    fn sync(&mut self, node: Node, covers: &[usize]) -> Result<(), Overlooked> {
        let file = self.file(node)?;
        let File { synced, pending, .. } = file;
        pending.retain(|pending| {
            let covered = covers.contains(&pending.call);
            if covered {
                pending.change.apply(synced);
            }
            !covered
        });
        let names = &mut self.synced;
        self.pending.retain(|pending| {
            let covered = covers.contains(&pending.call);
            if covered {
                pending.change.apply(names);
            }
            !covered
        });
        Ok(())
    }

    fn opened(&mut self, number: usize, path: PathBuf, flags: usize) -> Result<(), Overlooked> {
        let call = self.call(number)?;
        let fd = call.result;
        // Its number may have been another file's, whose end was not seen.
        self.open.remove(&fd);
        self.journals.retain(|journal| *journal != fd);
        if path == *self.journal {
            self.journals.push(fd);
            return Ok(());
        }
        let Some(name) = self.name_of(&path)? else {
            return Ok(());
        };
        let has = |flag| call.word(flags).is_some_and(|it| it.contains(flag));
        let known = name.as_ref().map_or(Some(ROOT), |name| self.now.get(name).copied());
        let node = match (known, name) {
            (Some(node), _) => node,
            (None, Some(name)) if has("O_CREAT") => self.give(number, name, false),
            (None, _) => {
                let what = format!("{} was opened and never made", path.display());
                return Err(Overlooked(what));
            }
        };
        if has("O_TRUNC") {
            self.change(node, number, Change::Length(0))?;
        }
        let open =
            Open { node, at: 0, append: has("O_APPEND"), sync: has("O_SYNC") || has("O_DSYNC") };
        self.open.insert(fd, open);
        Ok(())
    }

    fn doubled(&mut self, call: &Call) -> Result<(), Overlooked> {
        if let Some(open) = self.open.get(&call.fd()).copied() {
            self.open.insert(call.result, open);
        }
        Ok(())
    }

    fn written(&mut self, number: usize, call: &Call) -> Result<(), Overlooked> {
        let Some(open) = self.open.get(&call.fd()).copied() else {
            return Ok(());
        };
        let written = usize::try_from(call.result).unwrap_or_default();
        let file = self.file(open.node)?;
        let begun = file.pending.iter_mut().find(|it| it.call == number);
        let Some(begun) = begun else {
            return Err(Overlooked("a write ended that never began".to_owned()));
        };
        begun.ended = true;
        if let Change::Write { at, bytes } = &mut begun.change {
            if written < bytes.len() {
                *bytes = bytes.iter().copied().take(written).collect();
            }
            let end = *at + written;
            begun.change.apply(&mut file.now);
            if call.name == "write"
                && let Some(open) = self.open.get_mut(&call.fd())
            {
                open.at = end;
            }
        }
        match open.sync {
            true => self.sync(open.node, &[number]),
            false => Ok(()),
        }
    }

    fn lengthened(
        &mut self,
        number: usize,
        fd: i64,
        length: impl FnOnce(usize) -> usize,
    ) -> Result<(), Overlooked> {
        let Some(open) = self.open.get(&fd).copied() else {
            return Ok(());
        };
        let length = length(self.file(open.node)?.now.len());
        self.change(open.node, number, Change::Length(length))
    }

    fn change(&mut self, node: Node, call: usize, change: Change) -> Result<(), Overlooked> {
        let file = self.file(node)?;
        change.apply(&mut file.now);
        file.pending.push(Pending { call, ended: true, change });
        Ok(())
    }

    fn name(&mut self, call: usize, change: Naming) {
        change.apply(&mut self.now);
        self.pending.push(Pending { call, ended: true, change });
    }

    fn give(&mut self, call: usize, name: (Node, String), is_folder: bool) -> Node {
        let node = self.files.len();
        self.files.push(File { is_folder, ..File::default() });
        let given = Some((name, node));
        self.name(call, Naming { gone: None, given });
        node
    }

    fn made(&mut self, number: usize, path: &Path) -> Result<(), Overlooked> {
        if let Some(Some(name)) = self.name_of(path)? {
            self.give(number, name, true);
        }
        Ok(())
    }

    fn renamed(&mut self, number: usize, from: &Path, to: &Path) -> Result<(), Overlooked> {
        match (self.name_of(from)?, self.name_of(to)?) {
            (Some(Some(from)), Some(Some(to))) => {
                let missing = || Overlooked("what is not there was renamed".to_owned());
                let node = *self.now.get(&from).ok_or_else(missing)?;
                let (gone, given) = (Some(from), Some((to, node)));
                self.name(number, Naming { gone, given });
                Ok(())
            }
            (None, None) => Ok(()),
            (Some(_), _) | (_, Some(_)) => {
                Err(Overlooked("something came into the folder, or left it".to_owned()))
            }
        }
    }

    fn removed(&mut self, number: usize, path: &Path) -> Result<(), Overlooked> {
        if let Some(Some(name)) = self.name_of(path)? {
            let gone = Some(name);
            self.name(number, Naming { gone, given: None });
        }
        Ok(())
    }

    /// The folder and name that a path means; `None` outside of what is recorded, and no name for
    /// the folder itself.
    fn name_of(&self, path: &Path) -> Result<Option<Option<(Node, String)>>, Overlooked> {
        let Ok(path) = path.strip_prefix(self.root) else {
            return Ok(None);
        };
        let mut found: Option<(Node, String)> = None;
        for part in path.components() {
            let Component::Normal(part) = part else {
                return Err(Overlooked(format!("the path {} is not plain", path.display())));
            };
            let folder = match &found {
                None => ROOT,
                Some(name) => {
                    let missing = || Overlooked(format!("{} has no folder", path.display()));
                    *self.now.get(name).ok_or_else(missing)?
                }
            };
            found = Some((folder, part.to_string_lossy().into_owned()));
        }
        Ok(Some(found))
    }
}
