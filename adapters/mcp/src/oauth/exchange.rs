//! Requests to authorization servers: over the wire port, and only where nobody else can read them.

use std::sync::Arc;
use std::time::Duration;

use http::HeaderValue;
use http::header::AUTHORIZATION;
use rmcp::transport::auth::{
    AuthError, AuthorizationManager, AuthorizationMetadata, AuthorizationMetadataSource,
    CredentialStore as _, InMemoryCredentialStore, OAuthClientConfig, OAuthHttpClient,
    OAuthHttpClientError, OAuthHttpClientFuture, OAuthHttpRequest, OAuthTokenResponse,
    StoredCredentials,
};
use serde::Deserialize;
use serde_json::json;
use tokio::time::timeout;
use tracing::instrument::WithSubscriber as _;
use tracing::subscriber::NoSubscriber;
use url::{Host, Url, form_urlencoded};
use windlass_kit_http::Secret;
use windlass_ports::{WireHeaders, WireRequest};

use super::now_s;
use super::store::{StoredLogin, Tokens};
use crate::config::LoginSettings;
use crate::connection::MakeWire;
use crate::excerpt::clipped;
use crate::http::whole;

/// Longest answer of an authorization server, in bytes.
const MAX_ANSWER: usize = 256 * 1024;
/// Longest time of one request, and of all requests of one renewal or of the beginning of a login.
const REQUEST: Duration = Duration::from_secs(20);
const ALL: Duration = Duration::from_secs(60);
/// Longest words about a failure, in bytes.
const MAX_WORDS: usize = 600;

/// Server whose tokens these are, and the way to reach what gives them.
#[derive(Clone)]
pub(super) struct Site {
    /// Address of the MCP server.
    pub(super) url: String,
    pub(super) settings: LoginSettings,
    pub(super) wire: MakeWire,
}

/// Failure to renew a token.
pub(super) enum Refusal {
    /// The authorization server refused, or is another one by now: only a new login helps.
    Final(String),
    /// Nobody knows: it may work later.
    Unclear(String),
}

/// Authorization server of a site, as it describes itself.
pub(super) struct Found {
    pub(super) manager: AuthorizationManager,
    pub(super) metadata: AuthorizationMetadata,
}

impl Site {
    /// Finds the authorization server, beginning with the server's challenge if there is one.
    pub(super) async fn discover(&self, challenge: Option<&str>) -> Result<Found, String> {
        let wire = OAuthWire { site: self.clone() };
        let made = AuthorizationManager::new_with_oauth_http_client(&*self.url, Arc::new(wire));
        let mut manager = made.await.map_err(|error| words(&error))?;
        let resolved = manager.resolve_metadata_from_challenge(challenge).await;
        let resolved = resolved.map_err(|error| words(&error))?;
        if resolved.source == AuthorizationMetadataSource::LegacyEndpointFallback {
            return Err("it does not say where to log in".into());
        }
        let metadata = resolved.metadata;
        // The library refuses a list without S256, and lets a missing one pass.
        if metadata.code_challenge_methods_supported.is_none() {
            let words = "its authorization server does not say that it has PKCE \
                         (code_challenge_methods_supported), without which others could use a login";
            return Err(words.into());
        }
        let register = metadata.registration_endpoint.as_ref();
        let ends = [&metadata.authorization_endpoint, &metadata.token_endpoint];
        for end in ends.into_iter().chain(register) {
            let end = Url::parse(end).map_err(|_| format!("its endpoint {end:?} is no address"))?;
            checked(&end)?;
        }
        manager.set_metadata(metadata.clone());
        Ok(Found { manager, metadata })
    }

    /// Renews tokens. The authorization server is found again: another one gets nothing.
    pub(super) async fn refresh(
        &self,
        stored: &StoredLogin,
        tokens: &Tokens,
    ) -> Result<Tokens, Refusal> {
        let renewing = private(self.refresh_now(stored, tokens));
        renewing.await.map_err(Refusal::Unclear)?
    }

