//! Loss of power, replayed: what a store wrote and synced is recorded call by call, and from the
//! recording come the images that a disk may hold if power was lost at any moment of it.
//!
//! [`record`] runs a child process under `strace` and reads what it did to the files of one folder,
//! and what it noted in a journal as acknowledged. [`Recording::images`] cuts that off at moments
//! drawn from a seed. At the cut, what a file was synced with is there; of what was written since,
//! each 512-byte sector is there or not, in any order; so it is with names and with the folders that
//! they stand in. `sync_file_range` syncs nothing here, as it leaves a disk's own cache alone.
//!
//! A test opens each image and checks that all is there that [`Image::acknowledged`] tells.
//!
//! That nothing was overlooked in the recording is checked as well: with all of it applied, the
//! folder is what the child left, byte for byte.

mod args;
mod change;
mod disk;
mod image;
mod strace;
pub mod suite;
#[cfg(test)]
mod tests;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

pub use disk::Overlooked;
pub use image::{Image, Images};

use disk::Disk;
use strace::{Call, Step};

/// The system calls that change files, folders or the meaning of a file's number.
const CALLS: &str = "trace=openat,open,creat,close,dup,dup2,dup3,fcntl,lseek,write,pwrite64,writev,\
                     pwritev,pwritev2,ftruncate,fallocate,fsync,fdatasync,sync,syncfs,\
                     sync_file_range,rename,renameat,renameat2,unlink,unlinkat,rmdir,mkdir,mkdirat,\
                     link,linkat,copy_file_range";

/// The most bytes of one call; a larger one is an error.
const MOST_BYTES: usize = 64 * 1024 * 1024;

/// What a process did to the files of a folder.
#[derive(Debug)]
pub struct Recording {
    root: PathBuf,
    journal: PathBuf,
    calls: Vec<Call>,
    steps: Vec<Step>,
}

/// Why there is no recording on this machine.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no recording of system calls: {0}; install strace and allow tracing")]
pub struct Absent(String);

/// Runs a command to its end and records what it does to the files in `root`, an empty folder that
/// exists. What it writes to the file `journal`, in one call each, is what it holds for
/// acknowledged. Both are absolute paths, and the journal is not in the folder.
///
/// The command is one process with any number of threads. It writes with `write` and `pwrite64`.
///
/// # Errors
/// Those of running it, a command that fails, and what was [`Overlooked`]. The inner error says that
/// this machine cannot record.
pub fn record(
    command: &Command,
    root: &Path,
    journal: &Path,
) -> io::Result<Result<Recording, Absent>> {
    match Command::new("strace").arg("-V").output() {
        Ok(_) => {}
        Err(error) => return Ok(Err(Absent(format!("strace does not run: {error}")))),
    }
    let trace = journal.with_extension("strace");
    let mut traced = Command::new("strace");
    traced.args(["-f", "-xx", "-e", CALLS, "-e", "signal=none", "-s"]);
    traced.arg(MOST_BYTES.to_string()).arg("-o").arg(&trace);
    traced.arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => traced.env(name, value),
            None => traced.env_remove(name),
        };
    }
    let ended = traced.stdin(Stdio::null()).output()?;
    let said = String::from_utf8_lossy(&ended.stderr).into_owned();
    if !ended.status.success() {
        if said.contains("ptrace") && !journal.exists() {
            return Ok(Err(Absent(said)));
        }
        let told = String::from_utf8_lossy(&ended.stdout);
        return Err(io::Error::other(format!("it failed: {told}\n{said}")));
    }
    let recording = Recording::read(&fs::read_to_string(&trace)?, root, journal);
    let recording = recording.map_err(io::Error::other)?;
    fs::remove_file(&trace)?;
    recording.check_left().map_err(io::Error::other)?;
    Ok(Ok(recording))
}

impl Recording {
    fn read(trace: &str, root: &Path, journal: &Path) -> Result<Self, Overlooked> {
        let (calls, steps) = strace::parse(trace).map_err(Overlooked)?;
        Ok(Self { root: root.to_owned(), journal: journal.to_owned(), calls, steps })
    }

    /// The images of so many moments, drawn from a seed, in the order of time.
    #[must_use]
    pub fn images(&self, seed: u64, count: usize) -> Images<'_> {
        Images::new(self, seed, count)
    }

    /// The same recording as if no `fsync` or `fdatasync` had been called, to see that a test notices.
    #[must_use]
    pub fn without_syncs(self) -> Self {
        self.without("fsync").without("fdatasync")
    }

    /// The same recording as if these calls, `fsync` or `fdatasync`, had done nothing.
    #[must_use]
    pub fn without(mut self, sync: &str) -> Self {
        for call in self.calls.iter_mut().filter(|call| call.name == sync) {
            "sync_file_range".clone_into(&mut call.name);
        }
        self
    }

    /// How many system calls there are.
    #[must_use]
    pub fn calls(&self) -> usize {
        self.calls.len()
    }

    fn disk(&self) -> Disk<'_> {
        Disk::new(&self.root, &self.journal, &self.calls)
    }

    /// Checks that the folder is now what the recording makes of it.
    fn check_left(&self) -> Result<(), Overlooked> {
        let mut disk = self.disk();
        for step in &self.steps {
            disk.step(*step)?;
        }
        image::compare(&disk.applied(), &self.root)
    }
}
