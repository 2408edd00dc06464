//! Windlass: an engine with the settings of its sessions, ready to run turns.

use std::any::Any;
use std::sync::Arc;

use windlass_engine::core::{Lineage, OpenSession, Scope, Seq, SessionId, Settings, View};
#[cfg(feature = "typed")]
use windlass_engine::ports::ProgramRuntimes;
use windlass_engine::ports::{Clock, LogStore};
use windlass_engine::{AwaitedTurn, Engine, SessionHandle, Start, TurnReport};

use crate::answer::Answer;
use crate::conversation::Conversation;
use crate::error::Error;

/// Facts of one read.
const PAGE: usize = 256;

/// Runs turns. Cheap to clone. [`builder`](crate::builder) creates it.
#[derive(Clone)]
pub struct Windlass {
    shared: Arc<Shared>,
    scope: Scope,
}

/// Parts that all clones share.
pub(crate) struct Shared {
    pub(crate) engine: Engine,
    pub(crate) store: Arc<dyn LogStore>,
    pub(crate) settings: Settings,
    pub(crate) workspace: Option<String>,
    pub(crate) clock: Arc<dyn Clock>,
    #[cfg(feature = "typed")]
    pub(crate) programs: ProgramRuntimes,
    /// Server of the provider, if this process runs it.
    pub(crate) _server: Option<Arc<dyn Any + Send + Sync>>,
}

impl Windlass {
    pub(crate) fn new(shared: Shared, scope: Scope) -> Self {
        Self { shared: Arc::new(shared), scope }
    }

    /// Runs one turn in a new session, and returns its answer.
    ///
    /// The turn is durable: [`resume`](Self::resume) finishes it after a crash. Dropping the future
    /// does not stop it.
    ///
    /// # Errors
    /// As [`Conversation::run`].
    pub async fn run(&self, prompt: impl Into<String>) -> Result<Answer, Error> {
        self.new_conversation()?.run(prompt).await
    }

    /// Runs one turn in a new session, and returns its answer as a value.
    ///
    /// # Errors
    /// As [`Conversation::run_as`].
    #[cfg(feature = "typed")]
    pub async fn run_as<T>(&self, prompt: impl Into<String>) -> Result<Answer<T>, Error>
    where
        T: serde::de::DeserializeOwned + schemars::JsonSchema,
    {
        self.new_conversation()?.run_as(prompt).await
    }

    /// Finishes what a process before this one left open in a session, and returns the answer of the
    /// session's last turn. If nothing is open, returns that answer again.
    ///
    /// # Errors
    /// [`Error::Start`] when the session does not exist or cannot be opened, [`Error::Turn`] when
    /// its last turn ended without a usable answer, [`Error::Config`] when it has no turn.
    pub async fn resume(&self, session: &str) -> Result<Answer, Error> {
        let id = SessionId::new(session)?;
        let handle = self.shared.engine.open(&id, &self.scope, Start::Existing).await?;
        let state = handle.state().await?;
        let waiting = handle.inputs().await?;
        let report = match (state.turn(), waiting.last()) {
            (_, Some(input)) => {
                let input = input.input;
                // A turn opens by itself, unless the inputs are held after an interrupt.
                handle.resume().await?;
                handle.outcome(input).await?
            }
            (Some(turn), None) => handle.outcome(AwaitedTurn::Turn(turn.id)).await?,
            (None, None) => self.last_report(&handle).await?.ok_or_else(|| {
                Error::Config(format!("session {id} has no turn whose answer could be returned"))
            })?,
        };
        Answer::new(report)
    }

    /// Returns the conversation of a session, which is created with its first turn if it does not
    /// exist.
    ///
    /// # Errors
    /// [`Error::Config`] when the text is no session id.
    pub fn conversation(&self, session: &str) -> Result<Conversation, Error> {
        Ok(Conversation::new(self.clone(), SessionId::new(session)?))
    }

    /// Returns the conversation of a new session with a random id.
    ///
    /// # Errors
    /// Never, unless the clock returns times beyond the range of ids.
    pub fn new_conversation(&self) -> Result<Conversation, Error> {
        let (ms, entropy) = (self.shared.clock.now().0, self.shared.clock.entropy());
        let random = u128::from(entropy) << 16 | u128::from(std::process::id() & 0xffff);
        let id = ulid::Ulid::from_parts(ms, random).to_string().to_lowercase();
        self.conversation(&id)
    }

    /// Returns the same runtime for another principal. Sessions of another tenant do not exist for
    /// it.
    ///
    /// ```no_run
    /// # async fn run(windlass: windlass::Windlass) -> windlass::Result {
    /// let ann = windlass.scoped(windlass::Scope::principal("acme", "ann"));
    /// ann.conversation("plans")?.run("What is next?").await?;
    /// # Ok(()) }
    /// ```
    #[must_use]
    pub fn scoped(&self, scope: Scope) -> Self {
        Self { shared: self.shared.clone(), scope }
    }

    /// Returns the engine, for everything beyond turns.
    #[must_use]
    pub fn engine(&self) -> &Engine {
        &self.shared.engine
    }

    /// Returns the settings that new sessions get.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.shared.settings
    }

    /// Returns the scope that commands act for.
    #[must_use]
    pub fn scope(&self) -> &Scope {
        &self.scope
    }

    /// Asks all turns to stop, and releases their sessions. Each continues when it is opened again.
    ///
    /// The store itself is closed once this value, its clones and the tasks of the async runtime are
    /// dropped.
    pub async fn shutdown(&self) {
        let _ = self.shared.engine.shutdown("the program ends").await;
    }

    #[cfg(feature = "typed")]
    pub(crate) fn programs(&self) -> &ProgramRuntimes {
        &self.shared.programs
    }

    pub(crate) fn workspace(&self) -> Option<&str> {
        self.shared.workspace.as_deref()
    }

    /// Returns the start of a session with these settings.
    pub(crate) fn opening(&self, settings: Settings) -> OpenSession {
        OpenSession {
            owner: self.scope.clone(),
            workspace: self.shared.workspace.clone(),
            settings,
            lineage: Lineage::Root,
        }
    }

    /// Reads the report of a session's last turn.
    async fn last_report(&self, handle: &SessionHandle) -> Result<Option<TurnReport>, Error> {
        let (mut view, mut last, mut after) = (View::default(), None, Seq::ZERO);
        loop {
            let facts = self.shared.store.read(handle.id(), after, PAGE).await?;
            let Some(end) = facts.last().map(|fact| fact.seq) else {
                return Ok(last);
            };
            after = end;
            for fact in facts {
                last = TurnReport::apply(&mut view, &Arc::new(fact)).or(last);
            }
        }
    }
}
