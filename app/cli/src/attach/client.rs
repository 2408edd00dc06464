//! Client of a server: a few requests, each with a time-out, and one stream.

use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};
use url::Url;
use windlass_engine::core::{
    ApprovalReason, ArgumentsDigest, CallId, GrantLifetime, Seq, SessionId, Timestamp,
};
use windlass_engine::ports::{
    FileChange, Segments, Wire, WireBody, WireError, WireErrorKind, WireHeaders, WireRequest,
    WireResponse,
};
use windlass_http::{HttpConfig, Secret, http_wire_with, is_loopback};

use crate::exit::{ExitKind, Failure};

/// Time-out of a server's response, in milliseconds.
const HEAD_MS: u64 = 15_000;
/// Time-out of a command, in milliseconds: the server may wait half a minute for another node.
const ANSWER_MS: u64 = 40_000;
/// Time-out of the rest of a response.
const BODY_TIMEOUT: Duration = Duration::from_secs(15);
/// Most bytes of a response other than a stream.
const MAX_BODY_BYTES: usize = 64 * 1024 * 1024;

/// Server, over the network or in this process. Cheap to clone.
#[derive(Clone)]
pub(crate) struct RemoteServer {
    wire: Arc<dyn Wire>,
    /// Base URL without a slash at its end.
    base: Arc<str>,
    token: Arc<Secret>,
}

/// Session of a server. Cheap to clone.
#[derive(Clone)]
pub(crate) struct RemoteSession {
    server: RemoteServer,
    id: SessionId,
}

/// State of a session, as far as it is used here.
#[derive(Debug, Deserialize)]
pub(crate) struct SessionStatus {
    pub(crate) state: String,
    pub(crate) last: u64,
    pub(crate) turn: Option<u64>,
    mode: Option<String>,
    permissions: Option<String>,
}

impl SessionStatus {
    /// Describes the permissions of calls.
    pub(crate) fn posture(&self) -> String {
        let or_unknown = |name: &Option<String>| name.clone().unwrap_or_else(|| "unknown".into());
        format!("{} mode, permissions {}", or_unknown(&self.mode), or_unknown(&self.permissions))
    }
}

/// Open approval of the session.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct ServerQuestion {
    pub(crate) call: CallId,
    pub(crate) tool: String,
    pub(crate) arguments: String,
    /// What the call would change in a file; a server of an earlier version does not tell.
    #[serde(default)]
    pub(crate) change: Option<FileChange>,
    pub(crate) digest: ArgumentsDigest,
    pub(crate) asked: Seq,
    pub(crate) attempt: u32,
    pub(crate) deadline: Option<Timestamp>,
    /// Reason for the question; a server of an earlier version names none.
    #[serde(default = "by_permissions")]
    pub(crate) reason: ApprovalReason,
    /// Output of the same call when it failed in the sandbox.
    #[serde(default)]
    pub(crate) earlier: Option<String>,
    /// Calls like it that may be allowed too.
    #[serde(default)]
    pub(crate) grant: Option<String>,
    /// Reason why only this call can be allowed.
    #[serde(default)]
    pub(crate) grant_withheld: Option<String>,
}

/// Call of the session whose client is to return a result.
#[derive(Debug, Deserialize)]
pub(crate) struct ServerCall {
    pub(crate) call: CallId,
    pub(crate) tool: String,
    pub(crate) arguments: String,
}

fn by_permissions() -> ApprovalReason {
    ApprovalReason::Permissions
}

/// Result of answering an approval.
pub(crate) enum QuestionAnswer {
    Allow { arguments: Option<String> },
    Grant { lifetime: GrantLifetime },
    Deny { reason: String },
}

/// Failure of a request to the server.
#[derive(Debug)]
pub(crate) struct RequestFailure {
    pub(crate) message: String,
    /// True if a retry may help.
    pub(crate) transient: bool,
    /// Delay before a retry, if the server names one.
    pub(crate) wait: Option<Duration>,
    /// True if events preceded it.
    pub(crate) after_events: bool,
    exit: ExitKind,
}

