//! The engine as a contestant: the same turns, with everything that makes them durable.

use std::sync::Arc;

use anyhow::Context as _;
use windlass_clock::SystemClock;
use windlass_core::{
    CompactionStrategy, ContextWindow, Delta, EffectClass, Fact, Item, Limits, Lineage,
    ObservationStatus, OpenSession, Permissions, Scope, SessionId, Settings, TurnOutcome, Widening,
};
use windlass_engine::{
    Config, Engine, Event, EventStream, LiveKind, NewInput, SessionHandle, Start,
};
use windlass_memory::MemoryStore;
use windlass_ports::{LogStore, NoApprover, NoBlobStore, NoHooks, Ports, Provider};

use crate::contest::Tally;
use crate::echo::{Echo, spec};
use crate::wire::{INSTRUCTIONS, PROMPT};

/// Callback for each text delta.
pub(crate) type OnText<'a> = &'a mut (dyn FnMut(&str) + Send);

/// Store of a contestant's logs.
#[derive(Clone)]
pub(crate) enum Keep {
    /// In memory. A session is erased after its turn.
    Nothing,
    /// In the given store.
    In(Arc<dyn LogStore>),
}

/// Engine with the settings of its sessions. Clones share the engine.
#[derive(Clone)]
pub(crate) struct Contender {
    engine: Engine,
    store: Arc<dyn LogStore>,
    erases: bool,
    settings: Settings,
}

/// Result of one turn.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Told {
    /// Counts of the turn.
    pub(crate) tally: Tally,
    /// Text of the last answer.
    pub(crate) answer: String,
}

impl Contender {
    /// An engine that asks this provider for this model.
    pub(crate) fn new(provider: Arc<dyn Provider>, keep: Keep, model: &str) -> Self {
        let settings = Settings::new(provider.name(), model).with(|it| {
            it.instructions = INSTRUCTIONS.to_owned();
            it.permissions = Permissions::Auto;
            it.tools = vec![spec()];
            it.limits = limits();
        });
        let (store, erases): (Arc<dyn LogStore>, bool) = match keep {
            Keep::Nothing => (Arc::new(MemoryStore::new()), true),
            Keep::In(store) => (store, false),
        };
        let ports = Ports {
            provider,
            store: store.clone(),
            blobs: Arc::new(NoBlobStore),
            tools: Arc::new(Echo),
            hooks: Arc::new(NoHooks),
            approver: Arc::new(NoApprover),
            clock: Arc::new(SystemClock::new()),
            programs: windlass_engine::ports::ProgramRuntimes::none(),
        };
        let config = Config::default().with(|it| it.limits = limits());
        Self { engine: Engine::new(ports, config), store, erases, settings }
    }

    /// The same with a tool that is declared to change something.
    pub(crate) fn with_effects(mut self) -> Self {
        for tool in &mut self.settings.tools {
            tool.effect = EffectClass::Effectful;
        }
        self
    }

    /// The same engine with sessions that ask for another model.
    pub(crate) fn with_model(&self, model: &str) -> Self {
        let mut other = self.clone();
        model.clone_into(&mut other.settings.model);
        other
    }

    /// The same with a window of so many tokens, to which the conversation is compacted by leaving
    /// out what is oldest.
    pub(crate) fn with_window(mut self, tokens: u64) -> Self {
        self.settings.window = ContextWindow { tokens, strategy: CompactionStrategy::Slide };
        self
    }

    /// Runs one turn in a session of its own.
    ///
    /// # Errors
    /// At the first thing that goes wrong, and when the turn does not complete.
    pub(crate) async fn turn(&self, session: &str, on_text: OnText<'_>) -> anyhow::Result<Told> {
        let opening = OpenSession {
            owner: scope(),
            workspace: None,
            settings: self.settings.clone(),
            lineage: Lineage::Root,
        };
        let start = Start::New(Box::new(opening));
        let conversation = self.open(session, start).await?;
        let told = say(&conversation, on_text).await?;
        conversation.close().await;
        if self.erases {
            self.erase(session).await?;
        }
        Ok(told)
    }

    /// Runs one turn in a session of its own, however long, and listens to none of it.
    ///
    /// # Errors
    /// As [`Contender::turn`].
    pub(crate) async fn settle(&self, session: &str) -> anyhow::Result<()> {
        let opening = OpenSession {
            owner: scope(),
            workspace: None,
            settings: self.settings.clone(),
            lineage: Lineage::Root,
        };
        let start = Start::New(Box::new(opening));
        let conversation = self.open(session, start).await?;
        let input = conversation.send(NewInput::new(scope(), PROMPT)).await?;
        let report = conversation.outcome(input).await?;
        let outcome = report.outcome;
        anyhow::ensure!(outcome == TurnOutcome::Completed, "the turn ended as {outcome:?}");
        conversation.close().await;
        Ok(())
    }

