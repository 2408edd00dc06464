//! `windlass processes`: lists and stops the processes of a session that run beyond their calls, by the
//! records beside the locks of their runs. Any process of this machine may have started them.

use serde::Deserialize;
use windlass_engine::core::{CallEntry, CallId, Seq, SessionId, TimelineEntry};
use windlass_engine::ports::LogStore;
use windlass_localfs::{RecordedProcess, RunLocks};

use super::closed;
use crate::args::{ProcessesArgs, ProcessesCommand};
use crate::exit::{ExitKind, Failure};
use crate::present::{first_words, print_line, print_notice, visible};
use crate::wiring::{self, Adapters};

/// Most characters of a command line that are shown.
const COMMAND: usize = 200;

pub(super) async fn processes(
    args: ProcessesArgs,
    adapters: &Adapters,
) -> Result<ExitKind, Failure> {
    let site = adapters.workspace(&args.place)?;
    let locks = wiring::run_locks(&site.store);
    let records = |session: &SessionId| match &locks {
        Some(locks) => locks.recorded(session).map_err(|error| unreadable(&error)),
        None => Ok(Vec::new()),
    };
    let mut session = args.session.as_id().clone();
    let mut recorded = records(&session)?;
    // The records tell of a session whose store another process holds.
    if recorded.is_empty()
        && let Ok(opened) = site.open_to_read().await
    {
        session = args.session.resolve(&site, &*opened.store).await?;
        recorded = records(&session)?;
    }
    let session = &session;
    let stop = match args.command {
        None | Some(ProcessesCommand::List) => None,
        Some(ProcessesCommand::Stop { process }) => Some(CallId(process)),
    };
    match (stop, &locks) {
        (Some(process), Some(locks)) => stop_process(locks, session, &recorded, process).await?,
        (Some(process), None) => return Err(unknown(session, process)),
        (None, _) => {
            if recorded.is_empty() {
                print_notice(&format!("no process of session {session} runs"));
                return Ok(ExitKind::Completed);
            }
            let store = site.open_to_read().await?.store;
            for process in &recorded {
                let command = command(store.as_ref(), session, process.call).await?;
                print_line(&visible(&row(process, &command))).map_err(closed)?;
            }
        }
    }
    Ok(ExitKind::Completed)
}

async fn stop_process(
    locks: &RunLocks,
    session: &SessionId,
    recorded: &[RecordedProcess],
    process: CallId,
) -> Result<(), Failure> {
    let Some(known) = recorded.iter().find(|known| known.call == process) else {
        return Err(unknown(session, process));
    };
    if !known.running {
        print_notice(&format!("process {process} does not run"));
        return Ok(());
    }
    locks.end(session, process).await.map_err(|error| {
        Failure::new(ExitKind::Failed, format!("cannot stop process {process}: {error}"))
    })?;
    print_notice(&format!("process {process} is stopped"));
    Ok(())
}

/// Returns the command line of a process in short, from the call in the log that started it.
async fn command(
    store: &dyn LogStore,
    session: &SessionId,
    call: CallId,
) -> Result<String, Failure> {
    #[derive(Deserialize)]
    struct Started {
        cmd: String,
    }
    let facts = store.read(session, Seq(call.0.saturating_sub(1)), 1).await?;
    let started = facts.first().and_then(|fact| {
        let TimelineEntry::Call(_, CallEntry::Proposed(_, item)) = TimelineEntry::of(fact) else {
            return None;
        };
        serde_json::from_str::<Started>(&item.arguments).ok()
    });
    let command = started.map_or_else(|| "unknown".to_owned(), |started| started.cmd);
    Ok(first_words(&command, COMMAND))
}

fn row(process: &RecordedProcess, command: &str) -> String {
    let state = if process.running { "runs" } else { "ended" };
    format!("{:>6}  {state:<5}  {command}", process.call.0)
}

fn unknown(session: &SessionId, process: CallId) -> Failure {
    Failure::usage(format!(
        "session {session} has no process {process} on this machine: `windlass processes {session}` \
         lists them"
    ))
}

fn unreadable(error: &std::io::Error) -> Failure {
    Failure::new(ExitKind::Failed, format!("cannot read the records of processes: {error}"))
}
