//! One connection to a server, from its beginning to its end.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rmcp::model::{PaginatedRequestParams, ProtocolVersion, SubscriptionFilter, Tool};
use rmcp::service::{
    ClientInitializeError, ClientServiceExt as _, Peer, RoleClient, RunningService, Subscription,
};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::transport::common::client_side_sse::ExponentialBackoff;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use windlass_kit_process::PipedProcess;
use windlass_ports::Wire;

use crate::catalogue::MAX_TOOLS;
use crate::config::McpTransport;
use crate::era::{Attempt, Era};
use crate::error::McpError;
use crate::excerpt::clipped;
use crate::handler::Handler;
use crate::http::WireClient;
use crate::launch;
use crate::lines::{BoundedLines, MAX_MESSAGE};
use crate::oauth::Login;
use crate::stderr::ErrorTail;

/// Time for a process to exit by itself, and then after SIGTERM.
const GRACE: Duration = Duration::from_millis(500);
/// Most pages of a list of tools.
const MAX_PAGES: usize = 64;
/// Longest message about a failure, in bytes.
const MAX_WORDS: usize = 600;

/// Makes wires for addresses.
pub(crate) type MakeWire = Arc<dyn Fn(&str) -> Result<Arc<dyn Wire>, McpError> + Send + Sync>;

/// Place of a server, and what it takes to reach it.
#[derive(Clone)]
pub(crate) struct Target {
    pub(crate) transport: McpTransport,
    pub(crate) workspace: PathBuf,
    /// Label of its process.
    pub(crate) label: String,
    pub(crate) wire: MakeWire,
    /// Longest time until the head of a response over HTTP, in milliseconds.
    pub(crate) head_ms: u64,
    /// True if somebody answers its questions.
    pub(crate) answers: bool,
    /// Login at it, if it can have one.
    pub(crate) login: Option<Arc<Login>>,
}

/// Returns what a server asks for that refused a request, with the remedy.
pub(crate) fn unauthorized(login: Option<&Login>) -> String {
    let demand = login.and_then(Login::demand);
    demand
        .unwrap_or_else(|| "it asks for authorization: set bearer_token_env_var or a header".into())
}

/// A connection. Dropping it ends it, and kills its process.
pub(crate) struct Connection {
    pub(crate) peer: Peer<RoleClient>,
    pub(crate) handler: Handler,
    service: ServiceTask,
    process: Option<PipedProcess>,
    faults: Faults,
}

/// Signs of what went wrong, for the message of a failure.
#[derive(Clone, Default)]
struct Faults {
    errors: ErrorTail,
    exceeded: Arc<AtomicBool>,
}

/// Task of a connection, which ends with its owner.
struct ServiceTask(JoinHandle<()>);

impl Drop for ServiceTask {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Failure of an attempt to connect.
pub(crate) struct ConnectFailure {
    pub(crate) words: String,
    /// True if it may come of the way of asking: nothing was answered in time, or something else.
    pub(crate) other_way: bool,
}

impl From<String> for ConnectFailure {
    fn from(words: String) -> Self {
        Self { words, other_way: false }
    }
}

impl From<ClientInitializeError> for ConnectFailure {
    fn from(error: ClientInitializeError) -> Self {
        let other_way = matches!(
            error,
            ClientInitializeError::ExpectedInitResponse(_)
                | ClientInitializeError::ExpectedInitResult(_)
                | ClientInitializeError::ConflictInitResponseId(..)
                | ClientInitializeError::UncorrelatedErrorResponse { .. }
                | ClientInitializeError::NoCompatibleProtocolVersion { .. }
        );
        Self { words: begin_words(&error), other_way }
    }
}

/// Connects in one way.
pub(crate) async fn connect(
    target: &Target,
    attempt: &Attempt,
) -> Result<Connection, ConnectFailure> {
    let handler = Handler { answers: target.answers, ..Handler::default() };
    let faults = Faults::default();
    let (mut process, mut service, mut errors) = (None, None, None);
    let connecting = async {
        match &target.transport {
            McpTransport::Stdio { .. } => {
                let label = target.label.clone();
                let mut started =
                    launch::start(&target.transport, &target.workspace, label).await?;
                let streams = started.streams().ok_or_else(|| "its streams are gone".to_owned())?;
                process = Some(started);
                errors = Some(tokio::spawn(faults.errors.clone().read(streams.errors)));
                let output =
                    BoundedLines::new(streams.output, MAX_MESSAGE, faults.exceeded.clone());
                let transport = AsyncRwTransport::new_client(output, streams.input)
                    .with_max_line_length(MAX_MESSAGE + 1);
                let begun = handler.clone().serve_with_lifecycle(transport, attempt.mode.clone());
                service = Some(begun.await?);
            }
            McpTransport::Http { url, headers, token } => {
                let wire = (target.wire)(url).map_err(|error| error.context)?;
                let login = target.login.clone();
                let client = WireClient::new(wire, headers, token.as_ref(), target.head_ms, login);
                let transport = StreamableHttpClientTransport::with_client(client, config(url));
                let begun = handler.clone().serve_with_lifecycle(transport, attempt.mode.clone());
                let begun = begun.await.map_err(|error| match error.is_authorization_required() {
                    true => unauthorized(target.login.as_deref()).into(),
                    false => ConnectFailure::from(error),
                });
                service = Some(begun?);
            }
        }
        Ok::<(), ConnectFailure>(())
    };
    let connected = timeout(attempt.within, connecting).await;
    let failure = match (connected, service) {
        (Ok(Ok(())), Some(service)) => {
            let peer = service.peer().clone();
            let service = ServiceTask(tokio::spawn(run(service)));
            return Ok(Connection { peer, handler, service, process, faults });
        }
        (Ok(Ok(())), None) => "it did not begin".to_owned().into(),
        (Ok(Err(failure)), _) => failure,
        (Err(_), _) => {
            let words = format!("it said nothing within {} ms", attempt.within.as_millis());
            ConnectFailure { words, other_way: true }
        }
    };
    stop(process).await;
    if let Some(errors) = errors {
        // Its last words may still be in the pipe. A process that it left may hold the pipe open.
        let _ = timeout(GRACE, errors).await;
    }
    Err(ConnectFailure { words: faults.explain(failure.words), ..failure })
}

async fn run(service: RunningService<RoleClient, Handler>) {
    // How it ended is seen by its calls.
    let _ = service.waiting().await;
}

async fn stop(process: Option<PipedProcess>) {
    if let Some(process) = process {
        process.stop(GRACE).await;
    }
}

fn config(url: &str) -> StreamableHttpClientTransportConfig {
    let mut resume = ExponentialBackoff::default();
    resume.max_times = Some(5);
    resume.base_duration = Duration::from_millis(500);
    resume.max_delay = Some(Duration::from_secs(5));
    let mut config = StreamableHttpClientTransportConfig::with_uri(url);
    config.retry_config = Arc::new(resume);
    // A new session would repeat the call. Whoever holds the connection makes a new one.
    config.reinit_on_expired_session = false;
    config
}

/// Returns the words for a failure to begin.
fn begin_words(error: &ClientInitializeError) -> String {
    let mut words = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        words = error.to_string();
        cause = error.source();
    }
    clipped(&words, MAX_WORDS)
}

