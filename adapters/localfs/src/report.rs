//! Report of a process to the model: its output, its end and a remedy.

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use windlass_core::{Observation, ObservationStatus};
use windlass_kit_process::{ProcessEnd, RemainingProcesses};

use crate::capture::OutputExcerpt;
use crate::full_output::StorageResult;
use crate::process::CommandResult;
use crate::text::push_line;

/// The observation of a run of the shell: how it ended, and then its output.
pub(crate) fn shell(ran: CommandResult, timeout_ms: u64, most_ms: u64) -> Observation {
    let mut shown = ran.out.show(&ran.fate);
    let (status, exit_code, note) = match ran.end {
        ProcessEnd::Exited(status) => match status.code() {
            Some(0) => (ObservationStatus::Done, Some(0), None),
            code => (ObservationStatus::Failed, code, code.is_none().then(|| exit(status))),
        },
        ProcessEnd::Cancelled | ProcessEnd::Stopped => {
            (ObservationStatus::Aborted, None, Some(String::from(CANCELLED)))
        }
        ProcessEnd::TimedOut => {
            let more = match timeout_ms < most_ms {
                true => format!(", or allow more with timeout_ms, up to {most_ms}"),
                false => String::new(),
            };
            let words = format!(
                "stopped at its time limit of {timeout_ms} ms, with every process it had started; \
                 it may have waited for input, and there is none: do less at once{more}"
            );
            (ObservationStatus::Failed, None, Some(words))
        }
    };
    if let Some(note) = note {
        shown.text.insert_str(0, &format!("[{note}]\n"));
    }
    name_left(&mut shown.text, &ran.remaining, ran.held_open);
    let confinement = Some(ran.confinement);
    Observation { exit_code, confinement, ..observation(status, shown) }
}

/// Words in the output of a command that the sandbox may have kept from something.
const SANDBOX_SIGNS: &[&str] = &[
    "Permission denied",
    "Operation not permitted",
    "Read-only file system",
    "Network is unreachable",
    "Could not resolve host",
    "Temporary failure in name resolution",
    "Name or service not known",
    "Failed to connect",
    "Connection refused",
    "bad address",
];

/// Adds how to ask for a command again outside of the sandbox, if it looks as if it failed there
/// because of it.
pub(crate) fn hint_at_sandbox(observation: &mut Observation) {
    let output = &observation.output;
    let signs = || SANDBOX_SIGNS.iter().any(|sign| output.contains(sign));
    if observation.status != ObservationStatus::Failed || !signs() {
        return;
    }
    let before = observation.output.len();
    push_line(
        &mut observation.output,
        "[the sandbox may be the reason. If this command is needed, call the tool again with the same \
         arguments and \"outside_sandbox\": true: a person is asked. Else go on without it]",
    );
    let more = observation.output.len().saturating_sub(before);
    observation.output_bytes = observation.output_bytes.saturating_add(more as u64);
}

/// Tells what became of the processes that a command line left running.
pub(crate) fn name_left(text: &mut String, remaining: &RemainingProcesses, held_open: bool) {
    if let Some(note) = name_remaining(remaining) {
        push_line(text, &note);
    }
    if held_open {
        push_line(
            text,
            "[a background process that cannot be found still has the output open; what it writes \
             is lost]",
        );
    }
}

/// Names the processes that a command line left running.
fn name_remaining(left: &RemainingProcesses) -> Option<String> {
    let more = match left.count.saturating_sub(left.commands.len()) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let named: Vec<String> = left.commands.iter().map(|command| format!("`{command}`")).collect();
    let processes = if left.count == 1 { "process" } else { "processes" };
    (left.count > 0).then(|| {
        format!(
            "[killed {} {processes} that the command left running: {}{more}]",
            left.count,
            named.join(", ")
        )
    })
}

/// The end of a run that was told to stop.
pub(crate) const CANCELLED: &str =
    "stopped because it was asked to, with every process it had started";

/// The observation of a run of a user's command: its stdout, and if it failed its stderr.
pub(crate) fn command(ran: CommandResult, timeout_ms: u64) -> Observation {
    let mut shown = ran.out.show(&ran.fate);
    let status = ending(&mut shown, ran.end, timeout_ms);
    let err = ran.err.show(&StorageResult::NotStored);
    if status != ObservationStatus::Done && err.total > 0 {
        push_line(&mut shown.text, "[stderr]\n");
        shown.text.push_str(&err.text);
        shown.total = shown.total.saturating_add(err.total);
        shown.omitted = shown.omitted.saturating_add(err.omitted);
    }
    Observation { confinement: Some(ran.confinement), ..observation(status, shown) }
}

/// The exit code by which a user's command says that a call took no effect. Not 1 or 2, with which
/// scripts end that break off.
const NO_EFFECT: i32 = 3;

/// Reads a reconcile command's report on a run whose end nobody saw: exit code 0 means that it took effect,
/// 3 that it did not.
///
/// No other code counts: a call that is taken for one without effect is repeated.
pub(crate) fn reconciled(ran: CommandResult) -> Result<Observation, String> {
    let status = match ran.end {
        ProcessEnd::Exited(status) => status,
        ProcessEnd::Cancelled | ProcessEnd::Stopped => {
            return Err(String::from("it was asked to stop"));
        }
        ProcessEnd::TimedOut => return Err(String::from("its time was up")),
    };
    match status.code() {
        Some(0) => Ok(observation(ObservationStatus::Done, ran.out.show(&ran.fate))),
        Some(NO_EFFECT) => {
            let mut shown = ran.out.show(&ran.fate);
            push_line(
                &mut shown.text,
                "[the process that ran this call ended before the call did; the tool says that \
                 it did not take effect, so it may be repeated]",
            );
            Ok(observation(ObservationStatus::Failed, shown))
        }
        Some(_) | None => {
            let err = ran.err.show(&StorageResult::NotStored);
            Err(format!("{}: {}", exit(status), err.text.trim_end()))
        }
    }
}

/// Says how a run ended, where it was not well.
fn ending(shown: &mut OutputExcerpt, end: ProcessEnd, timeout_ms: u64) -> ObservationStatus {
    match end {
        ProcessEnd::Exited(status) if status.success() => ObservationStatus::Done,
        ProcessEnd::Exited(status) => {
            push_line(&mut shown.text, &format!("[{}]", exit(status)));
            ObservationStatus::Failed
        }
        ProcessEnd::Cancelled | ProcessEnd::Stopped => {
            push_line(&mut shown.text, &format!("[{CANCELLED}]"));
            ObservationStatus::Aborted
        }
        ProcessEnd::TimedOut => {
            let note = format!(
                "[stopped at its time limit of {timeout_ms} ms, with every process it had \
                 started; what it did until then stands: do less at once]"
            );
            push_line(&mut shown.text, &note);
            ObservationStatus::Failed
        }
    }
}

pub(crate) fn exit(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit code {code}"),
        (None, Some(signal)) => format!("killed by signal {signal}"),
        (None, None) => status.to_string(),
    }
}

pub(crate) fn observation(status: ObservationStatus, shown: OutputExcerpt) -> Observation {
    Observation {
        status,
        output: shown.text,
        output_bytes: shown.total,
        omitted_bytes: shown.omitted,
        stored_output: shown.stored,
        exit_code: None,
        confinement: None,
        changes: Vec::new(),
        offers: Vec::new(),
    }
}
