//! The client of one endpoint: one request out over the wire, the head of one response back, and
//! what is no success as an error.

use std::sync::Arc;
use std::time::Duration;

use async_openai::config::{Config as _, OpenAIConfig};
use bytes::Bytes;
use reqwest::Url;
use reqwest::header::{ACCEPT_ENCODING, AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};
use windlass_core::{FailureKind, Retry};
use windlass_ports::{
    ProviderError, Wire, WireBody, WireErrorKind, WireHeader, WireHeaders, WireRequest,
};

use crate::config::{OpenAiConfig, Secret};
use crate::error::{ERROR_BODY_BYTES, Origin};

/// How long the body of a refusal may take.
const REFUSAL: Duration = Duration::from_secs(10);

/// Sends requests to one endpoint.
pub(crate) struct Client {
    wire: Arc<dyn Wire>,
    base: Url,
    /// Those of a request without a body.
    bare: WireHeaders,
    /// Those of a request for a stream.
    streaming: WireHeaders,
    secrets: Vec<Secret>,
    keyed: bool,
}

/// The body of a success, with how its errors are worded.
pub(crate) type Answered = (Box<dyn WireBody>, Origin);

impl Client {
    pub(crate) fn new(config: &OpenAiConfig, wire: Arc<dyn Wire>) -> Result<Self, ProviderError> {
        let base = base(&config.base_url)?;
        let headers = headers(config)?;
        let bare: WireHeaders = headers.iter().map(header).collect();
        let mut streaming = bare.clone();
        streaming.push("content-type", "application/json", false);
        streaming.push("accept", "text/event-stream", false);
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
            wire,
            base,
            bare,
            streaming,
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

    /// Sends a request, with a body if it asks for a stream, and waits at most `wait` for the head
    /// of its response. A response that is not a success is an error.
    pub(crate) async fn send(
        &self,
        method: &'static str,
        url: &Url,
        origin: &Origin,
        body: Option<Vec<u8>>,
        wait: Duration,
    ) -> Result<Answered, ProviderError> {
        let headers = match body {
            Some(_) => &self.streaming,
            None => &self.bare,
        };
        let request = WireRequest {
            method,
            url: url.as_str().to_owned(),
            headers: headers.clone(),
            body: body.map(Bytes::from),
            head_ms: u64::try_from(wait.as_millis()).unwrap_or(u64::MAX),
        };
        let response = match self.wire.send(request).await {
            Ok(response) => response,
            Err(error) if error.kind == WireErrorKind::HeadTimeout => {
                let context = origin.slow(wait);
                return Err(origin.error(FailureKind::Timeout, Retry::Soon, context));
            }
            Err(error) => return Err(origin.unreachable(error)),
        };
        let (status, headers) = (response.status, response.headers);
        let origin = origin.answered(status, &headers);
        if !(200..300).contains(&status) {
            let body = refusal(response.body).await;
            return Err(origin.refused(&headers, &body));
        }
        if let Some(coding) = headers.get("content-encoding")
            && coding != b"identity"
        {
            let context = origin.coded();
            return Err(origin.error(FailureKind::Protocol, Retry::Never, context));
        }
        Ok((response.body, origin))
    }
}

/// The first bytes of a refusal's body, as far as they come in time.
async fn refusal(mut sent: Box<dyn WireBody>) -> Vec<u8> {
    let mut body = Vec::new();
    let read = async {
        while let Ok(Some(bytes)) = sent.chunk().await {
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

fn header((name, value): (&HeaderName, &HeaderValue)) -> WireHeader {
    WireHeader {
        name: name.as_str().to_owned(),
        value: Bytes::copy_from_slice(value.as_bytes()),
        sensitive: value.is_sensitive(),
    }
}

/// The base URL, if it is one that requests can be sent to.
pub(crate) fn base(base_url: &str) -> Result<Url, ProviderError> {
    let wrong = |what: &str| misconfigured(format!("the base URL {what}"));
    let url = Url::parse(base_url.trim())
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

/// Whether a URL leads to this machine.
pub(crate) fn is_loopback(url: &Url) -> bool {
    let Some(host) = url.host_str() else {
        return false;
    };
    let host = host.trim_matches(['[', ']']);
    let address: Option<std::net::IpAddr> = host.parse().ok();
    host == "localhost" || address.is_some_and(|address| address.is_loopback())
}

/// The error of a configuration that cannot be used.
pub(crate) fn misconfigured(context: String) -> ProviderError {
    ProviderError::new(FailureKind::InvalidRequest, Retry::Never, context)
}

#[cfg(test)]
#[path = "client_tests.rs"]
mod tests;
