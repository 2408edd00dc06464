//! Files that a session changed, from its log, and their contents, from its blobs.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use windlass_engine::core::{ChangedFiles, Fact, FileVersion, Seq, SessionId, TurnId};
use windlass_engine::ports::{BlobReader, LogReader, LogStore};

use crate::exit::{ExitKind, Failure};
use crate::present::print_notice;

/// Changes of a session, turn by turn.
#[derive(Debug, Default)]
pub(super) struct SessionChanges {
    turns: BTreeMap<TurnId, ChangedFiles>,
    all: ChangedFiles,
    /// Folder that the session was opened in.
    pub(super) workspace: Option<PathBuf>,
}

impl SessionChanges {
    pub(super) async fn read(
        store: Arc<dyn LogStore>,
        session: &SessionId,
    ) -> Result<Self, Failure> {
        let mut changes = Self::default();
        let mut facts = LogReader::new(store, session.clone(), Seq::ZERO, usize::MAX);
        while let Some(recorded) = facts.next().await? {
            if let Fact::SessionOpened(opened) = &recorded.fact {
                changes.workspace = opened.workspace.as_deref().map(PathBuf::from);
            }
            if let Some(turn) = recorded.turn {
                changes.turns.entry(turn).or_default().add(&recorded.fact);
            }
            changes.all.add(&recorded.fact);
        }
        Ok(changes)
    }

    /// Returns the changes of a turn.
    pub(super) fn of_turn(&self, session: &SessionId, turn: u64) -> Result<ChangedFiles, Failure> {
        let found = self.turns.get(&TurnId(turn)).cloned().map(ChangedFiles::settled);
        found.ok_or_else(|| {
            Failure::usage(format!(
                "session {session} has no turn {turn}: `windlass show {session} --turns` lists them"
            ))
        })
    }

    /// Returns the latest turn that changed files.
    pub(super) fn latest(&self) -> Option<TurnId> {
        let mut turns = self.turns.iter().rev();
        turns.find(|(_, changed)| !changed.files.is_empty()).map(|(turn, _)| *turn)
    }

    /// Returns the changes of all turns.
    pub(super) fn whole(self) -> ChangedFiles {
        self.all.settled()
    }
}

/// Content of a file at a time, read from the blobs.
pub(super) enum FileContent {
    Absent,
    Bytes(Vec<u8>),
    /// Not stored, for this reason.
    Missing(String),
}

/// Reads a content. One that this store does not have is missing, and fails nothing.
pub(super) async fn content(
    blobs: &BlobReader,
    version: &FileVersion,
) -> Result<FileContent, Failure> {
    match version {
        FileVersion::Absent => Ok(FileContent::Absent),
        FileVersion::NotStored { bytes } => {
            Ok(FileContent::Missing(format!("its {bytes} bytes were not stored")))
        }
        FileVersion::Stored(stored) => match blobs.read(&stored.sha256, stored.bytes).await {
            Ok(bytes) => Ok(FileContent::Bytes(bytes)),
            Err(error) if error.kind == windlass_engine::ports::BlobErrorKind::NotFound => {
                Ok(FileContent::Missing("its content is not in this store".to_owned()))
            }
            Err(error) => Err(Failure::new(ExitKind::Store, error.to_string())),
        },
    }
}

/// Prints remarks on changes that are not recorded.
pub(super) fn note_unrecorded(changed: &ChangedFiles) {
    if changed.ran_process {
        print_notice("calls also ran processes: what those changed in files is not recorded");
    }
    if changed.lost_call {
        print_notice(
            "nobody knows how a call ended: it may have changed files that are not listed",
        );
    }
}
