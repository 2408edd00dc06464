//! Records of processes that outlive their calls, beside the locks of their runs.
//!
//! A record is an empty file with the name of the call. It stays until its owner forgets it, so a record
//! without a process says that the process was lost. What the process runs is in the log alone, which
//! may be encrypted, and may be erased.

use std::fs;
use std::io::{Error, ErrorKind};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::PathBuf;

use rustix::fs::{FlockOperation, Mode, OFlags, flock, open};
use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};
use windlass_core::{CallId, SessionId};

use crate::lock::{RunLocks, SEPARATOR, mark_of};

/// Extension of the file.
const RECORD: &str = "process";

/// Process on record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordedProcess {
    /// Call that started it.
    pub call: CallId,
    /// True if a process holds the lock of its run.
    pub running: bool,
}

impl RunLocks {
    /// Records a process that outlives its call, whose run has a lock here.
    ///
    /// # Errors
    /// When the record cannot be written.
    pub fn record(&self, session: &SessionId, call: CallId) -> Result<(), Error> {
        let make = || {
            let mut options = fs::OpenOptions::new();
            options.write(true).create_new(true).mode(0o600);
            options.open(self.record_path(session, call))
        };
        match make() {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
            // The lock makes the folder too, and may not have been taken yet.
            Err(error) if error.kind() == ErrorKind::NotFound => {
                fs::DirBuilder::new().recursive(true).mode(0o700).create(self.folder())?;
                make().map(drop)
            }
            made => made.map(drop),
        }
    }

    /// Removes a record, if it is there.
    ///
    /// # Errors
    /// When it cannot be removed.
    pub fn forget(&self, session: &SessionId, call: CallId) -> Result<(), Error> {
        match fs::remove_file(self.record_path(session, call)) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            removed => removed,
        }
    }

    /// Returns the processes on record of a session, in the order of their calls.
    ///
    /// # Errors
    /// When the folder cannot be read.
    pub fn recorded(&self, session: &SessionId) -> Result<Vec<RecordedProcess>, Error> {
        let records = self.records()?.into_iter();
        let of_session = records.filter(|(of, _)| of == session);
        Ok(of_session.filter_map(|(_, call)| self.read_record(session, call)).collect())
    }

    /// Returns the record of a process, if it is there.
    #[must_use]
    pub fn read_record(&self, session: &SessionId, call: CallId) -> Option<RecordedProcess> {
        fs::symlink_metadata(self.record_path(session, call)).ok()?;
        Some(RecordedProcess { call, running: self.is_held(session, call) })
    }

    /// Ends the processes of a call's run, which any process of this machine may have started, and
    /// waits for their end, for a bounded time.
    ///
    /// # Errors
    /// When a process does not end.
    pub async fn end(&self, session: &SessionId, call: CallId) -> Result<(), Error> {
        self.of(session, call).end().await
    }

    /// Ends the recorded processes of all sessions whose starter is gone, and waits for their ends, for a
    /// bounded time. Their records stay. Reports those that it could not end. A starter whose id another
    /// process has by now counts as alive; opening the session ends those that it left.
    ///
    /// # Errors
    /// When the folder cannot be read.
    pub async fn end_abandoned(&self) -> Result<(), Error> {
        for (session, call) in self.records()? {
            let lock = self.lock_path(&session, call);
            let starter = mark_of(&lock).and_then(|mark| Pid::from_raw(mark.starter()?));
            let is_gone = starter.is_some_and(|pid| test_kill_process(pid) == Err(Errno::SRCH));
            if !is_gone {
                continue;
            }
            // No other process runs this call again: it was recorded as started.
            if let Err(error) = self.end(&session, call).await {
                tracing::warn!(%session, %call, %error, "a process of an earlier windlass runs on");
            }
        }
        Ok(())
    }

    /// Returns the sessions and calls of all records.
    fn records(&self) -> Result<Vec<(SessionId, CallId)>, Error> {
        let files = match fs::read_dir(self.folder()) {
            Ok(files) => files,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let mut records = Vec::new();
        for file in files {
            let name = file?.file_name();
            records.extend(name.to_str().and_then(|name| {
                let (session, call) = name.split_once(SEPARATOR)?;
                let call = call.strip_suffix(RECORD)?.strip_suffix('.')?.parse().ok()?;
                Some((SessionId::new(session).ok()?, CallId(call)))
            }));
        }
        records.sort();
        Ok(records)
    }

    /// Returns true if a process holds the lock of a call's runs.
    fn is_held(&self, session: &SessionId, call: CallId) -> bool {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let Ok(file) = open(self.lock_path(session, call), flags, Mode::empty()) else {
            return false;
        };
        // A shared lock is given back when the file is closed, at the end of this function.
        flock(&file, FlockOperation::NonBlockingLockShared) == Err(Errno::WOULDBLOCK)
    }

    fn lock_path(&self, session: &SessionId, call: CallId) -> PathBuf {
        self.folder().join(format!("{session}{SEPARATOR}{call}"))
    }

    fn record_path(&self, session: &SessionId, call: CallId) -> PathBuf {
        self.folder().join(format!("{session}{SEPARATOR}{call}.{RECORD}"))
    }
}
