//! The server that is measured: the library that `windlass serve` runs, over the file store, in a
//! process of its own, so that what it takes is its own.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use tokio::net::TcpListener;
use windlass_clock::SystemClock;
use windlass_core::{Permissions, Scope, Settings};
use windlass_engine::ports::{BlobStore, NoApprover, NoBlobStore, NoHooks, Ports};
use windlass_engine::{Config, Engine};
use windlass_openai::Api;
use windlass_server::{
    Access, Grant, Quota, Refusal, Rights, Server, ServerLimits, ServerParts, SessionOptions,
    Tenant, TenantFactory, TokenHash,
};

use crate::echo::Echo;
use crate::kit;
use xtask::say::say;

/// The token that clients come with.
pub(super) const TOKEN: &str = "the-token-of-the-bench";

/// Serves sessions until standard input ends. The address is the first line of standard output.
#[derive(Debug, Args)]
pub(crate) struct Serving {
    /// Address of the model.
    #[arg(long)]
    model: String,
    /// Folder of the logs.
    #[arg(long)]
    dir: PathBuf,
}

/// Any model that is named.
struct Any;

impl TenantFactory for Any {
    fn new_settings(&self, wish: &SessionOptions) -> Result<Settings, Refusal> {
        Ok(Settings::new("openai-chat", wish.model.clone().unwrap_or_default())
            .with(|it| it.permissions = Permissions::Auto))
    }

    fn current_settings(&self, recorded: &Settings) -> Result<Settings, Refusal> {
        Ok(recorded.clone())
    }

    fn models(&self) -> Vec<String> {
        vec!["any".to_owned()]
    }
}

/// Serves until standard input ends.
///
/// # Errors
/// When no loopback port can be had, or the store does not open.
pub(crate) fn run(serving: &Serving) -> anyhow::Result<()> {
    super::ends_with_input();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let address = listener.local_addr()?;
        let server = server(&serving.model, &serving.dir, &address.to_string())?;
        say(address);
        server.serve(listener, std::future::pending()).await?;
        Ok(())
    })
}

fn server(model: &str, dir: &Path, host: &str) -> anyhow::Result<Server> {
    let store = kit::file(dir)?;
    let blobs: Arc<dyn BlobStore> = Arc::new(NoBlobStore);
    let clock = Arc::new(SystemClock::new());
    let provider = kit::provider(&format!("http://{model}/v1"), Api::Chat)?;
    let engine = Engine::new(
        Ports {
            provider,
            store: store.clone(),
            tools: Arc::new(Echo),
            blobs: blobs.clone(),
            hooks: Arc::new(NoHooks),
            approver: Arc::new(NoApprover),
            clock: clock.clone(),
            programs: windlass_engine::ports::ProgramRuntimes::none(),
        },
        Config::default(),
    );
    let grant =
        Grant { tenant: "local".to_owned(), scope: Scope::local("bench"), rights: Rights::ALL };
    // Nothing that is measured is to meet a limit.
    let quota = Quota {
        turns: 1_000_000,
        requests_per_second: 1_000_000,
        burst: 1_000_000,
        streams: 1_000_000,
        ..Quota::default()
    };
    let quotas = BTreeMap::from([("local".to_owned(), quota)]);
    let access = Access::new([(TokenHash::of(TOKEN), grant)], quotas);
    Ok(Server::new(ServerParts {
        tenants: vec![Tenant {
            name: "local".to_owned(),
            engine,
            store,
            blobs,
            workspace: None,
            files: None,
            served: windlass_server::ServedSessions::All,
            factory: Arc::new(Any),
        }],
        access: Arc::new(access),
        bounds: ServerLimits::default(),
        clock,
        hosts: vec![host.to_owned()],
        origins: Vec::new(),
    }))
}
