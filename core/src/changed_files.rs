//! Changed files: what a turn, or a session, changed in files of the workspace, by the record of its
//! calls. Pure: nothing here reads a file.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;

use serde::{Deserialize, Serialize};

use crate::call::{ObservationStatus, StoredOutput};
use crate::fact::{Fact, FilesRestored};
use crate::id::TurnId;
use crate::record::RecordedFact;

/// Change of a file by a call, from before the call to after it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChangedFile {
    /// Path relative to the workspace, through no symbolic link.
    pub path: String,
    /// Content before the call.
    pub before: FileVersion,
    /// Content after the call.
    pub after: FileVersion,
    /// Permission bits of the file before the call, if there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<u32>,
}

/// Content of a file at a time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum FileVersion {
    /// There was no file.
    Absent,
    /// The content is a blob of the session.
    Stored(StoredOutput),
    /// The content was too long to be stored, or could not be.
    NotStored {
        /// Length of the content in bytes.
        bytes: u64,
    },
}

impl FileVersion {
    /// Returns the blob of the content, if it is stored.
    #[must_use]
    pub fn stored(&self) -> Option<&StoredOutput> {
        match self {
            Self::Stored(stored) => Some(stored),
            Self::Absent | Self::NotStored { .. } => None,
        }
    }
}

/// Files that calls changed, and a remark on what is unknown.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChangedFiles {
    /// One entry a path: the content before the first change and after the last one.
    pub files: BTreeMap<String, ChangedFile>,
    /// Paths of files that had another content at a call than the call before it left: somebody else
    /// changed them in between.
    pub disturbed: BTreeSet<String>,
    /// True if a call ran a process, whose changes of files are not recorded.
    pub ran_process: bool,
    /// True if nobody knows how a call ended: it may have changed files that are not recorded.
    pub lost_call: bool,
}

impl ChangedFiles {
    /// Adds the changes that a fact records, which follow those added before.
    pub fn add(&mut self, fact: &Fact) {
        let Fact::CallObserved(fact) = fact else {
            return;
        };
        let observation = &fact.observation;
        self.lost_call |= observation.status == ObservationStatus::Unknown;
        self.ran_process |= observation.confinement.is_some() || observation.exit_code.is_some();
        for change in &observation.changes {
            match self.files.get_mut(&change.path) {
                Some(known) => {
                    if known.after != change.before {
                        self.disturbed.insert(change.path.clone());
                    }
                    known.after = change.after.clone();
                }
                None => {
                    self.files.insert(change.path.clone(), change.clone());
                }
            }
        }
    }

    /// Leaves out the files that are as they were.
    #[must_use]
    pub fn settled(mut self) -> Self {
        self.files.retain(|_, file| {
            file.before != file.after || matches!(file.before, FileVersion::NotStored { .. })
        });
        self
    }
}

/// Folds a log into its changes of files, turn by turn.
#[derive(Debug, Clone, Default)]
pub struct SessionChanges {
    turns: BTreeMap<TurnId, ChangedFiles>,
    all: ChangedFiles,
    /// Files that the model knows to be restored, by the undone turn.
    told: BTreeMap<TurnId, BTreeSet<String>>,
    workspace: Option<String>,
}

impl SessionChanges {
    /// Applies the next fact of the log.
    pub fn apply(&mut self, recorded: &RecordedFact) {
        if let Some(turn) = recorded.turn {
            self.turns.entry(turn).or_default().add(&recorded.fact);
        }
        self.all.add(&recorded.fact);
        if let Fact::SessionOpened(fact) = &recorded.fact {
            self.workspace.clone_from(&fact.workspace);
        } else if let Fact::CallObserved(fact) = &recorded.fact {
            for change in &fact.observation.changes {
                for paths in self.told.values_mut() {
                    paths.remove(&change.path);
                }
            }
        } else if let Fact::FilesRestored(fact) = &recorded.fact {
            self.restored(fact);
        }
    }

