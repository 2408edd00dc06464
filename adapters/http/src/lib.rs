#![doc = include_str!("../README.md")]

mod body;
mod config;
mod public;
#[cfg(feature = "websocket")]
mod socket;

use std::error::Error;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::Stream;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue, SET_COOKIE};
use reqwest::{Client, ClientBuilder, Method, Request, Response, Url, redirect};
use windlass_ports::sync::Mutex;
use windlass_ports::{
    Wire, WireBody, WireError, WireErrorKind, WireHeader, WireHeaders, WireRequest, WireResponse,
};

use crate::body::SizedBody;

pub use config::{HttpConfig, TlsVersion};
pub use public::public_wire;
/// Reads event streams and holds tokens, for clients of HTTP APIs that are no providers.
pub use windlass_kit_http::{Secret, SseCaps, SseEvent, SseParser, is_loopback};

/// The longest that establishing a connection may take, whatever a request's own limit.
const CONNECT: Duration = Duration::from_secs(60);

/// A wire for requests to this base URL: HTTP/1.1, with rustls and the system's root certificates
/// where the URL is `https`, and through the environment's proxy where it is not on this machine.
///
/// # Errors
/// [`WireError`] of kind `Invalid` when the base URL is none, or root certificates for HTTPS are
/// missing.
pub fn http_wire(base_url: &str) -> Result<Arc<dyn Wire>, WireError> {
    http_wire_with(&HttpConfig::default(), base_url)
}

/// The same, with the network used as configured.
///
/// # Errors
/// [`WireError`] of kind `Invalid` when the base URL is none, the configuration cannot be used, or
/// root certificates for HTTPS are missing.
pub fn http_wire_with(config: &HttpConfig, base_url: &str) -> Result<Arc<dyn Wire>, WireError> {
    let base = Url::parse(base_url.trim())
        .map_err(|error| invalid(format!("the base URL is no URL ({error})")))?;
    Ok(wire_of(built(builder(config, &base)?)?))
}

fn wire_of(client: Client) -> Arc<dyn Wire> {
    let last = Mutex::default();
    Arc::new(HttpWire { client, last })
}

struct HttpWire {
    client: Client,
    /// Target of the last request: the next one is nearly always the same.
    last: Mutex<Option<Arc<CachedTarget>>>,
}

/// Target and fixed headers of a request, as reqwest types.
struct CachedTarget {
    url: String,
    headers: WireHeaders,
    parsed: Url,
    map: HeaderMap,
}

impl HttpWire {
    /// The target of a request, read anew only where it is not that of the last one.
    fn target(&self, request: &WireRequest) -> Result<Arc<CachedTarget>, WireError> {
        let last = || self.last.lock();
        let same =
            |one: &&Arc<CachedTarget>| one.url == request.url && one.headers == request.headers;
        if let Some(target) = last().as_ref().filter(same) {
            return Ok(target.clone());
        }
        let target = Arc::new(CachedTarget::of(request)?);
        *last() = Some(target.clone());
        Ok(target)
    }
}

#[async_trait]
impl Wire for HttpWire {
    async fn send(&self, request: WireRequest) -> Result<WireResponse, WireError> {
        let head_ms = request.head_ms;
        let target = self.target(&request)?;
        let sent = self.client.execute(translated(&target, request)?);
        let response = async { sent.await.map_err(unreachable) };
        Ok(answered(in_time(head_ms, response).await?))
    }

    #[cfg(feature = "websocket")]
    async fn open(
        &self,
        request: WireRequest,
        most_bytes: usize,
    ) -> Result<windlass_ports::WireOpenOutcome, WireError> {
        socket::open(&self.client, request, most_bytes).await
    }
}

/// Waits for the head of a response, as long as it may take.
async fn in_time<T>(
    head_ms: u64,
    head: impl Future<Output = Result<T, WireError>>,
) -> Result<T, WireError> {
    let wait = Duration::from_millis(head_ms);
    tokio::time::timeout(wait, head).await.unwrap_or_else(|_| {
        let context = format!("no response within {head_ms} ms");
        Err(WireError::new(WireErrorKind::HeadTimeout, context))
    })
}

fn answered(response: Response) -> WireResponse {
    WireResponse {
        status: response.status().as_u16(),
        headers: response.headers().iter().map(header).collect(),
        body: Box::new(HttpBody(Box::pin(response.bytes_stream()))),
    }
}

struct HttpBody(Pin<Box<dyn Stream<Item = reqwest::Result<Bytes>> + Send>>);