impl RequestFailure {
    /// Creates the failure of a stream that was interrupted.
    pub(crate) fn broken(why: &str, after_events: bool) -> Self {
        Self {
            message: why.to_owned(),
            transient: true,
            wait: None,
            after_events,
            exit: ExitKind::Failed,
        }
    }

    /// Creates the failure of a stream that the server ended.
    pub(crate) fn ended(reason: &str) -> Self {
        let (passes, exit, words) = match reason {
            "erased" => (false, ExitKind::Usage, "the session was erased"),
            "unauthorized" => (false, ExitKind::Provider, "the server no longer accepts the token"),
            "draining" => (true, ExitKind::Failed, "the server is going away"),
            other => (true, ExitKind::Failed, other),
        };
        Self { message: words.to_owned(), transient: passes, wait: None, after_events: true, exit }
    }

    /// Creates the failure of a request that the server did not answer.
    fn unanswered(server: &str, error: &WireError) -> Self {
        let failed = match error.kind {
            WireErrorKind::Invalid
            | WireErrorKind::Unreachable
            | WireErrorKind::Untrusted
            | WireErrorKind::ConnectTimeout
            | WireErrorKind::Unrecorded
            | WireErrorKind::Unsupported => "cannot reach",
            WireErrorKind::HeadTimeout | WireErrorKind::Broken | WireErrorKind::TooLarge => {
                "cannot get an answer from"
            }
        };
        let advice = "check its address, and that it is running";
        Self::broken(&format!("{failed} the server {server}: {error}; {advice}"), false)
    }

    fn fatal(exit: ExitKind, words: String) -> Self {
        Self { message: words, transient: false, wait: None, after_events: false, exit }
    }

    /// Returns true if the server refused the request, for example since there is no such session.
    pub(super) fn is_refusal(&self) -> bool {
        self.exit == ExitKind::Usage
    }

    /// Names the command that failed.
    pub(crate) fn of(self, what: &str) -> Self {
        Self { message: format!("cannot {what}: {}", self.message), ..self }
    }

    pub(crate) fn into_failure(self) -> Failure {
        Failure::new(self.exit, self.message)
    }
}

/// Fields of a problem that are used here.
#[derive(Deserialize)]
struct ProblemBody {
    code: String,
    title: String,
    detail: String,
}

impl RemoteServer {
    /// Creates a client of the server at this URL.
    ///
    /// # Errors
    /// When the URL is invalid, or would expose the token on the network.
    pub(crate) fn new(server: &str, token: Secret) -> Result<Self, Failure> {
        let base = server.trim().trim_end_matches('/').to_owned();
        let url = Url::parse(&base)
            .map_err(|error| Failure::usage(format!("--server {base:?} is not a URL: {error}")))?;
        let more = url.query().or(url.fragment()).or(url.password());
        if more.is_some() || !url.username().is_empty() {
            return Err(Failure::usage(
                "--server takes only an address, for example http://127.0.0.1:8620: put the \
                 token into WINDLASS_TOKEN or a --token-file",
            ));
        }
        if url.scheme() != "https" && !(url.scheme() == "http" && is_loopback(&url)) {
            return Err(Failure::usage(format!(
                "{base} is neither https nor on this machine, so the token would be sent in \
                 clear text: use https"
            )));
        }
        let wire = http_wire_with(&HttpConfig::default(), &base)
            .map_err(|error| Failure::usage(format!("--server: {error}")))?;
        Ok(Self::over(wire, &base, token))
    }

    /// Creates a client of a server that this wire reaches.
    pub(crate) fn over(wire: Arc<dyn Wire>, base: &str, token: Secret) -> Self {
        Self { wire, base: base.into(), token: Arc::new(token) }
    }

    /// Returns the address of the server.
    pub(crate) fn address(&self) -> &str {
        &self.base
    }

    /// Returns a session of the server.
    pub(crate) fn session(&self, id: SessionId) -> RemoteSession {
        RemoteSession { server: self.clone(), id }
    }

    /// Requests a resource below the address of the server.
    pub(crate) async fn get<T: for<'a> Deserialize<'a>>(
        &self,
        path: &str,
    ) -> Result<T, RequestFailure> {
        parsed(&whole(self.send("GET", path, None, "application/json", None).await?).await?)
    }

