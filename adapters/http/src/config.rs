//! Configuration of the network: proxies, certificates, connections.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use reqwest::{Certificate, ClientBuilder, Identity, NoProxy, Proxy, Url, tls};
use serde::Deserialize;
use windlass_ports::WireError;

use crate::{CONNECT, invalid};

/// The most bytes of a file of certificates or keys.
const PEM_BYTES: u64 = 4 * 1024 * 1024;
/// The most connections to one host that are kept open unused.
const MOST_IDLE: usize = 1_024;
/// The longest that an unused connection may be kept, in seconds.
const LONGEST_IDLE: u64 = 3_600;

/// Configuration of the network. Missing fields have the defaults of
/// [`http_wire`](crate::http_wire). Certificates are always verified.
#[derive(Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct HttpConfig {
    /// The proxy for all requests, `http://` or `https://`, or `none`; left out, what the
    /// environment says (`HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY`, `NO_PROXY`), and none for this
    /// machine. A name and a password in it are sent to the proxy, and never shown.
    pub proxy: Option<String>,
    /// Hosts that `proxy` is not used for: names, which hold for what is below them too,
    /// addresses, and blocks such as `10.0.0.0/8`.
    pub no_proxy: Vec<String>,
    /// A PEM file of root certificates that are trusted beside the system's.
    pub ca_file: Option<PathBuf>,
    /// A PEM file of the certificate, with its chain, that this client shows a server.
    pub client_certificate: Option<PathBuf>,
    /// The PEM file of its private key.
    pub client_key: Option<PathBuf>,
    /// The oldest TLS that is spoken; left out, 1.2.
    pub tls_min: Option<TlsVersion>,
    /// The longest that establishing a connection may take, in milliseconds, at most 60000;
    /// whatever it is, a request's own limit holds too.
    pub connect_ms: Option<u64>,
    /// Most idle connections to one host, at most 1024. Default: 1024, so that as many concurrent
    /// sessions do not open a connection for each request.
    pub idle_per_host: Option<usize>,
    /// Longest time that a connection stays idle, in seconds, at most 3600. Default: 60.
    pub idle_seconds: Option<u64>,
}

/// A version of TLS.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub enum TlsVersion {
    /// TLS version 1.2.
    #[serde(rename = "1.2")]
    V1_2,
    /// TLS version 1.3.
    #[serde(rename = "1.3")]
    V1_3,
}

impl fmt::Debug for HttpConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let proxy = self.proxy.as_deref().map(shown);
        f.debug_struct("HttpConfig")
            .field("proxy", &proxy)
            .field("no_proxy", &self.no_proxy)
            .field("ca_file", &self.ca_file)
            .field("client_certificate", &self.client_certificate)
            .field("client_key", &self.client_key)
            .field("tls_min", &self.tls_min)
            .field("connect_ms", &self.connect_ms)
            .field("idle_per_host", &self.idle_per_host)
            .field("idle_seconds", &self.idle_seconds)
            .finish()
    }
}

/// A proxy's address without what may be secret in it.
fn shown(proxy: &str) -> String {
    match Url::parse(proxy) {
        Ok(url) => format!("{}://{}", url.scheme(), url.host_str().unwrap_or_default()),
        Err(_) => String::from(if proxy == "none" { "none" } else { "[no URL]" }),
    }
}

impl HttpConfig {
    /// Takes paths that are not absolute as beside a folder, such as that of the file that holds
    /// this configuration.
    pub fn resolve(&mut self, folder: &Path) {
        let files = [&mut self.ca_file, &mut self.client_certificate, &mut self.client_key];
        for file in files.into_iter().flatten() {
            *file = folder.join(&*file);
        }
    }

    /// Returns true if TLS is spoken although the endpoint does not: to the proxy.
    pub(crate) fn has_tls_proxy(&self) -> bool {
        let proxy = self.proxy.as_deref().unwrap_or_default().trim();
        proxy.to_ascii_lowercase().starts_with("https:")
    }

    /// A builder of clients that use the network so.
    pub(crate) fn apply(
        &self,
        builder: ClientBuilder,
        loopback: bool,
    ) -> Result<ClientBuilder, WireError> {
        let builder = self.connections(builder)?;
        let builder = self.through(builder, loopback)?;
        self.trusting(builder)
    }

    fn connections(&self, builder: ClientBuilder) -> Result<ClientBuilder, WireError> {
        let most = u64::try_from(CONNECT.as_millis()).unwrap_or(u64::MAX);
        let connect = within("connect_ms", self.connect_ms.unwrap_or(most), 1..=most)?;
        let per_host = self.idle_per_host.unwrap_or(MOST_IDLE);
        let per_host = within("idle_per_host", per_host, 0..=MOST_IDLE)?;
        let seconds = self.idle_seconds.unwrap_or(60);
        let seconds = within("idle_seconds", seconds, 0..=LONGEST_IDLE)?;
        Ok(builder
            .connect_timeout(Duration::from_millis(connect))
            .pool_max_idle_per_host(per_host)
            .pool_idle_timeout(Duration::from_secs(seconds)))
    }

