//! The world of these tests: a server over a real socket, with a scripted model and scripted tools, a
//! clock that stands still, and gates; and a script for Node that drives a browser at it, and tells
//! which gate to open and how far to move the clock.

use std::collections::BTreeMap;
use std::future::pending;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, mpsc};
use std::thread;

use async_trait::async_trait;
use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::oneshot;
use windlass_engine::core::{
    CompactionStrategy, ContextWindow, Limits, Mode, Permissions, Price, Scope, Seq, Settings,
    Timestamp,
};
use windlass_engine::ports::{
    Approval, ApprovalRequest, Approver, ApproverError, LogStore, NoHooks, Ports, Provider,
    SessionFilter, Tenants, ToolExecutor,
};
use windlass_engine::{Config, Engine};
use windlass_memory::{MemoryBlobs, MemoryStore};
use windlass_server::{
    Access, Grant, Quota, Refusal, Rights, Server, ServerLimits, ServerParts, SessionOptions,
    Tenant, TenantFactory, TokenHash, windlass_engine,
};
use windlass_testkit::Gate;
use windlass_testkit::clock::ManualClock;
use windlass_testkit::tools::{ScriptedTool, ScriptedTools};

use crate::programs;

const TOKEN: &str = "the token of ann, for tests of the page";

/// The longest that a script may take, in seconds; a browser alone needs a few.
const LONGEST_S: u32 = 240;

/// What a page is tested against.
pub(crate) struct World {
    provider: Arc<dyn Provider>,
    tools: Vec<ScriptedTool>,
    gates: BTreeMap<&'static str, Gate>,
    limits: Limits,
    permissions: Permissions,
    store: Arc<dyn LogStore>,
}

impl World {
    pub(crate) fn new(provider: impl Provider) -> Self {
        Self {
            store: Arc::new(MemoryStore::new()),
            provider: Arc::new(provider),
            tools: Vec::new(),
            gates: BTreeMap::new(),
            limits: Limits::default(),
            permissions: Permissions::Auto,
        }
    }

    pub(crate) fn tool(mut self, tool: ScriptedTool) -> Self {
        self.tools.push(tool);
        self
    }

    /// The script may open this gate, and wait until somebody has come to it.
    pub(crate) fn gate(mut self, name: &'static str, gate: &Gate) -> Self {
        self.gates.insert(name, gate.clone());
        self
    }

    pub(crate) fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    pub(crate) fn store(mut self, store: impl LogStore) -> Self {
        self.store = Arc::new(store);
        self
    }

    pub(crate) fn asking(mut self) -> Self {
        self.permissions = Permissions::Ask;
        self
    }

    /// Serves, and has the script of this name drive a browser at it.
    pub(crate) fn drive(self, script: &str) {
        let Some(browser) = programs::browser() else {
            return;
        };
        let clock = ManualClock::new(Timestamp(1_790_000_000_000), 7);
        let orders = Orders { gates: self.gates.clone(), clock: clock.clone() };
        let store = self.store.clone();
        let (tell, told) = mpsc::channel();
        let (stop, stopped) = oneshot::channel::<()>();
        let serving = thread::spawn(move || {
            let runtime = runtime();
            runtime.block_on(async {
                let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
                let address = listener.local_addr().unwrap().to_string();
                let server = self.server(&address, &clock);
                tell.send(address).unwrap();
                tokio::select! {
                    served = server.serve(listener, pending()) => served.unwrap(),
                    // What it still holds for its clients ends with its runtime.
                    _ = stopped => {}
                }
            });
            runtime.shutdown_background();
        });
        let done = orders.browse(script, &browser, &told.recv().unwrap());
        if !done {
            runtime().block_on(print_logs(store.as_ref()));
        }
        let _ = stop.send(());
        serving.join().unwrap();
        assert!(done, "{script} failed: its words are above");
    }

    fn server(self, address: &str, clock: &ManualClock) -> Server {
        let tools: Arc<dyn ToolExecutor> = Arc::new(ScriptedTools::new(self.tools));
        let (store, blobs) = (self.store, Arc::new(MemoryBlobs::new()));
        let ports = Ports {
            provider: self.provider,
            store: store.clone(),
            tools: tools.clone(),
            blobs: blobs.clone(),
            hooks: Arc::new(NoHooks),
            approver: Arc::new(Elsewhere),
            clock: Arc::new(clock.clone()),
            programs: windlass_engine::ports::ProgramRuntimes::none(),
        };
        let tenant = Tenant {
            name: "acme".into(),
            engine: Engine::new(ports, Config::default().with(|it| it.limits = self.limits)),
            store,
            blobs,
            workspace: None,
            files: None,
            served: windlass_server::ServedSessions::All,
            factory: Arc::new(OneTenantFactory {
                tools,
                limits: self.limits,
                permissions: self.permissions,
            }),
        };
        let quotas = BTreeMap::from([("acme".to_owned(), Quota::default())]);
        Server::new(ServerParts {
            tenants: vec![tenant],
            access: Arc::new(Access::new([(TokenHash::of(TOKEN), ann())], quotas)),
            bounds: ServerLimits::default(),
            clock: Arc::new(clock.clone()),
            hosts: vec![address.to_owned()],
            origins: Vec::new(),
        })
    }
}

