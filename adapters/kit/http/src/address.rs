//! Addresses: the base URL of an endpoint, checked before anything is sent.

use std::borrow::Cow;

use url::Url;
use windlass_core::{FailureKind, Retry};
use windlass_ports::ProviderError;

/// Parses a base URL that requests can be sent to.
///
/// # Errors
/// [`ProviderError`] of kind `InvalidRequest` when the URL is unusable.
pub fn base(base_url: &str) -> Result<Url, ProviderError> {
    let wrong = |what: &str| misconfigured(format!("the base URL {what}"));
    let url = Url::parse(base_url.trim())
        .map_err(|error| wrong(&format!("is no URL ({error}): write it as https://host/v1")))?;
    if !url.username().is_empty() || url.password().is_some() {
        return Err(wrong("holds a user name or a password: give a key instead"));
    }
    if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
        return Err(wrong("is neither http nor https: write it as https://host/v1"));
    }
    if url.fragment().is_some() {
        return Err(wrong("holds a fragment (#): leave it out"));
    }
    Ok(url)
}

/// Returns a base URL with this path if it has none. What is no URL is returned as it is; [`base`]
/// rejects it.
#[must_use]
pub fn with_path<'a>(base_url: &'a str, path: &str) -> Cow<'a, str> {
    match Url::parse(base_url.trim()) {
        Ok(mut url) if url.path() == "/" => {
            url.set_path(path);
            Cow::Owned(url.into())
        }
        Ok(_) | Err(_) => Cow::Borrowed(base_url),
    }
}

/// Returns true if a URL refers to this machine.
#[must_use]
pub fn is_loopback(url: &Url) -> bool {
    let Some(host) = url.host_str() else {
        return false;
    };
    let host = host.trim_matches(['[', ']']);
    let address: Option<std::net::IpAddr> = host.parse().ok();
    host == "localhost" || address.is_some_and(|address| address.is_loopback())
}

/// Creates the error of an unusable configuration.
#[must_use]
pub fn misconfigured(context: String) -> ProviderError {
    ProviderError::new(FailureKind::InvalidRequest, Retry::Never, context)
}
