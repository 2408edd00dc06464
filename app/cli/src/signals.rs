//! Signals: the first asks the turn to stop, the second ends the process at once.

use tokio::signal::unix::{Signal, SignalKind, signal};
use windlass::core::Interrupter;

use crate::exit::{Exit, Failure};

/// Listens to SIGINT, SIGTERM and SIGHUP.
pub(crate) struct Signals {
    interrupt: Signal,
    terminate: Signal,
    hang_up: Signal,
}

/// A signal that came.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Came {
    /// Its name.
    pub(crate) name: &'static str,
    /// Who it speaks for.
    pub(crate) by: Interrupter,
    /// How the command ends.
    pub(crate) exit: Exit,
}

impl Signals {
    pub(crate) fn listen() -> Result<Self, Failure> {
        let listen = |kind: SignalKind| {
            signal(kind).map_err(|error| {
                Failure::new(Exit::Failed, format!("listening for signals: {error}"))
            })
        };
        Ok(Self {
            interrupt: listen(SignalKind::interrupt())?,
            terminate: listen(SignalKind::terminate())?,
            hang_up: listen(SignalKind::hangup())?,
        })
    }

    /// Waits for the next one. Safe to drop while it waits.
    pub(crate) async fn next(&mut self) -> Came {
        let (name, by, exit) = tokio::select! {
            _ = self.interrupt.recv() => ("SIGINT", Interrupter::Person, Exit::Interrupted),
            _ = self.terminate.recv() => ("SIGTERM", Interrupter::Shutdown, Exit::Terminated),
            _ = self.hang_up.recv() => ("SIGHUP", Interrupter::Shutdown, Exit::Terminated),
        };
        Came { name, by, exit }
    }
}
