//! A workspace in a temporary folder, and calls to the tools that work in it.

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;
use tokio::sync::Notify;
use windlass_core::{CallId, Observation, ObservationStatus, SessionId, Timestamp};
use windlass_localfs::{LocalFs, LocalFsConfig};
use windlass_ports::{CancelSource, ProgressSink, ToolCall, ToolContext, ToolError, ToolExecutor};

/// A workspace, a folder beside it that holds a secret, and the tools.
pub(crate) struct World {
    pub(crate) dir: TempDir,
    pub(crate) tools: Arc<LocalFs>,
}

impl World {
    pub(crate) fn new() -> Self {
        Self::with(LocalFsConfig::default())
    }

    pub(crate) fn with(config: LocalFsConfig) -> Self {
        Self::made(config, |tools, _| tools)
    }

    /// A workspace in memory where there is such a file system, for many files.
    pub(crate) fn in_memory() -> Self {
        let memory = Path::new("/dev/shm");
        let dir = match memory.is_dir() {
            true => TempDir::new_in(memory).unwrap(),
            false => TempDir::new().unwrap(),
        };
        Self::of(dir, LocalFsConfig::default(), |tools, _| tools)
    }

    /// A workspace whose tools are made so, with the folder around it.
    pub(crate) fn made(
        config: LocalFsConfig,
        make: impl FnOnce(LocalFs, &Path) -> LocalFs,
    ) -> Self {
        Self::of(TempDir::new().unwrap(), config, make)
    }

    fn of(
        dir: TempDir,
        config: LocalFsConfig,
        make: impl FnOnce(LocalFs, &Path) -> LocalFs,
    ) -> Self {
        std::fs::create_dir(dir.path().join("ws")).unwrap();
        std::fs::create_dir(dir.path().join("outside")).unwrap();
        std::fs::write(dir.path().join("outside/secret"), "SECRET").unwrap();
        let tools = LocalFs::open(&dir.path().join("ws"), config).unwrap();
        let tools = Arc::new(make(tools, dir.path()));
        Self { dir, tools }
    }

    pub(crate) fn path(&self, name: &str) -> std::path::PathBuf {
        self.dir.path().join("ws").join(name)
    }

    pub(crate) fn put(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    pub(crate) fn text(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    pub(crate) async fn call(&self, name: &str, arguments: Value) -> Observation {
        self.call_in(name, arguments, context()).await
    }

    pub(crate) async fn call_in(
        &self,
        name: &str,
        arguments: Value,
        context: ToolContext,
    ) -> Observation {
        run(&*self.tools, name, arguments, context).await.unwrap()
    }

    /// A call that succeeds.
    pub(crate) async fn done(&self, name: &str, arguments: Value) -> String {
        let seen = self.call(name, arguments).await;
        assert_eq!(seen.status, ObservationStatus::Done, "{}", seen.output);
        seen.output
    }

    /// A call that fails.
    pub(crate) async fn failed(&self, name: &str, arguments: Value) -> String {
        let seen = self.call(name, arguments).await;
        assert_eq!(seen.status, ObservationStatus::Failed, "{}", seen.output);
        assert!(!seen.output.contains("SECRET"), "{}", seen.output);
        seen.output
    }

    /// Every file below the workspace, so that nothing is left behind unseen.
    pub(crate) fn files(&self) -> Vec<String> {
        let mut files = Vec::new();
        walk(&self.path(""), "", &mut files);
        files.sort();
        files
    }
}

fn walk(folder: &Path, prefix: &str, files: &mut Vec<String>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
        if entry.file_type().unwrap().is_dir() {
            walk(&entry.path(), &format!("{name}/"), files);
        } else {
            files.push(name);
        }
    }
}

pub(crate) async fn run(
    tools: &dyn ToolExecutor,
    name: &str,
    arguments: Value,
    context: ToolContext,
) -> Result<Observation, ToolError> {
    let call = ToolCall { name: name.to_owned(), arguments: arguments.to_string() };
    tools.run(call, context).await
}

pub(crate) fn context() -> ToolContext {
    context_with(&CancelSource::new(), 60_000, Arc::new(RecordedProgress::default()))
}

pub(crate) fn context_with(
    cancel: &CancelSource,
    timeout_ms: u64,
    seen: Arc<RecordedProgress>,
) -> ToolContext {
    ToolContext {
        idempotency_key: String::from("s-1/7"),
        cancel: cancel.signal(),
        deadline: Timestamp(timeout_ms),
        timeout_ms,
        progress: seen,
        ..ToolContext::new(session(), CallId(7))
    }
}

/// The context of another call, which takes as long as it likes.
pub(crate) fn context_of(call: u64) -> ToolContext {
    ToolContext { call: CallId(call), ..context() }
}

pub(crate) fn session() -> SessionId {
    SessionId::new("s-1").unwrap()
}

/// What a tool reported while it ran.
#[derive(Default)]
pub(crate) struct RecordedProgress {
    pub(crate) lines: Mutex<Vec<String>>,
    pub(crate) news: Notify,
}

impl RecordedProgress {
    /// Waits until a report has this text in it.
    pub(crate) async fn wait_for(&self, text: &str) {
        loop {
            let news = self.news.notified();
            if self.lines.lock().unwrap().iter().any(|line| line.contains(text)) {
                return;
            }
            news.await;
        }
    }
}

impl ProgressSink for RecordedProgress {
    fn report(&self, text: &str) {
        self.lines.lock().unwrap().push(text.to_owned());
        self.news.notify_one();
    }
}

/// Lets a paused clock stand until something has come, then so much time pass at once, and from then on
/// as it does. A time limit is met so with what was to happen before it done, however slow the machine.
pub(crate) async fn passes(after: impl Future<Output = ()>, time: Duration) {
    // A paused clock goes on by itself once nothing is to be done.
    let awake = async {
        loop {
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        biased;
        () = after => {}
        () = awake => {}
    }
    tokio::time::advance(time).await;
    tokio::time::resume();
}

/// Sees that a process dies. The kernel ends a killed process in its own time, which is short.
pub(crate) fn dies(pid: &str) {
    let start = Instant::now();
    while alive(pid) {
        assert!(start.elapsed() < Duration::from_secs(60), "{pid} lives");
        std::thread::yield_now();
    }
}

/// Whether a process is there; one that has died and is not reaped is not.
fn alive(pid: &str) -> bool {
    match std::fs::read_to_string(format!("/proc/{}/stat", pid.trim())) {
        Ok(stat) => !stat.rsplit(')').next().unwrap().trim_start().starts_with('Z'),
        Err(_) => false,
    }
}
