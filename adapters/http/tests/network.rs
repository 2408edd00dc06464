//! How the network is used, over loopback: who is trusted, which proxy is asked, where a key goes.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};
use tempfile::TempDir;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::sync::{Barrier, mpsc};
use tokio_rustls::TlsAcceptor;
use windlass_core::Retry;
use windlass_http::{HttpConfig, TlsVersion, http_wire_with};
use windlass_ports::{WireError, WireErrorKind, WireHeaders, WireRequest};

/// A certificate of localhost that nobody signed but itself, as files and as a server's own.
struct SelfSigned {
    folder: TempDir,
    certified: rcgen::CertifiedKey<rcgen::KeyPair>,
}

impl SelfSigned {
    fn new() -> Self {
        let names = vec![String::from("localhost"), String::from("127.0.0.1")];
        let certified = rcgen::generate_simple_self_signed(names).unwrap();
        let folder = TempDir::new().unwrap();
        let write = |name: &str, text: String| {
            std::fs::write(folder.path().join(name), text).unwrap();
        };
        write("own.pem", certified.cert.pem());
        write("key.pem", certified.signing_key.serialize_pem());
        Self { folder, certified }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn roots(&self) -> RootCertStore {
        let mut roots = RootCertStore::empty();
        roots.add(self.certified.cert.der().clone()).unwrap();
        roots
    }

    /// A server with this certificate, which wants to see one of `clients` where those are given.
    fn server(&self, clients: Option<&SelfSigned>) -> ServerConfig {
        let ring = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ServerConfig::builder_with_provider(ring.clone())
            .with_safe_default_protocol_versions()
            .unwrap();
        let builder = match clients {
            None => builder.with_no_client_auth(),
            Some(clients) => {
                let roots = Arc::new(clients.roots());
                let verifier = WebPkiClientVerifier::builder_with_provider(roots, ring);
                builder.with_client_cert_verifier(verifier.build().unwrap())
            }
        };
        let key = PrivatePkcs8KeyDer::from(self.certified.signing_key.serialize_der());
        let chain = vec![self.certified.cert.der().clone()];
        builder.with_single_cert(chain, PrivateKeyDer::Pkcs8(key)).unwrap()
    }
}

/// What a server saw: the head of each request.
type RequestHeads = mpsc::UnboundedReceiver<String>;

/// A server that answers every request alike, over TLS where it has a configuration for that.
async fn serve(tls: Option<ServerConfig>, answer: String) -> (u16, RequestHeads) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let (tell, seen) = mpsc::unbounded_channel();
    let acceptor = tls.map(|tls| TlsAcceptor::from(Arc::new(tls)));
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            match &acceptor {
                None => one(stream, &tell, &answer).await,
                Some(acceptor) => {
                    if let Ok(stream) = acceptor.accept(stream).await {
                        one(stream, &tell, &answer).await;
                    }
                }
            }
        }
    });
    (port, seen)
}

async fn one(
    mut stream: impl AsyncRead + AsyncWrite + Unpin,
    tell: &mpsc::UnboundedSender<String>,
    answer: &str,
) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        match stream.read_u8().await {
            Ok(byte) => head.push(byte),
            Err(_) => return,
        }
    }
    let _ = tell.send(String::from_utf8_lossy(&head).into_owned());
    let _ = stream.write_all(answer.as_bytes()).await;
    let _ = stream.shutdown().await;
}

