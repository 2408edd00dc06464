//! The HTTP client: one request out, the head of one response back.
//!
//! Redirects are not followed, so a key goes nowhere but where it was meant for. Nothing is tried
//! a second time here: the engine owns the one budget of attempts.

use std::sync::Arc;
use std::time::Duration;

use async_openai::config::{Config as _, OpenAIConfig};
use reqwest::header::{
    ACCEPT_ENCODING, AUTHORIZATION, CONTENT_ENCODING, HeaderMap, HeaderName, HeaderValue,
};
use reqwest::{Client, Method, Response, Url, redirect};
use windlass_core::{FailureKind, Retry};
use windlass_ports::ProviderError;

use crate::config::{OpenAiConfig, Secret};
use crate::error::{ERROR_BODY_BYTES, Origin};

/// The longest that establishing a connection may take, whatever a request's own limit.
const CONNECT: Duration = Duration::from_secs(60);

/// How long the body of a refusal may take.
const REFUSAL: Duration = Duration::from_secs(10);

/// Sends requests to one endpoint.
#[derive(Clone)]
pub(crate) struct Wire {
    client: Client,
    base: Url,
    headers: HeaderMap,
    secrets: Vec<Secret>,
    keyed: bool,
}

impl Wire {
    pub(crate) fn new(config: &OpenAiConfig) -> Result<Self, ProviderError> {
        let base = base(config)?;
        let headers = headers(config)?;
        let mut secrets: Vec<Secret> = config.headers.values().cloned().collect();
        secrets.extend(config.api_key.clone());
        let keyed = config.api_key.is_some() || !config.headers.is_empty();
        if base.scheme() == "http" && keyed && !is_loopback(&base) {
            tracing::warn!(
                host = base.host_str(),
                "the API key is sent without encryption"
            );
        }
        Ok(Self {
            client: client(&base)?,
            base,
            headers,
            secrets,
            keyed,
        })
    }

    /// The endpoint as it is named to people and in the provenance of items: without a query,
    /// which may hold a key.
    pub(crate) fn endpoint(&self) -> String {
        let mut shown = self.base.clone();
        shown.set_query(None);
        shown.as_str().trim_end_matches('/').to_owned()
    }

    /// The address of a call, and how its errors are worded.
    pub(crate) fn call(&self, path: &[&str]) -> (Url, Origin) {
        let mut url = self.base.clone();
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.pop_if_empty().extend(path);
        }
        let mut shown = url.clone();
        shown.set_query(None);
        (url, Origin::new(shown, self.secrets.clone(), self.keyed))
    }

    /// Sends a request and waits at most `wait` for the head of its response. A response that is
    /// not a success is an error.
    pub(crate) async fn send(
        &self,
        method: Method,
        url: Url,
        origin: &Origin,
        body: Option<(&'static str, Vec<u8>)>,
        wait: Duration,
    ) -> Result<(Response, Origin), ProviderError> {
        let mut request = self
            .client
            .request(method, url)
            .headers(self.headers.clone());
        if let Some((accept, body)) = body {
            request = request
                .header("content-type", "application/json")
                .header("accept", accept);
            request = request.body(body);
        }
        let sent = tokio::time::timeout(wait, request.send()).await;
        let response = match sent {
            Ok(Ok(response)) => response,
            Ok(Err(error)) => return Err(origin.unreachable(error)),
            Err(_) => {
                let context = origin.slow(wait);
                return Err(origin.error(FailureKind::Timeout, Retry::Soon, context));
            }
        };
        let origin = origin.answered(response.status().as_u16(), response.headers());
        if !response.status().is_success() {
            let headers = response.headers().clone();
            let body = refusal(response).await;
            return Err(origin.refused(&headers, &body));
        }
        if let Some(coding) = response.headers().get(CONTENT_ENCODING)
            && coding != "identity"
        {
            let context = origin.coded();
            return Err(origin.error(FailureKind::Protocol, Retry::Never, context));
        }
        Ok((response, origin))
    }
}

/// The first bytes of a refusal's body, as far as they come in time.
async fn refusal(mut response: Response) -> Vec<u8> {
    let mut body = Vec::new();
    let read = async {
        while let Ok(Some(bytes)) = response.chunk().await {
            let room = ERROR_BODY_BYTES.saturating_sub(body.len());
            body.extend_from_slice(bytes.get(..room).unwrap_or(&bytes));
            if body.len() >= ERROR_BODY_BYTES {
                break;
            }
        }
    };
    // What came in time is worth as much as all of it: the status decides.
    let _ = tokio::time::timeout(REFUSAL, read).await;
    body
}

