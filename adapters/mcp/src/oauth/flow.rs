//! One login: from the address that the user opens to the tokens.

use std::path::Path;
use std::sync::Arc;

use rmcp::transport::auth::{
    AuthError, AuthorizationManager, CredentialStore as _, InMemoryCredentialStore,
    OAuthClientConfig,
};
use tokio::time::timeout;
use url::Url;
use windlass_kit_http::Secret;

use super::exchange::{Found, Site, checked, private, received, words};
use super::store::StoredLogin;
use super::{Login, bounded};
use crate::config::McpServer;
use crate::connection::{Target, connect};
use crate::era::attempts;
use crate::error::McpError;
use crate::excerpt::clipped;
use crate::name::ServerName;
use crate::server::LoginStatus;
use crate::tools::McpOptions;

/// Name under which this client registers.
const CLIENT: &str = "Windlass";
/// Longest words of an authorization server about a refusal, in bytes.
const MAX_WORDS: usize = 400;

/// A login that waits for the user to authorize it.
pub struct LoginFlow {
    login: Arc<Login>,
    manager: AuthorizationManager,
    store: InMemoryCredentialStore,
    client: OAuthClientConfig,
    issuer: Option<String>,
    address: Url,
    redirect: Url,
}

impl LoginFlow {
    /// Asks the server where to log in, and makes the address that the user opens. Its redirect leads to
    /// `redirect`, which is on this machine.
    ///
    /// # Errors
    /// [`McpError`] when the server cannot have a login, or the authorization server cannot be used.
    pub async fn begin(
        name: &ServerName,
        server: &McpServer,
        options: &McpOptions,
        redirect: &str,
    ) -> Result<Self, McpError> {
        let login = Login::of(name, server, options.logins.as_deref(), &options.wire);
        let login = login.ok_or_else(|| {
            let words = "only a server with a url, and without a token or an authorization header of \
                         yours, has a login";
            McpError::new(format!("cannot log in to {name}: {words}"))
        })?;
        let challenge = Box::pin(challenge(&login, server, &options.workspace)).await;
        let begun = Box::pin(private(Self::begin_at(login, challenge, redirect))).await.flatten();
        begun.map_err(|words| McpError::new(format!("cannot log in to {name}: {words}")))
    }

    async fn begin_at(
        login: Arc<Login>,
        challenge: Option<String>,
        redirect: &str,
    ) -> Result<Self, String> {
        let redirect = Url::parse(redirect).map_err(|error| error.to_string())?;
        checked(&redirect)?;
        let Found { mut manager, metadata } = login.site.discover(challenge.as_deref()).await?;
        let stored = login.stored().unwrap_or_default();
        let supported = metadata.scopes_supported.clone().unwrap_or_default();
        let scopes = wanted(&login.site, &manager, &stored, &supported).await;
        let scopes: Vec<&str> = scopes.iter().map(String::as_str).collect();
        let documents = metadata.additional_fields.get("client_id_metadata_document_supported");
        let documents = documents.and_then(serde_json::Value::as_bool) == Some(true);
        let client = match configured_client(&login.site, documents, &redirect) {
            Some(client) => client,
            None => {
                let registered = manager.register_client(CLIENT, redirect.as_str(), &scopes).await;
                registered.map_err(|error| unregistered(&error, metadata.issuer.as_deref()))?
            }
        };
        let store = InMemoryCredentialStore::new();
        manager.set_credential_store(store.clone());
        manager.configure_client(client.clone()).map_err(|error| words(&error))?;
        let address =
            manager.get_authorization_url(&scopes).await.map_err(|error| words(&error))?;
        let mut address = Url::parse(&address).map_err(|error| error.to_string())?;
        let query = login.site.with_resource(address.query().unwrap_or_default().as_bytes());
        address.set_query(Some(&query));
        let issuer = metadata.issuer;
        Ok(Self { login, manager, store, client, issuer, address, redirect })
    }

    /// Returns the address that the user opens. It is no secret: only who began the login can end it.
    #[must_use]
    pub fn address(&self) -> &str {
        self.address.as_str()
    }

    /// Returns true if an address is one that this login is redirected to.
    #[must_use]
    pub fn is_redirect(&self, address: &str) -> bool {
        let state = |url: &Url| {
            let found = url.query_pairs().find(|(name, _)| name == "state");
            found.map(|(_, value)| value.into_owned())
        };
        Url::parse(address).is_ok_and(|url| {
            let place =
                (url.origin(), url.path()) == (self.redirect.origin(), self.redirect.path());
            place && state(&url).is_some() && state(&url) == state(&self.address)
        })
    }