    /// Sends a command, and returns the answer.
    pub(crate) async fn post<T: for<'a> Deserialize<'a>>(
        &self,
        method: &'static str,
        path: &str,
        body: Option<&Value>,
    ) -> Result<T, RequestFailure> {
        parsed(&whole(self.send(method, path, body, "application/json", None).await?).await?)
    }

    async fn send(
        &self,
        method: &'static str,
        path: &str,
        body: Option<&Value>,
        accept: &'static str,
        after: Option<Seq>,
    ) -> Result<WireResponse, RequestFailure> {
        let mut headers = WireHeaders::default();
        headers.push("accept", accept, false);
        let bearer = format!("Bearer {}", self.token.expose());
        headers.push("authorization", bearer, true);
        if let Some(after) = after {
            headers.push("last-event-id", after.to_string(), false);
        }
        if body.is_some() {
            headers.push("content-type", "application/json", false);
        }
        let request = WireRequest {
            method,
            url: format!("{}{path}", self.base),
            headers,
            body: body.map(|body| Segments::from(bytes::Bytes::from(body.to_string()))),
            head_ms: match method {
                "GET" => HEAD_MS,
                _ => ANSWER_MS,
            },
        };
        let sent = self.wire.send(request).await;
        sent.map_err(|error| RequestFailure::unanswered(&self.base, &error))
    }
}

fn parsed<T: for<'a> Deserialize<'a>>(body: &[u8]) -> Result<T, RequestFailure> {
    serde_json::from_slice(body).map_err(|error| {
        RequestFailure::fatal(ExitKind::Failed, format!("cannot read the server's answer: {error}"))
    })
}

impl RemoteSession {
    pub(crate) fn id(&self) -> &SessionId {
        &self.id
    }

    /// Returns the address of the server.
    pub(crate) fn server(&self) -> &str {
        self.server.address()
    }

    /// Returns the URL of the session.
    pub(crate) fn url(&self) -> String {
        format!("{}{}", self.server.base, self.path(""))
    }

    fn path(&self, path: &str) -> String {
        format!("/v1/sessions/{}{path}", self.id)
    }

    /// Fetches the state of the session.
    pub(crate) async fn session(&self) -> Result<SessionStatus, RequestFailure> {
        self.get("").await
    }

    /// Fetches the open approvals.
    pub(crate) async fn open(&self) -> Result<Vec<ServerQuestion>, RequestFailure> {
        #[derive(Deserialize)]
        struct All {
            approvals: Vec<ServerQuestion>,
        }
        let all: All = self.get("/approvals").await?;
        Ok(all.approvals)
    }

    /// Answers an open approval.
    pub(crate) async fn answer(
        &self,
        open: &ServerQuestion,
        said: &QuestionAnswer,
    ) -> Result<(), RequestFailure> {
        let body = match said {
            QuestionAnswer::Allow { arguments } => {
                let arguments: Option<Value> =
                    arguments.as_ref().and_then(|text| serde_json::from_str(text).ok());
                json!({"decision": "allow", "digest": open.digest, "arguments": arguments})
            }
            QuestionAnswer::Grant { lifetime } => {
                json!({"decision": "allow", "digest": open.digest, "remember": lifetime})
            }
            QuestionAnswer::Deny { reason } => {
                json!({"decision": "deny", "digest": open.digest, "reason": reason})
            }
        };
        self.command("POST", &format!("/approvals/{}", open.call), Some(&body)).await
    }

    /// Fetches the calls that wait for their clients.
    pub(crate) async fn client_calls(&self) -> Result<Vec<ServerCall>, RequestFailure> {
        #[derive(Deserialize)]
        struct All {
            calls: Vec<ServerCall>,
        }
        let all: All = self.get("/client-calls").await?;
        Ok(all.calls)
    }

    /// Returns the result of a call. The first result counts.
    pub(crate) async fn submit(&self, call: CallId, output: &str) -> Result<(), RequestFailure> {
        self.command("POST", &format!("/client-calls/{call}"), Some(&json!({"output": output})))
            .await
    }

