//! Login at a server over HTTP: the token of each request, and its renewal. The library runs the
//! protocol; files, waits and requests are ours.

mod exchange;
mod flow;
mod redirect;
mod revoke;
mod store;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use rmcp::transport::auth::WWWAuthenticateParams;
use url::Url;
use windlass_kit_http::Secret;
use windlass_ports::sync::Mutex;

use crate::config::{McpServer, McpTransport};
use crate::connection::MakeWire;
use crate::error::McpError;
use crate::name::ServerName;
use crate::server::LoginStatus;
use crate::tools::McpOptions;
use exchange::{Refusal, Site};
use store::{LoginFile, StoredLogin};

pub use flow::LoginFlow;
pub use redirect::LoopbackRedirect;
pub use revoke::Revocation;

/// A token is renewed this long before it expires, in seconds, or after half of its life.
const EARLY_S: u64 = 30;
/// Most scopes of a login, and longest name of one in bytes. Further ones are left out.
const MAX_SCOPES: usize = 64;
const MAX_SCOPE: usize = 256;

/// Login at one server.
pub(crate) struct Login {
    name: ServerName,
    site: Site,
    /// File of the login; `None` sends no token, to see what the server asks for.
    file: Option<LoginFile>,
    /// What the server's last answer asked for.
    demand: Mutex<Option<Demand>>,
}

/// Answer of a server that wants another login.
#[derive(Clone)]
struct Demand {
    words: String,
    /// The header that says so.
    challenge: String,
}

impl Login {
    /// Returns the login at a server, where it can have one: it is reached over HTTP, and the user gives
    /// no token for it.
    pub(crate) fn of(
        name: &ServerName,
        server: &McpServer,
        folder: Option<&Path>,
        wire: &MakeWire,
    ) -> Option<Arc<Self>> {
        let McpTransport::Http { url, headers, token: None } = &server.transport else {
            return None;
        };
        if headers.keys().any(|header| header.eq_ignore_ascii_case("authorization")) {
            return None;
        }
        let identity = format!("{name} {}", server.transport.identity());
        let site = Site { url: url.clone(), settings: server.oauth.clone(), wire: wire.clone() };
        let file = Some(LoginFile::new(folder?, &identity));
        Some(Arc::new(Self { name: name.clone(), site, file, demand: Mutex::default() }))
    }

    /// Returns the same without its token.
    fn anonymous(&self) -> Arc<Self> {
        let (name, site) = (self.name.clone(), self.site.clone());
        Arc::new(Self { name, site, file: None, demand: Mutex::default() })
    }

    /// Returns the token for the next request, renewed if it is about to expire. A token that cannot be
    /// renewed is returned as it is: the server has the last word.
    pub(crate) async fn token(self: &Arc<Self>) -> Option<Secret> {
        let stored = self.stored()?;
        let tokens = stored.tokens?;
        match tokens.is_fresh(now_s()) {
            true => Some(Secret::new(tokens.access)),
            false => {
                let old = Secret::new(tokens.access);
                Some(self.renewed(&old).await.unwrap_or(old))
            }
        }
    }

    /// Returns the token that replaces one: of another process that renewed it, or of the authorization
    /// server. `None` if there is none.
    pub(crate) async fn renewed(self: &Arc<Self>, old: &Secret) -> Option<Secret> {
        let (login, old) = (self.clone(), old.clone());
        // It runs to its end, also if the caller is gone: a new refresh token must not be lost.
        let renewing = tokio::spawn(async move { login.renew(&old).await });
        match renewing.await {
            Ok(Ok(token)) => token,
            Ok(Err(words)) => {
                tracing::warn!(server = %self.name, "the login at an MCP server is not renewed: {words}");
                None
            }
            Err(_) => None,
        }
    }

    async fn renew(&self, old: &Secret) -> Result<Option<Secret>, String> {
        let Some(file) = &self.file else {
            return Ok(None);
        };
        let locked = file.lock().await?;
        let Some(mut stored) = locked.read()? else {
            return Ok(None);
        };
        let Some(tokens) = stored.tokens.clone() else {
            return Ok(None);
        };
        if tokens.access != old.expose() {
            return Ok(Some(Secret::new(tokens.access)));
        }
        if tokens.refresh.is_none() {
            return Ok(None);
        }
        match self.site.refresh(&stored, &tokens).await {
            Ok(tokens) => {
                let token = Secret::new(tokens.access.clone());
                stored.tokens = Some(tokens);
                locked.write(&stored)?;
                Ok(Some(token))
            }
            Err(Refusal::Final(words)) => {
                stored.tokens = None;
                locked.write(&stored)?;
                Err(words)
            }
            Err(Refusal::Unclear(words)) => Err(words),
        }
    }

