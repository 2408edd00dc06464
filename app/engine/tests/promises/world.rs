//! An engine over a scripted model, scripted tools and a scripted store.

use std::panic::Location;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, timeout};
use windlass_engine::core::{
    CallId, Fact, Limits, Lineage, Observation, OpenSession, RecordedFact, Scope, SessionId,
    Settings, Timestamp, TurnOutcome, decide, replay,
};
use windlass_engine::ports::{
    Approver, Hooks, LogStore, NoApprover, NoHooks, Ports, ProgramRuntimes, Provider, ToolExecutor,
};
use windlass_engine::{Config, Engine, NewInput, SessionHandle, Start, TurnReport};
use windlass_testkit::blobs::HeldBlobs;
use windlass_testkit::faulty::FaultyStore;
use windlass_testkit::hooks::ScriptedHooks;
use windlass_testkit::programs::ScriptedRuntime;
use windlass_testkit::provider::{ScriptedProvider, Step};
use windlass_testkit::tools::{ScriptedTool, ScriptedTools};

use crate::clock::RuntimeClock;

pub(crate) struct World {
    pub(crate) engine: Engine,
    pub(crate) store: FaultyStore,
    cast: Cast,
    ports: Ports,
    config: Config,
    limits: Limits,
    /// What is different in the settings of a new session.
    tuned: Arc<dyn Fn(&mut Settings) + Send + Sync>,
}

/// Who plays in a world besides its store and its clock.
#[derive(Clone)]
pub(crate) struct Cast {
    pub(crate) provider: Arc<dyn Provider>,
    pub(crate) tools: Arc<dyn ToolExecutor>,
    pub(crate) blobs: HeldBlobs,
    pub(crate) hooks: Arc<dyn Hooks>,
    pub(crate) approver: Arc<dyn Approver>,
}

impl Cast {
    pub(crate) fn new(
        script: impl IntoIterator<Item = Step>,
        tools: impl IntoIterator<Item = ScriptedTool>,
    ) -> Self {
        Self {
            provider: Arc::new(ScriptedProvider::new(script)),
            tools: Arc::new(ScriptedTools::new(tools)),
            blobs: HeldBlobs::new(1 << 30),
            hooks: Arc::new(NoHooks),
            approver: Arc::new(NoApprover),
        }
    }

    pub(crate) fn hooks(mut self, hooks: &ScriptedHooks) -> Self {
        self.hooks = Arc::new(hooks.clone());
        self
    }

    pub(crate) fn blobs(mut self, blobs: &HeldBlobs) -> Self {
        self.blobs = blobs.clone();
        self
    }

    pub(crate) fn approver(mut self, approver: impl Approver) -> Self {
        self.approver = Arc::new(approver);
        self
    }
}

pub(crate) fn me() -> Scope {
    Scope::local("tester")
}

pub(crate) fn id(name: &str) -> SessionId {
    SessionId::new(name).unwrap()
}

pub(crate) fn hello() -> NewInput {
    NewInput::new(me(), "hello")
}

/// Limits of which each is told from the others.
pub(crate) fn limits() -> Limits {
    Limits::default().with(|it| {
        it.attempts = 1;
        it.backoff_ms = 400;
        it.backoff_max_ms = 400;
        it.connect_ms = 1_100;
        it.first_byte_ms = 1_200;
        it.idle_ms = 1_300;
        it.sample_ms = 10_000;
        it.call_ms = 5_000;
        it.grace_ms = 700;
    })
}

impl World {
    pub(crate) fn new(
        script: impl IntoIterator<Item = Step>,
        tools: impl IntoIterator<Item = ScriptedTool>,
    ) -> Self {
        Self::of(FaultyStore::new(), Cast::new(script, tools))
    }

    pub(crate) fn over(
        store: FaultyStore,
        provider: Arc<dyn Provider>,
        tools: Arc<dyn ToolExecutor>,
    ) -> Self {
        let cast = Cast { provider, tools, ..Cast::new([], []) };
        Self::of(store, cast)
    }

    pub(crate) fn of(store: FaultyStore, cast: Cast) -> Self {
        let port = Arc::new(store.clone());
        Self::on(store, port, cast)
    }

    /// Over a store that the engine sees through a port of another kind.
    pub(crate) fn on(store: FaultyStore, port: Arc<dyn LogStore>, cast: Cast) -> Self {
        let ports = Ports {
            provider: cast.provider.clone(),
            store: port,
            tools: cast.tools.clone(),
            blobs: Arc::new(cast.blobs.clone()),
            hooks: cast.hooks.clone(),
            approver: cast.approver.clone(),
            clock: Arc::new(RuntimeClock::new(Timestamp(1_000), 1)),
            programs: ProgramRuntimes::none().with(Arc::new(ScriptedRuntime)),
        };
        let config = Config::default().with(|it| {
            it.event_buffer = 8;
            it.read_page = 3;
            it.shutdown_ms = 30_000;
        });
        Self {
            engine: Engine::new(ports.clone(), config),
            ports,
            config,
            store,
            cast,
            limits: limits(),
            tuned: Arc::new(|_| ()),
        }
    }