    async fn refresh_now(&self, stored: &StoredLogin, tokens: &Tokens) -> Result<Tokens, Refusal> {
        let Found { mut manager, metadata } =
            self.discover(None).await.map_err(Refusal::Unclear)?;
        if metadata.issuer != stored.issuer {
            let words = "the server names another authorization server than the login's";
            return Err(Refusal::Final(words.into()));
        }
        let given = json!({
            "access_token": tokens.access, "token_type": "bearer", "refresh_token": tokens.refresh,
        });
        let given: OAuthTokenResponse =
            serde_json::from_value(given).map_err(|_| Refusal::Final("it is damaged".into()))?;
        let store = InMemoryCredentialStore::new();
        let scopes = stored.scopes.clone();
        let credentials =
            StoredCredentials::new(stored.client_id.clone(), Some(given), scopes, None)
                .with_issuer(stored.issuer.clone());
        let client = OAuthClientConfig::new(&*stored.client_id, &*self.url);
        let secret = self.settings.client_secret.as_ref().map(Secret::expose);
        let client = match secret.or(stored.client_secret.as_deref()) {
            Some(secret) => client.with_client_secret(secret),
            None => client,
        };
        let unclear = |error: AuthError| Refusal::Unclear(words(&error));
        store.save(credentials).await.map_err(unclear)?;
        manager.set_credential_store(store);
        manager.configure_client(client).map_err(unclear)?;
        match manager.refresh_token().await {
            Ok(renewed) => received(&renewed).map_err(Refusal::Unclear),
            Err(
                error @ (AuthError::TokenRefreshRejected(_) | AuthError::AuthorizationRequired),
            ) => Err(Refusal::Final(words(&error))),
            Err(error) => Err(unclear(error)),
        }
    }

    /// Returns the resource that a token is for. The address of a server may have a key in its query.
    fn resource(&self, found: &str) -> String {
        match &self.settings.resource {
            Some(own) => own.clone(),
            None if Url::parse(&self.url).is_ok_and(|url| url.as_str() == found) => {
                found.split(['?', '#']).next().unwrap_or_default().to_owned()
            }
            None => found.to_owned(),
        }
    }

    /// Returns fields of a form with the resource of the site.
    pub(super) fn with_resource(&self, fields: &[u8]) -> String {
        let mut form = form_urlencoded::Serializer::new(String::new());
        for (name, value) in form_urlencoded::parse(fields) {
            match &*name {
                "resource" => form.append_pair(&name, &self.resource(&value)),
                _ => form.append_pair(&name, &value),
            };
        }
        form.finish()
    }
}

/// Runs requests within their time. The library writes codes and answers to the log, so it has none.
pub(super) async fn private<T>(all: impl Future<Output = T>) -> Result<T, String> {
    let all = timeout(ALL, all).with_subscriber(NoSubscriber::default());
    all.await.map_err(|_| "the authorization server took too long".to_owned())
}

/// Returns the tokens of an answer.
pub(super) fn received(answer: &OAuthTokenResponse) -> Result<Tokens, String> {
    #[derive(Deserialize)]
    struct Answer {
        access_token: String,
        refresh_token: Option<String>,
        expires_in: Option<u64>,
    }
    let damaged = |_| "its answer has no tokens".to_owned();
    let answer = serde_json::to_value(answer).and_then(serde_json::from_value::<Answer>);
    let Answer { access_token, refresh_token, expires_in } = answer.map_err(damaged)?;
    HeaderValue::from_str(&access_token)
        .map_err(|_| "its access token cannot be sent in a header".to_owned())?;
    let received_s = now_s();
    let expires_s = expires_in.map(|life_s| received_s.saturating_add(life_s));
    Ok(Tokens { access: access_token, refresh: refresh_token, received_s, expires_s })
}

/// Returns a failure in words, down to its cause.
pub(super) fn words(error: &AuthError) -> String {
    let mut words = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        words = format!("{words}: {error}");
        cause = error.source();
    }
    clipped(&words, MAX_WORDS)
}

