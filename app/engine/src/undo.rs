//! Undo: takes back what a turn changed in files, and tells the model of the session.
//!
//! It compares contents, so a repetition after a crash continues. The files are restored first and
//! recorded then: a repetition also records what a crash left unrecorded.

use std::sync::Arc;

use tokio::sync::oneshot;
use windlass_core::{
    ChangedFile, ChangedFiles, Input, Reject, Scope, SessionChanges, SessionId, Timestamp, TurnId,
};
use windlass_ports::{
    BlobReader, BlobStore, FileRestorer, FileToRestore, LogStore, RestoreResult, StoreError,
};

use crate::changes::{content, read_changes};
use crate::driver::{AckResult, UndoCommand};
use crate::error::{SendError, StartError};
use crate::offline::{ChangeError, OfflineSession};
use crate::session::SessionHandle;

/// Request to undo a turn's changes of files.
#[derive(Debug, Clone)]
pub struct UndoRequest {
    /// Turn to undo; `None` for the latest one that changed files.
    pub turn: Option<TurnId>,
    /// Folder that the session must have been opened in, as a log is not believed about where to
    /// write; `None` for any.
    pub workspace: Option<String>,
    /// True if nothing is changed.
    pub dry_run: bool,
    /// Scope of the caller.
    pub scope: Scope,
}

/// Result of an undo.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UndoReport {
    /// Turn that was undone.
    pub turn: TurnId,
    /// Each file that the turn changed, and what became of it, in the order of the paths.
    pub files: Vec<(String, RestoreResult)>,
    /// Changes of the turn, with the remarks on what is not recorded.
    pub changed: ChangedFiles,
    /// Reason why the undo is not in the log, if it should be: the model is told with a repetition.
    pub unrecorded: Option<String>,
    /// Restored files that the model does not know of yet.
    untold: Vec<String>,
}

impl UndoReport {
    /// Returns the number of files with this result.
    #[must_use]
    pub fn count(&self, counts: impl Fn(&RestoreResult) -> bool) -> usize {
        self.files.iter().filter(|(_, result)| counts(result)).count()
    }

    /// Returns the input that records the undo; `None` if there is nothing to record.
    fn input(&self, scope: Scope) -> Option<Input> {
        let (of, paths) = (self.turn, self.untold.clone());
        (!paths.is_empty()).then_some(Input::FilesRestored { scope, of, paths, more: 0 })
    }
}

