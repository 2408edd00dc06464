//! Fetching: one GET, redirects on the same host, a bounded body.

use std::time::Duration;

use url::Url;
use windlass_ports::{Wire, WireError, WireHeaders, WireRequest, WireResponse};

/// Most redirects that are followed.
const REDIRECTS: usize = 5;
/// Most bytes of a body that are read.
const BODY_BYTES: usize = 8 * 1024 * 1024;
/// Most bytes of an error page that are shown.
const ERROR_BYTES: usize = 2_000;
const ACCEPT: &str = "text/markdown, text/html;q=0.9, application/xhtml+xml;q=0.9, text/*;q=0.8, application/json;q=0.8, */*;q=0.1";

/// A response that was received.
#[derive(Debug)]
pub(crate) struct Body {
    pub(crate) url: Url,
    /// Value of the header `content-type`; empty without one.
    pub(crate) content_type: String,
    pub(crate) bytes: Vec<u8>,
    /// True if the body goes on.
    pub(crate) cut: bool,
}

/// Reason for which there is no page, in words for the model.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FetchFailure {
    #[error("{0:?} is no address of a page: give a complete http or https URL without a password")]
    Address(String),
    #[error("cannot fetch the page: {0}")]
    Wire(#[from] WireError),
    #[error("the page did not come within {} s", .0.as_secs_f32())]
    Late(Duration),
    #[error("the server answered with the status {status}{text}")]
    Status { status: u16, text: String },
    #[error(
        "the page redirects to {0}, on another host. It was not followed: fetch that address if \
         it is what you need"
    )]
    OtherHost(Url),
    #[error("the page redirects more than {REDIRECTS} times, last to {0}")]
    Redirects(Url),
    #[error("the page has no text: it is {content_type}, {bytes} bytes{more}")]
    NoText { content_type: String, bytes: usize, more: &'static str },
    #[error("the page cannot be read: {0}")]
    Unreadable(String),
}

/// Fetches a page. `wait` limits the wait for each head; the caller limits the whole.
pub(crate) async fn fetch(
    wire: &dyn Wire,
    address: &str,
    wait: Duration,
) -> Result<Body, FetchFailure> {
    let mut url = parsed(address)?;
    for _ in 0..=REDIRECTS {
        let response = wire.send(request(&url, wait)).await?;
        let Some(to) = redirect(&url, &response) else {
            return received(url, response).await;
        };
        if !is_same_host(&url, &to) {
            return Err(FetchFailure::OtherHost(to));
        }
        url = to;
    }
    Err(FetchFailure::Redirects(url))
}

fn parsed(address: &str) -> Result<Url, FetchFailure> {
    let refused = || FetchFailure::Address(address.chars().take(200).collect());
    let mut url = Url::parse(address.trim()).map_err(|_| refused())?;
    let secret = !url.username().is_empty() || url.password().is_some();
    if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() || secret {
        return Err(refused());
    }
    url.set_fragment(None);
    Ok(url)
}

fn request(url: &Url, wait: Duration) -> WireRequest {
    let mut headers = WireHeaders::default();
    headers.push("accept", ACCEPT, false);
    headers.push("accept-encoding", "identity", false);
    WireRequest {
        method: "GET",
        url: url.to_string(),
        headers,
        body: None,
        head_ms: u64::try_from(wait.as_millis()).unwrap_or(u64::MAX),
    }
}

/// Returns the address that a response redirects to.
fn redirect(from: &Url, response: &WireResponse) -> Option<Url> {
    let location = matches!(response.status, 301 | 302 | 303 | 307 | 308)
        .then(|| header(response, "location"))
        .flatten()?;
    parsed(from.join(&location).ok()?.as_str()).ok()
}

/// Returns true if a redirect stays with its host. From `http` to `https` it does.
fn is_same_host(from: &Url, to: &Url) -> bool {
    let upgraded = from.scheme() == "http"
        && to.scheme() == "https"
        && (from.port(), to.port()) == (None, None);
    let same =
        (from.scheme(), from.port_or_known_default()) == (to.scheme(), to.port_or_known_default());
    from.host_str() == to.host_str() && (same || upgraded)
}

fn header(response: &WireResponse, name: &str) -> Option<String> {
    let found = response.headers.iter().find(|header| header.name.eq_ignore_ascii_case(name))?;
    Some(String::from_utf8_lossy(&found.value).into_owned())
}

async fn received(url: Url, mut response: WireResponse) -> Result<Body, FetchFailure> {
    let content_type = header(&response, "content-type").unwrap_or_default();
    let failed = !(200..300).contains(&response.status);
    let most = if failed { ERROR_BYTES } else { BODY_BYTES };
    let (mut bytes, mut cut) = (Vec::new(), false);
    while let Some(chunk) = response.body.chunk().await? {
        let room = most.saturating_sub(bytes.len());
        bytes.extend_from_slice(chunk.get(..room).unwrap_or(&chunk));
        if chunk.len() > room {
            cut = true;
            break;
        }
    }
    if failed {
        let (status, said) = (response.status, String::from_utf8_lossy(&bytes).into_owned());
        let text = match said.trim() {
            "" => String::new(),
            said => format!(":\n{said}"),
        };
        return Err(FetchFailure::Status { status, text });
    }
    Ok(Body { url, content_type, bytes, cut })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_addresses_without_secrets_are_fetched() {
        for good in ["http://a.example", " https://a.example/x?y#z\n", "HTTPS://A.example"] {
            assert!(parsed(good).is_ok(), "{good}");
        }
        for bad in
            ["", "a.example", "file:///etc/passwd", "ftp://a.example", "http://u:p@a.example"]
        {
            assert!(parsed(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_redirect_stays_with_its_host_or_is_upgraded() {
        let at = |url: &str| Url::parse(url).unwrap();
        for (from, to, same) in [
            ("http://a.example/x", "http://a.example/y", true),
            ("http://a.example/x", "https://a.example/x", true),
            ("https://a.example/x", "http://a.example/x", false),
            ("http://a.example:8080", "https://a.example:8080", false),
            ("https://a.example", "https://a.example:444", false),
            ("https://a.example", "https://b.example", false),
            ("https://a.example", "https://www.a.example", false),
        ] {
            assert_eq!(is_same_host(&at(from), &at(to)), same, "{from} {to}");
        }
    }
}