    /// Notes what an answer asks for. Returns true if it wants another login: a 401, or a 403 for which
    /// the login has too few scopes. The missing scopes are stored for the next login.
    pub(crate) async fn wants_more(&self, status: u16, challenge: &str) -> bool {
        let demand = match status {
            401 => Some(("it asks for a login".to_owned(), Vec::new())),
            403 => self.missing(challenge),
            _ => None,
        };
        let (demand, missing) = demand.map_or((None, Vec::new()), |(words, missing)| {
            (Some(Demand { words, challenge: challenge.to_owned() }), missing)
        });
        let wants = demand.is_some();
        *self.demand.lock() = demand;
        if !missing.is_empty()
            && let Err(words) = self.store_missing(missing).await
        {
            tracing::warn!(server = %self.name, "missing scopes are not stored: {words}");
        }
        wants
    }

    /// Returns the scopes that a 403 asks for, in words too.
    fn missing(&self, challenge: &str) -> Option<(String, Vec<String>)> {
        let base = Url::parse(&self.site.url).ok()?;
        let said = WWWAuthenticateParams::parse(challenge, &base);
        if !said.is_insufficient_scope() {
            return None;
        }
        let scopes = bounded(said.scope.iter().flat_map(|scope| scope.split_whitespace()));
        Some((format!("it asks for a login with more scopes ({})", scopes.join(" ")), scopes))
    }

    async fn store_missing(&self, missing: Vec<String>) -> Result<(), String> {
        let Some(file) = &self.file else {
            return Ok(());
        };
        let locked = file.lock().await?;
        let mut stored = locked.read()?.unwrap_or_default();
        let all = stored.missing.iter().chain(&missing);
        stored.missing = bounded(all.map(String::as_str));
        locked.write(&stored)
    }

    /// Returns what the last answer asked for, with the remedy.
    pub(crate) fn demand(&self) -> Option<String> {
        let demand = self.demand.lock().clone()?;
        Some(format!("{}; run: windlass mcp login {}", demand.words, self.name))
    }

    /// Returns the state of the login; `None` if the server asks for none and there is none.
    pub(crate) fn status(&self) -> Option<LoginStatus> {
        if self.demand.lock().is_some() {
            return Some(LoginStatus::Needed);
        }
        Some(self.stored()?.tokens?.status())
    }

    /// Returns what is stored. A file that cannot be read counts as none.
    fn stored(&self) -> Option<StoredLogin> {
        self.file.as_ref()?.read().unwrap_or_else(|words| {
            tracing::warn!(server = %self.name, "the login at an MCP server cannot be read: {words}");
            None
        })
    }
}

/// Removes the login at a server, and then has the authorization server revoke its tokens, if that
/// offers it. Returns `None` if there was no login.
///
/// # Errors
/// [`McpError`] when it cannot be removed. A failed revocation is none: nothing is left here to repeat it.
pub async fn logout(
    name: &ServerName,
    server: &McpServer,
    options: &McpOptions,
) -> Result<Option<Revocation>, McpError> {
    let login = Login::of(name, server, options.logins.as_deref(), &options.wire);
    let Some((site, file)) = login.as_ref().and_then(|it| Some((&it.site, it.file.as_ref()?)))
    else {
        return Ok(None);
    };
    let Some(stored) = file.remove().await.map_err(McpError::new)? else {
        return Ok(None);
    };
    Ok(Some(match &stored.tokens {
        Some(tokens) => site.revoke(&stored, tokens).await,
        None => Revocation::NoTokens,
    }))
}

/// Removes the login at a server, which has this address, from a folder. The authorization server is
/// not told. Returns false if there was none.
///
/// # Errors
/// [`McpError`] when it cannot be removed.
pub async fn forget_login(name: &ServerName, url: &str, folder: &Path) -> Result<bool, McpError> {
    let (url, headers) = (url.to_owned(), BTreeMap::new());
    let identity = McpTransport::Http { url, headers, token: None }.identity();
    let file = LoginFile::new(folder, &format!("{name} {identity}"));
    file.remove().await.map(|stored| stored.is_some()).map_err(McpError::new)
}

/// Returns distinct scopes in order, as many as are allowed.
fn bounded<'a>(scopes: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for scope in scopes {
        let fits = !scope.is_empty() && scope.len() <= MAX_SCOPE && all.len() < MAX_SCOPES;
        if fits && !all.iter().any(|known| known == scope) {
            all.push(scope.to_owned());
        }
    }
    all
}

fn now_s() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}