    /// Sends a command, and waits until it is acknowledged.
    pub(crate) async fn command(
        &self,
        method: &'static str,
        path: &str,
        body: Option<&Value>,
    ) -> Result<(), RequestFailure> {
        let path = self.path(path);
        let response = self.server.send(method, &path, body, "application/json", None);
        whole(response.await?).await.map(|_| ())
    }

    /// Opens a stream of the events after a position.
    pub(crate) async fn events(&self, after: Seq) -> Result<Box<dyn WireBody>, RequestFailure> {
        let (path, form) = (self.path("/events"), "text/event-stream");
        let response = self.server.send("GET", &path, None, form, Some(after)).await?;
        if response.status == 200 {
            return Ok(response.body);
        }
        Err(refusal(response).await)
    }

    pub(crate) async fn get<T: for<'a> Deserialize<'a>>(
        &self,
        path: &str,
    ) -> Result<T, RequestFailure> {
        self.server.get(&self.path(path)).await
    }

    /// Sends a command, and returns the answer.
    pub(crate) async fn post<T: for<'a> Deserialize<'a>>(
        &self,
        method: &'static str,
        path: &str,
        body: Option<&Value>,
    ) -> Result<T, RequestFailure> {
        self.server.post(method, &self.path(path), body).await
    }
}

/// Returns the whole body of a successful response.
async fn whole(response: WireResponse) -> Result<Vec<u8>, RequestFailure> {
    if !(200..300).contains(&response.status) {
        return Err(refusal(response).await);
    }
    read(response.body).await
}

async fn read(mut body: Box<dyn WireBody>) -> Result<Vec<u8>, RequestFailure> {
    let reading = async {
        let mut all = Vec::new();
        while let Some(chunk) =
            body.chunk().await.map_err(|error| RequestFailure::broken(&error.to_string(), false))?
        {
            if all.len().saturating_add(chunk.len()) > MAX_BODY_BYTES {
                let words = format!("the server's answer has more than {MAX_BODY_BYTES} bytes");
                return Err(RequestFailure::fatal(ExitKind::Failed, words));
            }
            all.extend_from_slice(&chunk);
        }
        Ok(all)
    };
    let late = |_| RequestFailure::broken("the server did not finish its answer", false);
    tokio::time::timeout(BODY_TIMEOUT, reading).await.map_err(late)?
}

/// Reads an error response of the server.
async fn refusal(response: WireResponse) -> RequestFailure {
    let status = response.status;
    let wait = response.headers.text("retry-after");
    let wait = wait.and_then(|text| text.trim().parse().ok());
    let body = read(response.body).await.unwrap_or_default();
    let problem: Option<ProblemBody> = serde_json::from_slice(&body).ok();
    let exit = match (status, problem.as_ref().map(|problem| problem.code.as_str())) {
        (_, Some("held_elsewhere" | "damaged" | "store_away" | "store_full")) => ExitKind::Store,
        (401 | 403, _) => ExitKind::Provider,
        (404 | 409 | 422, _) => ExitKind::Usage,
        _ => ExitKind::Failed,
    };
    let words = match problem {
        Some(problem) => format!("{}: {} ({})", problem.title, problem.detail, problem.code),
        None => format!("the server answered {status}, but is not a Windlass server"),
    };
    RequestFailure {
        message: words,
        transient: matches!(status, 408 | 429 | 500..=599),
        wait: wait.map(Duration::from_secs),
        after_events: false,
        exit,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_not_sent_where_others_read_it() {
        let far = |server: &str| RemoteServer::new(server, Secret::new("token"));
        for good in [
            "http://127.0.0.1:8620",
            "http://localhost:1/",
            "http://[::1]:2",
            "https://agents.example/x",
        ] {
            assert!(far(good).is_ok(), "{good}");
        }
        for bad in [
            "http://10.0.0.1",
            "http://localhost.example",
            "127.0.0.1:8620",
            "http://127.0.0.1/#token=x",
            "http://token@127.0.0.1",
            "",
        ] {
            let refused = far(bad).err().unwrap();
            assert_eq!(refused.exit, ExitKind::Usage, "{bad}");
        }
    }
}
