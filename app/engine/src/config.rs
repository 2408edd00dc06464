//! Config: what an engine allows at most, and the sizes of its queues.

use std::num::NonZeroUsize;
use std::thread::available_parallelism;

use windlass_core::{AssemblerLimits, Limits, ProgramLimits};

/// Limits of an engine.
#[derive(Debug, Clone, Copy)]
pub struct Config {
    /// The ceiling over every session's limits.
    pub limits: Limits,
    /// The ceiling over what programs may take.
    pub programs: ProgramLimits,
    /// Programs that may compute at the same time; those that wait for their calls do not count. A
    /// program whose runtime does not heed its signal to stop within
    /// [`Limits::grace_ms`](windlass_core::Limits::grace_ms) is told as an error and does not count
    /// any more, up to as many again.
    pub programs_at_once: usize,
    /// The largest answer of a model.
    pub caps: AssemblerLimits,
    /// Commands that may wait for one session's driver.
    pub command_buffer: usize,
    /// Events that a subscriber may lag behind before it is told so.
    pub event_buffer: usize,
    /// Facts that one read of a log brings.
    pub read_page: usize,
    /// Facts after which a snapshot of a session is kept, where its store keeps snapshots: one that
    /// is opened reads about so many. A large snapshot is kept less often, and one that is let go
    /// after an eighth of them. 0 keeps none.
    pub checkpoint_every: u64,
    /// Time for a shutdown to bring its sessions to rest, in milliseconds. Hooks on the session's
    /// end have no longer, whatever their own time-outs are.
    pub shutdown_ms: u64,
    /// Limit on the wait for a command's acknowledgement while another node drives the session, or no
    /// node can, in milliseconds; see [`SessionHandle`](crate::SessionHandle).
    pub remote_command_ms: u64,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            limits: Limits::default(),
            programs: ProgramLimits::default(),
            programs_at_once: available_parallelism().map_or(4, NonZeroUsize::get),
            caps: AssemblerLimits::default(),
            command_buffer: 64,
            event_buffer: 256,
            read_page: 1_000,
            checkpoint_every: 1_000,
            shutdown_ms: 10_000,
            remote_command_ms: 30_000,
        }
    }
}
