//! Serving: the tenants, tokens and limits of a server, from its file or from the command line.

mod file;
mod isolation;
mod recovery;
mod reload;
mod tenant;
mod tenant_entry;
mod tenant_settings;
mod token;

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use windlass::store::StoreUrl;
use windlass_engine::core::Scope;
use windlass_engine::ports::{BlobStore, LogStore};
use windlass_engine::{ComputeSlots, Config, NodeLoad};
use windlass_server::{
    Access, Grant, Rights, ServedSessions, Server, ServerParts, Tenant, TokenHash,
};

use crate::args::{ProgramSharingArgs, RecoverMode, SandboxFlag, ServeArgs, SettingsArgs};
use crate::exit::{ExitKind, Failure};
use crate::wiring::adapters::Adapters;
use crate::wiring::node::{Node, SharedPorts};
use crate::wiring::runtimes;
use crate::wiring::sandbox::{default_permissions, sandbox};
use crate::wiring::store::check_live;
use crate::wiring::tools::configured;
use crate::wiring::workspace::Workspace;

use file::ServerFile;
pub(crate) use recovery::Recovery;
pub(crate) use reload::Reload;
use tenant::TenantWorkspace;
use tenant_settings::SessionChoices;
pub(crate) use token::generate_token as fresh_token;

/// Default address.
const DEFAULT_ADDRESS: SocketAddr =
    SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 8620);
/// Tenant of a server without configured ones, as in `windlass run`.
const LOCAL: &str = "local";
/// Default for the most sessions that a node drives.
const MOST_SESSIONS: u32 = 10_000;
/// Time for running steps to end when the client of a process leaves, in milliseconds. Clients kill a
/// process that stays longer.
const OWN_DRAIN_MS: u64 = 2_000;
/// Host by which a client in the same process names its server.
pub(crate) const IN_PROCESS_HOST: &str = "windlass.internal";
/// Name of the file in the user's configuration folder.
const NAME: &str = "server.toml";

/// Server that is ready to serve.
pub(crate) struct ComposedServer {
    pub(crate) server: Server,
    pub(crate) listener: TcpListener,
    /// Link to open in a browser.
    pub(crate) link: String,
    pub(crate) reload: Reload,
    /// Unfinished sessions, by tenant.
    pub(crate) recovery: Vec<Recovery>,
    /// This process as a node of its store, if the store supports several.
    pub(crate) node: Option<Node>,
    /// Time limit for the end of the process once it is stopped.
    pub(crate) drain: Duration,
}

/// Ports that all tenants share.
struct TenantPorts {
    store: Arc<dyn LogStore>,
    blobs: Arc<dyn BlobStore>,
    /// Ports shared with other nodes, and the count of sessions driven here.
    cluster: Option<(SharedPorts, Arc<NodeLoad>)>,
    /// Slots in which the programs of all tenants compute.
    compute_slots: ComputeSlots,
    /// How programs share the process.
    sharing: ProgramSharingArgs,
    recover: RecoverMode,
    /// Most bytes that a fork copies.
    fork_bytes: u64,
    /// URL of the store.
    url: StoreUrl,
    /// True if the tenants are configured.
    configured: bool,
}

/// Returns the settings of all tenants. An unreadable configuration fails the command later.
pub(super) fn shapes(args: &ServeArgs) -> Vec<SettingsArgs> {
    let file = config_path(args).and_then(|path| ServerFile::load(&path).ok());
    let tenants = file.into_iter().flat_map(|file| file.tenants);
    let tenants = tenants.filter_map(|tenant| tenant.shape().ok());
    tenants.chain([args.shape.clone()]).collect()
}

/// Returns the path of the configuration, if there is one.
fn config_path(args: &ServeArgs) -> Option<PathBuf> {
    let usual = || configured(NAME).filter(|path| path.is_file());
    args.config.clone().or_else(usual)
}