fn client(base: &Url) -> Result<Client, ProviderError> {
    let mut builder = Client::builder()
        .user_agent(concat!("windlass/", env!("CARGO_PKG_VERSION")))
        .redirect(redirect::Policy::none())
        .referer(false)
        .http1_only()
        .tcp_nodelay(true)
        .connect_timeout(CONNECT)
        .pool_idle_timeout(Duration::from_secs(60))
        .pool_max_idle_per_host(64);
    if is_loopback(base) {
        builder = builder.no_proxy();
    }
    if base.scheme() == "http" {
        // TLS is never spoken, so no certificates are needed, nor read from the system.
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let tls = rustls::ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| misconfigured(format!("setting up TLS: {error}")))?
            .with_root_certificates(rustls::RootCertStore::empty())
            .with_no_client_auth();
        builder = builder.tls_backend_preconfigured(tls);
    } else if rustls::crypto::CryptoProvider::get_default().is_none() {
        // Another thread may have been faster, with a provider of its choice: that one serves too.
        let _ = rustls::crypto::ring::default_provider().install_default();
    }
    builder.build().map_err(|error| {
        let mut mapped = misconfigured(format!(
            "setting up HTTPS with the system's root certificates: {error}; \
             install them, for example the package ca-certificates"
        ));
        mapped.source = Some(Box::new(error));
        mapped
    })
}

fn base(config: &OpenAiConfig) -> Result<Url, ProviderError> {
    let wrong = |what: &str| misconfigured(format!("the base URL {what}"));
    let url = Url::parse(config.base_url.trim())
        .map_err(|error| wrong(&format!("is no URL ({error}): write it as https://host/v1")))?;
    if !url.username().is_empty() || url.password().is_some() {
        return Err(wrong("holds a user name or a password: give a key instead"));
    }
    if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
        return Err(wrong(
            "is neither http nor https: write it as https://host/v1",
        ));
    }
    if url.fragment().is_some() {
        return Err(wrong("holds a fragment (#): leave it out"));
    }
    Ok(url)
}

/// The headers of every request. async-openai knows OpenAI's own; each value is checked before,
/// because it takes them on trust.
fn headers(config: &OpenAiConfig) -> Result<HeaderMap, ProviderError> {
    let value = |name: &str, text: &str| {
        HeaderValue::from_str(text).map_err(|_| {
            misconfigured(format!(
                "the {name} cannot be sent as a header: it holds a line break or another \
                 character that is not allowed there"
            ))
        })
    };
    let key = config.api_key.as_ref().map_or("", Secret::expose).trim();
    let organisation = config.organisation.as_deref().unwrap_or_default();
    let project = config.project.as_deref().unwrap_or_default();
    for (name, text) in [
        ("API key", key),
        ("organisation", organisation),
        ("project", project),
    ] {
        value(name, text)?;
    }
    let known = OpenAIConfig::default()
        .with_api_base(config.base_url.as_str())
        .with_api_key(key)
        .with_org_id(organisation)
        .with_project_id(project);
    let mut headers = known.headers();
    if key.is_empty() {
        headers.remove(AUTHORIZATION);
    }
    for (name, text) in &config.headers {
        let parsed = HeaderName::from_bytes(name.as_bytes())
            .map_err(|_| misconfigured(format!("{name} is no name of a header")))?;
        headers.insert(parsed, value(&format!("header {name}"), text.expose())?);
    }
    for value in headers.values_mut() {
        value.set_sensitive(true);
    }
    headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
    Ok(headers)
}

fn is_loopback(url: &Url) -> bool {
    let Some(host) = url.host_str() else {
        return false;
    };
    let host = host.trim_matches(['[', ']']);
    let address: Option<std::net::IpAddr> = host.parse().ok();
    host == "localhost" || address.is_some_and(|address| address.is_loopback())
}

fn misconfigured(context: String) -> ProviderError {
    ProviderError::new(FailureKind::InvalidRequest, Retry::Never, context)
}

#[cfg(test)]
#[path = "client_tests.rs"]
mod tests;
