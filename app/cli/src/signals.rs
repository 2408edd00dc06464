//! Signals: the first asks the turn to stop, the second ends the process.
//!
//! After the first one the process ends within two seconds. Running effects have [`TURN_GRACE_MS`]
//! to stop, then the hooks on the interrupt have the same time, then those on the session's end
//! have [`GRACE`]. The rest is for the log.

use std::time::Duration;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::{mpsc, oneshot};
use windlass_engine::core::InterruptSource;

use crate::exit::{ExitKind, Failure};

/// Time for running effects to stop after a signal, in milliseconds; also for the hooks after them.
pub(crate) const TURN_GRACE_MS: u64 = 600;

/// Time from telling a tool's command to stop until it is killed, in milliseconds. It leaves time
/// to record the command's output within [`TURN_GRACE_MS`].
pub(crate) const COMMAND_GRACE_MS: u64 = 400;

/// Time for the process to end after the second signal, while its tools are killed; also for hooks
/// on the session's end after the first.
pub(crate) const GRACE: Duration = Duration::from_millis(500);

/// Has writes beyond the limit on file sizes fail like those on a full disk, instead of ending the
/// process. Commands that tools start get the signal as usual.
pub(crate) fn survive_file_limit() {
    let kind = SignalKind::from_raw(rustix::process::Signal::XFSZ.as_raw());
    // The handler stays when the listener is dropped. Without it the signal ends the process, which
    // loses nothing that was acknowledged.
    drop(signal(kind));
}

/// Listener for the first signal.
pub(crate) struct Signals {
    first: mpsc::Receiver<ReceivedSignal>,
}

/// Listener for the second signal.
pub(crate) struct SecondSignal {
    second: oneshot::Receiver<ReceivedSignal>,
}

/// Received signal.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ReceivedSignal {
    /// Name of the signal.
    pub(crate) name: &'static str,
    /// Source of the interruption.
    pub(crate) by: InterruptSource,
    /// Exit code of the command.
    pub(crate) exit: ExitKind,
}

impl Signals {
    /// Starts to listen to SIGINT, SIGTERM and SIGHUP.
    pub(crate) fn listen() -> Result<(Self, SecondSignal), Failure> {
        let listen = |kind: SignalKind| {
            signal(kind).map_err(|error| {
                Failure::new(ExitKind::Failed, format!("cannot listen for signals: {error}"))
            })
        };
        let mut heard = SignalStreams {
            interrupt: listen(SignalKind::interrupt())?,
            terminate: listen(SignalKind::terminate())?,
            hang_up: listen(SignalKind::hangup())?,
        };
        let (tell_first, first) = mpsc::channel(1);
        let (tell_second, second) = oneshot::channel();
        tokio::spawn(async move {
            // A receiver that has stopped listening needs no notice.
            let _ = tell_first.send(heard.next().await).await;
            let came = heard.next().await;
            let _ = tell_second.send(came);
            tokio::time::sleep(GRACE).await;
            // Something blocks the process, such as an output that nobody reads. The log is durable
            // up to its last fact, so exiting now loses nothing.
            std::process::exit(i32::from(came.exit.code()));
        });
        Ok((Self { first }, SecondSignal { second }))
    }

    /// Waits for the first signal. Cancel safe.
    pub(crate) async fn next(&mut self) -> ReceivedSignal {
        match self.first.recv().await {
            Some(came) => came,
            None => std::future::pending().await,
        }
    }
}

impl SecondSignal {
    /// Waits for the second signal.
    pub(crate) async fn recv(self) -> ReceivedSignal {
        match self.second.await {
            Ok(came) => came,
            Err(_) => std::future::pending().await,
        }
    }
}

/// Signals of the process.
struct SignalStreams {
    interrupt: Signal,
    terminate: Signal,
    hang_up: Signal,
}

impl SignalStreams {
    async fn next(&mut self) -> ReceivedSignal {
        let (name, by, exit) = tokio::select! {
            _ = self.interrupt.recv() => ("SIGINT", InterruptSource::Person, ExitKind::Interrupted),
            _ = self.terminate.recv() => ("SIGTERM", InterruptSource::Shutdown, ExitKind::Terminated),
            _ = self.hang_up.recv() => ("SIGHUP", InterruptSource::Shutdown, ExitKind::Terminated),
        };
        ReceivedSignal { name, by, exit }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_that_is_waited_for_after_a_signal_comes_to_less_than_two_seconds() {
        let ms = |ms| Duration::from_millis(ms);
        // Running effects, the hooks on the interrupt, and those on the session's end.
        let waited = ms(TURN_GRACE_MS) + ms(TURN_GRACE_MS) + GRACE;
        assert!(waited < Duration::from_secs(2), "{waited:?}");
        // A command is killed while its output can still be recorded.
        assert!(ms(COMMAND_GRACE_MS) < ms(TURN_GRACE_MS));
    }
}
