//! Config: limits of an engine, and sizes of its queues.

use std::num::NonZeroUsize;
use std::thread::available_parallelism;

use windlass_core::{AssemblerLimits, Limits, ProgramLimits};

/// Limits of an engine.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Config {
    /// Upper bound on every session's limits.
    pub limits: Limits,
    /// Upper bound on the limits of programs.
    pub programs: ProgramLimits,
    /// Most programs that compute at the same time; those that wait for their calls do not count. All
    /// but one of them may compute for long, so a short step finds a place soon. A program whose runtime ignores its stop signal for
    /// [`Limits::grace_ms`](windlass_core::Limits::grace_ms) is reported as an error and no longer
    /// counts. At most this many programs may leave the count that way.
    pub programs_at_once: usize,
    /// Time for which the run of a program that waits for its calls is held, in milliseconds. A run
    /// that has computed for longer is held as long as it has computed. After that it is dropped
    /// with its memory, and made again from the record when its calls have ended.
    pub program_idle_ms: u64,
    /// Most bytes that a fork copies, of facts and of the outputs and images that they name.
    pub fork_bytes: u64,
    /// Limits on the size of a model's answer.
    pub caps: AssemblerLimits,
    /// Most pending commands of one session's driver.
    pub command_buffer: usize,
    /// Most pending events of a subscriber; one that exceeds it receives
    /// [`Event::Lagged`](crate::Event::Lagged).
    pub event_buffer: usize,
    /// Facts of one read of a log.
    pub read_page: usize,
    /// Number of facts after which a checkpoint of a session is written, if its store supports
    /// checkpoints. Opening a session then reads about this many facts. A large checkpoint is
    /// written less often. A released session is checkpointed after an eighth of this number. 0
    /// disables checkpoints.
    pub checkpoint_every: u64,
    /// Limit on the time of a shutdown, in milliseconds. Hooks on the session's end have no longer,
    /// even if their own time-outs are longer.
    pub shutdown_ms: u64,
    /// Limit on the wait for a command's acknowledgement while another node drives the session, or
    /// no node can, in milliseconds; see [`SessionHandle`](crate::SessionHandle).
    pub remote_command_ms: u64,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            limits: Limits::default(),
            programs: ProgramLimits::default(),
            programs_at_once: available_parallelism()
                .map_or(4, NonZeroUsize::get)
                .saturating_add(1),
            program_idle_ms: 5_000,
            fork_bytes: 64 * 1024 * 1024,
            caps: AssemblerLimits::default(),
            command_buffer: 64,
            event_buffer: 64,
            read_page: 1_000,
            checkpoint_every: 1_000,
            shutdown_ms: 10_000,
            remote_command_ms: 30_000,
        }
    }
}

impl Config {
    /// Returns this configuration with changes.
    ///
    /// ```
    /// let config = windlass_engine::Config::default().with(|it| it.shutdown_ms = 5_000);
    /// assert_eq!(config.shutdown_ms, 5_000);
    /// ```
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }
}
