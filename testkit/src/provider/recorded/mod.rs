//! A provider that records the answers of another one, and replays them without it.
//!
//! It works at the provider's port: no HTTP is recorded. `adapters/replay` records the wire, and so
//! tests the adapter too.

mod file;
mod line;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use windlass_core::{FailureKind, Retry, Settings, StreamEvent};
use windlass_ports::sync::Mutex;
use windlass_ports::{
    ModelCapabilities, Provider, ProviderCapabilities, ProviderError, SampleRequest, SampleStream,
    StreamState,
};

use file::{Recording, append, read};
use line::Exchange;

/// A provider that records answers into a file of JSON lines, or replays them from it. Clones are the
/// same provider.
///
/// A replay gives the answers in their order. Each request must show the model the conversation that
/// the recorded one showed; another one fails, names the file, and is kept
/// ([`unmatched`](Self::unmatched)).
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("answers.jsonl");
/// use windlass_testkit::provider::{RecordedProvider, ScriptedProvider, say};
///
/// let real = || ScriptedProvider::new([say("It is about winches.")]); // in your tests: a real one
/// let model = RecordedProvider::open(&path, real)?; // records once, and replays ever after
/// assert!(model.is_recording());
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone)]
pub struct RecordedProvider {
    shared: Arc<Shared>,
}

struct Shared {
    path: PathBuf,
    mode: Mode,
}

enum Mode {
    Records { real: Arc<dyn Provider>, lock: Mutex<()> },
    Replays { name: String, rest: Mutex<Rest> },
}

struct Rest {
    exchanges: std::vec::IntoIter<Exchange>,
    given: usize,
    unmatched: Vec<String>,
}

impl RecordedProvider {
    /// Replays the file if it exists. Else records into it what the given provider answers.
    ///
    /// # Errors
    /// When the file cannot be read or created, or is no recording.
    pub fn open<P: Provider>(path: impl AsRef<Path>, real: impl FnOnce() -> P) -> io::Result<Self> {
        match path.as_ref().try_exists()? {
            true => Self::replay(path),
            false => Self::record(path, real()),
        }
    }

    /// Records the answers of a provider into a new file.
    ///
    /// # Errors
    /// When the file cannot be created, for example because it exists.
    pub fn record(path: impl AsRef<Path>, real: impl Provider) -> io::Result<Self> {
        let path = path.as_ref().to_path_buf();
        file::create(&path, real.name())?;
        let mode = Mode::Records { real: Arc::new(real), lock: Mutex::default() };
        Ok(Self { shared: Arc::new(Shared { path, mode }) })
    }

    /// Replays a file.
    ///
    /// # Errors
    /// When the file cannot be read, or is no recording.
    pub fn replay(path: impl AsRef<Path>) -> io::Result<Self> {
        let path = path.as_ref().to_path_buf();
        let Recording { name, exchanges } = read(&path)?;
        let exchanges = exchanges.into_iter();
        let rest = Mutex::new(Rest { exchanges, given: 0, unmatched: Vec::new() });
        Ok(Self { shared: Arc::new(Shared { path, mode: Mode::Replays { name, rest } }) })
    }

    /// Returns true if answers are recorded, and false if they are replayed.
    #[must_use]
    pub fn is_recording(&self) -> bool {
        matches!(self.shared.mode, Mode::Records { .. })
    }

    /// Returns the requests that a replay had no answer for, in words.
    #[must_use]
    pub fn unmatched(&self) -> Vec<String> {
        match &self.shared.mode {
            Mode::Records { .. } => Vec::new(),
            Mode::Replays { rest, .. } => rest.lock().unmatched.clone(),
        }
    }

    /// Returns the number of recorded answers that a replay has not given.
    #[must_use]
    pub fn unused(&self) -> usize {
        match &self.shared.mode {
            Mode::Records { .. } => 0,
            Mode::Replays { rest, .. } => rest.lock().exchanges.len(),
        }
    }

