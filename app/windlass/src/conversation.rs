//! Conversation: the turns of one session, one at a time.

use std::sync::Arc;

use tokio::sync::{Mutex, OwnedMutexGuard};
use windlass_engine::core::{SessionId, Settings, Widening};
use windlass_engine::{NewInput, SessionHandle, Start};

use crate::answer::Answer;
use crate::error::Error;
use crate::turn::Turn;
use crate::windlass::Windlass;

/// Turns of one session. Cheap to clone. Clones run one turn at a time: a second one waits for the
/// first.
#[derive(Clone)]
pub struct Conversation {
    windlass: Windlass,
    id: SessionId,
    /// Locked while a turn runs. Holds the session's driver, once it is open.
    turns: Arc<Mutex<Option<SessionHandle>>>,
}

/// Lock that a turn holds until it ends.
pub(crate) type TurnLock = OwnedMutexGuard<Option<SessionHandle>>;

impl Conversation {
    pub(crate) fn new(windlass: Windlass, id: SessionId) -> Self {
        Self { windlass, id, turns: Arc::default() }
    }

    /// Returns the id of the session.
    #[must_use]
    pub fn id(&self) -> &SessionId {
        &self.id
    }

    /// Runs one turn, and returns its answer.
    ///
    /// The input is durable before the turn begins, so [`Windlass::resume`] finishes the turn after a
    /// crash. Dropping the future does not stop it.
    ///
    /// # Errors
    /// [`Error::Turn`] for every outcome except `Completed`; [`Error::Start`], [`Error::Send`] and
    /// [`Error::Await`] when the session cannot be opened, or its store fails.
    pub async fn run(&self, prompt: impl Into<String>) -> Result<Answer, Error> {
        self.send(prompt).await?.answer().await
    }

    /// Runs one turn, and returns its answer as a value. The model receives the JSON Schema of `T`,
    /// with the doc comments as descriptions. An answer that does not fit it is asked for again.
    ///
    /// # Errors
    /// As [`run`](Self::run), and [`Error::Output`] when the type rejects what its schema allows.
    #[cfg(feature = "typed")]
    pub async fn run_as<T>(&self, prompt: impl Into<String>) -> Result<Answer<T>, Error>
    where
        T: serde::de::DeserializeOwned + schemars::JsonSchema,
    {
        let mut settings = self.windlass.settings().clone();
        settings.options.output_schema = Some(crate::schema::output_schema::<T>());
        let answer = self.begin(prompt.into(), settings).await?.answer().await?;
        let text = windlass_engine::strip_fence(&answer.output);
        match serde_json::from_str(text) {
            Ok(value) => Ok(answer.with_output(value)),
            Err(error) => Err(Error::Output { fault: error.to_string(), text: answer.output }),
        }
    }

    /// Starts one turn, and returns its events as a stream.
    ///
    /// # Errors
    /// [`Error::Start`] and [`Error::Send`] when the session cannot be opened, or does not accept
    /// the input.
    pub async fn send(&self, prompt: impl Into<String>) -> Result<Turn, Error> {
        let settings = self.windlass.settings().clone();
        self.begin(prompt.into(), settings).await
    }

    /// Returns the handle of the session, which is created if it does not exist. Waits until no turn
    /// of this conversation runs.
    ///
    /// # Errors
    /// [`Error::Start`] when the session cannot be opened.
    pub async fn handle(&self) -> Result<SessionHandle, Error> {
        let mut lock = self.turns.clone().lock_owned().await;
        let settings = self.windlass.settings().clone();
        self.driver(&mut lock, &settings).await
    }

    async fn begin(&self, prompt: String, settings: Settings) -> Result<Turn, Error> {
        let mut lock = self.turns.clone().lock_owned().await;
        let handle = self.driver(&mut lock, &settings).await?;
        let scope = self.windlass.scope().clone();
        // The program says what its sessions may do, whatever an earlier version of it recorded.
        handle.configure(settings, scope.clone(), Widening::Allowed).await?;
        let input = handle.send(NewInput::new(scope, prompt)).await?;
        Ok(Turn::new(handle, input, lock))
    }

    /// Returns the driver of the session. Opens it if it is not open, or has ended.
    async fn driver(
        &self,
        lock: &mut TurnLock,
        settings: &Settings,
    ) -> Result<SessionHandle, Error> {
        if let Some(handle) = lock.as_ref().filter(|handle| handle.is_driven_here()) {
            return Ok(handle.clone());
        }
        let start = Start::Either(Box::new(self.windlass.opening(settings.clone())));
        let engine = self.windlass.engine();
        let handle = engine.open(&self.id, self.windlass.scope(), start).await?;
        **lock = Some(handle.clone());
        Ok(handle)
    }
}