    fn through(&self, builder: ClientBuilder, loopback: bool) -> Result<ClientBuilder, WireError> {
        let Some(proxy) = self.proxy.as_deref().map(str::trim) else {
            if !self.no_proxy.is_empty() {
                return Err(invalid(
                    "no_proxy goes with a proxy: name one, or set NO_PROXY in the environment",
                ));
            }
            return Ok(if loopback { builder.no_proxy() } else { builder });
        };
        if proxy == "none" {
            return Ok(builder.no_proxy());
        }
        let unfit = |why: &str| {
            invalid(format!(
                "the proxy {} {why}: give http://HOST:PORT, https://HOST:PORT or none",
                shown(proxy)
            ))
        };
        let url = Url::parse(proxy).map_err(|_| unfit("is no URL"))?;
        match url.scheme() {
            "http" | "https" if url.host_str().is_some() => {}
            "socks4" | "socks4a" | "socks5" | "socks5h" => {
                return Err(unfit("speaks SOCKS, which is not supported"));
            }
            _ => return Err(unfit("is neither http nor https")),
        }
        let besides = self.no_proxy.join(",");
        let proxy = Proxy::all(url)
            .map_err(|_| unfit("cannot be used"))?
            .no_proxy(NoProxy::from_string(&besides));
        Ok(builder.no_proxy().proxy(proxy))
    }

    fn trusting(&self, mut builder: ClientBuilder) -> Result<ClientBuilder, WireError> {
        builder = builder.tls_version_min(match self.tls_min {
            Some(TlsVersion::V1_2) | None => tls::Version::TLS_1_2,
            Some(TlsVersion::V1_3) => tls::Version::TLS_1_3,
        });
        if let Some(path) = &self.ca_file {
            let pem = pem("ca_file", path)?;
            let certificates = Certificate::from_pem_bundle(&pem).unwrap_or_default();
            if certificates.is_empty() {
                return Err(unusable("ca_file", path, "holds no certificate in PEM"));
            }
            builder = builder.tls_certs_merge(certificates);
        }
        match (&self.client_certificate, &self.client_key) {
            (None, None) => Ok(builder),
            (Some(certificate), Some(key)) => {
                let mut both = pem("client_key", key)?;
                both.push(b'\n');
                both.extend(pem("client_certificate", certificate)?);
                let identity = Identity::from_pem(&both).map_err(|_| {
                    let what = "and client_key are no certificate and key in PEM";
                    unusable("client_certificate", certificate, what)
                })?;
                Ok(builder.identity(identity))
            }
            (Some(_), None) | (None, Some(_)) => Err(invalid(
                "client_certificate and client_key go together: give both files or neither",
            )),
        }
    }
}

fn within<T: PartialOrd + fmt::Display>(
    name: &str,
    value: T,
    range: std::ops::RangeInclusive<T>,
) -> Result<T, WireError> {
    if range.contains(&value) {
        return Ok(value);
    }
    let (least, most) = range.into_inner();
    Err(invalid(format!("{name} is {value}, and must be from {least} to {most}")))
}

fn pem(name: &str, path: &Path) -> Result<Vec<u8>, WireError> {
    let unreadable =
        |error: std::io::Error| unusable(name, path, &format!("cannot be read: {error}"));
    let about = std::fs::metadata(path).map_err(unreadable)?;
    if !about.is_file() || about.len() > PEM_BYTES {
        return Err(unusable(name, path, "is no file, or one of more than 4 MiB"));
    }
    std::fs::read(path).map_err(unreadable)
}

fn unusable(name: &str, path: &Path, what: &str) -> WireError {
    invalid(format!("{name} {} {what}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> HttpConfig {
        serde_json::from_str(text).unwrap()
    }

    fn refused(text: &str) -> String {
        let wire = crate::http_wire_with(&read(text), "https://host/v1");
        wire.err().unwrap().to_string()
    }

    #[test]
    fn what_is_not_known_is_refused() {
        for text in [r#"{"insecure":true}"#, r#"{"tls_min":"1.1"}"#, r#"{"idle_seconds":-1}"#] {
            assert!(serde_json::from_str::<HttpConfig>(text).is_err(), "{text}");
        }
    }

    #[test]
    fn what_cannot_be_used_says_why() {
        for (text, why) in [
            (r#"{"proxy":"socks5://p:1"}"#, "SOCKS, which is not supported"),
            (r#"{"proxy":"p:1"}"#, "neither http nor https"),
            (r#"{"proxy":"there"}"#, "is no URL"),
            (r#"{"no_proxy":["a"]}"#, "goes with a proxy"),
            (r#"{"connect_ms":0}"#, "from 1 to 60000"),
            (r#"{"idle_seconds":3601}"#, "from 0 to 3600"),
            (r#"{"idle_per_host":1025}"#, "from 0 to 1024"),
            (r#"{"ca_file":"missing.pem"}"#, "missing.pem cannot be read"),
            (r#"{"ca_file":"Cargo.toml"}"#, "holds no certificate"),
            (r#"{"client_key":"Cargo.toml"}"#, "go together"),
            (
                r#"{"client_key":"Cargo.toml","client_certificate":"Cargo.toml"}"#,
                "no certificate and key",
            ),
        ] {
            let words = refused(text);
            assert!(words.contains(why), "{text}: {words}");
        }
    }

    #[test]
    fn a_proxys_password_is_never_shown() {
        let config = read(r#"{"proxy":"http://me:s3cret@p:1"}"#);
        let words = format!("{config:?}");
        assert!(words.contains("http://p") && !words.contains("s3cret"), "{words}");
        let words = refused(r#"{"proxy":"ftp://me:s3cret@p:1"}"#);
        assert!(!words.contains("s3cret"), "{words}");
    }
}
