//! Provider schemes: the providers that a session names, each a row of one table. The built-in ones
//! and those of a program are registered alike.

use std::cell::RefCell;
use std::fmt;
use std::sync::Arc;

use windlass::BoxError;
use windlass::provider::{BuiltIn, Preset};
use windlass_engine::ports::{Provider, Wire};
use windlass_http::HttpConfig;
use windlass_replay::Recorder;

use super::address::{Address, AddressSource};
use super::ready_provider::{ProviderAdapter, ProviderCandidates, ReadyProvider, env_value};
use crate::exit::{ExitKind, Failure};

type Connect = Box<dyn Fn(&ProviderSetup<'_>) -> Result<Arc<dyn Provider>, BoxError> + Send + Sync>;
type Ready = Box<dyn Fn(&ProviderCandidates<'_>) -> Result<ReadyProvider, Failure> + Send + Sync>;

/// Provider that a session names, with the way to set it up.
pub struct ProviderScheme {
    name: String,
    /// Default model.
    model: Option<String>,
    /// Environment variables of its secrets.
    secrets: Vec<String>,
    /// True if a provider of the providers file may have the same name.
    yields: bool,
    source: ProviderSource,
}

enum ProviderSource {
    Ours(Ready),
    Own(Connect),
}

impl ProviderScheme {
    /// Creates a provider that `connect` sets up. Sessions record its name.
    pub fn new<P: Provider>(
        name: &str,
        connect: impl Fn(&ProviderSetup<'_>) -> Result<P, BoxError> + Send + Sync + 'static,
    ) -> Self {
        let connect = move |setup: &ProviderSetup<'_>| {
            let provider: Arc<dyn Provider> = Arc::new(connect(setup)?);
            Ok(provider)
        };
        Self {
            name: name.to_owned(),
            model: None,
            secrets: Vec::new(),
            yields: false,
            source: ProviderSource::Own(Box::new(connect)),
        }
    }

    /// Sets the model of sessions that name none.
    #[must_use]
    pub fn with_model(mut self, model: &str) -> Self {
        self.model = Some(model.to_owned());
        self
    }

    /// Declares an environment variable as a secret: it leaves the environment before a tool starts,
    /// and [`ProviderSetup::secret`] returns its value.
    #[must_use]
    pub fn with_secret(mut self, variable: &str) -> Self {
        self.secrets.push(variable.to_owned());
        self
    }

    /// Returns the providers of this program.
    pub(crate) fn built_in() -> Vec<Self> {
        let ours = |name: &str, model: Option<&str>, ready: Ready| Self {
            name: name.to_owned(),
            model: model.map(str::to_owned),
            secrets: Vec::new(),
            yields: false,
            source: ProviderSource::Ours(ready),
        };
        let built_in = BuiltIn::ALL.map(|built| Self {
            secrets: built.variables().map(|(_, key)| key.to_owned()).into_iter().collect(),
            ..ours(built.name(), Some(built.model()), Box::new(move |all| all.built_in(built)))
        });
        let presets = Preset::all().map(|preset| Self {
            secrets: preset.secret_variables().map(str::to_owned).collect(),
            yields: true,
            ..ours(preset.name, preset.model, Box::new(move |all| all.provider_from_preset(preset)))
        });
        built_in.into_iter().chain(presets).collect()
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn model(&self) -> Option<&str> {
        self.model.as_deref()
    }

    pub(crate) fn secrets(&self) -> &[String] {
        &self.secrets
    }

    /// Returns true if a provider of the providers file may take this one's place.
    pub(super) fn yields(&self) -> bool {
        self.yields
    }

    /// Returns true if the environment has a key for it alone, so that sessions may go to it.
    pub(super) fn has_key(&self) -> bool {
        !self.yields && self.secrets.iter().any(|name| env_value(name).is_some())
    }

    /// Sets the provider up.
    pub(super) fn ready(&self, all: &ProviderCandidates<'_>) -> Result<ReadyProvider, Failure> {
        match &self.source {
            ProviderSource::Ours(ready) => ready(all),
            ProviderSource::Own(connect) => {
                let setup = ProviderSetup { scheme: self, all, used: RefCell::default() };
                let port = connect(&setup).map_err(|error| setup.failure(&error.to_string()))?;
                setup.ready(port)
            }
        }
    }
}

impl fmt::Debug for ProviderScheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ProviderScheme").field(&self.name).finish()
    }
}

/// Choices of the command and of the session for a provider that is set up.
pub struct ProviderSetup<'a> {
    scheme: &'a ProviderScheme,
    all: &'a ProviderCandidates<'a>,
    used: RefCell<UsedParts>,
}