impl WireBody for HttpBody {
    fn poll_chunk(&mut self, cx: &mut Context<'_>) -> Poll<Result<Option<Bytes>, WireError>> {
        let next = ready!(self.0.as_mut().poll_next(cx));
        let broken = |error| failed(WireErrorKind::Broken, error);
        Poll::Ready(next.transpose().map_err(broken))
    }
}

impl CachedTarget {
    fn of(request: &WireRequest) -> Result<Self, WireError> {
        let parsed = Url::parse(&request.url).map_err(|_| invalid("the URL is none"))?;
        let mut map = HeaderMap::new();
        for header in request.headers.iter() {
            let name = HeaderName::from_bytes(header.name.as_bytes())
                .map_err(|_| invalid(format!("{:?} is no name of a header", header.name)))?;
            let mut value = HeaderValue::from_maybe_shared(header.value.clone()).map_err(|_| {
                invalid(format!("the header {name} has a value that cannot be sent"))
            })?;
            value.set_sensitive(header.sensitive);
            map.append(name, value);
        }
        Ok(Self { url: request.url.clone(), headers: request.headers.clone(), parsed, map })
    }
}

fn translated(target: &CachedTarget, request: WireRequest) -> Result<Request, WireError> {
    let method =
        Method::from_bytes(request.method.as_bytes()).map_err(|_| invalid("the method is none"))?;
    let mut sent = Request::new(method, target.parsed.clone());
    *sent.headers_mut() = target.map.clone();
    *sent.body_mut() = request.body.map(|body| reqwest::Body::wrap(SizedBody::new(body)));
    Ok(sent)
}

fn header((name, value): (&HeaderName, &HeaderValue)) -> WireHeader {
    WireHeader {
        name: name.as_str().to_owned(),
        value: Bytes::copy_from_slice(value.as_bytes()),
        sensitive: value.is_sensitive() || name == SET_COOKIE,
    }
}

fn unreachable(error: reqwest::Error) -> WireError {
    let kind = match error.is_timeout() {
        true => WireErrorKind::ConnectTimeout,
        false if is_distrust(&error) => WireErrorKind::Untrusted,
        false => WireErrorKind::Unreachable,
    };
    failed(kind, error)
}

/// Returns true if one side does not trust the other, or both share no TLS version: a retry would
/// fail in the same way.
fn is_distrust(error: &(dyn Error + 'static)) -> bool {
    if let Some(error) = error.downcast_ref::<rustls::Error>() {
        return matches!(
            error,
            rustls::Error::InvalidCertificate(_)
                | rustls::Error::NoCertificatesPresented
                | rustls::Error::UnsupportedNameType
                | rustls::Error::PeerIncompatible(_)
                | rustls::Error::AlertReceived(_)
        );
    }
    // An I/O error hides the error that it was made of behind that one's own cause.
    let io = error.downcast_ref::<std::io::Error>();
    match io.and_then(std::io::Error::get_ref) {
        Some(inner) => is_distrust(inner),
        None => error.source().is_some_and(is_distrust),
    }
}

/// An error in the words of its deepest cause; the URL, whose query may hold a key, is left out.
fn failed(kind: WireErrorKind, error: reqwest::Error) -> WireError {
    let error = error.without_url();
    let mut cause: &dyn Error = &error;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    WireError::new(kind, cause.to_string()).caused_by(error)
}

fn invalid(what: impl Into<String>) -> WireError {
    WireError::new(WireErrorKind::Invalid, what)
}

fn builder(config: &HttpConfig, base: &Url) -> Result<ClientBuilder, WireError> {
    let builder = Client::builder()
        .user_agent(concat!("windlass/", env!("CARGO_PKG_VERSION")))
        .redirect(redirect::Policy::none())
        .referer(false)
        .http1_only()
        .tcp_nodelay(true);
    let mut builder = config.apply(builder, is_loopback(base))?;
    if base.scheme() == "http" && !config.has_tls_proxy() {
        // TLS is never spoken, so no certificates are needed, nor read from the system.
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let tls = rustls::ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| invalid(format!("setting up TLS: {error}")))?
            .with_root_certificates(rustls::RootCertStore::empty())
            .with_no_client_auth();
        builder = builder.tls_backend_preconfigured(tls);
    } else if rustls::crypto::CryptoProvider::get_default().is_none() {
        // Another thread may have been faster, with a provider of its choice: that one serves too.
        let _ = rustls::crypto::ring::default_provider().install_default();
    }
    Ok(builder)
}

fn built(builder: ClientBuilder) -> Result<Client, WireError> {
    builder.build().map_err(|error| {
        invalid(format!(
            "setting up HTTPS with the system's root certificates: {error}; \
             install them, for example the package ca-certificates"
        ))
        .caused_by(error)
    })
}
