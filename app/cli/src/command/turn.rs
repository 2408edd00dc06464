//! Turns: opens a session, follows its turn to the end, and releases the session.

use std::path::Path;
use std::sync::{Arc, OnceLock};

use windlass_engine::core::{ContextPart, Lineage, OpenSession, Seq, Session, SessionId, Settings};
use windlass_engine::ports::{Clock as _, LogStore, StoreErrorKind};
use windlass_engine::{
    AwaitedCall, Engine, Loaded, RecoveredCalls, SessionHandle, Start, StartError,
};

use super::follow::TurnFollower;
use super::prompt::{self, Prompt};
use super::turn_runtime::{TurnRuntime, has_goal, turn_runtime};
use super::{retry, session_checks};
use crate::approver::TerminalApprover;
use crate::args::{InputArgs, LocationArgs, ProgramSharingArgs, RecordingArgs, SettingsArgs};
use crate::exit::{ExitKind, Failure};
use crate::person::PersonAnswers;
use crate::present::{HumanPresenter, JsonPresenter, Presenter, print_error, print_notice};
use crate::signals::{self, Signals};
use crate::wiring::{
    self, Adapters, PromptText, Runtime, SessionRef, StoreHandle, TrustAsker, Workspace,
};

/// What a turn is requested for.
pub(crate) enum TurnRequest {
    /// Prompt; `-` means standard input.
    Prompt(Option<String>),
    /// The prompt of the last turn, which did not complete.
    Retry,
    /// Compaction of the conversation, with what its summary should say most about.
    Compaction(Option<String>),
}

/// Session of a turn.
pub(crate) enum SessionChoice {
    /// A new one.
    New,
    /// The one of this id, which is created if it does not exist.
    Named(SessionId),
    /// One that must exist. Its prompt is optional.
    Existing(SessionRef),
}

/// Requested turn.
pub(crate) struct TurnTask<'a> {
    pub(crate) session: SessionChoice,
    pub(crate) request: TurnRequest,
    pub(crate) dry_run: bool,
    pub(crate) input: InputArgs,
    pub(crate) place: LocationArgs,
    pub(crate) settings: SettingsArgs,
    pub(crate) sharing: ProgramSharingArgs,
    pub(crate) adapters: &'a Adapters,
    pub(crate) recording: RecordingArgs,
}

impl TurnTask<'_> {
    /// Returns true if the session must exist.
    pub(super) fn resumes(&self) -> bool {
        matches!(self.session, SessionChoice::Existing(_))
    }
}

/// Runs the task. With `--json` the last line is always a `TurnSettled`.
pub(crate) async fn run(task: TurnTask<'_>) -> Result<ExitKind, Failure> {
    let mut present: Box<dyn Presenter> = match task.settings.json {
        true => Box::new(JsonPresenter::default()),
        false => Box::new(HumanPresenter::new()),
    };
    let at = wiring::clock().now();
    let named = match &task.session {
        SessionChoice::New => new_id(at.0, wiring::clock().entropy())?,
        SessionChoice::Named(id) => id.clone(),
        SessionChoice::Existing(name) => name.as_id().clone(),
    };
    let id = OnceLock::new();
    // From here on a signal is an interrupt, not the end of the process.
    let (signals, again) = Signals::listen()?;
    let result = tokio::select! {
        result = Box::pin(attempt(&task, (&named, &id), signals, present.as_mut())) => result,
        came = again.recv() => Err(Failure::new(
            came.exit,
            format!(
                "{} was received again, so the turn was not waited for. Acknowledged facts are \
                 in the log; continue with: windlass resume {}",
                came.name,
                id.get().unwrap_or(&named)
            ),
        )),
    };
    if let Err(failure) = &result {
        let now = wiring::clock().now();
        // Standard output itself may have failed.
        let _ = present.failed(failure, Some(id.get().unwrap_or(&named)), now);
    }
    result
}