/// Parts that the provider asked for.
#[derive(Default)]
struct UsedParts {
    base_url: Option<String>,
    has_wire: bool,
    recorder: Option<Arc<Recorder>>,
}

impl ProviderSetup<'_> {
    /// Returns the base URL to use: that of the command, else the session's, else this usual one.
    ///
    /// # Errors
    /// When only the log of a session names the address, and a secret of the provider is set: a log
    /// may be somebody else's.
    pub fn base_url(&self, usual: &str) -> Result<String, BoxError> {
        let name = &self.scheme.name;
        let recorded = self.all.recorded.filter(|recorded| recorded.provider == *name);
        let meant = match &self.all.shape.provider {
            Some(named) => named == name,
            None => recorded.is_some(),
        };
        let flag = self.all.shape.base_url.as_ref().filter(|_| meant);
        let named = flag.or(recorded.and_then(|recorded| recorded.base_url.as_ref()));
        let source = flag.map_or(AddressSource::Log, |_| AddressSource::Configured);
        let address = Address { url: named.cloned(), source };
        if self.all.over.has_network() {
            let secrets: Vec<&str> = self.scheme.secrets.iter().map(String::as_str).collect();
            address.may_have_key(&[Some(usual)], &secrets).map_err(|failure| failure.message)?;
        }
        let url = named.map_or(usual, String::as_str).to_owned();
        windlass::provider::reject_credentials(&url, "an environment variable")?;
        self.used.borrow_mut().base_url = Some(url.clone()).filter(|url| url != usual);
        Ok(url)
    }

    /// Returns the value of an environment variable that is a secret of the provider.
    #[must_use]
    pub fn secret(&self, variable: &str) -> Option<String> {
        env_value(variable).filter(|_| self.scheme.secrets.iter().any(|name| name == variable))
    }

    /// Returns the wire to a base URL: the network, a recorder over it, or a recording.
    ///
    /// # Errors
    /// When the URL is not valid, or the recording cannot be opened.
    pub fn wire(&self, base_url: &str) -> Result<Arc<dyn Wire>, BoxError> {
        let http = self.all.network(&HttpConfig::default());
        let (wire, recorder) =
            self.all.over.wire(base_url, &http).map_err(|failure| failure.message)?;
        let mut used = self.used.borrow_mut();
        used.has_wire = true;
        used.recorder = recorder;
        Ok(wire)
    }

    fn ready(self, port: Arc<dyn Provider>) -> Result<ReadyProvider, Failure> {
        let used = self.used.take();
        if !used.has_wire && self.all.over.is_recording() {
            return Err(self.failure("it sends nothing over a wire, so nothing can be recorded"));
        }
        let adapter = ProviderAdapter::Own(port);
        let ready = ReadyProvider::new(&self.scheme.name, adapter, used.recorder);
        Ok(ReadyProvider {
            base_url: used.base_url,
            model: self.scheme.model.clone(),
            lists_models: false,
            ..ready
        })
    }

    fn failure(&self, words: &str) -> Failure {
        let name = &self.scheme.name;
        Failure::new(ExitKind::Provider, format!("cannot set up the provider {name}: {words}"))
    }
}
