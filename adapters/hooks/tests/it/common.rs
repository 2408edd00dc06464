//! A workspace with a hooks file, and the questions that an engine asks.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;
use windlass_core::{
    EffectClass, HookOccurrence, HookPoint, HookReply, HookSpec, Mode, Observation,
    ObservationStatus, Permissions, Scope, SessionId, Timestamp, ToolSpec, TurnId,
};
use windlass_hooks::{CommandHooks, LoadError, ToolAlias};
use windlass_ports::{
    CancelSource, HookCall, HookContext, HookError, HookSubject, Hooks, TurnCalls,
};

/// A workspace, and the hooks of one file.
pub(crate) struct World {
    pub(crate) dir: TempDir,
    pub(crate) hooks: CommandHooks,
}

impl World {
    pub(crate) fn new(file: Value) -> Self {
        let hooks = parse(&file.to_string()).unwrap();
        let dir = TempDir::new().unwrap();
        Self { dir, hooks }
    }

    /// A workspace with one hook of one event.
    pub(crate) fn one(event: &str, command: &str) -> Self {
        Self::new(json!({"hooks": {event: [{"hooks": [hook(command)]}]}}))
    }

    pub(crate) fn text(&self, name: &str) -> String {
        std::fs::read_to_string(self.dir.path().join(name)).unwrap()
    }

    /// What the hook has kept of its stdin, in the file `asked`.
    pub(crate) fn asked(&self) -> Value {
        serde_json::from_str(&self.text("asked")).unwrap()
    }

    pub(crate) fn put(&self, name: &str, content: &str) {
        std::fs::write(self.dir.path().join(name), content).unwrap();
    }

    pub(crate) fn spec(&self, index: usize) -> HookSpec {
        self.hooks.hooks().remove(index)
    }

    pub(crate) fn context(&self) -> HookContext {
        context(self.dir.path().to_str().unwrap())
    }

    /// Asks the first hook.
    pub(crate) async fn ask(&self, about: HookSubject) -> Result<HookReply, HookError> {
        self.ask_in(about, self.context()).await
    }

    pub(crate) async fn ask_in(
        &self,
        about: HookSubject,
        context: HookContext,
    ) -> Result<HookReply, HookError> {
        let spec = self.spec(0);
        let call = HookCall { hook: spec.name, at: at(spec.point), subject: about };
        self.hooks.ask(call, context).await
    }
}

pub(crate) fn hook(command: &str) -> Value {
    json!({"type": "command", "command": command})
}

pub(crate) fn parse(text: &str) -> Result<CommandHooks, LoadError> {
    CommandHooks::parse(text, "h.json", &tools(), aliases())
}

pub(crate) fn tools() -> Vec<ToolSpec> {
    let names = ["shell", "write_file", "edit_file", "deploy"];
    let tool = |name: &str| {
        ToolSpec::new(name, EffectClass::Effectful).with(|it| it.parameters = String::from("{}"))
    };
    names.map(tool).into()
}

pub(crate) fn aliases() -> Vec<ToolAlias> {
    vec![
        ToolAlias::new("shell", "Bash").field("timeout_ms", "timeout"),
        ToolAlias::new("write_file", "Write").path("path", "file_path"),
        ToolAlias::new("edit_file", "Edit")
            .path("path", "file_path")
            .field("old", "old_string")
            .field("new", "new_string"),
    ]
}

/// One occurrence of a point, read from an object that holds the fields of all of them.
pub(crate) fn at(point: HookPoint) -> HookOccurrence {
    let continued = u32::from(point == HookPoint::Stop);
    let all = json!({
        "point": point, "start": "resume", "trigger": "window", "sample": 2, "compaction": 1,
        "continued": continued, "input": 3, "started": 5, "call": 7, "compacted": 9,
    });
    serde_json::from_value(all).unwrap()
}

pub(crate) fn context(workspace: &str) -> HookContext {
    HookContext {
        scope: Arc::new(Scope::local("tester")),
        session: SessionId::new("s-1").unwrap(),
        turn: Some(TurnId(2)),
        workspace: Some(Arc::from(workspace)),
        mode: Mode::Build,
        permissions: Permissions::Ask,
        model: String::from("m-1"),
        goal: None,
        calls: TurnCalls::default(),
        cancel: CancelSource::new().signal(),
        deadline: Timestamp(60_000),
        timeout_ms: 60_000,
        max_bytes: 4_096,
    }
}

pub(crate) fn prompt(text: &str) -> HookSubject {
    HookSubject::Prompt { text: Arc::from(text) }
}

pub(crate) fn answer(text: &str) -> HookSubject {
    HookSubject::Answer { text: text.to_owned(), calls: vec![String::from("shell")] }
}

pub(crate) fn call(tool: &str, arguments: Value) -> HookSubject {
    HookSubject::Call {
        tool: tool.to_owned(),
        arguments: Arc::from(arguments.to_string()),
        observation: None,
    }
}

pub(crate) fn ran(status: ObservationStatus, output: &str) -> HookSubject {
    HookSubject::Call {
        tool: String::from("write_file"),
        arguments: Arc::from(r#"{"path":"a.rs","content":"c"}"#),
        observation: Some(Arc::new(Observation::new(status, output))),
    }
}

/// Waits until a hook has written this file whole.
pub(crate) async fn written(world: &World, name: &str) {
    let start = Instant::now();
    let path = world.dir.path().join(name);
    while !std::fs::read_to_string(&path).is_ok_and(|text| text.ends_with('\n')) {
        assert!(start.elapsed() < Duration::from_secs(60), "no {name}");
        tokio::task::yield_now().await;
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
        Ok(stat) => {
            let state = stat.rsplit(')').next().unwrap_or_default();
            !state.trim_start().starts_with('Z')
        }
        Err(_) => false,
    }
}
