//! Starts a process, and follows it in a task of its own.

use std::io::Error;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use windlass_kit_process::{
    self as kit, GracePeriods, OutputPipe, OutputSink, ProcessInput, ProcessJob, RunError, RunLock,
    SinkFlow, StderrMode, TerminalSize,
};

use super::process::Process;
use crate::config::LocalFsConfig;

/// Size of the terminal of a process. The tool's description has it.
const TERMINAL: TerminalSize = TerminalSize { rows: 24, columns: 80 };

/// Process that is about to start.
pub(crate) struct ProcessStart {
    pub(crate) process: Arc<Process>,
    pub(crate) command: Command,
    pub(crate) input: mpsc::Receiver<Vec<u8>>,
    pub(crate) terminal: bool,
    /// Lock of the run.
    pub(crate) lock: Option<RunLock>,
}

/// Starts a process and follows it to its end.
pub(crate) fn start(start: ProcessStart, config: &LocalFsConfig) {
    let life = Duration::from_millis(config.process_timeout_ms);
    let grace = Duration::from_millis(config.grace_ms());
    tokio::spawn(async move {
        let ProcessStart { process, command, input, terminal, lock } = start;
        let end = EndGuard(process.clone());
        let cancel = process.stop_signal();
        let job = ProcessJob {
            command,
            input: match terminal {
                true => ProcessInput::Terminal(input, TERMINAL),
                false => ProcessInput::Parts(input),
            },
            errors: StderrMode::Merged,
            limit: life,
            grace: GracePeriods { on_cancel: grace, on_timeout: grace },
            cancel: &cancel,
            lock,
        };
        let result = kit::run(job, &mut ProcessOutput(process.clone())).await;
        process.end(result);
        drop(end);
    });
}

/// Ends a process whose task breaks off.
struct EndGuard(Arc<Process>);

impl Drop for EndGuard {
    fn drop(&mut self) {
        if self.0.is_running() {
            let error = Error::other("the task that followed it broke off");
            self.0.end(Err(RunError { began: true, error }));
        }
    }
}

struct ProcessOutput(Arc<Process>);

impl OutputSink for ProcessOutput {
    async fn ready(&self, _: OutputPipe) {}

    fn accept(&mut self, _: OutputPipe, bytes: &[u8]) -> SinkFlow {
        self.0.push(bytes);
        SinkFlow::Continue
    }
}