    pub(crate) fn limited(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// With other runtimes of programs.
    pub(crate) fn running(mut self, programs: ProgramRuntimes) -> Self {
        self.ports.programs = programs;
        self.engine = Engine::new(self.ports.clone(), self.config);
        self
    }

    /// With an engine that is configured otherwise.
    pub(crate) fn configured(mut self, change: impl FnOnce(&mut Config)) -> Self {
        change(&mut self.config);
        self.engine = Engine::new(self.ports.clone(), self.config);
        self
    }

    /// A new session has these settings too.
    pub(crate) fn tuned(mut self, tune: impl Fn(&mut Settings) + Send + Sync + 'static) -> Self {
        self.tuned = Arc::new(tune);
        self
    }

    /// The world as the next process finds it: what ran there is cut off from the store.
    pub(crate) fn next_process(&self) -> Self {
        Self::of(self.store.reopen(), self.cast.clone())
    }

    /// The same process with another model.
    pub(crate) fn played_by(self, provider: impl Provider + 'static) -> Self {
        let provider: Arc<dyn Provider> = Arc::new(provider);
        Self::of(self.store, Cast { provider, ..self.cast })
    }

    pub(crate) fn start(&self) -> Start {
        let mut settings = windlass_testkit::settings().with(|it| {
            it.hooks = self.cast.hooks.hooks();
            it.tools = self.cast.tools.tools();
            it.limits = self.limits;
        });
        (self.tuned)(&mut settings);
        Start::Either(Box::new(OpenSession {
            owner: me(),
            workspace: None,
            settings,
            lineage: Lineage::Root,
        }))
    }

    pub(crate) async fn open(&self, name: &str) -> SessionHandle {
        let opened = self.engine.open(&id(name), &me(), self.start()).await;
        opened.unwrap()
    }

    /// Runs one turn of a new session to its end. Answers how it ended and after how long.
    pub(crate) async fn turn(&self) -> (TurnReport, Duration) {
        let conversation = self.open("s").await;
        let at = Instant::now();
        let input = conversation.send(hello()).await.unwrap();
        let report = soon(conversation.outcome(input)).await.unwrap();
        (report, at.elapsed())
    }

    /// The log of session `s`, which the core decides as the engine had it decided.
    pub(crate) fn log(&self) -> Vec<RecordedFact> {
        let log = self.store.log(&id("s"));
        if !log.is_empty() {
            let told = replay(decide, log.iter().cloned()).unwrap();
            assert_eq!((told.divergences, told.request_divergences), (vec![], vec![]));
        }
        log
    }

    /// The kinds of the facts of session `s`, those of a turn alone.
    pub(crate) fn kinds(&self) -> Vec<&'static str> {
        let log = self.log();
        let of_turn = log.iter().filter(|recorded| recorded.turn.is_some());
        of_turn.map(|recorded| recorded.fact.kind()).collect()
    }

    /// What the facts of session `s` come to that a function picks.
    pub(crate) fn picked<T>(&self, pick: impl Fn(&Fact) -> Option<T>) -> Vec<T> {
        let log = self.log();
        log.iter().filter_map(|one| pick(&one.fact)).collect()
    }

    /// The one observation of session `s`.
    pub(crate) fn observation(&self) -> (CallId, Observation) {
        let log = self.log();
        let mut seen = log.iter().filter_map(|recorded| match &recorded.fact {
            Fact::CallObserved(fact) => Some((fact.call, (*fact.observation).clone())),
            _ => None,
        });
        let one = seen.next().unwrap();
        assert_eq!(seen.next(), None, "there is more than one");
        one
    }
}

/// What must come, within an hour of paused time.
#[track_caller]
pub(crate) fn soon<T>(future: impl Future<Output = T>) -> impl Future<Output = T> {
    let asked = Location::caller();
    async move {
        let waited = timeout(Duration::from_secs(3_600), future).await;
        waited.unwrap_or_else(|_| panic!("it did not come within an hour: {asked}"))
    }
}

/// Waits until something holds, and lets everything else go on meanwhile.
pub(crate) async fn until(holds: impl Fn() -> bool) {
    let wait = async {
        while !holds() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    soon(wait).await;
}

pub(crate) fn failure(report: &TurnReport) -> String {
    match &report.outcome {
        TurnOutcome::Failed { failure, message } => format!("{failure:?}: {message}"),
        other => panic!("{other:?}"),
    }
}

pub(crate) fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}
