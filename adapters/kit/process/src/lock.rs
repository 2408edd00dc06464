//! Locks of runs: files that the processes of a run hold through their lives.
//!
//! The starter locks the file and lets the first process of the run inherit the open file, and so do
//! all processes that it starts. The kernel releases the lock when the last of them has ended, however
//! it ends. A symbolic link beside it has the mark of the run as its target, by which the processes are
//! found: it needs no block on a disk, so that both cost microseconds. A run that ends in order removes
//! both, so what is there is of a run whose starter was killed, or of one that is under way.
//!
//! A process is known by its descriptor or by its mark. One that gave up both is not: Python's
//! `subprocess` closes descriptors, and `env -i` clears marks.

use std::collections::BTreeSet;
use std::fs::{self, DirBuilder, File};
use std::io::{Error, ErrorKind};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, symlink};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, Mode, OFlags, flock, open};
use rustix::io::{Errno, FdFlags, fcntl_setfd};
use windlass_core::{CallId, SessionId};

use crate::mark::{RemainingProcesses, RunMark};
use crate::search::{self, FoundProcess, Signal};

/// Time that processes of an earlier run have between SIGTERM and SIGKILL.
const GRACE: Duration = Duration::from_secs(1);
/// Longest wait for the end of an earlier run, SIGTERM and SIGKILL included.
const PATIENCE: Duration = Duration::from_secs(5);
/// Interval of tests whether an earlier run has ended.
const INTERVAL: Duration = Duration::from_millis(20);
/// Longest wait for the search of an earlier run's processes: reading about a stuck one may block.
const SEARCH: Duration = Duration::from_secs(8);
/// Most openings of a file that another process removes at the same time.
const OPENINGS: usize = 100;
/// Separator of session and call in a file's name. No session id contains it.
pub(crate) const SEPARATOR: char = '+';
/// Extension of the link with the mark.
const MARK: &str = "run";

/// One process is started at a time: another one must not inherit a lock that is about to be passed on.
static STARTING: Mutex<()> = Mutex::new(());

/// Folder of the locks of one store's calls.
#[derive(Debug, Clone)]
pub struct RunLocks {
    folder: PathBuf,
}

/// Lock of the runs of one call.
#[derive(Debug, Clone)]
pub struct RunLock {
    session: String,
    call: String,
    path: PathBuf,
}

/// Lock that this process holds, for the processes that it is about to start.
#[derive(Debug)]
pub(crate) struct HeldLock {
    path: PathBuf,
    file: File,
}

impl RunLocks {
    /// Uses a folder, which is made when it is needed. Sessions of two stores must not share one.
    #[must_use]
    pub fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// Returns the folder.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the lock of a call.
    #[must_use]
    pub fn of(&self, session: &SessionId, call: CallId) -> RunLock {
        let (session, call) = (session.to_string(), call.to_string());
        let path = self.folder.join(format!("{session}{SEPARATOR}{call}"));
        RunLock { session, call, path }
    }

    /// Ends what earlier processes left running of a session's calls, and waits for its end, for a
    /// bounded time. Reports what it ended. Nothing of the session may run here at this time.
    ///
    /// # Errors
    /// When a process does not end, or the folder cannot be read.
    pub async fn end_runs(&self, session: &SessionId) -> Result<(), Error> {
        let mut ending = Vec::new();
        for lock in self.list(session)? {
            // All at once: each may have to be waited for.
            ending.push(tokio::spawn(async move { lock.end().await }));
        }
        let mut result = Ok(());
        for one in ending {
            result = result.and(one.await.map_err(Error::other).and_then(|ended| ended));
        }
        result
    }

    /// Returns the locks of a session's calls whose files are there.
    fn list(&self, wanted: &SessionId) -> Result<Vec<RunLock>, Error> {
        let files = match fs::read_dir(&self.folder) {
            Ok(files) => files,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let lock = |name: &str, path| {
            let (of, call) = name.split_once(SEPARATOR)?;
            let (session, call) = (of.to_owned(), call.to_owned());
            let is_lock = call.parse::<u64>().is_ok() && of == wanted.as_str();
            is_lock.then_some(RunLock { session, call, path })
        };
        let mut locks = Vec::new();
        for file in files {
            let file = file?;
            locks.extend(file.file_name().to_str().and_then(|name| lock(name, file.path())));
        }
        Ok(locks)
    }
}

impl RunLock {
    /// Ends what is left of a run of the call, and removes the files of its lock.
    pub(crate) async fn end(&self) -> Result<(), Error> {
        self.take().await?.remove();
        Ok(())
    }

