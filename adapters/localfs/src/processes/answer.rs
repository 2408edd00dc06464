//! Answers about a process: its output since the last answer, and its state.

use std::time::Duration;

use windlass_core::{Observation, ObservationStatus};
use windlass_kit_process::{ProcessEnd, ProcessResult};
use windlass_ports::ToolContext;

use super::process::{EndedRun, Process, StopReason};
use crate::capture::{OutputCapture, OutputExcerpt};
use crate::full_output::{FullOutput, StorageResult};
use crate::report::{CANCELLED, exit, name_left, observation};
use crate::shell::LINE_BYTES;
use crate::text::push_line;

/// Longest wait for output to be stored.
const STORE: Duration = Duration::from_secs(20);

/// Status of a process that has ended, in the terms of an observation.
struct EndReport {
    status: ObservationStatus,
    exit_code: Option<i32>,
    note: Option<String>,
}

/// Returns the output of a process since the last answer, with its end or with how to go on.
pub(crate) async fn answer(
    process: &Process,
    room: usize,
    life_ms: u64,
    context: &ToolContext,
) -> Observation {
    // Before the output: what an ended process wrote is all there.
    let ended = process.ended();
    let mut shown = take_output(process, room, context).await;
    let report = match &ended {
        None => EndReport { status: ObservationStatus::Done, exit_code: None, note: None },
        Some(ended) => end_report(ended, process.stopped(), life_ms),
    };
    if let Some(note) = &report.note {
        shown.text.insert_str(0, &format!("[{note}]\n"));
    }
    match ended.as_deref() {
        None => push_line(&mut shown.text, &still_runs(process)),
        Some(EndedRun { result: Ok(ProcessResult { end, remaining, held_open }), .. }) => match end
        {
            ProcessEnd::Exited(_) => name_left(&mut shown.text, remaining, *held_open),
            ProcessEnd::Cancelled | ProcessEnd::TimedOut | ProcessEnd::Stopped => {}
        },
        Some(EndedRun { result: Err(_), .. }) => {}
    }
    Observation {
        exit_code: report.exit_code,
        confinement: Some(process.confinement.clone()),
        ..observation(report.status, shown)
    }
}

/// Returns the words about a process on record that does not run here.
pub(crate) fn lost(id: u64) -> String {
    format!(
        "Lost: process {id} ended when windlass did, or when another process continued this session. \
         What it did until then stands, its last output is gone, and nothing started it \
         again: start it with exec_command if it is still needed"
    )
}

/// Describes the state of a process in a few words.
pub(crate) fn state(process: &Process, life_ms: u64) -> String {
    match process.ended() {
        None => format!("runs, {} s so far", process.age().as_secs()),
        Some(ended) => {
            let report = end_report(&ended, process.stopped(), life_ms);
            let code = report.exit_code.map(|code| format!("exit code {code}"));
            let words = code.or(report.note).unwrap_or_default();
            format!("ended after {} s: {words}", ended.after.as_secs())
        }
    }
}

fn still_runs(process: &Process) -> String {
    let id = process.id;
    format!(
        "[process {id} runs, {} s so far: write_stdin with id {id} waits for it or writes to it, \
         stop_process stops it]",
        process.age().as_secs()
    )
}

fn end_report(ended: &EndedRun, stopped: Option<StopReason>, life_ms: u64) -> EndReport {
    let failed =
        |note| EndReport { status: ObservationStatus::Failed, exit_code: None, note: Some(note) };
    let end = match &ended.result {
        Ok(result) => result.end,
        Err(error) => return failed(format!("its end is unknown: {}", error.error)),
    };
    match (end, stopped) {
        (ProcessEnd::Exited(status), _) => match status.code() {
            Some(code) => EndReport {
                status: match code {
                    0 => ObservationStatus::Done,
                    _ => ObservationStatus::Failed,
                },
                exit_code: Some(code),
                note: None,
            },
            None => failed(exit(status)),
        },
        (ProcessEnd::TimedOut, _) => failed(format!(
            "stopped at the longest life of a process, which is {life_ms} ms; start it again if it \
             is still needed"
        )),
        (ProcessEnd::Cancelled | ProcessEnd::Stopped, Some(StopReason::Model)) => EndReport {
            status: ObservationStatus::Done,
            exit_code: None,
            note: Some(String::from("stopped, with every process that it had started")),
        },
        (ProcessEnd::Cancelled | ProcessEnd::Stopped, Some(StopReason::User)) => {
            failed(String::from("stopped by a user, with every process that it had started"))
        }
        (ProcessEnd::Cancelled | ProcessEnd::Stopped, Some(StopReason::Released)) => {
            failed(String::from("stopped when its session was released; nothing started it again"))
        }
        (ProcessEnd::Cancelled | ProcessEnd::Stopped, Some(StopReason::Interrupted) | None) => {
            EndReport {
                status: ObservationStatus::Aborted,
                exit_code: None,
                note: Some(String::from(CANCELLED)),
            }
        }
    }
}

async fn take_output(process: &Process, room: usize, context: &ToolContext) -> OutputExcerpt {
    let (bytes, dropped) = process.take_output();
    let mut capture = OutputCapture::new(room).with_line_limit(LINE_BYTES);
    capture.push(&bytes);
    let fate = match capture.is_whole() {
        true => StorageResult::NotStored,
        false => store(bytes, context).await,
    };
    let mut shown = capture.show(&fate);
    if dropped > 0 {
        let note =
            format!("[... {dropped} bytes before this were dropped: too many to be kept ...]\n");
        shown.text.insert_str(0, &note);
    }
    shown
}

async fn store(bytes: Vec<u8>, context: &ToolContext) -> StorageResult {
    let mut whole = FullOutput::new(context.outputs.clone());
    whole.begin(bytes);
    tokio::select! {
        biased;
        fate = whole.finish() => fate,
        () = context.cancel.cancelled() => StorageResult::Late,
        () = tokio::time::sleep(STORE) => StorageResult::Late,
    }
}
