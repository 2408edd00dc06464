//! Request headers of an endpoint: validated before anything is sent, and secret.

use std::collections::BTreeMap;

use bytes::Bytes;
use http::{HeaderName, HeaderValue};
use windlass_ports::{ProviderError, WireHeaders};

use crate::address::misconfigured;
use crate::secret::Secret;

/// Headers of every request to one endpoint. Their values count as secrets.
#[derive(Clone, Default)]
pub struct Headers {
    list: BTreeMap<String, Bytes>,
    secrets: Vec<Secret>,
}

impl Headers {
    /// Returns an empty list.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets a header, replacing one of the same name. `what` names it in errors.
    ///
    /// # Errors
    /// [`ProviderError`] of kind `InvalidRequest` when the name is invalid or the value contains a
    /// line break.
    pub fn set(&mut self, what: &str, name: &str, value: &str) -> Result<(), ProviderError> {
        let name = HeaderName::from_bytes(name.as_bytes())
            .map_err(|_| misconfigured(format!("{name} is no name of a header")))?;
        let value = checked(what, value)?;
        self.list.insert(name.as_str().to_owned(), value);
        Ok(())
    }

    /// Sets headers of the user, whose values must not be shown.
    ///
    /// # Errors
    /// As [`set`](Self::set).
    pub fn extend(&mut self, further: &BTreeMap<String, Secret>) -> Result<(), ProviderError> {
        for (name, value) in further {
            self.set(&format!("header {name}"), name, value.expose())?;
            self.hide(value.clone());
        }
        Ok(())
    }

    /// Adds a text that is removed from every message.
    pub fn hide(&mut self, secret: Secret) {
        self.secrets.push(secret);
    }

    /// Returns the values to hide from errors and logs.
    #[must_use]
    pub fn secrets(&self) -> &[Secret] {
        &self.secrets
    }

    /// Returns all headers as they are sent: their values are hidden in `Debug`, and the response
    /// must be uncompressed.
    #[must_use]
    pub fn sent(&self) -> WireHeaders {
        let mut headers = WireHeaders::default();
        for (name, value) in &self.list {
            headers.push(name, value.clone(), true);
        }
        headers.push("accept-encoding", "identity", false);
        headers
    }
}

/// Checks a header value.
///
/// # Errors
/// [`ProviderError`] of kind `InvalidRequest` when it cannot be sent.
pub fn checked(what: &str, value: &str) -> Result<Bytes, ProviderError> {
    let value = HeaderValue::from_str(value).map_err(|_| {
        misconfigured(format!(
            "the {what} cannot be sent as a header: it holds a line break or another \
             character that is not allowed there"
        ))
    })?;
    Ok(Bytes::copy_from_slice(value.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_value_of_a_name_is_sent_and_not_shown() {
        let mut headers = Headers::new();
        headers.set("key", "X-Key", "a").unwrap();
        headers.set("key", "x-key", "b").unwrap();
        let sent = headers.sent();
        assert_eq!(sent.text("x-key"), Some("b"));
        assert_eq!(sent.iter().count(), 2);
        assert!(!format!("{sent:?}").contains("\"b\""));
    }

    #[test]
    fn what_cannot_be_sent_is_named_and_not_quoted() {
        let mut headers = Headers::new();
        let error = headers.set("API key", "x-key", "a\r\nb").unwrap_err();
        assert!(
            error.context.contains("API key")
                && !error.context.contains('a'.to_string().repeat(2).as_str())
        );
        assert!(headers.set("header a b", "a b", "c").is_err());
    }
}