    /// Runs one more turn in a session that is in the store.
    ///
    /// # Errors
    /// As [`Contender::turn`].
    pub(crate) async fn resume(&self, session: &str, on_text: OnText<'_>) -> anyhow::Result<Told> {
        let conversation = self.open(session, Start::Existing).await?;
        // The session was written with another model, if not by another provider.
        let settings = self.settings.clone();
        conversation.configure(settings, scope(), Widening::Allowed).await?;
        let told = say(&conversation, on_text).await?;
        conversation.close().await;
        Ok(told)
    }

    async fn open(&self, session: &str, start: Start) -> anyhow::Result<SessionHandle> {
        let opened = self.engine.open(&SessionId::new(session)?, &scope(), start).await;
        opened.with_context(|| format!("opening session {session}"))
    }

    async fn erase(&self, session: &str) -> anyhow::Result<()> {
        let id = SessionId::new(session)?;
        let claim = self.store.claim(&id).await?;
        Ok(self.store.erase(&id, claim.epoch).await?)
    }
}

async fn say(conversation: &SessionHandle, on_text: OnText<'_>) -> anyhow::Result<Told> {
    let mut events = conversation.subscribe(None);
    conversation.send(NewInput::new(scope(), PROMPT)).await.context("sending the prompt")?;
    hear(&mut events, on_text).await
}

/// Listens until the turn has settled.
async fn hear(events: &mut EventStream, on_text: OnText<'_>) -> anyhow::Result<Told> {
    let mut told = Told::default();
    loop {
        match events.next().await? {
            Event::Live(lives) => {
                for live in lives.iter() {
                    if let LiveKind::Delta { delta: Delta::Text { text, .. }, .. } = &live.kind {
                        told.tally.deltas += 1;
                        on_text(text);
                    }
                }
            }
            Event::Fact(fact) => {
                if take(&mut told, &fact.fact)? {
                    return Ok(told);
                }
            }
            Event::Store(_) => {}
            Event::Lagged { missed } => anyhow::bail!("{missed} events were missed"),
            Event::Ended(ended) => anyhow::bail!("the session ended within the turn: {ended}"),
        }
    }
}

/// Counts a fact and returns true for the last one of the turn.
fn take(told: &mut Told, fact: &Fact) -> anyhow::Result<bool> {
    if let Fact::SampleStarted(_) = fact {
        told.answer.clear();
    } else if let Fact::SampleEnded(_) = fact {
        told.tally.samples += 1;
    } else if let Fact::ItemAdded(added) = fact {
        if let Item::Text { text, .. } = &added.item {
            told.answer.push_str(text);
        }
    } else if let Fact::CallObserved(observed) = fact {
        let status = observed.observation.status;
        anyhow::ensure!(status == ObservationStatus::Done, "a call ended as {status:?}");
        told.tally.calls += 1;
    } else if let Fact::TurnSettled(settled) = fact {
        let outcome = &settled.outcome;
        anyhow::ensure!(*outcome == TurnOutcome::Completed, "the turn ended as {outcome:?}");
        return Ok(true);
    }
    Ok(false)
}

/// Limits out of the way of long scripts; the times stay as they are for everybody.
fn limits() -> Limits {
    Limits::default().with(|it| {
        it.samples = u32::MAX;
        it.calls = u32::MAX;
        it.compactions = u32::MAX;
    })
}

fn scope() -> Scope {
    Scope::local("bench")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::script::Script;
    use crate::scripted::Scripted;

    #[tokio::test]
    async fn goes_through_a_script_and_on_from_it() {
        let keep = Keep::In(Arc::new(MemoryStore::new()));
        let first = Contender::new(Arc::new(Scripted::new(Script::tools(3))), keep.clone(), "m");
        let mut said = String::new();
        let told = first.turn("s", &mut |text| said.push_str(text)).await.unwrap();
        assert_eq!(told.tally, Tally { samples: 4, calls: 3, deltas: 2 });
        assert_eq!((told.answer.as_str(), said.as_str()), (" word word", " word word"));
        let next = Contender::new(Arc::new(Scripted::new(Script::Text(7))), keep, "n");
        let told = next.resume("s", &mut |_| {}).await.unwrap();
        assert_eq!(told.tally, Tally { samples: 1, calls: 0, deltas: 7 });
    }

    #[tokio::test]
    async fn a_session_that_is_not_there_is_an_error() {
        let keep = Keep::In(Arc::new(MemoryStore::new()));
        let contender = Contender::new(Arc::new(Scripted::new(Script::Text(1))), keep, "m");
        let error = contender.resume("gone", &mut |_| {}).await.unwrap_err();
        assert_eq!(error.to_string(), "opening session gone");
    }

    #[tokio::test]
    async fn each_sample_is_marked() {
        let provider = Arc::new(Scripted::new(Script::tools(5)));
        let contender = Contender::new(provider.clone(), Keep::Nothing, "m");
        contender.turn("s", &mut |_| {}).await.unwrap();
        let marks = provider.marks();
        assert_eq!(marks.len(), 6);
        assert!(marks.is_sorted());
    }
}