/// Runs the task. The session is called `named` until the store is open and its id is known.
async fn attempt(
    task: &TurnTask<'_>,
    (named, id): (&SessionId, &OnceLock<SessionId>),
    mut signals: Signals,
    present: &mut dyn Presenter,
) -> Result<ExitKind, Failure> {
    let words = match &task.request {
        TurnRequest::Prompt(words) => words.as_ref().or(task.input.goal.as_ref()),
        TurnRequest::Compaction(_) | TurnRequest::Retry => None,
    };
    // Without a prompt, `resume` finishes a turn, and leaves its input to the script that calls it.
    let prompt = match words.is_none() && task.resumes() {
        true => None,
        false => Some(Prompt::read(words.map(String::as_str), &mut signals).await?),
    };
    let mut images = prompt::images(&task.input.image)?;
    if prompt.is_none() && !images.is_empty() {
        return Err(Failure::usage("an image needs a prompt"));
    }
    let site = task.adapters.workspace(&task.place)?;
    let retries = matches!(task.request, TurnRequest::Retry);
    let mut instructions = match prompt.is_some() || retries {
        true => ask_for_trust(&site.workspace, !task.input.no_agents, &mut signals).await?,
        false => Vec::new(),
    };
    let opened = match task.resumes() {
        true => site.open_to_read().await?,
        false => site.open().await?,
    };
    let store = (task.adapters.layer)(opened.store);
    let opened = StoreHandle { store: store.clone(), ..opened };
    let known = match &task.session {
        SessionChoice::Existing(name) => name.resolve(&site, store.as_ref()).await?,
        SessionChoice::New | SessionChoice::Named(_) => named.clone(),
    };
    let id = id.get_or_init(|| known);
    let (mut prompt, mut rewinds) = (prompt, false);
    if retries {
        let last = retry::last_prompt(&opened, id).await?;
        (prompt, images, rewinds) = (Some(last.prompt), last.images, last.rewinds);
    }
    if let Some(prompt) = &prompt {
        instructions.extend(wiring::named_skills(&site.workspace, &prompt.words)?);
    }
    let prompt = prompt.as_ref().map(|prompt| (prompt, images.len()));
    let turn = match open_turn(task, id, &site, &opened, prompt).await {
        // Another command created it since this one looked for it.
        Err(OpenFailure::Exists) => open_turn(task, id, &site, &opened, prompt).await,
        done => done,
    }
    .map_err(|failure| failure.of(id))?;
    announce(task, id, &turn);
    let OpenedTurn { rig, handle, recorded, approver, awaited, prompt, .. } = turn;
    let prompt = prompt.map(|read| {
        instructions.extend(read.context);
        images.extend(read.images);
        read.text
    });
    if rig.settings.options.output_schema.is_some() {
        present.expect_schema();
    }
    session_checks::warn_uncallable_tools(&rig.settings);
    if let Some(session) = &recorded {
        stop_detached_agents(&rig, session).await;
        session_checks::warn_changes(store.as_ref(), session, &rig.settings, &site.workspace)
            .await?;
    }
    let follow = TurnFollower {
        task,
        session: &handle,
        settings: &rig.settings,
        recorded: recorded.as_ref(),
        rewinds,
        images,
        context: match prompt {
            Some(_) => context(task, &site.workspace, instructions).await,
            None => Vec::new(),
        },
        person: PersonAnswers::new(&handle, approver, awaited),
    };
    let exit = follow.run(prompt, &mut signals, present).await;
    // Released in any case, so that the next command finds the session free.
    match &exit {
        Ok(exit) => close(&handle, &mut signals, *exit).await,
        // Nobody follows the turn any more. What it does ends with the process; where it stands, it
        // goes on when somebody resumes it.
        Err(_) => leave_open(&rig.engine, id).await,
    }
    if rig.settings.tools.iter().any(|tool| tool.agent.is_some()) {
        session_checks::warn_unfinished_agents(store.as_ref(), id).await;
    }
    if let Some(why) = rig.unrecorded() {
        print_error(&format!(
            "the recording is incomplete: {why}. A replay of it will miss a request"
        ));
    }
    exit
}

