//! Conversation: the turns of one session, one at a time.

use std::sync::Arc;

use tokio::sync::{Mutex, OwnedMutexGuard};
use windlass_engine::core::{ApprovalAnswer, Edit, SessionId, Settings, Widening};
use windlass_engine::ports::ApprovalDecision;
use windlass_engine::{NewInput, PendingApproval, SessionHandle, Start};

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
        self.windlass.programs().write_guide(&mut settings);
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

    /// Returns the questions that wait for a person, also those of an earlier process. A turn may be
    /// running.
    ///
    /// The runtime asks nobody by itself with the approver
    /// [`ExternalApprover`](crate::ExternalApprover).
    ///
    /// ```no_run
    /// # async fn allow(windlass: windlass::Windlass) -> windlass::Result {
    /// let conversation = windlass.conversation("cleaning")?;
    /// for question in conversation.approvals().await? {
    ///     println!("{} {}", question.tool, question.arguments);
    ///     conversation.answer(&question, windlass::ApprovalDecision::allow()).await?;
    /// }
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::Start`] when the session does not exist or cannot be opened, [`Error::Send`] when its
    /// log cannot be read.
    pub async fn approvals(&self) -> Result<Vec<PendingApproval>, Error> {
        Ok(self.session().await?.pending_approvals().await?)
    }

    /// Answers a question for a person, in whose name this runtime acts. The first answer counts,
    /// and only for the arguments that the question shows.
    ///
    /// # Errors
    /// [`Error::Send`] when the question is not open any more, or edited arguments are too large;
    /// [`Error::Config`] when a grant cannot be recorded; [`Error::Start`] when the session cannot be
    /// opened.
    pub async fn answer(
        &self,
        question: &PendingApproval,
        decision: ApprovalDecision,
    ) -> Result<(), Error> {
        let session = self.session().await?;
        let engine = self.windlass.engine();
        let grants = matches!(decision, ApprovalDecision::Grant { .. });
        let answer = match decision {
            ApprovalDecision::Allow { arguments } => {
                ApprovalAnswer::Allow { edit: arguments.map(|text| Edit::unchecked(text.into())) }
            }
            ApprovalDecision::Deny { reason } => ApprovalAnswer::Deny { reason },
            ApprovalDecision::Grant { lifetime } => {
                let place = (&self.id, self.windlass.workspace());
                let granted = engine.add_grant(place, question, lifetime).await;
                let (_, grant) = granted.map_err(|error| Error::Config(error.to_string()))?;
                ApprovalAnswer::Granted { grant }
            }
        };
        let scope = self.windlass.scope().clone();
        session.answer(question.call, scope, question.digest, answer).await?;
        if grants {
            engine.apply_grants();
        }
        Ok(())
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

    /// Returns a handle of the session, which must exist, while a turn may run.
    async fn session(&self) -> Result<SessionHandle, Error> {
        Ok(self.windlass.engine().session(&self.id, self.windlass.scope()).await?)
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
