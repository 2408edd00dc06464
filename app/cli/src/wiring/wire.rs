//! Wire of a provider: the network, a recorder over it, or a recording.

use std::path::PathBuf;
use std::sync::Arc;

use windlass_engine::ports::Wire;
use windlass_http::{HttpConfig, http_wire_with};
use windlass_replay::{Recorder, Redaction, ReplayError, Replayer};

use crate::args::RecordingArgs;
use crate::exit::{ExitKind, Failure};
use crate::secrets;

/// Fewest bytes of a value that is removed wherever it occurs.
const SHORTEST_SECRET: usize = 8;

/// Transport of a provider's requests.
#[derive(Debug)]
pub(crate) enum ProviderTransport {
    Network,
    /// The network, with all traffic recorded to a cassette.
    Record {
        path: PathBuf,
        redaction: Redaction,
        /// True to append to an existing cassette.
        adds: bool,
    },
    /// A cassette, without a network.
    Replay {
        path: PathBuf,
        redaction: Redaction,
    },
}

impl ProviderTransport {
    /// Selects the transport from the arguments. A resumed session appends to its cassette.
    pub(crate) fn new(taping: &RecordingArgs, adds: bool) -> Result<Self, Failure> {
        Ok(match (&taping.record, &taping.replay) {
            (Some(path), _) => {
                Self::Record { path: path.clone(), redaction: redaction(&taping.hide, true)?, adds }
            }
            (None, Some(path)) => {
                Self::Replay { path: path.clone(), redaction: redaction(&taping.hide, false)? }
            }
            (None, None) if taping.hide.is_empty() => Self::Network,
            (None, None) => {
                let words = "--hide needs --record or --replay";
                return Err(Failure::usage(words));
            }
        })
    }

    /// Returns true if requests use the network.
    pub(crate) fn has_network(&self) -> bool {
        match self {
            Self::Network | Self::Record { .. } => true,
            Self::Replay { .. } => false,
        }
    }

    /// Returns true if the traffic is recorded or replayed.
    pub(super) fn is_recording(&self) -> bool {
        match self {
            Self::Record { .. } | Self::Replay { .. } => true,
            Self::Network => false,
        }
    }

    /// Creates the wire to a provider at this URL, with its recorder.
    pub(crate) fn wire(
        &self,
        base_url: &str,
        http: &HttpConfig,
    ) -> Result<WireAndRecorder, Failure> {
        let http = || {
            http_wire_with(http, base_url)
                .map_err(|error| Failure::new(ExitKind::Provider, error.to_string()))
        };
        let off = |error: ReplayError| Failure::usage(error.to_string());
        Ok(match self {
            Self::Network => (http()?, None),
            Self::Record { path, redaction, adds } => {
                let make = match adds {
                    true => Recorder::append,
                    false => Recorder::new,
                };
                let recorder = Arc::new(make(http()?, path, redaction.clone()).map_err(off)?);
                (recorder.clone(), Some(recorder))
            }
            Self::Replay { path, redaction } => {
                let replayer = Replayer::open(path).map_err(off)?;
                (Arc::new(replayer.redacting(redaction.clone())), None)
            }
        })
    }
}

/// A wire, with its recorder if there is one.
pub(crate) type WireAndRecorder = (Arc<dyn Wire>, Option<Arc<Recorder>>);

/// Creates the redaction of these variables' values. A recording needs all of them, so that a
/// mistyped name is an error; a replay does not.
fn redaction(hide: &[String], needed: bool) -> Result<Redaction, Failure> {
    let mut redaction = Redaction::new();
    for name in hide {
        match secrets::value(name) {
            Some(value) if value.len() >= SHORTEST_SECRET => redaction = redaction.secret(value),
            Some(_) | None if !needed => {}
            Some(value) if !value.is_empty() => {
                let words = format!(
                    "--hide {name}: the value is shorter than {SHORTEST_SECRET} bytes, so it would \
                     be removed from ordinary words too"
                );
                return Err(Failure::usage(words));
            }
            Some(_) | None => {
                let words = format!("--hide {name}: the variable {name} is not set to a text");
                return Err(Failure::usage(words));
            }
        }
    }
    Ok(redaction)
}
