//! Turns: a session is opened, an input sent, and its turn followed to the end.

use std::sync::Arc;

use windlass::core::{
    Fact, Interrupter, Lineage, OpenSession, Phase, Seq, Session, SessionId, TurnId,
};
use windlass::ports::{Clock as _, LogStore, StoreErrorKind};
use windlass::{Conversation, Event, Send, Start, StartError, TurnFold};

use super::{prompt, remark};
use crate::args::{Place, Shape};
use crate::exit::{Exit, Failure};
use crate::present::{Human, Json, Present, tell};
use crate::signals::Signals;
use crate::watch::{Awaited, Watch};
use crate::wiring::{self, Rig, Site};

/// A turn that is asked for.
pub(crate) struct Task {
    pub(crate) session: Option<SessionId>,
    /// Whether the session must exist, and a prompt may be left out.
    pub(crate) resumes: bool,
    /// The prompt; `-` stands for standard input.
    pub(crate) prompt: Option<String>,
    pub(crate) dry_run: bool,
    pub(crate) place: Place,
    pub(crate) shape: Shape,
}

/// Runs the task. With `--json` the last line is a `TurnSettled`, whatever happens.
pub(crate) async fn run(task: Task) -> Result<Exit, Failure> {
    let mut present: Box<dyn Present> = match task.shape.json {
        true => Box::new(Json),
        false => Box::new(Human::new()),
    };
    let at = wiring::clock().now();
    let id = match &task.session {
        Some(id) => id.clone(),
        None => new_id(at.0, wiring::clock().entropy())?,
    };
    // From here on a signal is an interrupt, not the end of the process.
    let (signals, again) = Signals::listen()?;
    let result = tokio::select! {
        result = attempt(&task, &id, signals, present.as_mut()) => result,
        came = again.came() => Err(Failure::new(
            came.exit,
            format!(
                "{} was received again, so the turn was not waited for. What was acknowledged is \
                 in the log; go on with: windlass resume {id}",
                came.name
            ),
        )),
    };
    if let Err(failure) = &result {
        let now = wiring::clock().now();
        // Standard output may be what failed.
        let _ = present.failed(failure, Some(&id), now);
    }
    result
}

async fn attempt(
    task: &Task,
    id: &SessionId,
    mut signals: Signals,
    present: &mut dyn Present,
) -> Result<Exit, Failure> {
    let prompt = match &task.prompt {
        Some(text) => Some(prompt::read(text, &mut signals).await?),
        None if task.resumes => None,
        None => return Err(prompt::missing()),
    };
    let site = Site::new(&task.place)?;
    let store = match task.resumes {
        true => site.open_to_read().await?,
        false => site.open().await?,
    };
    let recorded = recorded(store.as_ref(), task, id).await?;
    let rig = rig(task, &site, store.clone(), recorded.as_ref())?;
    if let Some(session) = &recorded {
        remark::on_missing_tools(session, &rig.settings, task.shape.tools.as_deref())?;
    }
    let start = match &recorded {
        Some(_) => Start::Existing,
        None => Start::New(Box::new(OpenSession {
            owner: super::me(),
            workspace: Some(site.workspace.display().to_string()),
            settings: rig.settings.clone(),
            lineage: Lineage::Root,
        })),
    };
    let conversation = rig.engine.open(id, &super::me(), start).await?;
    announce(task, id, &rig, recorded.is_some());
    if let Some(session) = &recorded {
        remark::on_changes(store.as_ref(), session, &rig.settings, &site.workspace).await?;
    }
    let exit = follow(
        task,
        prompt,
        &conversation,
        &rig,
        recorded.as_ref(),
        signals,
        present,
    )
    .await;
    if exit.is_err() {
        // Nobody watches any more: what may still run is not left to run on.
        let words = "the command that watched this turn failed";
        let _ = conversation.interrupt(Interrupter::Shutdown, words).await;
    }
    // Let go in any case, so that the next command finds the session free.
    conversation.close().await;
    exit
}

/// The session as its log says, if it exists.
async fn recorded(
    store: &dyn LogStore,
    task: &Task,
    id: &SessionId,
) -> Result<Option<Session>, Failure> {
    if task.session.is_none() {
        return Ok(None);
    }
    match windlass::load(store, id, 1_000).await {
        Ok(loaded) => Ok(Some(loaded.session)),
        Err(StartError::Unknown(_)) if !task.resumes => Ok(None),
        Err(StartError::Store(error)) if error.kind == StoreErrorKind::Unknown && !task.resumes => {
            Ok(None)
        }
        Err(error) => Err(error.into()),
    }
}

