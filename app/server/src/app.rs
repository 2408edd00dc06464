//! Server: its parts, shared state and routes.

use std::collections::BTreeSet;
use std::future::pending;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};

use axum::Router;
use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use tokio::sync::{Mutex, MutexGuard, Semaphore, watch};
use utoipa::OpenApi;
use utoipa_axum::router::OpenApiRouter;
use windlass_engine::core::SessionId;
use windlass_engine::ports::Clock;

use crate::access::{Access, RateLimiter, TicketStore, UsageCounters};
use crate::limits::ServerLimits;
use crate::store_health::StoreHealth;
use crate::tenant::{Tenant, Tenants};
use crate::{agui, api, guard, page, stream};

/// Locks of settings. Sessions with the same one wait for each other.
const SETTINGS_LOCKS: usize = 64;

/// Runs sessions for clients over HTTP. Cheap to clone.
#[derive(Clone)]
pub struct Server {
    pub(crate) app: Arc<App>,
}

/// State that all handlers share.
pub(crate) struct App {
    pub(crate) tenants: Tenants,
    pub(crate) access: Arc<Access>,
    pub(crate) bounds: ServerLimits,
    pub(crate) clock: Arc<dyn Clock>,
    /// Names under which the server accepts requests, with their ports, in lower case.
    pub(crate) hosts: BTreeSet<String>,
    /// Further origins from which browsers may call the server.
    pub(crate) origins: BTreeSet<String>,
    /// Valid tickets of this process.
    pub(crate) tickets: TicketStore,
    /// Work of each tenant in progress in this process.
    pub(crate) uses: UsageCounters,
    /// Cached views of sessions.
    pub(crate) views: api::ViewCache,
    /// Request rates of each tenant in this process.
    pub(crate) rates: RateLimiter,
    /// Permits for bodies that are being received, in units of [`guard::body::UNIT`].
    pub(crate) bodies: Semaphore,
    /// Locks of settings that are read and then changed.
    settings: [Mutex<()>; SETTINGS_LOCKS],
    /// Address at which the server listens, once it does; one of the names that it accepts.
    pub(crate) address: OnceLock<SocketAddr>,
    /// True if the stores answer.
    pub(crate) stores: StoreHealth,
    /// True once the server drains: it starts nothing any more.
    draining: watch::Sender<bool>,
}

/// Parts of a server.
pub struct ServerParts {
    /// Tenants whose sessions the server runs.
    pub tenants: Vec<Tenant>,
    /// Grants by token.
    pub access: Arc<Access>,
    /// Limits of the server.
    pub bounds: ServerLimits,
    /// Clock of the server.
    pub clock: Arc<dyn Clock>,
    /// Further names of the server, `host` or `host:port`.
    pub hosts: Vec<String>,
    /// Further origins from which browsers may call the server, as `https://host`.
    pub origins: Vec<String>,
}

#[derive(OpenApi)]
#[openapi(info(
    title = "Windlass",
    description = "Runs agent turns durably. What a schema cannot say is in docs/server.md."
))]
struct ApiDescription;

impl Server {
    /// Creates a server from its parts.
    #[must_use]
    pub fn new(parts: ServerParts) -> Self {
        let tenants = parts.tenants.into_iter();
        let tenants: Tenants =
            tenants.map(|tenant| (tenant.name.clone(), Arc::new(tenant))).collect();
        let stores = StoreHealth::new(tenants.values().map(|tenant| &tenant.store));
        let ServerLimits { tickets, ticket_ms, .. } = parts.bounds;
        let bodies = parts.bounds.bodies_bytes / guard::body::UNIT;
        let bodies = bodies.min(Semaphore::MAX_PERMITS);
        let lower = |names: Vec<String>| names.iter().map(|name| name.to_lowercase()).collect();
        Self {
            app: Arc::new(App {
                tickets: TicketStore::new(tickets, tenants.len(), ticket_ms),
                uses: UsageCounters::default(),
                rates: RateLimiter::default(),
                bodies: Semaphore::new(bodies),
                settings: std::array::from_fn(|_| Mutex::new(())),
                address: OnceLock::new(),
                tenants,
                access: parts.access,
                bounds: parts.bounds,
                clock: parts.clock,
                hosts: lower(parts.hosts),
                origins: lower(parts.origins),
                views: api::ViewCache::default(),
                stores,
                draining: watch::Sender::new(false),
            }),
        }
    }

    /// Waits until the store of a tenant has ended for this process, and returns what ended it:
    /// only another process can continue its sessions. The process should end.
    pub async fn store_ended(&self) -> String {
        let tenants = self.app.tenants.values();
        let mut ended: FuturesUnordered<_> =
            tenants.map(|tenant| tenant.engine.store_ended()).collect();
        match ended.next().await {
            Some(reason) => reason,
            None => pending().await,
        }
    }

    /// Returns all routes with their guards.
    pub(crate) fn router(&self) -> Router {
        let (v1, description) = OpenApiRouter::with_openapi(ApiDescription::openapi())
            .nest("/v1", routes())
            .split_for_parts();
        let router = api::with_description(v1, &description).merge(page::routes());
        #[cfg(feature = "mcp")]
        let router = router.merge(crate::mcp::routes(&self.app));
        let router = router.fallback(guard::no_route).method_not_allowed_fallback(guard::no_method);
        guard::with_guards(router, &self.app).with_state(self.app.clone())
    }
}

/// Returns the routes below `/v1`, without that prefix.
pub(crate) fn routes() -> OpenApiRouter<Arc<App>> {
    api::routes().merge(stream::routes()).merge(agui::routes())
}

impl App {
    /// Waits until nobody else in this process changes the settings of a session.
    pub(crate) async fn hold_settings(&self, id: &SessionId) -> Option<MutexGuard<'_, ()>> {
        let mut hasher = DefaultHasher::new();
        id.hash(&mut hasher);
        let at = usize::try_from(hasher.finish() % SETTINGS_LOCKS as u64).ok()?;
        Some(self.settings.get(at)?.lock().await)
    }

    /// Returns true if the server drains.
    pub(crate) fn draining(&self) -> bool {
        *self.draining.borrow()
    }

    /// Has all engines probe their stores, since a request has met a failure.
    pub(crate) fn check_stores(&self) {
        self.tenants.values().for_each(|tenant| tenant.engine.check_store());
    }

    /// Starts to drain the server.
    pub(crate) fn drain(&self) {
        self.draining.send_replace(true);
    }

    /// Waits until the server drains. Cancel safe.
    pub(crate) async fn drained(&self) {
        // This process holds the sender, so the channel stays open.
        let _ = self.draining.subscribe().wait_for(|draining| *draining).await;
    }
}