    /// Takes the lock for a run with this mark. Ends what is left of an earlier run of the call.
    /// Returns `None` where nobody may write a lock, which is reported once.
    ///
    /// # Errors
    /// When a process of an earlier run does not end, or the file cannot be written.
    pub(crate) async fn hold(&self, mark: &RunMark) -> Result<Option<HeldLock>, Error> {
        let free = match self.try_take() {
            Ok(taken) => taken.filter(|held| held.mark().is_none()),
            Err(error) if is_forbidden(&error) => {
                self.warn_without(&error);
                return Ok(None);
            }
            Err(error) => return Err(error),
        };
        let held = match free {
            Some(held) => held,
            // What an earlier run left may have closed the lock, or still hold it.
            None => self.take().await?,
        };
        held.set_mark(mark)?;
        Ok(Some(held))
    }

    /// Reports that runs have no locks.
    fn warn_without(&self, error: &Error) {
        static TOLD: AtomicBool = AtomicBool::new(false);
        if !TOLD.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                path = %self.path.display(), %error,
                "a command that outlives this process will not be known: its lock cannot be written"
            );
        }
    }

    /// Takes the lock once nothing of an earlier run lives. Ends what does, and reports it.
    async fn take(&self) -> Result<HeldLock, Error> {
        let lock = self.clone();
        let taking = tokio::task::spawn_blocking(move || lock.take_blocking());
        let taken = tokio::time::timeout(SEARCH, taking).await;
        let taken = taken.map_err(|_| self.still_runs(&RemainingProcesses::default()))?;
        let (held, ended) = taken.map_err(Error::other)??;
        if ended.count > 0 {
            tracing::warn!(
                session = %self.session, call = %self.call, processes = ended.count,
                commands = ?ended.commands,
                "ended the processes of a call that outlived the process which had started it"
            );
        }
        Ok(held)
    }

    fn take_blocking(&self) -> Result<(HeldLock, RemainingProcesses), Error> {
        let start = Instant::now();
        let mut run = EarlierRun::default();
        loop {
            let held = self.try_take()?;
            let living =
                mark_of(&self.path).map(|mark| run.find(&mark, &self.path)).unwrap_or_default();
            match held {
                Some(held) if living.is_empty() => return Ok((held, run.ended())),
                Some(_) | None => {}
            }
            if start.elapsed() > PATIENCE {
                return Err(self.still_runs(&RemainingProcesses::of(
                    living.into_iter().map(|process| process.command),
                )));
            }
            run.signal(living, start.elapsed() > GRACE);
            sleep(INTERVAL);
        }
    }

    /// Takes the lock, unless a process holds it.
    fn try_take(&self) -> Result<Option<HeldLock>, Error> {
        for _ in 0..OPENINGS {
            let file = self.open()?;
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => {}
                Err(Errno::WOULDBLOCK) => return Ok(None),
                Err(error) => return Err(error.into()),
            }
            // The last holder may have removed the file before this process locked it.
            let locked = file.metadata()?;
            match fs::symlink_metadata(&self.path) {
                Ok(there) if (there.dev(), there.ino()) == (locked.dev(), locked.ino()) => {
                    return Ok(Some(HeldLock { path: self.path.clone(), file }));
                }
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        Ok(None)
    }

    /// Opens the file, which is made if it is not there. Programs that this process starts do not get
    /// it.
    fn open(&self) -> Result<File, Error> {
        let flags = OFlags::RDONLY | OFlags::CREATE | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let opened = || open(&self.path, flags, Mode::RUSR | Mode::WUSR);
        match (opened(), self.path.parent()) {
            (Err(Errno::NOENT), Some(folder)) => {
                DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
                Ok(opened()?.into())
            }
            (opened, _) => Ok(opened?.into()),
        }
    }

    /// Removes the file at the end of a run. Kills processes that still hold it, and returns them; waits
    /// at most so long for their end. The file stays if they do not end.
    pub(crate) fn release(&self, mark: &RunMark, patience: Duration) -> RemainingProcesses {
        let (start, mut run) = (Instant::now(), EarlierRun::default());
        loop {
            match self.try_take() {
                Ok(Some(held)) => {
                    held.remove();
                    break;
                }
                Ok(None) if start.elapsed() < patience => {
                    run.signal(run.find(mark, &self.path), true);
                    sleep(INTERVAL);
                }
                Ok(None) => break,
                Err(error) => {
                    warn_not_removed(&self.path, &error);
                    break;
                }
            }
        }
        run.ended()
    }

    fn still_runs(&self, living: &RemainingProcesses) -> Error {
        let known = match living.commands.is_empty() {
            true => format!("unknown ones, which hold {}", self.path.display()),
            false => living.commands.join(", "),
        };
        Error::new(
            ErrorKind::ResourceBusy,
            format!(
                "processes of an earlier run of this call still run and could not be ended \
                 ({known}); end them first"
            ),
        )
    }
}