/// Composes a server.
pub(crate) async fn compose(
    args: &ServeArgs,
    adapters: &Adapters,
) -> Result<ComposedServer, Failure> {
    if args.shape.json {
        let words = "serve prints nothing but its address: leave --json out";
        return Err(Failure::usage(words));
    }
    let path = config_path(args);
    let file = match &path {
        Some(path) => ServerFile::load(path)?,
        None => ServerFile::default(),
    };
    let at = args.listen.or(file.listen).unwrap_or(DEFAULT_ADDRESS);
    is_guarded(&file, at)?;
    let own = own_token(args, &file)?;
    let (tenants, among, node) = open_tenants(args, adapters, &file).await?;
    let names: Vec<String> = tenants.iter().map(|tenant| tenant.name.clone()).collect();
    let listener = TcpListener::bind(at).await;
    let listening = listener.and_then(|listener| Ok((listener.local_addr()?, listener)));
    let (at, listener) = listening.map_err(|error| {
        let words = format!("cannot listen at {at}: {error}; name another address with --listen");
        Failure::new(ExitKind::Failed, words)
    })?;
    let granted = own.as_ref().map(|token| own_grant(token, &file));
    let access = Arc::new(Access::default());
    let reload = Reload::new(path, file.clone(), names, granted, access.clone());
    reload.apply(&file)?;
    let link = match &own {
        Some(token) => format!("http://{at}/#token={token}"),
        None => format!("http://{at}/"),
    };
    let recovery = tenants.iter();
    let recovery = recovery.map(|tenant| Recovery::of(tenant, among)).collect();
    let drain = Duration::from_millis(file.bounds.drain_ms);
    let server = Server::new(ServerParts {
        tenants,
        access,
        bounds: file.bounds,
        clock: Arc::new(super::clock()),
        hosts: file.hosts,
        origins: file.origins,
    });
    Ok(ComposedServer { server, listener, link, reload, recovery, node, drain })
}

/// Server of the person who starts it, for one client.
pub(crate) struct OwnServer {
    pub(crate) server: Server,
    /// Token of the client.
    pub(crate) token: String,
    /// This process as a node of its store, if the store supports several.
    pub(crate) node: Option<Node>,
    /// Time limit for the end of the process once it is stopped.
    pub(crate) drain: Duration,
}

/// Composes a server for one client. It has no configuration, listens at no address, and opens no
/// session that it is not asked for.
pub(crate) async fn compose_own(
    args: &ServeArgs,
    adapters: &Adapters,
) -> Result<OwnServer, Failure> {
    if args.shape.json {
        let words = "this command prints no envelopes: leave --json out";
        return Err(Failure::usage(words));
    }
    let file = ServerFile::default();
    let token = token::generate_token()?;
    let (tenants, _, node) = open_tenants(args, adapters, &file).await?;
    let drain = Duration::from_millis(OWN_DRAIN_MS);
    let server = Server::new(ServerParts {
        tenants,
        access: Arc::new(Access::new([own_grant(&token, &file)], Default::default())),
        bounds: windlass_server::ServerLimits { drain_ms: OWN_DRAIN_MS, ..file.bounds },
        clock: Arc::new(super::clock()),
        hosts: vec![IN_PROCESS_HOST.to_owned()],
        origins: Vec::new(),
    });
    Ok(OwnServer { server, token, node, drain })
}

/// Opens the store, and composes the tenants on it. Returns them with true if there may be other
/// nodes, and with this process as a node.
async fn open_tenants(
    args: &ServeArgs,
    adapters: &Adapters,
    file: &ServerFile,
) -> Result<(Vec<Tenant>, bool, Option<Node>), Failure> {
    let site = adapters.workspace(&args.place)?;
    let sharing = args.sharing.or(file.sharing().map_err(Failure::usage)?);
    let among = ClusterOptions::read(args, file, &site.store)?;
    let opened = site.open().await?;
    let kept = TenantPorts {
        store: (adapters.layer)(opened.store),
        blobs: opened.blobs,
        cluster: among.share(opened.node.as_ref()).await?,
        compute_slots: ComputeSlots::new(sharing.apply(Config::default()).programs_at_once),
        sharing,
        recover: args.recover.or(file.recover).unwrap_or_default(),
        fork_bytes: file.bounds.fork_bytes,
        url: site.store.clone(),
        configured: !file.tenants.is_empty(),
    };
    let tenants = tenants(args, adapters, file, &site, &kept)?;
    Ok((tenants, kept.cluster.is_some(), opened.node))
}