    /// The next answer of a replay.
    fn next(&self, rest: &Mutex<Rest>, request: &SampleRequest) -> Result<Exchange, ProviderError> {
        let (mut rest, digest) = (rest.lock(), request.prompt.digest().to_string());
        let number = rest.given + 1;
        let recorded = rest.exchanges.as_slice().first().map(|exchange| exchange.request.as_str());
        let path = self.shared.path.display();
        let why = match recorded {
            Some(recorded) if recorded == digest => {
                rest.given = number;
                let next = rest.exchanges.next();
                return next.ok_or_else(|| ended(&path.to_string()));
            }
            Some(_) => "shows the model another conversation than the recorded one",
            None => "was not recorded",
        };
        let words = format!("request {number} {why}: remove {path} to record it again");
        rest.unmatched.push(words.clone());
        Err(ProviderError::new(FailureKind::InvalidRequest, Retry::Never, words))
    }
}

#[async_trait]
impl Provider for RecordedProvider {
    fn name(&self) -> &str {
        match &self.shared.mode {
            Mode::Records { real, .. } => real.name(),
            Mode::Replays { name, .. } => name,
        }
    }

    fn capabilities(&self) -> ProviderCapabilities {
        match &self.shared.mode {
            Mode::Records { real, .. } => real.capabilities(),
            Mode::Replays { .. } => ProviderCapabilities::default()
                .with_tools()
                .with_effort()
                .with_temperature()
                .with_reasoning(),
        }
    }

    fn model(&self, model: &str) -> ModelCapabilities {
        match &self.shared.mode {
            Mode::Records { real, .. } => real.model(model),
            Mode::Replays { .. } => ModelCapabilities::unknown(),
        }
    }

    fn check_settings(&self, settings: &Settings) -> Result<(), ProviderError> {
        match &self.shared.mode {
            Mode::Records { real, .. } => real.check_settings(settings),
            Mode::Replays { .. } => Ok(()),
        }
    }

    async fn sample(&self, request: SampleRequest) -> Result<Box<dyn SampleStream>, ProviderError> {
        match &self.shared.mode {
            Mode::Replays { rest, .. } => {
                let exchange = self.next(rest, &request)?;
                Ok(Box::new(Replaying { exchange: Some(exchange) }))
            }
            Mode::Records { real, .. } => {
                let mut exchange = Exchange::of(&request);
                match real.sample(request).await {
                    Ok(stream) => {
                        let provider = self.clone();
                        Ok(Box::new(RecordingStream { provider, stream, exchange: Some(exchange) }))
                    }
                    Err(error) => {
                        exchange.fail(&error);
                        self.write(&exchange)?;
                        Err(error)
                    }
                }
            }
        }
    }
}

impl RecordedProvider {
    fn write(&self, exchange: &Exchange) -> Result<(), ProviderError> {
        let Mode::Records { lock, .. } = &self.shared.mode else {
            return Ok(());
        };
        let _held = lock.lock();
        append(&self.shared.path, exchange).map_err(|error| {
            let words = format!("cannot record into {}: {error}", self.shared.path.display());
            ProviderError::new(FailureKind::InvalidRequest, Retry::Never, words)
        })
    }
}

/// An answer that is recorded: written once it has ended. One that is dropped is not.
struct RecordingStream {
    provider: RecordedProvider,
    stream: Box<dyn SampleStream>,
    exchange: Option<Exchange>,
}

#[async_trait]
impl SampleStream for RecordingStream {
    async fn next(&mut self, events: &mut Vec<StreamEvent>) -> Result<StreamState, ProviderError> {
        let before = events.len();
        let read = self.stream.next(events).await;
        if let Some(exchange) = &mut self.exchange {
            exchange.events.extend(events.iter().skip(before).cloned());
        }
        match &read {
            Ok(StreamState::More) => return read,
            Ok(StreamState::End) => {}
            Err(error) => {
                if let Some(exchange) = &mut self.exchange {
                    exchange.fail(error);
                }
            }
        }
        if let Some(exchange) = self.exchange.take() {
            self.provider.write(&exchange)?;
        }
        read
    }
}

/// An answer that is replayed.
struct Replaying {
    exchange: Option<Exchange>,
}

#[async_trait]
impl SampleStream for Replaying {
    async fn next(&mut self, events: &mut Vec<StreamEvent>) -> Result<StreamState, ProviderError> {
        let Some(exchange) = self.exchange.take() else {
            return Ok(StreamState::End);
        };
        events.extend(exchange.events);
        match exchange.failure {
            Some(failure) => Err(failure.into()),
            None => Ok(StreamState::End),
        }
    }
}

fn ended(path: &str) -> ProviderError {
    let words = format!("the recording {path} has ended");
    ProviderError::new(FailureKind::InvalidRequest, Retry::Never, words)
}
