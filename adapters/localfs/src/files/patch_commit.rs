//! Files of a patch put in their places: all of them or none.

use rustix::fs::{AtFlags, Stat, unlinkat};
use rustix::io::Errno;
use windlass_core::ChangedFile;

use super::FileToolContext;
use super::kept::ContentBefore;
use super::patched_files::{PatchedFile, PatchedFiles};
use crate::fault::CallFailure;
use crate::replace::{FileReplacement, StagedFile, replace, sync, unchanged, writable};
use crate::root::{MissingFolders, ResolvedPath};
use crate::stop::StopCheck;

/// A change and its place.
struct Change<'a> {
    file: &'a PatchedFile,
    place: ResolvedPath,
}

/// Writes the new contents beside their places, checks that nobody changed a file, and only then
/// renames and deletes. A failure takes back what was done.
///
/// # Errors
/// [`CallFailure`] when nothing was changed, or with what stays changed.
pub(super) fn commit(
    patched: &PatchedFiles,
    bench: &FileToolContext<'_>,
) -> Result<(), CallFailure> {
    // Folders are created only for a patch that can be applied.
    check_writable(patched, bench)?;
    let written = changes(patched.files.iter().filter(|file| file.is_written()), bench)?;
    let deleted = changes(patched.files.iter().filter(|file| file.is_deleted()), bench)?;
    let staged: Vec<StagedFile<'_>> =
        written.iter().map(|change| stage(change, bench)).collect::<Result<_, _>>()?;
    // Stored before the first of them is changed.
    let kept: Vec<_> = written.iter().chain(&deleted).map(|change| change.keep(bench)).collect();
    for change in &deleted {
        change.check_deletion()?;
    }
    bench.stop.check()?;
    for file in &staged {
        file.check()?;
    }
    let mut done: Vec<&Change<'_>> = Vec::new();
    let writes = written.iter().zip(staged).map(|(change, file)| (change, Some(file)));
    for (change, file) in writes.chain(deleted.iter().map(|change| (change, None))) {
        let put = match file {
            Some(file) => file.put(),
            None => change.delete(),
        };
        if let Err(failure) = put {
            let (left, failure) = take_back(&done, failure, bench);
            let changes = kept.into_iter().zip(done.iter().map(|it| it.place.shown.as_str()));
            let stays = changes.filter(|(_, path)| left.contains(path));
            stays.for_each(|(change, _)| bench.changes.note(change));
            return Err(failure);
        }
        done.push(change);
    }
    kept.into_iter().for_each(|change| bench.changes.note(change));
    done.iter().try_for_each(|change| sync(&change.place))
}

/// Fails for a file that may not be changed.
pub(super) fn check_writable(
    patched: &PatchedFiles,
    bench: &FileToolContext<'_>,
) -> Result<(), CallFailure> {
    for file in patched.files.iter().filter(|file| file.is_written() || file.is_deleted()) {
        if let Some(stat) = &file.stat {
            let place = bench.root.resolve(&file.path, MissingFolders::Refuse)?;
            writable(&place, stat)?;
        }
    }
    Ok(())
}

fn changes<'a>(
    files: impl Iterator<Item = &'a PatchedFile>,
    bench: &FileToolContext<'_>,
) -> Result<Vec<Change<'a>>, CallFailure> {
    let place = |file: &'a PatchedFile| {
        let place = bench.root.resolve(&file.path, MissingFolders::Create)?;
        Ok(Change { file, place })
    };
    files.map(place).collect()
}

fn stage<'a>(
    change: &'a Change<'_>,
    bench: &FileToolContext<'a>,
) -> Result<StagedFile<'a>, CallFailure> {
    StagedFile::new(&FileReplacement {
        target: &change.place,
        content: change.file.after.as_deref().unwrap_or_default(),
        before: change.file.stat,
        like: change.file.like,
        unchanged: true,
        key: bench.key,
        stop: bench.stop,
    })
}

