//! Waiting: follows a session until work rests.

use std::sync::Arc;
use std::time::Duration;

use rmcp::RoleServer;
use rmcp::service::RequestContext;
use tokio::time::{Instant, sleep_until};
use windlass_engine::Event;
use windlass_engine::core::Fact;

use super::progress::Progress;
use super::report::Report;
use super::work::Work;
use crate::api::SessionAccess;
use crate::app::App;
use crate::problem::{Problem, ProblemCode};
use crate::stream::begin::{acquire_permit, open_stream};
use crate::stream::client_stream::{ClientStream, EndNotice, EndReason, StreamMessage};
use crate::stream::cursor::Cursor;

/// Cause for another look at the work.
enum Wake {
    /// A fact may have changed its state.
    Changed,
    /// Nobody waits any longer, or the time is over. The work goes on.
    Left,
}

/// Waits until work rests, until the time is over, or until the client cancels its request. Neither
/// stops the work.
pub(super) async fn wait<R>(
    app: &Arc<App>,
    seen: &SessionAccess<R>,
    work: Option<Work>,
    limit: Option<Duration>,
    context: &RequestContext<RoleServer>,
) -> Result<Report, Problem> {
    let until = limit.map(|limit| Instant::now() + limit);
    let mut report = Report::read(app, seen, work).await?;
    let mut progress = Progress::of(context);
    // Whoever loses the connection later knows the session by then.
    progress.send(report.words()).await;
    if report.rests() || limit.is_some_and(|limit| limit.is_zero()) {
        return Ok(report);
    }
    let pass = acquire_permit(app, &seen.caller)?;
    let whole = app.views.get(&seen.caller.tenant, &seen.first).await?;
    let cursor = Cursor { after: Some(whole.view.last), live: progress.is_wanted() };
    let stream = open_stream(app, seen.caller.clone(), &seen.id, cursor, pass).await?;
    let mut stream = stream.continuing_on_lag();
    // What happened before the stream began is seen now.
    loop {
        report = Report::read(app, seen, work).await?;
        if report.rests() {
            return Ok(report);
        }
        match next(&mut stream, &mut progress, until, context).await? {
            Wake::Changed => {}
            Wake::Left => return Ok(report),
        }
    }
}

/// Waits for a fact that may change the state of work.
async fn next(
    stream: &mut ClientStream,
    progress: &mut Progress,
    until: Option<Instant>,
    context: &RequestContext<RoleServer>,
) -> Result<Wake, Problem> {
    loop {
        let due = progress.due();
        tokio::select! {
            biased;
            () = context.ct.cancelled() => return Ok(Wake::Left),
            () = at(until) => return Ok(Wake::Left),
            () = at(due) => progress.flush().await,
            message = stream.next() => match message {
                Some(StreamMessage::Event(Event::Fact(fact))) if matters(&fact.fact) => {
                    return Ok(Wake::Changed);
                }
                Some(StreamMessage::Event(Event::Live(live))) => progress.add(&live),
                Some(StreamMessage::End(EndNotice { reason })) => return ended(reason),
                // Only live text is lost.
                Some(StreamMessage::Event(_) | StreamMessage::Heartbeat
                    | StreamMessage::Store(_) | StreamMessage::Lagged(_)) => {}
                None => return Ok(Wake::Left),
            },
        }
    }
}

/// Waits until a time; for ever without one.
async fn at(time: Option<Instant>) {
    match time {
        Some(time) => sleep_until(time).await,
        None => std::future::pending().await,
    }
}

/// Returns true if a fact may change the state of an input or a turn, or opens a question.
fn matters(fact: &Fact) -> bool {
    matches!(
        fact,
        Fact::InputAccepted(_)
            | Fact::InputBlocked(_)
            | Fact::InputWithdrawn(_)
            | Fact::TurnOpened(_)
            | Fact::TurnSettled(_)
            | Fact::ApprovalAsked(_)
    ) || matches!(fact, Fact::CallStarted(started) if started.client)
}

/// Returns the reason for the end of a stream. A server that goes away leaves the work as it is.
fn ended(reason: EndReason) -> Result<Wake, Problem> {
    match reason {
        EndReason::Draining => Ok(Wake::Left),
        EndReason::Erased => Err(Problem::no_session()),
        EndReason::Unauthorized => {
            let detail = "the token is no longer valid: use another one";
            Err(Problem::new(ProblemCode::Unauthorized, detail))
        }
        EndReason::StoreAway => {
            let detail = "the store does not answer: call status later";
            Err(Problem::new(ProblemCode::StoreAway, detail))
        }
        EndReason::Damaged => {
            let detail = "cannot read the session's log: the operator can repair it";
            Err(Problem::new(ProblemCode::Damaged, detail))
        }
    }
}