/// Session that was opened for a turn, with its runtime.
struct OpenedTurn {
    rig: Runtime,
    handle: SessionHandle,
    /// Session as the log had it; `None` for a new one.
    recorded: Option<Session>,
    /// Person at the terminal.
    approver: Arc<TerminalApprover>,
    /// Sandbox of its tools, in words.
    confinement: String,
    /// Calls that wait for a person, and the position behind the log that they were read from.
    awaited: (Vec<AwaitedCall>, Seq),
    /// Prompt, with what it names of MCP servers.
    prompt: Option<PromptText>,
}

/// Reason why a session was not opened.
enum OpenFailure {
    /// It was new when it was looked for, and exists now.
    Exists,
    Other(Failure),
}

impl<F: Into<Failure>> From<F> for OpenFailure {
    fn from(failure: F) -> Self {
        Self::Other(failure.into())
    }
}

impl OpenFailure {
    fn of(self, id: &SessionId) -> Failure {
        match self {
            Self::Exists => StartError::Exists(id.clone()).into(),
            Self::Other(failure) => failure,
        }
    }
}

/// Opens the session of the task, or creates it. What the prompt names is read first; it has so many
/// images of its own.
async fn open_turn(
    task: &TurnTask<'_>,
    id: &SessionId,
    site: &Workspace,
    opened: &StoreHandle,
    prompt: Option<(&Prompt, usize)>,
) -> Result<OpenedTurn, OpenFailure> {
    let loaded = recorded(opened.store.as_ref(), task, id).await?;
    let recorded = loaded.as_ref().map(|loaded| loaded.session.clone());
    if let Some(session) = recorded.as_ref().filter(|_| !task.resumes()) {
        site.reject_elsewhere(session)?;
    }
    let TurnRuntime { rig, approver, servers, confinement } =
        turn_runtime(task, site, opened.clone(), recorded.as_ref()).await?;
    check(task, &rig.settings, recorded.as_ref())?;
    let prompt = match prompt {
        Some((prompt, images)) => {
            Some(prompt.complete(servers.read(&prompt.words, images).await?)?)
        }
        None => None,
    };
    if let Some(loaded) = &loaded {
        let recovered = RecoveredCalls::of(&loaded.session, &loaded.history);
        session_checks::announce_recovered(&recovered, "this one");
    }
    let start = match &recorded {
        Some(_) => Start::Existing,
        None => Start::New(Box::new(OpenSession {
            owner: super::me(),
            workspace: Some(site.recorded()),
            settings: rig.settings.clone(),
            lineage: Lineage::Root,
        })),
    };
    match rig.engine.open(id, &super::me(), start).await {
        Ok(handle) => Ok(OpenedTurn {
            rig,
            handle,
            recorded,
            approver,
            confinement,
            awaited: loaded.as_ref().map_or((Vec::new(), Seq::ZERO), |loaded| {
                (windlass_engine::awaited_calls(loaded), loaded.session.next)
            }),
            prompt,
        }),
        Err(StartError::Exists(_)) => Err(OpenFailure::Exists),
        Err(error) => Err(error.into()),
    }
}

/// Returns the instructions of the workspace that the user has trusted. A signal ends the wait for
/// an answer.
async fn ask_for_trust(
    workspace: &Path,
    agents: bool,
    signals: &mut Signals,
) -> Result<Vec<ContextPart>, Failure> {
    tokio::select! {
        read = wiring::instructions(workspace, TrustAsker::of_process(), agents) => read,
        came = signals.next() => {
            let words = format!("{} was received before the workspace was trusted", came.name);
            Err(Failure::new(came.exit, words))
        }
    }
}

/// Returns the context of the prompt. A recording has no date and no state of git in it, so that it
/// can be replayed on another day.
async fn context(
    task: &TurnTask<'_>,
    workspace: &Path,
    instructions: Vec<ContextPart>,
) -> Vec<ContextPart> {
    let recording = task.recording.record.is_some() || task.recording.replay.is_some();
    let (folder, now) = (workspace.to_owned(), wiring::clock().now());
    let read = tokio::task::spawn_blocking(move || match recording {
        true => Vec::new(),
        false => wiring::session_context(&folder, now),
    });
    let mut parts = read.await.unwrap_or_default();
    parts.extend(instructions);
    parts
}

