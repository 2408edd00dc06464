//! Dispatch: brings a command to the driver of its session, on any node, and executes it once.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep};
use windlass_core::{Input, Scope, Seq};

use super::command::SessionCommand;
use super::key::{CommandKey, keyed};
use super::mailbox::StoredCommand;
use super::{Route, SessionHandle};
use crate::error::{DriverEnd, SendError, StartError};

/// First and longest pause before another attempt.
const PAUSE: Duration = Duration::from_millis(10);
const PAUSE_MAX: Duration = Duration::from_secs(1);
/// Longest wait for another node once this engine is shut down.
const SHUTDOWN_WAIT: Duration = Duration::from_secs(5);

/// A command with its sender and its key.
pub(super) struct CommandEnvelope {
    pub(super) scope: Scope,
    pub(super) command: SessionCommand,
    pub(super) key: CommandKey,
}

/// Result of one attempt.
pub(super) enum Attempt {
    /// Durable, with its first fact at this position.
    Accepted(Seq),
    /// Not acknowledged yet.
    Pending(SendError),
}

impl SessionHandle {
    /// Executes a command within a scope, and returns the position of its first fact once that is
    /// durable. With a key it is executed once, however often it is sent.
    ///
    /// # Errors
    /// [`SendError`] when the command is rejected, still waits for another node, or cannot be
    /// delivered.
    pub async fn execute(
        &self,
        command: SessionCommand,
        scope: Scope,
        key: Option<&str>,
    ) -> Result<Seq, SendError> {
        let (session, inner) = (&self.0.id, &self.0.engine.inner);
        let callers = key.or_else(|| command.key());
        let callers = callers.map(|key| CommandKey::from_caller(session, &scope, &command, key));
        if let Route::Driver(driver) = &self.0.route {
            let input = command.input(scope);
            let input = match callers {
                Some(key) => keyed(key.text(), input),
                None => input,
            };
            return driver.submit(input).await;
        }
        let key = match callers {
            Some(key) => key,
            None if inner.peers.is_none() => {
                // No other node can have executed the command, and the caller cannot send it again.
                let driver = self.open().await.map_err(start)?;
                return driver.submit(command.input(scope)).await;
            }
            None => CommandKey::random(session, inner.ports.clock.as_ref()),
        };
        let envelope = CommandEnvelope { scope, command, key };
        self.dispatch(&envelope).await
    }

    /// Repeats attempts until the command is acknowledged or the time is over. The key makes them
    /// one.
    async fn dispatch(&self, envelope: &CommandEnvelope) -> Result<Seq, SendError> {
        let limit = self.0.engine.inner.config.remote_command_ms;
        let mut until = after(Duration::from_millis(limit));
        let (mut pause, mut posting) = (PAUSE, None);
        loop {
            let error = match self.attempt(envelope, &mut posting, &mut until).await? {
                Attempt::Accepted(first) => return Ok(first),
                Attempt::Pending(error) => error,
            };
            if Instant::now() >= until {
                return Err(error);
            }
            if !matches!(error, SendError::Pending { .. }) {
                sleep(pause).await;
                pause = pause.saturating_mul(2).min(PAUSE_MAX);
            }
        }
    }

    /// Sends the command to the driver here, if this node can drive the session, or stores it in
    /// the mailbox.
    ///
    /// A stored command is never sent to a driver directly, even if the session is driven here by
    /// then: it must not be rejected in one form and executed in the other.
    async fn attempt<'a>(
        &'a self,
        envelope: &'a CommandEnvelope,
        posting: &mut Option<StoredCommand<'a>>,
        until: &mut Instant,
    ) -> Result<Attempt, SendError> {
        let engine = &self.0.engine;
        let opened = self.open().await;
        match (opened, posting, engine.inner.peers.as_ref()) {
            (Ok(driver), None, _) => match driver.submit(envelope.input()).await {
                Ok(first) => Ok(Attempt::Accepted(first)),
                Err(error) if is_over(&error) => {
                    self.forget();
                    Ok(Attempt::Pending(error))
                }
                Err(error) => Err(error),
            },
            (Ok(_), Some(posting), _) => posting.attempt(*until).await,
            (Err(error), posting, Some(peers)) if engine.is_drivable_elsewhere(&error) => {
                if let StartError::ShutDown(_) = error {
                    *until = (*until).min(after(SHUTDOWN_WAIT));
                }
                let new = || StoredCommand::new(self, peers, envelope);
                posting.get_or_insert_with(new).attempt(*until).await
            }
            (Err(error), _, _) => Err(start(error)),
        }
    }
}

impl CommandEnvelope {
    fn input(&self) -> Input {
        let input = self.command.clone().input(self.scope.clone());
        keyed(self.key.text(), input)
    }
}

impl DriverEnd {
    /// Returns true if the error concerns only the current driver, and not its successor.
    pub(super) fn is_of_driver(&self) -> bool {
        match self {
            Self::Closed | Self::Superseded(_) | Self::HandOff { .. } | Self::Abandoned => true,
            Self::Store(_) | Self::Defect(_) => false,
        }
    }
}

fn is_over(error: &SendError) -> bool {
    matches!(error, SendError::Ended(ended) if ended.is_of_driver())
}

fn start(error: StartError) -> SendError {
    SendError::Start(Arc::new(error))
}

fn after(time: Duration) -> Instant {
    let now = Instant::now();
    now.checked_add(time).unwrap_or(now)
}