fn fine() -> String {
    String::from("HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
}

async fn ask(config: &HttpConfig, url: &str) -> Result<u16, WireError> {
    let wire = http_wire_with(config, url)?;
    let mut headers = WireHeaders::default();
    headers.push("authorization", "Bearer k3y", true);
    let request =
        WireRequest { method: "GET", url: url.to_owned(), headers, body: None, head_ms: 60_000 };
    Ok(wire.send(request).await?.status)
}

fn trusting(made: &SelfSigned) -> HttpConfig {
    HttpConfig { ca_file: Some(made.file("own.pem")), ..HttpConfig::default() }
}

#[tokio::test]
async fn a_server_is_trusted_with_its_authority_and_refused_for_good_without() {
    let made = SelfSigned::new();
    let (port, mut seen) = serve(Some(made.server(None)), fine()).await;
    let url = format!("https://localhost:{port}/v1");
    let refused = ask(&HttpConfig::default(), &url).await.unwrap_err();
    assert_eq!(refused.kind, WireErrorKind::Untrusted, "{refused}");
    assert_eq!(refused.retry, Retry::Never);
    let other = SelfSigned::new();
    let refused = ask(&trusting(&other), &url).await.unwrap_err();
    assert_eq!(refused.kind, WireErrorKind::Untrusted, "{refused}");
    assert!(seen.try_recv().is_err(), "a request went out");
    assert_eq!(ask(&trusting(&made), &url).await.unwrap(), 200);
    assert!(seen.recv().await.unwrap().starts_with("GET /v1 "));
    let newest = HttpConfig { tls_min: Some(TlsVersion::V1_3), ..trusting(&made) };
    assert_eq!(ask(&newest, &url).await.unwrap(), 200);
}

#[tokio::test]
async fn a_server_of_another_name_is_refused() {
    let made = SelfSigned::new();
    let (port, mut seen) = serve(Some(made.server(None)), fine()).await;
    let url = format!("https://[::ffff:127.0.0.1]:{port}/v1");
    let refused = ask(&trusting(&made), &url).await.unwrap_err();
    assert_eq!(refused.kind, WireErrorKind::Untrusted, "{refused}");
    assert!(seen.try_recv().is_err(), "a request went out");
}

#[tokio::test]
async fn a_client_shows_its_certificate_where_one_is_wanted() {
    let (made, client) = (SelfSigned::new(), SelfSigned::new());
    let (port, mut seen) = serve(Some(made.server(Some(&client))), fine()).await;
    let url = format!("https://localhost:{port}/v1");
    let refused = ask(&trusting(&made), &url).await.unwrap_err();
    assert_eq!(refused.retry, Retry::Never, "{refused}");
    assert!(seen.try_recv().is_err(), "a request went out");
    let showing = HttpConfig {
        client_certificate: Some(client.file("own.pem")),
        client_key: Some(client.file("key.pem")),
        ..trusting(&made)
    };
    assert_eq!(ask(&showing, &url).await.unwrap(), 200);
}

#[tokio::test]
async fn a_proxy_is_asked_for_all_but_what_it_is_not_for() {
    let (proxy, mut asked) = serve(None, fine()).await;
    let (port, mut seen) = serve(None, fine()).await;
    let mut config = HttpConfig {
        proxy: Some(format!("http://me:s3cret@127.0.0.1:{proxy}")),
        ..HttpConfig::default()
    };
    let url = format!("http://127.0.0.1:{port}/v1");
    assert_eq!(ask(&config, &url).await.unwrap(), 200);
    let head = asked.recv().await.unwrap();
    assert!(head.starts_with(&format!("GET {url} ")), "{head}");
    assert!(head.to_ascii_lowercase().contains("proxy-authorization: basic "));
    // A tunnel is asked for without the key, which is meant for the other end.
    let tunnelled = ask(&config, "https://somewhere.invalid/v1").await;
    assert!(tunnelled.is_err(), "the proxy opens no tunnel");
    let head = asked.recv().await.unwrap();
    assert!(head.starts_with("CONNECT somewhere.invalid:443 "), "{head}");
    assert!(!head.contains("k3y"), "{head}");
    assert!(seen.try_recv().is_err(), "a request went past the proxy");
    config.no_proxy = vec![String::from("127.0.0.1")];
    assert_eq!(ask(&config, &url).await.unwrap(), 200);
    assert!(seen.recv().await.unwrap().starts_with("GET /v1 "));
    let none = HttpConfig { proxy: Some(String::from("none")), ..HttpConfig::default() };
    assert_eq!(ask(&none, &url).await.unwrap(), 200);
    assert!(asked.try_recv().is_err(), "the proxy was asked");
}

#[tokio::test]
async fn a_redirect_to_another_host_takes_the_key_nowhere() {
    let (other, mut seen) = serve(None, fine()).await;
    let moved = format!(
        "HTTP/1.1 307 Temporary Redirect\r\nlocation: http://127.0.0.1:{other}/v1\r\n\
         content-length: 0\r\nconnection: close\r\n\r\n"
    );
    let (port, mut asked) = serve(None, moved).await;
    let url = format!("http://localhost:{port}/v1");
    assert_eq!(ask(&HttpConfig::default(), &url).await.unwrap(), 307);
    assert!(asked.recv().await.unwrap().contains("k3y"));
    assert!(seen.try_recv().is_err(), "the redirect was followed");
}

/// A server that keeps its connections open, and answers once `round` requests have arrived.
/// Returns its port and the number of connections so far.
async fn serve_rounds(round: usize) -> (u16, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let (connections, all) = (Arc::new(AtomicUsize::new(0)), Arc::new(Barrier::new(round)));
    let accepted = connections.clone();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            accepted.fetch_add(1, Ordering::SeqCst);
            let all = all.clone();
            tokio::spawn(async move {
                let mut head = Vec::new();
                while let Ok(byte) = stream.read_u8().await {
                    head.push(byte);
                    if head.ends_with(b"\r\n\r\n") {
                        head.clear();
                        all.wait().await;
                        let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n";
                        stream.write_all(answer).await.unwrap();
                    }
                }
            });
        }
    });
    (port, connections)
}

#[tokio::test]
async fn requests_of_many_sessions_use_the_connections_of_earlier_ones() {
    const SESSIONS: usize = 200;
    let (port, connections) = serve_rounds(SESSIONS).await;
    let url = format!("http://127.0.0.1:{port}/v1");
    let wire = http_wire_with(&HttpConfig::default(), &url).unwrap();
    for _ in 0..3 {
        let request = || WireRequest {
            method: "GET",
            url: url.clone(),
            headers: WireHeaders::default(),
            body: None,
            head_ms: 60_000,
        };
        let sent = (0..SESSIONS).map(|_| wire.send(request()));
        for response in futures_util::future::join_all(sent).await {
            let mut body = response.unwrap().body;
            assert!(body.chunk().await.unwrap().is_none());
        }
    }
    // A connection that becomes idle just after the next request has looked for one is not used by
    // it, so a few more than one a session are possible.
    let opened = connections.load(Ordering::SeqCst);
    assert!(opened < SESSIONS + SESSIONS / 2, "{opened} connections");
}