/// Stops detached children of an earlier process.
async fn stop_detached_agents(rig: &Runtime, session: &Session) {
    let mut tools = session.settings.tools.iter();
    if !tools.any(|tool| tool.agent.is_some()) {
        return;
    }
    match rig.engine.stop_detached_children(&session.id, &session.owner).await {
        Ok(0) => {}
        Ok(count) => print_notice(&format!(
            "  {count} of its agents, which an earlier process left behind, asked to stop"
        )),
        Err(error) => print_error(&format!(
            "cannot stop all agents that an earlier process left behind: {error}"
        )),
    }
}

/// Rejects contradictory options before anything is done.
fn check(
    task: &TurnTask<'_>,
    settings: &Settings,
    recorded: Option<&Session>,
) -> Result<(), Failure> {
    if task.dry_run && has_goal(task, recorded) {
        return Err(Failure::usage(
            "a dry run cannot have a goal, since the turns for the goal would not be dry runs: \
             leave --goal out, or remove the session's goal with --no-goal",
        ));
    }
    if let Some(session) = recorded {
        session_checks::reject_missing_tools(session, settings, task.settings.tools.as_deref())?;
        session_checks::reject_weaker_tools(session, settings, task.settings.tools.as_deref())?;
        session_checks::reject_missing_hooks(session, settings, task.settings.hooks.as_deref())?;
    }
    Ok(())
}

/// Releases the session with its turn open, as a process that ends does.
async fn leave_open(engine: &Engine, id: &SessionId) {
    let words = "the command that watched this turn failed";
    engine.hand_off_session(id, signals::TURN_GRACE_MS, words).await;
}

/// Releases the session. Hooks on the session's end may run; a signal ends the wait for them.
async fn close(session: &SessionHandle, signals: &mut Signals, exit: ExitKind) {
    let patience = async {
        match exit {
            ExitKind::Interrupted | ExitKind::Terminated => {
                tokio::time::sleep(signals::GRACE).await
            }
            ExitKind::Completed
            | ExitKind::Failed
            | ExitKind::Usage
            | ExitKind::Blocked
            | ExitKind::Provider
            | ExitKind::Store
            | ExitKind::Exhausted
            | ExitKind::Command(_) => {
                signals.next().await;
            }
        }
    };
    tokio::select! {
        () = session.close() => {}
        () = patience => {}
    }
}

/// Loads the session from its log, if it exists.
async fn recorded(
    store: &dyn LogStore,
    task: &TurnTask<'_>,
    id: &SessionId,
) -> Result<Option<Loaded>, Failure> {
    if let SessionChoice::New = task.session {
        return Ok(None);
    }
    match windlass_engine::load(store, id, 1_000).await {
        Ok(loaded) => Ok(Some(loaded)),
        Err(StartError::Unknown(_)) if !task.resumes() => Ok(None),
        Err(StartError::Store(error))
            if error.kind == StoreErrorKind::Unknown && !task.resumes() =>
        {
            Ok(None)
        }
        Err(error) => Err(error.into()),
    }
}

fn announce(task: &TurnTask<'_>, id: &SessionId, opened: &OpenedTurn) {
    if task.settings.json {
        return;
    }
    let script = match opened.rig.settings.provider.as_str() {
        "demo" => ": a script, not a model",
        _ => "",
    };
    let OpenedTurn { rig, recorded, confinement, .. } = opened;
    let verb = if recorded.is_some() { "continues" } else { "begins" };
    let Settings { provider, model, .. } = &rig.settings;
    print_notice(&format!("session {id} {verb} ({provider} {model}{script}, {confinement})"));
}

/// Creates a new id: sortable by time, and random.
pub(super) fn new_id(ms: u64, entropy: u64) -> Result<SessionId, Failure> {
    let random = u128::from(entropy) << 16 | u128::from(std::process::id() & 0xffff);
    let id = ulid::Ulid::from_parts(ms, random).to_string().to_lowercase();
    SessionId::new(&id).map_err(|error| Failure::new(ExitKind::Failed, error.to_string()))
}
