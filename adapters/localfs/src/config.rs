//! Settings for users, with defaults that fit most models.

use serde::{Deserialize, Serialize};

/// The least that an observation may show, in bytes.
pub(crate) const LEAST: usize = 1_024;
/// Set aside in each observation for the remarks on it, in bytes; more than all of them take.
const REMARKS: usize = 768;

/// Settings of the tools in a workspace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LocalFsConfig {
    /// The most bytes that one observation shows, remarks about what is left out included; at
    /// least 1024 are.
    pub output_bytes: usize,
    /// The most entries that `list_dir` and `glob` show.
    pub entries: usize,
    /// The most matches that `grep` shows.
    pub matches: usize,
    /// The largest file that `write_file` writes and `edit_file` takes, in bytes.
    pub file_bytes: u64,
    /// Names of environment variables that the shell is given beside the usual ones.
    ///
    /// A variable that is named here is readable to the model.
    pub env: Vec<String>,
    /// From telling the shell to stop until it is killed, in milliseconds. Keep it well under the
    /// engine's own grace.
    pub grace_ms: u64,
    /// The most processes of one session that run beyond their calls.
    pub processes: usize,
    /// The most processes of all sessions that run beyond their calls.
    pub processes_in_all: usize,
    /// The most bytes of output of such a process that are retained until a call returns them: the
    /// last ones.
    pub process_output_bytes: usize,
    /// The longest life of such a process, in milliseconds. It is stopped then.
    pub process_timeout_ms: u64,
}

impl Default for LocalFsConfig {
    fn default() -> Self {
        Self {
            output_bytes: 64 * 1024,
            entries: 1_000,
            matches: 200,
            file_bytes: 16 * 1024 * 1024,
            env: Vec::new(),
            grace_ms: 700,
            processes: 8,
            processes_in_all: 64,
            process_output_bytes: 1024 * 1024,
            process_timeout_ms: 2 * 60 * 60 * 1_000,
        }
    }
}

impl LocalFsConfig {
    /// The bound on what an observation shows beside the remarks on it, in bytes.
    pub(crate) fn room(&self) -> usize {
        self.output_bytes.max(LEAST) - REMARKS
    }

    /// The bound within so many bytes that a call asks for, remarks included.
    pub(crate) fn room_within(&self, asked: usize) -> usize {
        self.room().min(asked.max(LEAST) - REMARKS)
    }

    /// The time from telling a process to stop until it is killed: at most a minute.
    pub(crate) fn grace_ms(&self) -> u64 {
        self.grace_ms.min(60_000)
    }
}
