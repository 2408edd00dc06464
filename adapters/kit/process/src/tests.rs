//! Tests of each end of a process, and of the bytes that reach the sink.

use std::process::Command;
use std::time::Duration;

use windlass_ports::{CancelSignal, CancelSource};

use crate::{
    GracePeriods, OutputPipe, OutputSink, ProcessEnd, ProcessInput, ProcessJob, SinkFlow,
    StderrMode, TerminalSize, run,
};

#[derive(Default)]
struct Output {
    out: Vec<u8>,
    err: Vec<u8>,
    stop_at: Option<usize>,
}

impl OutputSink for Output {
    async fn ready(&self, _: OutputPipe) {}

    fn accept(&mut self, source: OutputPipe, bytes: &[u8]) -> SinkFlow {
        match source {
            OutputPipe::Stdout => self.out.extend_from_slice(bytes),
            OutputPipe::Stderr => self.err.extend_from_slice(bytes),
        }
        match self.stop_at {
            Some(most) if self.out.len() > most => SinkFlow::Stop,
            Some(_) | None => SinkFlow::Continue,
        }
    }
}

fn job<'a>(line: &str, cancel: &'a CancelSignal) -> ProcessJob<'a> {
    let mut command = Command::new("/bin/sh");
    command.arg("-c").arg(line);
    ProcessJob {
        command,
        input: ProcessInput::Empty,
        errors: StderrMode::Separate,
        limit: Duration::from_secs(60),
        grace: GracePeriods::default(),
        cancel,
        lock: None,
    }
}

#[tokio::test]
async fn a_process_is_fed_read_and_asked_for_its_status() {
    let cancel = CancelSignal::default();
    let mut fed = job("cat; echo bad >&2; exit 3", &cancel);
    fed.input = ProcessInput::Bytes(b"in".to_vec());
    let mut output = Output::default();
    let ran = run(fed, &mut output).await.unwrap();
    let ProcessEnd::Exited(status) = ran.end else { panic!("{ran:?}") };
    assert_eq!((status.code(), ran.held_open), (Some(3), false));
    assert_eq!((&output.out[..], &output.err[..]), (&b"in"[..], &b"bad\n"[..]));
    let mut merged = job("echo a; echo b >&2; echo c", &cancel);
    merged.errors = StderrMode::Merged;
    let mut output = Output::default();
    run(merged, &mut output).await.unwrap();
    assert_eq!(output.out, b"a\nb\nc\n");
}

#[tokio::test]
async fn a_program_that_is_not_there_has_not_begun() {
    let cancel = CancelSignal::default();
    let mut missing = job("", &cancel);
    missing.command = Command::new("/nonexistent/program");
    let not_run = run(missing, &mut Output::default()).await.unwrap_err();
    assert!(!not_run.began, "{not_run:?}");
}

#[tokio::test]
async fn a_grace_lets_a_process_end_by_itself() {
    let source = CancelSource::new();
    let cancel = source.signal();
    source.cancel();
    let mut graceful = job("trap 'echo bye; exit 0' TERM; while :; do :; done", &cancel);
    graceful.limit = Duration::from_millis(300);
    let waiting = CancelSignal::default();
    graceful.cancel = &waiting;
    graceful.grace.on_timeout = Duration::from_secs(30);
    let mut output = Output::default();
    let ran = run(graceful, &mut output).await.unwrap();
    assert_eq!((ran.end, &output.out[..]), (ProcessEnd::TimedOut, &b"bye\n"[..]));
    let killed = job("trap '' TERM; while :; do :; done", &cancel);
    let ran = run(killed, &mut Output::default()).await.unwrap();
    assert_eq!(ran.end, ProcessEnd::Cancelled);
}

#[tokio::test]
async fn a_sink_stops_a_process_that_writes_too_much() {
    let cancel = CancelSignal::default();
    let mut output = Output { stop_at: Some(1_000), ..Output::default() };
    let ran = run(job("while :; do echo more; done", &cancel), &mut output).await;
    assert_eq!(ran.unwrap().end, ProcessEnd::Stopped);
}

#[tokio::test]
async fn parts_reach_a_process_while_it_runs() {
    let cancel = CancelSignal::default();
    let (parts, input) = tokio::sync::mpsc::channel(1);
    let mut fed = job("read a; echo $a; read b; echo $b; cat", &cancel);
    fed.input = ProcessInput::Parts(input);
    let mut output = Output::default();
    let (ran, ()) = tokio::join!(run(fed, &mut output), async {
        for part in ["on", "e\ntwo\n", "rest"] {
            parts.send(part.into()).await.unwrap();
        }
        drop(parts);
    });
    let ProcessEnd::Exited(status) = ran.unwrap().end else { panic!("stopped") };
    assert!(status.success());
    assert_eq!(output.out, b"one\ntwo\nrest");
}

/// Output of a process at a terminal, which is interrupted once it has answered.
struct Typist {
    out: Vec<u8>,
    parts: Option<tokio::sync::mpsc::Sender<Vec<u8>>>,
}

impl OutputSink for Typist {
    async fn ready(&self, _: OutputPipe) {}

    fn accept(&mut self, _: OutputPipe, bytes: &[u8]) -> SinkFlow {
        self.out.extend_from_slice(bytes);
        if String::from_utf8_lossy(&self.out).contains("got hello")
            && let Some(parts) = self.parts.take()
        {
            parts.try_send(vec![3]).unwrap();
        }
        SinkFlow::Continue
    }
}

#[tokio::test]
async fn a_terminal_has_a_size_and_interrupts() {
    let cancel = CancelSignal::default();
    let (parts, input) = tokio::sync::mpsc::channel(2);
    let line = "test -t 0 && test -t 1 && test -t 2 && stty size; trap 'echo int; exit 5' INT; \
                read a; echo got $a; while :; do sleep 0.01; done";
    let mut typed = job(line, &cancel);
    typed.input = ProcessInput::Terminal(input, TerminalSize { rows: 24, columns: 80 });
    parts.try_send(b"hello\n".to_vec()).unwrap();
    let mut output = Typist { out: Vec::new(), parts: Some(parts) };
    let ran = run(typed, &mut output).await.unwrap();
    let ProcessEnd::Exited(status) = ran.end else { panic!("{ran:?}") };
    assert_eq!((status.code(), ran.held_open), (Some(5), false));
    let text = String::from_utf8(output.out).unwrap();
    assert!(text.contains("24 80\r\n") && text.ends_with("int\r\n"), "{text:?}");
}