/// Options of a node in a cluster, from flags and the file.
struct ClusterOptions<'a> {
    live: Option<&'a str>,
    most: Option<u32>,
}

impl<'a> ClusterOptions<'a> {
    /// Rejects invalid options, before anything is opened.
    fn read(args: &'a ServeArgs, file: &'a ServerFile, store: &StoreUrl) -> Result<Self, Failure> {
        let live = args.live.as_ref().or(file.live.as_ref());
        let most = args.most_sessions.or(file.most_sessions);
        let named = live.map(|_| "live").or(most.map(|_| "most_sessions"));
        if let Some(named) = named.filter(|_| !store.has_nodes()) {
            return Err(Failure::usage(format!(
                "{named} needs a store for several nodes, and {store} is for one: leave it out, \
                 or name a store postgres://.. or nats://.."
            )));
        }
        let live = live.map(String::as_str);
        live.map(check_live).transpose()?;
        Ok(Self { live, most })
    }

    /// Returns the ports shared with other nodes, and the limit of sessions; `None` for a single
    /// node.
    async fn share(
        &self,
        node: Option<&Node>,
    ) -> Result<Option<(SharedPorts, Arc<NodeLoad>)>, Failure> {
        let Some(node) = node else { return Ok(None) };
        let shared = node.share(self.live).await?;
        let most = usize::try_from(self.most.unwrap_or(MOST_SESSIONS)).unwrap_or(usize::MAX);
        Ok(Some((shared, NodeLoad::new(most))))
    }
}

/// Rejects an address that is reachable from other machines without configured tokens or hosts.
fn is_guarded(file: &ServerFile, at: SocketAddr) -> Result<(), Failure> {
    if at.ip().is_loopback() {
        return Ok(());
    }
    if file.tokens.is_empty() {
        return Err(Failure::usage(format!(
            "{at} can be reached from other machines, so tokens must be configured: make one with \
             windlass serve --new-token, and put it under [[token]] in the file of --config"
        )));
    }
    if at.ip().is_unspecified() && file.hosts.is_empty() {
        return Err(Failure::usage(format!(
            "{at} means all addresses of this machine: list its names in hosts of the \
             configuration"
        )));
    }
    Ok(())
}

/// Returns the token of a server without configured ones.
fn own_token(args: &ServeArgs, file: &ServerFile) -> Result<Option<String>, Failure> {
    match (&args.token_file, file.tokens.is_empty()) {
        (Some(_), false) => Err(Failure::usage(
            "the configuration has tokens: leave --token-file out, or take them out",
        )),
        (None, false) => Ok(None),
        (_, true) if file.tenants.len() > 1 => Err(Failure::usage(
            "the configuration has several tenants and no token: make one for each with windlass \
             serve --new-token, and put it under [[token]]",
        )),
        (Some(path), true) => token::load_or_create(path).map(Some),
        (None, true) => token::generate_token().map(Some),
    }
}

/// Returns the grant of the person who starts the server.
fn own_grant(token: &str, file: &ServerFile) -> (TokenHash, Grant) {
    let tenant = file.tenants.first().map_or(LOCAL, |tenant| &tenant.name);
    let scope = match crate::command::me() {
        Scope::Principal { principal, claims, .. } => {
            Scope::Principal { tenant: tenant.to_owned(), principal, claims }
        }
        Scope::System { reason } => Scope::System { reason },
    };
    let grant = Grant { tenant: tenant.to_owned(), scope, rights: Rights::ALL };
    (TokenHash::of(token), grant)
}

