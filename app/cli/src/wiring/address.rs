//! Address of a provider, and its source. A key belongs to a host: the provider's own, or one that
//! this process was configured with. A log configures nothing; it may be somebody else's.

use url::{Origin, Url};

use super::ready_provider::env_value;
use crate::exit::{ExitKind, Failure};
use crate::present::visible;

/// Base URL of a provider.
pub(super) struct Address {
    /// The base URL; `None` for the provider's own.
    pub(super) url: Option<String>,
    pub(super) source: AddressSource,
}

/// Source of a base URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AddressSource {
    /// A flag, a variable, or the provider itself.
    Configured,
    /// The settings of a session.
    Log,
}

impl Address {
    /// Rejects an address of a log if one of these variables holds a key, unless a configured
    /// address has the same host.
    pub(super) fn may_have_key(
        &self,
        configured: &[Option<&str>],
        keys: &[&str],
    ) -> Result<(), Failure> {
        let Some(url) = self.url.as_deref().filter(|_| self.source == AddressSource::Log) else {
            return Ok(());
        };
        let known = configured.iter().flatten();
        if origin(url)
            .is_some_and(|place| known.clone().any(|one| origin(one) == Some(place.clone())))
        {
            return Ok(());
        }
        let Some(key) = keys.iter().find(|key| env_value(key).is_some()) else {
            return Ok(());
        };
        let words = visible(&format!(
            "{key} is not sent to {url}: only the session's log names this address, which somebody \
             else may have written. If you trust it, name it with --base-url {url}; else continue \
             at another provider with --provider, or unset {key}"
        ));
        Err(Failure::new(ExitKind::Provider, words))
    }
}

/// Returns the scheme, host and port of a URL.
fn origin(url: &str) -> Option<Origin> {
    Url::parse(url.trim()).ok().map(|url| url.origin()).filter(Origin::is_tuple)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_known_by_scheme_name_and_port() {
        let same = |one: &str, other: &str| origin(one).is_some() && origin(one) == origin(other);
        assert!(same("https://API.openai.com/v1", "https://api.openai.com:443/v2"));
        for other in [
            "http://api.openai.com/v1",
            "https://api.openai.com:8443/v1",
            "https://api.openai.com.evil.example/v1",
            "https://api.openai.com@evil.example/v1",
            "file:///v1",
            "",
        ] {
            assert!(!same("https://api.openai.com/v1", other), "{other}");
        }
    }
}