impl Change<'_> {
    /// Stores the content before and after the change.
    fn keep(&self, bench: &FileToolContext<'_>) -> Option<ChangedFile> {
        let PatchedFile { path, before, after, stat, .. } = self.file;
        let before = before.as_deref().map_or(ContentBefore::Absent, ContentBefore::Read);
        bench.changes.prepare(path, (before, stat.as_ref()), after.as_deref(), bench)
    }

    fn check_deletion(&self) -> Result<(), CallFailure> {
        let Some((name, stat)) = self.place.name.as_deref().zip(self.file.stat.as_ref()) else {
            return Err(CallFailure::os("delete", &self.place.shown, Errno::ISDIR));
        };
        unchanged(&self.place, name, Some(stat))
    }

    fn delete(&self) -> Result<(), CallFailure> {
        let name = self.place.name.as_deref().unwrap_or_default();
        unlinkat(&self.place.folder, name, AtFlags::empty())
            .map_err(|errno| CallFailure::os("delete", &self.place.shown, errno))
    }

    /// Restores the file as it was.
    fn restore(&self, key: &str) -> Result<(), CallFailure> {
        let Some(before) = &self.file.before else {
            return self.delete();
        };
        let like: Option<Stat> = self.file.stat;
        replace(&FileReplacement {
            target: &self.place,
            content: before,
            before: None,
            like,
            unchanged: false,
            key,
            stop: &StopCheck::never(),
        })
    }
}

/// Restores what was changed before a failure. Returns the paths of what could not be restored, which
/// the failure names.
fn take_back<'a>(
    done: &[&'a Change<'_>],
    failure: CallFailure,
    bench: &FileToolContext<'_>,
) -> (Vec<&'a str>, CallFailure) {
    let left = done.iter().rev().filter(|change| change.restore(bench.key).is_err());
    let left: Vec<&str> = left.map(|change| change.place.shown.as_str()).collect();
    let named: Vec<String> = left.iter().map(|path| format!("`{path}`")).collect();
    let failure = match (failure, left.is_empty()) {
        (failure, true) => failure,
        (CallFailure::Message(words), false) => CallFailure::Message(format!(
            "{words}; these files are changed all the same, and the others are not: {}",
            named.join(", ")
        )),
        (CallFailure::Halted(halt), false) => CallFailure::Halted(halt),
    };
    (left, failure)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::LocalFsConfig;
    use crate::files::kept::ChangeRecorder;
    use crate::patch::parse::parse;
    use crate::root::WorkspaceRoot;

    const PATCH: &str = "*** Begin Patch\n*** Update File: a\n-1\n+2\n*** Add File: b\n+new\n\
                         *** Delete File: c\n*** Delete File: d\n*** End Patch";

    /// A deletion that fails in the end, since somebody else was faster: the other files are as before.
    #[test]
    fn a_failure_takes_back_what_was_done() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        for (name, text) in [("a", "1\n"), ("c", "3\n"), ("d", "4\n")] {
            std::fs::write(at(name), text).unwrap();
        }
        let (root, config) = (WorkspaceRoot::open(dir.path()).unwrap(), LocalFsConfig::default());
        let stop = StopCheck::never();
        let bench = FileToolContext {
            root: &root,
            config: &config,
            stop: &stop,
            key: "k",
            failed_before: 0,
            changes: &ChangeRecorder::disabled(),
        };
        let patched = PatchedFiles::of(&parse(PATCH).unwrap(), &bench).unwrap();
        let changes: Vec<Change<'_>> = changes(patched.files.iter(), &bench).unwrap();
        let [a, b, c, d] = changes.as_slice() else { panic!("{}", changes.len()) };
        for change in [a, b] {
            stage(change, &bench).unwrap().put().unwrap();
        }
        c.delete().unwrap();
        std::fs::remove_file(at("d")).unwrap();
        let failure = d.delete().unwrap_err();
        let (_, CallFailure::Message(words)) = take_back(&[a, b, c], failure, &bench) else {
            panic!("it was not told to stop");
        };
        assert!(words.starts_with("cannot delete `d`"), "{words}");
        assert_eq!(std::fs::read_to_string(at("a")).unwrap(), "1\n");
        assert_eq!(std::fs::read_to_string(at("c")).unwrap(), "3\n");
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 2);
        // What cannot be taken back is named.
        std::fs::create_dir(at("b")).unwrap();
        let failure = CallFailure::Message(String::from("no"));
        let (_, CallFailure::Message(words)) = take_back(&[a, b], failure, &bench) else {
            panic!("it was not told to stop");
        };
        assert_eq!(words, "no; these files are changed all the same, and the others are not: `b`");
    }
}