    /// Ends the login with the address that the authorization server redirected to, and stores the
    /// tokens.
    ///
    /// # Errors
    /// [`McpError`] when the address is of another login, or the authorization server refuses.
    pub async fn finish(self, redirected: &str) -> Result<LoginStatus, McpError> {
        let name = self.login.name.clone();
        let finished = Box::pin(private(self.finish_now(redirected.trim()))).await.flatten();
        finished.map_err(|words| McpError::new(format!("cannot log in to {name}: {words}")))
    }

    async fn finish_now(self, redirected: &str) -> Result<LoginStatus, String> {
        if !self.is_redirect(redirected) {
            return Err("the address is not one that this login is redirected to".into());
        }
        let url = Url::parse(redirected).map_err(|error| error.to_string())?;
        let field = |wanted: &str| {
            let found = url.query_pairs().find(|(name, _)| name == wanted);
            found.map(|(_, value)| value.into_owned())
        };
        let issuer = field("iss");
        if let Some(error) = field("error") {
            if issuer.is_some() && issuer != self.issuer {
                return Err("the answer is of another authorization server".into());
            }
            let more = field("error_description").unwrap_or_default();
            let words = clipped(&format!("{error} {more}"), MAX_WORDS);
            return Err(format!("the authorization server refused: {}", words.trim()));
        }
        let (Some(code), Some(state)) = (field("code"), field("state")) else {
            return Err("the address has no code".into());
        };
        let answer =
            self.manager.exchange_code_for_token_with_issuer(&code, &state, issuer.as_deref());
        let answer = answer.await.map_err(|error| words(&error))?;
        let kept = self.store.load().await.ok().flatten();
        let scopes = kept.map(|kept| kept.granted_scopes).unwrap_or_default();
        let tokens = received(&answer)?;
        let status = tokens.status();
        let file = self.login.file.as_ref().ok_or("there is no folder for it")?;
        file.lock().await?.write(&StoredLogin {
            issuer: self.issuer,
            client_id: self.client.client_id,
            client_secret: self.client.client_secret,
            scopes: bounded(scopes.iter().map(String::as_str)),
            missing: Vec::new(),
            tokens: Some(tokens),
        })?;
        Ok(status)
    }
}

/// Connects to the server without a token, and returns the challenge that it answers with.
async fn challenge(login: &Login, server: &McpServer, workspace: &Path) -> Option<String> {
    let login = login.anonymous();
    let target = Target {
        answers: false,
        transport: server.transport.clone(),
        workspace: workspace.to_owned(),
        label: String::new(),
        wire: login.site.wire.clone(),
        head_ms: u64::try_from(server.startup_timeout.as_millis()).unwrap_or(u64::MAX),
        login: Some(login.clone()),
    };
    for attempt in attempts(None, server.startup_timeout) {
        match connect(&target, &attempt).await {
            Ok(connection) => {
                // Some servers ask only then.
                let _ = timeout(server.startup_timeout, connection.list()).await;
                connection.close().await;
            }
            Err(failure) if failure.other_way => continue,
            Err(_) => {}
        }
        break;
    }
    let challenge = login.demand.lock().as_ref().map(|demand| demand.challenge.clone());
    challenge.filter(|challenge| !challenge.is_empty())
}

/// Returns the scopes to ask for: the user's, or what the server names. Those that a request was refused
/// for come to those that were granted.
async fn wanted(
    site: &Site,
    manager: &AuthorizationManager,
    stored: &StoredLogin,
    supported: &[String],
) -> Vec<String> {
    let mut scopes = site.settings.scopes.clone();
    if !stored.missing.is_empty() {
        scopes.extend(stored.scopes.iter().chain(&stored.missing).cloned());
    } else if scopes.is_empty() {
        scopes = manager.select_initial_scopes(&[]).await;
    }
    let offline = supported.iter().filter(|scope| *scope == "offline_access" && !scopes.is_empty());
    bounded(scopes.iter().chain(offline).map(String::as_str))
}

/// Returns the client that the user configured. An id that is the address of a metadata document goes
/// only to servers that read such documents.
fn configured_client(site: &Site, documents: bool, redirect: &Url) -> Option<OAuthClientConfig> {
    let id = site.settings.client_id.as_deref()?;
    if id.starts_with("https://") && !documents {
        return None;
    }
    let client = OAuthClientConfig::new(id, redirect.as_str());
    Some(match site.settings.client_secret.as_ref().map(Secret::expose) {
        Some(secret) => client.with_client_secret(secret),
        None => client,
    })
}

fn unregistered(error: &AuthError, issuer: Option<&str>) -> String {
    format!(
        "{}; register a client at {}, and set oauth.client_id",
        words(error),
        issuer.unwrap_or("the authorization server")
    )
}
