//! Idempotency keys: with one, repeating a request has no further effect.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use sha2::{Digest as _, Sha256};
use windlass_engine::core::SessionId;

use crate::access::hex;
use crate::problem::{Problem, ProblemCode};

/// Name of the header.
const IDEMPOTENCY_KEY: &str = "idempotency-key";
/// Longest key, in bytes.
const MAX_BYTES: usize = 128;

/// The `Idempotency-Key` of a request, if it has one.
#[derive(Default)]
pub(crate) struct ClientKey(Option<String>);

impl ClientKey {
    /// Reads a key.
    pub(crate) fn parse(text: &[u8]) -> Result<Self, Problem> {
        let printable = text.iter().all(|byte| matches!(byte, 0x20..=0x7e));
        if text.is_empty() || text.len() > MAX_BYTES || !printable {
            let detail = "an idempotency key has 1 to 128 printable ASCII characters";
            return Err(Problem::new(ProblemCode::BadRequest, detail));
        }
        Ok(Self(Some(String::from_utf8_lossy(text).into_owned())))
    }

    /// Returns the key of an input as the log contains it, distinct from the keys of other
    /// presenters.
    pub(crate) fn for_input(&self) -> Option<String> {
        self.0.as_ref().map(|key| format!("http:{key}"))
    }

    /// Returns the key of a command other than an input.
    pub(crate) fn for_command(&self) -> Option<&str> {
        self.0.as_deref()
    }

    /// Returns the id of the session that is created with the key, always the same; `None` without
    /// a key.
    pub(crate) fn session(&self, kind: &str, tenant: &str) -> Option<SessionId> {
        let key = self.0.as_ref()?;
        let mut hash = Sha256::new();
        for part in [kind, tenant, key] {
            hash.update(u64::try_from(part.len()).unwrap_or(u64::MAX).to_be_bytes());
            hash.update(part);
        }
        let digits = hex(&hash.finalize()[..20]);
        SessionId::new(&format!("k{digits}")).ok()
    }
}

impl<S: Sync> FromRequestParts<S> for ClientKey {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let mut sent = parts.headers.get_all(IDEMPOTENCY_KEY).into_iter();
        let (first, more) = (sent.next(), sent.next());
        let Some(value) = first else {
            return Ok(Self(None));
        };
        if more.is_some() {
            let detail = "Idempotency-Key is sent once";
            return Err(Problem::new(ProblemCode::BadRequest, detail));
        }
        Self::parse(value.as_bytes())
    }
}

/// Creates the problem of a key that was used with another request.
pub(crate) fn key_reused(what: &str) -> Problem {
    let detail = format!("the key was used with {what}: choose another key for another request");
    Problem::new(ProblemCode::KeyReused, detail)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_makes_the_same_session_id_for_the_same_tenant_only() {
        let key = ClientKey(Some("once".into()));
        let id = key.session("session", "acme").unwrap();
        assert_eq!(key.session("session", "acme"), Some(id.clone()));
        assert_ne!(key.session("session", "other"), Some(id.clone()));
        assert_ne!(key.session("fork", "acme"), Some(id.clone()));
        // The boundaries between the parts count.
        assert_ne!(key.session("sessiona", "cme"), Some(id));
        assert_eq!(ClientKey(None).session("session", "acme"), None);
    }
}
