//! Files that a patch names, as they are and as it makes them. Reads, and changes nothing.

use rustix::fs::Stat;

use super::{FileToolContext, edit_report, whole};
use crate::fault::CallFailure;
use crate::open;
use crate::patch::apply::{ChunkFault, ChunkFaultKind, apply};
use crate::patch::{FileAction, FilePatch, Patch, PatchChunk};
use crate::root::{ForeseenPath, MissingFolders};

/// Files of a patch, in the order in which it names them.
#[derive(Debug, Default)]
pub(super) struct PatchedFiles {
    /// One entry a file, however often it is named.
    pub(super) files: Vec<PatchedFile>,
}

/// File that a patch names.
#[derive(Debug)]
pub(super) struct PatchedFile {
    /// Path as the patch has it.
    pub(super) path: String,
    /// Path that it leads to.
    canonical: String,
    /// The file as it is found.
    pub(super) stat: Option<Stat>,
    /// Content as it is found; `None` if there is no file.
    pub(super) before: Option<Vec<u8>>,
    /// Content as the patch makes it; `None` if there is no file then.
    pub(super) after: Option<Vec<u8>>,
    /// File that is moved here.
    pub(super) like: Option<Stat>,
    /// Reason why the patch would not fit, if the file is as the patch makes it already.
    pub(super) already: Option<String>,
}

impl PatchedFile {
    /// Returns true if the patch changes or creates the file.
    pub(super) fn is_written(&self) -> bool {
        self.after.is_some() && self.after != self.before
    }

    /// Returns true if the patch deletes the file.
    pub(super) fn is_deleted(&self) -> bool {
        self.after.is_none() && self.before.is_some()
    }
}

impl PatchedFiles {
    /// Reads the files of a patch and applies it to their content.
    ///
    /// A patch whose first changes are there already continues one that was killed: a file that is
    /// as the patch makes it is left, if all files that would be changed before it are so too.
    pub(super) fn of(patch: &Patch, bench: &FileToolContext<'_>) -> Result<Self, CallFailure> {
        let mut files = Self::default();
        for file in &patch.files {
            bench.stop.check()?;
            files.add(file, bench)?;
        }
        files.check_continues()?;
        Ok(files)
    }

    /// Fails for a change that is there already and not because an equal patch was killed. Files are
    /// written before others are deleted.
    fn check_continues(&self) -> Result<(), CallFailure> {
        let written = self.files.iter().filter(|file| file.after.is_some());
        let deleted = self.files.iter().filter(|file| file.after.is_none());
        let in_order: Vec<&PatchedFile> = written.chain(deleted).collect();
        let done = in_order.iter().take_while(|file| file.already.is_some()).count();
        let mut rest = in_order.iter().skip(done).filter_map(|file| file.already.as_ref());
        let fault = match done == in_order.len() {
            true => in_order.first().and_then(|file| file.already.as_ref()),
            false => rest.next(),
        };
        match fault {
            None => Ok(()),
            Some(_) if done == in_order.len() && self.files.iter().any(|it| it.after.is_some()) => {
                Err(CallFailure::Message(String::from(
                    "every file is as this patch makes it already; nothing was changed",
                )))
            }
            Some(fault) => Err(CallFailure::Message(fault.clone())),
        }
    }

    fn add(&mut self, patch: &FilePatch, bench: &FileToolContext<'_>) -> Result<(), CallFailure> {
        let path = &patch.path;
        let at = self.open(path, bench)?;
        match &patch.action {
            FileAction::Add { content } => self.create(at, content, bench),
            FileAction::Delete => self.delete(at),
            FileAction::Update { move_to, chunks } => {
                let to = move_to.as_ref().map(|to| self.open(to, bench)).transpose()?;
                match to.filter(|to| *to != at) {
                    None => self.update(at, chunks, bench),
                    Some(to) => self.rename(at, to, chunks, bench),
                }
            }
        }
    }

    fn create(
        &mut self,
        at: usize,
        content: &str,
        bench: &FileToolContext<'_>,
    ) -> Result<(), CallFailure> {
        let Some(file) = self.files.get_mut(at) else {
            return Ok(());
        };
        let exists = format!(
            "`{}` exists already; nothing was changed: change it with Update File, or delete it \
             first in the same patch",
            file.path
        );
        match &file.after {
            Some(after) if after == content.as_bytes() && file.before == file.after => {
                file.already = Some(exists);
                Ok(())
            }
            Some(_) => Err(CallFailure::Message(exists)),
            None => file.becomes(content.as_bytes().to_vec(), bench),
        }
    }

    fn delete(&mut self, at: usize) -> Result<(), CallFailure> {
        if let Some(file) = self.files.get_mut(at) {
            if file.before.is_none() {
                file.already = Some(file.missing());
            }
            file.after = None;
        }
        Ok(())
    }

    fn update(
        &mut self,
        at: usize,
        chunks: &[PatchChunk],
        bench: &FileToolContext<'_>,
    ) -> Result<(), CallFailure> {
        let Some(file) = self.files.get_mut(at) else {
            return Ok(());
        };
        let Some(now) = &file.after else {
            return Err(CallFailure::Message(file.missing()));
        };
        match apply(now, chunks) {
            Ok(after) => file.becomes(after, bench),
            Err(fault) => {
                let words = words(&file.path, now, &fault);
                if file.before == file.after && is_applied(now, chunks) {
                    file.already = Some(words);
                    return Ok(());
                }
                Err(CallFailure::Message(words))
            }
        }
    }