/// Checks that what is sent to an address is not read on the way: it is HTTPS, or of this machine.
pub(super) fn checked(url: &Url) -> Result<(), String> {
    let own = match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    };
    match url.scheme() {
        "https" if url.has_host() => Ok(()),
        "http" if own => Ok(()),
        _ => {
            let place = format!("{}://{}", url.scheme(), url.host_str().unwrap_or_default());
            Err(format!("{place} is neither https nor on this machine, so nothing is sent to it"))
        }
    }
}

/// HTTP of the library, over the wire port. It follows no redirect.
struct OAuthWire {
    site: Site,
}

impl OAuthHttpClient for OAuthWire {
    fn execute(&self, request: OAuthHttpRequest) -> OAuthHttpClientFuture<'_> {
        Box::pin(self.site.send(request.request))
    }
}

impl Site {
    /// Sends a request to the authorization server, within its time.
    pub(super) async fn send(
        &self,
        request: http::Request<Vec<u8>>,
    ) -> Result<http::Response<Vec<u8>>, OAuthHttpClientError> {
        let sent = timeout(REQUEST, self.send_now(request)).await;
        sent.map_err(|_| "it did not answer in time")?
    }

    async fn send_now(
        &self,
        request: http::Request<Vec<u8>>,
    ) -> Result<http::Response<Vec<u8>>, OAuthHttpClientError> {
        let (head, body) = request.into_parts();
        let url = Url::parse(&head.uri.to_string())?;
        checked(&url)?;
        let mut headers = WireHeaders::default();
        for (name, value) in &head.headers {
            headers.push(name.as_str(), value.as_bytes().to_vec(), name == AUTHORIZATION);
        }
        let kind = head.headers.get(http::header::CONTENT_TYPE).map(HeaderValue::as_bytes);
        let form = kind.is_some_and(|kind| kind.starts_with(b"application/x-www-form-urlencoded"));
        let (method, body) = match (head.method.as_str(), form) {
            ("GET", _) => ("GET", None),
            ("POST", true) => ("POST", Some(self.with_resource(&body).into_bytes())),
            ("POST", false) => ("POST", Some(body)),
            (other, _) => return Err(format!("the method {other} is not used here").into()),
        };
        let wire = (self.wire)(url.as_str())?;
        let head_ms = u64::try_from(REQUEST.as_millis())?;
        let body = body.map(Into::into);
        let request = WireRequest { method, url: url.into(), headers, body, head_ms };
        let answer = wire.send(request).await?;
        let mut response = http::Response::builder().status(answer.status);
        for header in answer.headers.iter() {
            response = response.header(header.name.as_str(), &*header.value);
        }
        Ok(response.body(whole(answer.body, MAX_ANSWER).await?)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_https_and_this_machine_are_asked() {
        let is = |text: &str| checked(&Url::parse(text).unwrap()).is_ok();
        for good in ["https://h/x", "http://127.0.0.1:1/", "http://[::1]:1", "http://localhost/x"] {
            assert!(is(good), "{good}");
        }
        for bad in [
            "http://h/x",
            "http://10.0.0.1/",
            "http://localhost.h/",
            "ftp://localhost",
            "file:///x",
        ] {
            assert!(!is(bad), "{bad}");
        }
    }

    #[test]
    fn the_resource_is_the_users_or_without_a_key() {
        let site = |resource: Option<&str>| Site {
            url: "https://h/mcp?key=sk-1".into(),
            settings: LoginSettings {
                resource: resource.map(str::to_owned),
                ..LoginSettings::default()
            },
            wire: Arc::new(|_| Err(crate::McpError::new("none"))),
        };
        let own = "a=1+2&resource=https%3A%2F%2Fh%2Fmcp%3Fkey%3Dsk-1";
        assert_eq!(
            site(None).with_resource(own.as_bytes()),
            "a=1+2&resource=https%3A%2F%2Fh%2Fmcp"
        );
        let set = site(Some("urn:x")).with_resource(own.as_bytes());
        assert_eq!(set, "a=1+2&resource=urn%3Ax");
        let other = site(None).with_resource(b"resource=https%3A%2F%2Fh%2F%3Fx");
        assert_eq!(other, "resource=https%3A%2F%2Fh%2F%3Fx");
    }
}