fn rig(
    task: &Task,
    site: &Site,
    store: Arc<dyn LogStore>,
    recorded: Option<&Session>,
) -> Result<Rig, Failure> {
    let settings = recorded.map(|session| &*session.settings);
    let chosen = wiring::choose(&task.shape, settings)?;
    let toolbox = wiring::toolbox(&site.workspace, task.shape.tools.as_deref())?;
    let tools = windlass::ports::ToolExecutor::tools(&toolbox);
    let settings = match settings {
        None => wiring::fresh(&task.shape, &chosen, tools),
        Some(settings) => wiring::changed(settings, &task.shape, &chosen, tools),
    };
    Ok(wiring::rig(store, chosen, toolbox, settings))
}

fn announce(task: &Task, id: &SessionId, rig: &Rig, exists: bool) {
    if task.shape.json {
        return;
    }
    let script = match rig.settings.provider.as_str() {
        "demo" => ": a script, not a model",
        _ => "",
    };
    let verb = if exists { "goes on" } else { "begins" };
    tell(&format!(
        "session {id} {verb} ({}{script})",
        rig.settings.provider
    ));
}

async fn follow(
    task: &Task,
    prompt: Option<String>,
    conversation: &Conversation,
    rig: &Rig,
    recorded: Option<&Session>,
    signals: Signals,
    present: &mut dyn Present,
) -> Result<Exit, Failure> {
    if recorded.is_some() {
        conversation.configure(rig.settings.clone()).await?;
    }
    let (awaited, events) = match prompt {
        Some(text) => {
            // Before sending, so that no delta is missed.
            let from = if recorded.is_some() {
                None
            } else {
                Some(Seq::ZERO)
            };
            let events = conversation.subscribe(from);
            let sent = conversation.send(Send {
                scope: super::me(),
                text,
                key: None,
                dry_run: task.dry_run,
            });
            (Awaited::Input(sent.await?), events)
        }
        None => match unfinished(conversation).await? {
            Some(turn) => {
                let before = Seq(turn.0.saturating_sub(1));
                (Awaited::Turn(turn), conversation.subscribe(Some(before)))
            }
            None => return last(conversation, present).await,
        },
    };
    let watch = Watch {
        conversation,
        events,
        awaited,
        signals,
    };
    watch.run(present).await
}

/// The turn that runs, or that begins now because an input waited.
async fn unfinished(conversation: &Conversation) -> Result<Option<TurnId>, Failure> {
    let ended = |ended: Arc<windlass::Ended>| Failure::from(&*ended);
    let state = conversation.state().await.map_err(ended)?;
    if let Phase::Turning(turn) = &state.phase {
        return Ok(Some(turn.id));
    }
    if state.queue.is_empty() {
        return Ok(None);
    }
    conversation.go_on().await?;
    let state = conversation.state().await.map_err(ended)?;
    Ok(state.turn().map(|turn| turn.id))
}

/// Nothing is left to do: the last turn's end is shown again.
///
/// That end may have been decided a moment ago, so the log is waited for.
async fn last(conversation: &Conversation, present: &mut dyn Present) -> Result<Exit, Failure> {
    conversation
        .flush()
        .await
        .map_err(|ended| Failure::from(&*ended))?;
    let mut after = Seq::ZERO;
    let mut fold: Option<TurnFold> = None;
    let mut report = None;
    loop {
        let facts = conversation.history(after, 1_000).await?;
        let Some(end) = facts.last().map(|fact| fact.seq) else {
            break;
        };
        after = end;
        for fact in facts {
            let fact = Arc::new(fact);
            if matches!(fact.fact, Fact::TurnOpened(_)) {
                fold = fact.turn.map(TurnFold::new);
            }
            report = fold.as_mut().and_then(|fold| fold.take(&fact)).or(report);
        }
    }
    let Some(report) = report else {
        return Err(Failure::usage(format!(
            "session {} has no turn yet: give it a prompt",
            conversation.id()
        )));
    };
    present
        .event(&Event::Fact(report.settled.clone()))
        .and_then(|()| present.settled(&report))
        .map_err(super::closed)?;
    Ok(Exit::of(&report.outcome))
}

/// A new id: sortable by time, and random.
fn new_id(ms: u64, entropy: u64) -> Result<SessionId, Failure> {
    let random = u128::from(entropy) << 16 | u128::from(std::process::id() & 0xffff);
    let id = ulid::Ulid::from_parts(ms, random)
        .to_string()
        .to_lowercase();
    SessionId::new(&id).map_err(|error| Failure::new(Exit::Failed, error.to_string()))
}