impl HeldLock {
    /// Starts a process that inherits the lock, and drops the own share in it.
    pub(crate) fn pass_on<T>(self, start: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
        let _one = STARTING.lock().unwrap_or_else(PoisonError::into_inner);
        let started = fcntl_setfd(&self.file, FdFlags::empty()).map_err(Error::from);
        match started.and_then(|()| start()) {
            Ok(started) => {
                // Before another process is started, which would inherit it too.
                drop(self);
                Ok(started)
            }
            Err(error) => {
                self.remove();
                Err(error)
            }
        }
    }

    /// Returns the mark of the run that had it last, if it did not end in order.
    fn mark(&self) -> Option<RunMark> {
        mark_of(&self.path)
    }

    /// Names the run that is about to start.
    fn set_mark(&self, mark: &RunMark) -> Result<(), Error> {
        let link = self.path.with_added_extension(MARK);
        match symlink(mark.as_str(), &link) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                fs::remove_file(&link)?;
                symlink(mark.as_str(), &link)
            }
            made => made,
        }
    }

    /// Removes the files and releases the lock, in this order: whoever takes it between has a lock that
    /// nobody else sees, and takes it again.
    fn remove(self) {
        let link = self.path.with_added_extension(MARK);
        for path in [&link, &self.path] {
            match fs::remove_file(path) {
                Err(error) if error.kind() != ErrorKind::NotFound => warn_not_removed(path, &error),
                Ok(()) | Err(_) => {}
            }
        }
    }
}

/// Returns the mark beside a lock. What cannot be read names no process.
pub(crate) fn mark_of(lock: &Path) -> Option<RunMark> {
    RunMark::parse(fs::read_link(lock.with_added_extension(MARK)).ok()?.to_str()?)
}

/// Returns true for the error of a place that nobody may write to.
fn is_forbidden(error: &Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem | ErrorKind::NotADirectory
    )
}

fn warn_not_removed(path: &Path, error: &Error) {
    tracing::warn!(path = %path.display(), %error, "cannot remove the lock of a run");
}

/// Starts a process that inherits no lock.
pub(crate) fn start_alone<T>(start: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
    let _one = STARTING.lock().unwrap_or_else(PoisonError::into_inner);
    start()
}

/// Processes of an earlier run that are being ended.
#[derive(Default)]
struct EarlierRun {
    terminated: BTreeSet<i32>,
    commands: Vec<String>,
}

impl EarlierRun {
    /// Returns the processes of the run that live.
    fn find(&self, mark: &RunMark, lock: &Path) -> Vec<FoundProcess> {
        // As the kernel names it.
        let lock = lock.canonicalize().unwrap_or_else(|_| lock.to_owned());
        search::find(|process| {
            process.has(mark) || (mark.starter() != Some(process.id) && process.inherited(&lock))
        })
    }

    /// Sends SIGTERM to those that got none yet, or SIGKILL to all.
    fn signal(&mut self, living: Vec<FoundProcess>, kill: bool) {
        for process in living {
            let first = self.terminated.insert(process.id);
            let signals: &[Signal] = match (kill, first) {
                (true, _) => &[Signal::KILL],
                (false, true) => &[Signal::TERM, Signal::CONT],
                (false, false) => &[],
            };
            let reached = signals.iter().fold(false, |any, signal| process.signal(*signal) | any);
            self.commands.extend((first && reached).then_some(process.command));
        }
    }

    fn ended(self) -> RemainingProcesses {
        RemainingProcesses::of(self.commands.into_iter())
    }
}