/// Error of an undo. No file was changed.
#[derive(Debug, thiserror::Error)]
pub enum UndoError {
    /// The session has no such turn.
    #[error("session {session} has no turn {turn}: `windlass show {session} --turns` lists them")]
    NoTurn {
        /// Id of the session.
        session: SessionId,
        /// The turn.
        turn: TurnId,
    },
    /// No turn changed a file by its tools.
    #[error("session {0} has changed no file by its tools")]
    NothingChanged(SessionId),
    /// The session was opened in another folder.
    #[error(
        "session {session} was opened in {recorded}: undo it there, or name its folder with \
         --workspace"
    )]
    OtherWorkspace {
        /// Id of the session.
        session: SessionId,
        /// Folder of the session.
        recorded: String,
    },
    /// The log cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A turn is open, or the session cannot be claimed.
    #[error(transparent)]
    Change(#[from] ChangeError),
    /// The driver of the session ended.
    #[error(transparent)]
    Send(#[from] SendError),
}

/// Takes back what a turn changed in files, in a session that nobody drives. It is claimed during
/// this, so no engine may have it open.
///
/// # Errors
/// [`UndoError`].
pub async fn undo(
    (store, blobs): (Arc<dyn LogStore>, Arc<dyn BlobStore>),
    session: &SessionId,
    files: Arc<dyn FileRestorer>,
    request: UndoRequest,
    now: Timestamp,
) -> Result<UndoReport, UndoError> {
    let scope = request.scope.clone();
    let blobs = BlobReader::new(blobs, session.clone());
    let work = UndoWork { store: store.clone(), blobs, session: session.clone(), files, request };
    let offline = OfflineSession { store: &*store, id: session, scope: &scope, now };
    let mut done = None;
    let changed = offline.change(async |session| {
        if let Some(turn) = session.turn() {
            return Err(ChangeError::Rejected(Reject::TurnRunning(turn.id)).into());
        }
        let report = work.run().await?;
        let input = report.input(scope.clone());
        done = Some(report);
        Ok::<_, UndoError>(input)
    });
    let changed = changed.await;
    let Some(mut report) = done else {
        changed?;
        return Err(UndoError::NothingChanged(session.clone()));
    };
    report.unrecorded = changed.err().map(|error| error.to_string());
    Ok(report)
}

impl SessionHandle {
    /// Takes back what a turn changed in files, between turns of the session, whose driver must be
    /// here or can be. Repeating it changes nothing.
    ///
    /// # Errors
    /// [`UndoError`]; a turn that runs is a [`Reject::TurnRunning`].
    pub async fn undo(
        &self,
        files: Arc<dyn FileRestorer>,
        request: UndoRequest,
    ) -> Result<UndoReport, UndoError> {
        let driver = self.open().await?;
        let (store, blobs) = self.stores();
        let session = driver.session().clone();
        let blobs = BlobReader::new(blobs, session.clone());
        let work = Arc::new(UndoWork { store, blobs, session, files, request });
        loop {
            // The work reads the log.
            driver.flush().await.map_err(SendError::Ended)?;
            let (answer, answered) = oneshot::channel();
            let command = UndoCommand { work: work.clone(), answer };
            let done = driver.undo(command, answered).await.map_err(SendError::Ended)??;
            let Some((report, acked)) = done else { continue };
            let unrecorded = match acked.await {
                Ok(AckResult::Rejected(error)) => Some(error.to_string()),
                Ok(AckResult::Ended(ended)) => Some(ended.to_string()),
                // The sender is dropped if nothing was to be recorded.
                Ok(AckResult::Durable(_)) | Err(_) => None,
            };
            return Ok(UndoReport { unrecorded, ..report });
        }
    }
}

/// Work of an undo, beside a session without an open turn.
pub(crate) struct UndoWork {
    store: Arc<dyn LogStore>,
    blobs: BlobReader,
    session: SessionId,
    files: Arc<dyn FileRestorer>,
    request: UndoRequest,
}

impl UndoWork {
    /// Restores the files of the turn.
    pub(crate) async fn run(&self) -> Result<UndoReport, UndoError> {
        let changes = read_changes(self.store.clone(), &self.session).await?;
        self.require_workspace(&changes)?;
        let turn = self.request.turn.or_else(|| changes.latest());
        let turn = turn.ok_or_else(|| UndoError::NothingChanged(self.session.clone()))?;
        let changed = changes.of_turn(turn);
        let changed =
            changed.ok_or_else(|| UndoError::NoTurn { session: self.session.clone(), turn })?;
        let (mut files, mut untold) = (Vec::new(), Vec::new());
        for (path, file) in &changed.files {
            let result = match changed.disturbed.contains(path) {
                true => left("somebody else changed it during the turn"),
                false => self.restore(file).await,
            };
            let tells = match &result {
                RestoreResult::Restored => true,
                RestoreResult::Unchanged => !changes.is_reported(turn, path),
                RestoreResult::Left { .. } => false,
            };
            untold.extend((tells && !self.request.dry_run).then(|| path.clone()));
            files.push((path.clone(), result));
        }
        Ok(UndoReport { turn, files, changed, unrecorded: None, untold })
    }

    /// Returns the input that records what was done.
    pub(crate) fn input(&self, report: &UndoReport) -> Option<Input> {
        report.input(self.request.scope.clone())
    }

    fn require_workspace(&self, changes: &SessionChanges) -> Result<(), UndoError> {
        let recorded = changes.workspace();
        match &self.request.workspace {
            Some(here) if Some(here.as_str()) != recorded => Err(UndoError::OtherWorkspace {
                session: self.session.clone(),
                recorded: recorded.unwrap_or("no folder").to_owned(),
            }),
            Some(_) | None => Ok(()),
        }
    }

    async fn restore(&self, file: &ChangedFile) -> RestoreResult {
        let before = content(&self.blobs, &file.before).await;
        let after = content(&self.blobs, &file.after).await;
        let (content, expected) = match (before, after) {
            (Ok(before), Ok(after)) => (before, after),
            (Err(reason), _) | (_, Err(reason)) => return RestoreResult::Left { reason },
        };
        let file = FileToRestore { path: file.path.clone(), expected, content, mode: file.mode };
        let (files, preview) = (self.files.clone(), self.request.dry_run);
        let restored = tokio::task::spawn_blocking(move || match preview {
            true => files.preview(&file),
            false => files.restore(&file),
        });
        restored.await.unwrap_or_else(|_| left("it could not be restored"))
    }
}

fn left(reason: &str) -> RestoreResult {
    RestoreResult::Left { reason: reason.to_owned() }
}

impl From<StartError> for UndoError {
    fn from(error: StartError) -> Self {
        Self::Change(error.into())
    }
}