/// What a script may have done.
struct Orders {
    gates: BTreeMap<&'static str, Gate>,
    clock: ManualClock,
}

impl Orders {
    /// Runs a script, and does what it says on lines that begin with `@`. Answers whether it went well.
    fn browse(&self, script: &str, browser: &programs::Browser, address: &str) -> bool {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/page/scripts");
        let mut command = Command::new("timeout");
        command
            .args(["--kill-after=5", &LONGEST_S.to_string(), &browser.node])
            .arg(folder.join(format!("{script}.mjs")))
            .env("WINDLASS_TEST_CHROMIUM", &browser.chromium)
            .env("WINDLASS_TEST_PLAYWRIGHT", &browser.modules)
            .env("PAGE_URL", format!("http://{address}/"))
            .env("PAGE_TOKEN", TOKEN)
            .env("PAGE_SHOTS", shots())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut answers = child.stdin.take().unwrap();
        let mut told = std::io::stdout();
        for line in BufReader::new(child.stdout.take().unwrap()).lines() {
            let line = line.unwrap();
            match line.strip_prefix('@') {
                None => told.write_all(format!("{line}\n").as_bytes()).unwrap(),
                Some(order) => {
                    self.obey(order);
                    answers.write_all(b"done\n").unwrap();
                }
            }
        }
        child.wait().unwrap().success()
    }

    fn obey(&self, order: &str) {
        let (verb, what) = order.split_once(' ').unwrap_or((order, ""));
        let gate = || self.gates.get(what).unwrap_or_else(|| panic!("no gate {what}"));
        match verb {
            "open" => gate().open(),
            "reached" => {
                let bound = tokio::time::Duration::from_secs(60);
                let reached = async { tokio::time::timeout(bound, gate().reached()).await };
                let reached = runtime().block_on(reached);
                assert!(reached.is_ok(), "nobody came to the gate {what}");
            }
            "advance" => {
                self.clock.advance(what.parse().unwrap());
            }
            other => panic!("the script says {other}, which is nothing to do"),
        }
    }
}

/// Prints the kinds of the facts of every session, to tell a page that stands still from a server.
async fn print_logs(store: &dyn LogStore) {
    for head in store.sessions(&SessionFilter::of(Tenants::All), None, 100).await.unwrap() {
        let facts = store.read(&head.id, Seq::ZERO, 1_000).await.unwrap();
        let kinds: Vec<_> = facts.iter().map(|fact| fact.fact.kind()).collect();
        let line = format!("{}: {}\n", head.id, kinds.join(" "));
        std::io::stdout().write_all(line.as_bytes()).unwrap();
    }
}

fn runtime() -> Runtime {
    let mut builder = Builder::new_current_thread();
    builder.enable_all().build().unwrap()
}

/// Where screenshots go, for people to look at.
fn shots() -> PathBuf {
    // The folder for temporary files of tests is below the one that everything is built into.
    let temporary = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let target = temporary.parent().unwrap_or(temporary);
    target.join("page-screenshots")
}

fn ann() -> Grant {
    Grant {
        tenant: "acme".into(),
        scope: Scope::Principal {
            tenant: "acme".into(),
            principal: "ann".into(),
            claims: BTreeMap::new(),
        },
        rights: Rights::ALL,
    }
}

/// Questions are answered on the page.
struct Elsewhere;

#[async_trait]
impl Approver for Elsewhere {
    async fn ask(&self, _: ApprovalRequest) -> Result<Approval, ApproverError> {
        pending().await
    }
}

struct OneTenantFactory {
    tools: Arc<dyn ToolExecutor>,
    limits: Limits,
    permissions: Permissions,
}

impl TenantFactory for OneTenantFactory {
    fn new_settings(&self, wish: &SessionOptions) -> Result<Settings, Refusal> {
        Ok(windlass_testkit::settings().with(|it| {
            it.model = wish.model.clone().unwrap_or_else(|| "m".into());
            it.instructions = "Be brief.".into();
            it.mode = wish.mode.unwrap_or(Mode::Build);
            it.permissions = wish.permissions.unwrap_or(self.permissions);
            it.window = ContextWindow { tokens: 100_000, strategy: CompactionStrategy::Clear };
            it.price = Some(Price {
                input_micros: 2_500_000,
                cached_input_micros: 250_000,
                cache_write_micros: None,
                output_micros: 10_000_000,
            });
            it.tools = self.tools.tools();
            it.limits = wish.limits.unwrap_or(self.limits).within(&self.limits);
        }))
    }

    fn current_settings(&self, recorded: &Settings) -> Result<Settings, Refusal> {
        Ok(recorded.clone())
    }

    fn models(&self) -> Vec<String> {
        vec!["m".into()]
    }
}
