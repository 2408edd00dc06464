//! `windlass processes`: lists and stops the processes of a session that run beyond their calls, by the
//! records beside the locks of their runs. Any process of this machine may have started them.

use windlass_engine::core::CallId;
use windlass_localfs::{RecordedProcess, RunLocks};

use super::closed;
use crate::args::{ProcessesArgs, ProcessesCommand};
use crate::exit::{ExitKind, Failure};
use crate::present::{print_line, print_notice, visible};
use crate::wiring::{self, Adapters};

pub(super) async fn processes(
    args: ProcessesArgs,
    adapters: &Adapters,
) -> Result<ExitKind, Failure> {
    let session = &args.session;
    let locks = wiring::run_locks(&adapters.workspace(&args.place)?.store);
    let recorded = match &locks {
        Some(locks) => locks.recorded(session).map_err(|error| unreadable(&error))?,
        None => Vec::new(),
    };
    let stop = match args.command {
        None | Some(ProcessesCommand::List) => None,
        Some(ProcessesCommand::Stop { process }) => Some(CallId(process)),
    };
    match (stop, &locks) {
        (Some(process), Some(locks)) => stop_process(locks, &args, &recorded, process).await?,
        (Some(process), None) => return Err(unknown(&args, process)),
        (None, _) => {
            for process in &recorded {
                print_line(&visible(&row(process))).map_err(closed)?;
            }
            if recorded.is_empty() {
                print_notice(&format!("no process of session {session} runs"));
            }
        }
    }
    Ok(ExitKind::Completed)
}

async fn stop_process(
    locks: &RunLocks,
    args: &ProcessesArgs,
    recorded: &[RecordedProcess],
    process: CallId,
) -> Result<(), Failure> {
    let Some(known) = recorded.iter().find(|known| known.call == process) else {
        return Err(unknown(args, process));
    };
    if !known.running {
        print_notice(&format!("process {process} does not run"));
        return Ok(());
    }
    locks.end(&args.session, process).await.map_err(|error| {
        Failure::new(ExitKind::Failed, format!("cannot stop process {process}: {error}"))
    })?;
    print_notice(&format!("process {process} is stopped"));
    Ok(())
}

fn row(process: &RecordedProcess) -> String {
    let state = if process.running { "runs" } else { "ended" };
    format!("{:>6}  {state:<5}  {}", process.call.0, process.command)
}

fn unknown(args: &ProcessesArgs, process: CallId) -> Failure {
    let session = &args.session;
    Failure::usage(format!(
        "session {session} has no process {process} on this machine: `windlass processes {session}` \
         lists them"
    ))
}

fn unreadable(error: &std::io::Error) -> Failure {
    Failure::new(ExitKind::Failed, format!("cannot read the records of processes: {error}"))
}