fn tenants(
    args: &ServeArgs,
    adapters: &Adapters,
    file: &ServerFile,
    site: &Workspace,
    kept: &TenantPorts,
) -> Result<Vec<Tenant>, Failure> {
    let mut hidden: Vec<PathBuf> = {
        let files = args.config.iter().chain(&args.token_file);
        files.filter_map(|file| std::path::absolute(file).ok()).collect()
    };
    if file.tenants.is_empty() {
        let profile = args.shape.sandbox.profile.as_deref();
        let sandbox = sandbox(profile, site, &site.workspace, &hidden)?;
        let place = TenantWorkspace {
            folder: site.workspace.clone(),
            permissions: default_permissions(&sandbox, profile, args.shape.permissions)?,
            sandbox,
            agents: !args.no_agents,
            served: match site.has_named_store() {
                true => ServedSessions::All,
                false => ServedSessions::OfWorkspace,
            },
        };
        // The person who starts the server is its only client, so any runtime is allowed.
        let offers = SessionChoices {
            models: Vec::new(),
            programs: runtimes().names().iter().map(ToString::to_string).collect(),
        };
        let named = |name: &str| super::sandbox(Some(name), site, &site.workspace, &hidden);
        let shape = &args.shape;
        let local = tenant::tenant(LOCAL, place, shape, offers, (adapters, kept), &named)?;
        return Ok(vec![local]);
    }
    // The variable applies to commands that name no model.
    let variable = std::env::var("WINDLASS_MODEL").ok();
    let said = SettingsArgs {
        // Tenants without a profile have that of the flag.
        sandbox: SandboxFlag::default(),
        model: args.shape.model.clone().filter(|model| Some(model) != variable.as_ref()),
        ..args.shape.clone()
    };
    if format!("{said:?}") != format!("{:?}", SettingsArgs::default()) {
        return Err(Failure::usage(
            "the configuration has tenants: set up their turns there, not by flags",
        ));
    }
    hidden.extend(file.tenants.iter().filter_map(|entry| entry.workspace.canonicalize().ok()));
    let files = file.tenants.iter().filter_map(|entry| entry.providers.as_ref());
    hidden.extend(files.filter_map(|file| file.canonicalize().ok()));
    let places = file.tenants.iter().map(|entry| {
        let named = |failure: Failure| Failure {
            message: format!("the tenant {}: {}", entry.name, failure.message),
            ..failure
        };
        let shape = entry.shape().map_err(Failure::usage).map_err(named)?;
        let folder = folder(&entry.workspace).map_err(named)?;
        let profile = shape.sandbox.profile.as_ref().or(args.shape.sandbox.profile.as_ref());
        let profile = profile.map(String::as_str);
        let sandbox = sandbox(profile, site, &folder, &hidden).map_err(named)?;
        let permissions = default_permissions(&sandbox, profile, shape.permissions);
        let place = TenantWorkspace {
            folder,
            permissions: permissions.map_err(named)?,
            sandbox,
            agents: entry.agents.unwrap_or(true) && !args.no_agents,
            served: ServedSessions::All,
        };
        Ok((entry, shape, place))
    });
    let places: Vec<_> = places.collect::<Result<_, Failure>>()?;
    let isolated: Vec<_> =
        places.iter().map(|(entry, _, place)| (entry.name.as_str(), place)).collect();
    let private = site.private_paths().into_iter();
    let private = private.filter_map(|path| std::path::absolute(path).ok());
    let foreign: Vec<PathBuf> = hidden.iter().cloned().chain(private).collect();
    file.isolation.check(&isolated, &foreign)?;
    let tenants = places.into_iter().map(|(entry, shape, place)| {
        let offers = entry.offers().map_err(Failure::usage);
        let folder = place.folder.clone();
        let profile = |name: &str| sandbox(Some(name), site, &folder, &hidden);
        let tenant = offers.and_then(|it| {
            tenant::tenant(&entry.name, place, &shape, it, (adapters, kept), &profile)
        });
        tenant.map_err(|failure| Failure {
            message: format!("the tenant {}: {}", entry.name, failure.message),
            ..failure
        })
    });
    tenants.collect()
}

fn folder(path: &std::path::Path) -> Result<PathBuf, Failure> {
    let shown = path.display();
    let found = path
        .canonicalize()
        .map_err(|error| Failure::usage(format!("cannot open the workspace {shown}: {error}")))?;
    match found.is_dir() {
        true => Ok(found),
        false => Err(Failure::usage(format!("the workspace {shown} is not a folder"))),
    }
}