    fn rename(
        &mut self,
        from: usize,
        to: usize,
        chunks: &[PatchChunk],
        bench: &FileToolContext<'_>,
    ) -> Result<(), CallFailure> {
        let moved = match self.files.get(from) {
            Some(PatchedFile { after: Some(_), .. }) => {
                if !chunks.is_empty() {
                    self.update(from, chunks, bench)?;
                }
                self.files.get_mut(from).and_then(|file| file.after.take().zip(file.stat))
            }
            Some(_) | None => None,
        };
        let gone = self.files.get(from).map(PatchedFile::missing).unwrap_or_default();
        let Some(target) = self.files.get_mut(to) else {
            return Ok(());
        };
        let Some((content, stat)) = moved else {
            let there = target.after.as_ref().filter(|_| target.before == target.after);
            if !there.is_some_and(|now| chunks.is_empty() || is_applied(now, chunks)) {
                return Err(CallFailure::Message(gone));
            }
            target.already = Some(gone.clone());
            if let Some(file) = self.files.get_mut(from) {
                file.already = Some(gone);
            }
            return Ok(());
        };
        let exists = format!(
            "`{}` exists already, so nothing can be moved there; nothing was changed",
            target.path
        );
        match &target.after {
            Some(now) if *now == content && target.before == target.after => {
                target.already = Some(exists);
                Ok(())
            }
            Some(_) => Err(CallFailure::Message(exists)),
            None => {
                target.like = Some(stat);
                target.becomes(content, bench)
            }
        }
    }

    /// Returns the index of a file, which is read if the patch did not name it before.
    fn open(&mut self, path: &str, bench: &FileToolContext<'_>) -> Result<usize, CallFailure> {
        let canonical = bench.root.canonical(path)?;
        if let Some(known) = self.files.iter().position(|file| file.canonical == canonical) {
            return Ok(known);
        }
        let (stat, before) = match bench.root.resolve_preview(path)? {
            ForeseenPath::InsideMissing(_) => (None, None),
            ForeseenPath::Resolved(place) => match open::target(&place)? {
                None => (None, None),
                Some(_) => {
                    let place = bench.root.resolve(path, MissingFolders::Refuse)?;
                    let (file, stat) = open::file(&place)?;
                    (Some(stat), Some(whole(file, path, bench)?))
                }
            },
        };
        let (path, after) = (path.to_owned(), before.clone());
        let file = PatchedFile { path, canonical, stat, before, after, like: None, already: None };
        self.files.push(file);
        Ok(self.files.len() - 1)
    }
}

impl PatchedFile {
    fn missing(&self) -> String {
        format!(
            "there is no file `{}`; nothing was changed: list_dir and glob show what there is",
            self.path
        )
    }

    fn becomes(&mut self, after: Vec<u8>, bench: &FileToolContext<'_>) -> Result<(), CallFailure> {
        let most = bench.config.file_bytes;
        if after.len() as u64 > most {
            let path = &self.path;
            return Err(CallFailure::Message(format!(
                "`{path}` would become larger than {most} bytes; nothing was changed"
            )));
        }
        self.after = Some(after);
        Ok(())
    }
}

/// Returns true if a file is as chunks make it: all of them can be taken back.
fn is_applied(content: &[u8], chunks: &[PatchChunk]) -> bool {
    let reversed: Vec<PatchChunk> = chunks.iter().map(PatchChunk::reversed).collect();
    let adds = reversed.iter().all(|chunk| !chunk.old().is_empty());
    adds && apply(content, &reversed).is_ok()
}

/// Describes a chunk that has no place in its file.
fn words(path: &str, content: &[u8], fault: &ChunkFault) -> String {
    let line = fault.line;
    let why = match &fault.kind {
        ChunkFaultKind::Missing(old) => {
            let nearest = edit_report::nearest_text(content, old).unwrap_or_default();
            return format!(
                "`{path}` does not have the lines of the change at line {line} of the patch; nothing \
                 was changed. {nearest}"
            );
        }
        ChunkFaultKind::Above(at) => format!(
            "has the lines of the change at line {line} of the patch only at line {at}, before the \
             change above it: order the changes from top to bottom"
        ),
        ChunkFaultKind::Repeated(lines) => {
            let lines: Vec<String> = lines.iter().map(usize::to_string).collect();
            format!(
                "has the lines of the change at line {line} of the patch several times, at the lines \
                 {}: give more lines around it, or `@@` and a line above it that occurs once",
                lines.join(", ")
            )
        }
        ChunkFaultKind::NoContext(text) => format!(
            "has no line `{text}` after the change above, which `@@` names at line {line} of the patch"
        ),
        ChunkFaultKind::NotLast => format!(
            "does not end with the lines of the change at line {line} of the patch: leave `*** End of \
             File` out, or give the last lines"
        ),
    };
    format!("`{path}` {why}; nothing was changed")
}