impl Faults {
    /// Adds what is known beside the words.
    fn explain(&self, words: String) -> String {
        let words = match self.exceeded.load(Ordering::Relaxed) {
            true => format!("it sent a message of more than {MAX_MESSAGE} bytes"),
            false => words,
        };
        match self.errors.last_words() {
            Some(last) => format!("{words}; it wrote: {last}"),
            None => words,
        }
    }
}

impl Connection {
    /// Returns the era in which it began.
    pub(crate) fn era(&self) -> Era {
        match self.version() {
            Some(version) if !version.has_initialize() => Era::Discover,
            Some(_) | None => Era::Initialize,
        }
    }

    /// Returns the version of the protocol that both speak.
    pub(crate) fn version(&self) -> Option<ProtocolVersion> {
        self.peer.peer_info().map(|info| info.protocol_version.clone())
    }

    /// Lists all tools.
    ///
    /// # Errors
    /// When the server refuses, or sends too many; in words.
    pub(crate) async fn list(&self) -> Result<Vec<Tool>, String> {
        let info = self.peer.peer_info();
        if info.is_some_and(|info| info.capabilities.tools.is_none()) {
            return Ok(Vec::new());
        }
        let (mut tools, mut cursor) = (Vec::new(), None);
        for _ in 0..MAX_PAGES {
            let params = cursor.map(|cursor| {
                let mut params = PaginatedRequestParams::default();
                params.cursor = Some(cursor);
                params
            });
            let page = self.peer.list_tools(params).await;
            let page = page.map_err(|error| {
                format!("it did not list its tools: {}", clipped(&error.to_string(), MAX_WORDS))
            })?;
            tools.extend(page.tools);
            if tools.len() > MAX_TOOLS {
                return Err(format!(
                    "it has more than {MAX_TOOLS} tools: name some in enabled_tools"
                ));
            }
            cursor = page.next_cursor;
            if cursor.is_none() {
                return Ok(tools);
            }
        }
        Err(format!("its list of tools has more than {MAX_PAGES} pages"))
    }

    /// Subscribes to changes of the list, where the era has subscriptions and the server this one.
    pub(crate) async fn subscribe(&self) -> Option<Subscription> {
        let info = self.peer.peer_info()?;
        let changes = info.capabilities.tools.as_ref().and_then(|tools| tools.list_changed);
        if self.era() == Era::Initialize || changes != Some(true) {
            return None;
        }
        let mut filter = SubscriptionFilter::new();
        filter.tools_list_changed = Some(true);
        let listening = timeout(Duration::from_secs(5), self.peer.listen(filter)).await;
        listening.ok()?.ok()
    }

    /// Waits until the connection has ended.
    pub(crate) async fn ended(&mut self) {
        // A task that panicked has ended too.
        let _ = (&mut self.service.0).await;
    }

    /// Ends the connection and its process, and returns why it ended, in words.
    pub(crate) async fn close(self) -> String {
        let Self { service, process, peer, faults, .. } = self;
        // The transport holds the input of the process, whose end asks it to exit.
        drop((service, peer));
        stop(process).await;
        faults.explain("the connection ended".into())
    }
}
