//! Suspended calls: a run goes on with one, or refuses it.

use std::sync::Arc;

use windlass_core::{ObservationStatus, SuspendedCall, Suspension};
use windlass_ports::{CancelSource, ToolContext, ToolEnd};

use super::{ToolFixture, context, ensure, within};
use crate::store::{Checked, run_in_parallel as run};

/// A call that is to go on from a state that the executor did not leave is refused. It is not begun
/// anew.
///
/// # Errors
/// A violation when it succeeds, or changes something.
pub fn a_suspended_call_is_not_begun_anew(fixture: &dyn ToolFixture) -> Checked {
    run(async {
        for (number, call) in (1..).zip(fixture.calls()) {
            let name = call.name.clone();
            let left = SuspendedCall {
                suspension: Arc::new(Suspension {
                    state: "no state of this executor".into(),
                    question: None,
                    repeatable: false,
                }),
                answer: None,
                runs: 1,
                count: 1,
                decide_again: false,
            };
            let context = context(number, &CancelSource::new())?;
            let context = ToolContext { attempt: 2, suspended: Some(Arc::new(left)), ..context };
            let before = fixture.world();
            let going_on = fixture.executor();
            let ended = within(fixture, &name, going_on.run_or_suspend(call, context)).await?;
            let done = |end: &ToolEnd| matches!(end, ToolEnd::Observed(ended) if ended.status == ObservationStatus::Done);
            ensure(!ended.is_ok_and(|end| done(&end)), || {
                format!("{name} was begun anew, and is to go on from a state that it never left")
            })?;
            let words = || format!("{name} changed something, and its state is none of its own");
            ensure(fixture.world() == before, words)?;
        }
        Ok(())
    })
}
