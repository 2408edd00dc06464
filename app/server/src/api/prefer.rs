//! Preferences: the time that a client is willing to wait for a fuller response (RFC 7240).

use std::time::Duration;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;

use crate::problem::Problem;

/// The longest wait, in seconds.
const MAX_SECONDS: u64 = 60;

/// Seconds that a client asks to wait; 0 if it states no preference, or one that cannot be read,
/// which is ignored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PreferredWait(u64);

impl PreferredWait {
    /// Returns the time to wait.
    pub(crate) fn time(self) -> Option<Duration> {
        (self.0 > 0).then(|| Duration::from_secs(self.0))
    }

    /// Returns the value of the header `Preference-Applied`.
    pub(crate) fn applied(self) -> Option<String> {
        (self.0 > 0).then(|| format!("wait={}", self.0))
    }

    fn of<'a>(mut said: impl Iterator<Item = &'a str>) -> Self {
        let seconds = said.find_map(|said| {
            let mut parts = said.split(',');
            parts.find_map(|part| {
                let preference = part.split(';').next()?;
                let (name, value) = preference.split_once('=')?;
                let value = value.trim().trim_matches('"');
                let wait = name.trim().eq_ignore_ascii_case("wait");
                wait.then(|| value.parse::<u64>().ok()).flatten()
            })
        });
        Self(seconds.unwrap_or(0).min(MAX_SECONDS))
    }
}

impl<S: Sync> FromRequestParts<S> for PreferredWait {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let said = parts.headers.get_all("prefer").into_iter();
        Ok(Self::of(said.filter_map(|value| value.to_str().ok())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_preference_is_read_among_others_and_bounded() {
        for (said, seconds) in [
            (&["wait=10"][..], 10),
            (&["respond-async, Wait = \"7\"; x=1"], 7),
            (&["respond-async", "wait=100"], 60),
            (&["wait=-1"], 0),
            (&["wait"], 0),
            (&["waiting=3"], 0),
            (&[], 0),
        ] {
            assert_eq!(PreferredWait::of(said.iter().copied()), PreferredWait(seconds), "{said:?}");
        }
    }
}
