//! Eras of the protocol: how a client and a server begin.
//!
//! Some servers refuse what they do not know, some never answer it, and some fix the era by their
//! first request. So a process is asked in one way only, unless it answers with an error, and what
//! worked is remembered.

use std::time::Duration;

use rmcp::model::ProtocolVersion;
use rmcp::service::ClientLifecycleMode;
use serde::{Deserialize, Serialize};

/// Way to begin with a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Era {
    /// `initialize`, up to 2025-11-25.
    Initialize,
    /// `server/discover`, from 2026-07-28 on.
    Discover,
}

/// One attempt to begin, over a connection of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Attempt {
    pub(crate) mode: ClientLifecycleMode,
    /// Longest time that it may take.
    pub(crate) within: Duration,
}

/// Returns the attempts within a time: what is known to work, or else first the newer way, which
/// ends in the older one at an error, and then the older one for a server that says nothing, or
/// something else.
pub(crate) fn attempts(known: Option<Era>, within: Duration) -> Vec<Attempt> {
    let modern = || vec![ProtocolVersion::V_2026_07_28];
    let discover = ClientLifecycleMode::Discover { preferred_versions: modern() };
    let initialize = ClientLifecycleMode::Auto {
        preferred_versions: modern(),
        legacy_version: Some(ProtocolVersion::LATEST_WITH_INITIALIZE),
    };
    match known {
        Some(Era::Discover) => vec![Attempt { mode: discover, within }],
        Some(Era::Initialize) => vec![Attempt { mode: ClientLifecycleMode::Initialize, within }],
        None => vec![
            // Shorter than the library's own wait, after which it would ask twice over one connection.
            Attempt { mode: initialize, within: (within / 2).min(PROBE) },
            Attempt { mode: ClientLifecycleMode::Initialize, within: within / 2 },
        ],
    }
}

/// Longest wait for the answer to the newer way.
const PROBE: Duration = Duration::from_secs(9);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_known_is_tried_alone_and_all_attempts_fit_the_time() {
        let within = Duration::from_secs(30);
        assert_eq!(attempts(Some(Era::Discover), within).len(), 1);
        let known = attempts(Some(Era::Initialize), within);
        assert_eq!(known[0].mode, ClientLifecycleMode::Initialize);
        for seconds in [1, 30, 600] {
            let within = Duration::from_secs(seconds);
            let probe = attempts(None, within);
            assert!(probe.iter().map(|attempt| attempt.within).sum::<Duration>() <= within);
            assert!(probe[0].within <= PROBE);
        }
    }
}