    fn restored(&mut self, fact: &FilesRestored) {
        let undone = self.turns.get(&fact.of);
        for path in &fact.paths {
            let undone = undone.and_then(|undone| undone.files.get(path));
            if let (Some(file), Some(undone)) = (self.all.files.get_mut(path), undone) {
                file.after = undone.before.clone();
            }
        }
        self.told.entry(fact.of).or_default().extend(fact.paths.iter().cloned());
    }

    /// Returns the changes of a turn; `None` if the session has no such turn.
    #[must_use]
    pub fn of_turn(&self, turn: TurnId) -> Option<ChangedFiles> {
        self.turns.get(&turn).cloned().map(ChangedFiles::settled)
    }

    /// Returns the latest turn that changed files.
    #[must_use]
    pub fn latest(&self) -> Option<TurnId> {
        let mut turns = self.turns.iter().rev();
        turns.find(|(_, changed)| !changed.files.is_empty()).map(|(turn, _)| *turn)
    }

    /// Returns the changes of all turns, without those that were undone.
    #[must_use]
    pub fn whole(&self) -> ChangedFiles {
        self.all.clone().settled()
    }

    /// Returns true if the model knows that an undo of the turn restored the file, and no call has
    /// changed it since.
    #[must_use]
    pub fn is_reported(&self, turn: TurnId, path: &str) -> bool {
        self.told.get(&turn).is_some_and(|paths| paths.contains(path))
    }

    /// Returns the folder that the session was opened in.
    #[must_use]
    pub fn workspace(&self) -> Option<&str> {
        self.workspace.as_deref()
    }
}

#[cfg(test)]
mod tests {
    use alloc::sync::Arc;
    use alloc::vec::Vec;

    use super::*;
    use crate::call::Observation;
    use crate::fact::CallObserved;
    use crate::id::CallId;

    fn stored(name: &str) -> FileVersion {
        FileVersion::Stored(StoredOutput { sha256: String::from(name), bytes: 1 })
    }

    fn observed(changes: &[(&str, FileVersion, FileVersion)]) -> Fact {
        let change = |(path, before, after): &(&str, FileVersion, FileVersion)| ChangedFile {
            path: String::from(*path),
            before: before.clone(),
            after: after.clone(),
            mode: None,
        };
        let changes: Vec<_> = changes.iter().map(change).collect();
        let observation =
            Observation { changes, ..Observation::new(ObservationStatus::Done, "done") };
        Fact::CallObserved(CallObserved {
            call: CallId(1),
            observation: Arc::new(observation),
            usage: None,
            report: None,
            form: None,
            detached: false,
            by: None,
            key: None,
        })
    }

    #[test]
    fn a_file_has_its_first_content_before_and_its_last_after() {
        let mut changed = ChangedFiles::default();
        let long = FileVersion::NotStored { bytes: 9 };
        let facts = [
            observed(&[("a", stored("1"), stored("2")), ("new", FileVersion::Absent, stored("3"))]),
            observed(&[("a", stored("2"), stored("4")), ("new", stored("3"), FileVersion::Absent)]),
            observed(&[("back", stored("5"), stored("6")), ("long", long.clone(), long.clone())]),
            observed(&[("back", stored("6"), stored("5"))]),
        ];

        facts.iter().for_each(|fact| changed.add(fact));
        let settled = changed.settled();
        let paths: Vec<_> = settled.files.keys().map(String::as_str).collect();
        assert_eq!(paths, ["a", "long"], "what is as it was is left out, if that is known");
        let file = settled.files.get("a").unwrap();
        assert_eq!((&file.before, &file.after), (&stored("1"), &stored("4")));
        assert!(!settled.ran_process && !settled.lost_call && settled.disturbed.is_empty());
        let mut shared = settled;
        shared.add(&observed(&[("a", stored("mine"), stored("7"))]));
        assert!(shared.disturbed.contains("a"), "somebody else changed it in between");
        // The blobs live as long as the log that names them.
        let names: Vec<_> = facts.iter().flat_map(Fact::blobs).map(|(name, _)| name).collect();
        assert_eq!(names, ["1", "2", "3", "2", "4", "3", "5", "6", "6", "5"]);
    }
}
