//! Cases of what an executor is asked without running anything: plans, and what became of a call.

use windlass_core::ObservationStatus;
use windlass_ports::{CancelSource, ToolError, ToolErrorKind};

use super::{ToolFixture, context, ensure, fixture_has, observe, within, without};
use crate::store::{Checked, Violation, run_in_parallel as run};

/// What a run would do is said, and none of it is done.
///
/// # Errors
/// A violation when something changed, it fails, or it says that it is done: every tool can be
/// planned, as the port's own words are the least that is said.
pub fn a_plan_changes_nothing(fixture: &dyn ToolFixture) -> Checked {
    run(async {
        for (number, call) in (1..).zip(fixture.calls()) {
            let (before, name) = (fixture.world(), call.name.clone());
            let context = context(number, &CancelSource::new())?;
            let executor = fixture.executor();
            let what = format!("planning {name}");
            let planned = within(fixture, &what, executor.plan(call, context)).await?;
            let planned = planned
                .map_err(|error| Violation::new(format!("{name} could not be planned: {error}")))?;
            ensure(planned.status != ObservationStatus::Done, || {
                format!("{name} was only planned and says that it is done")
            })?;
            ensure(fixture.world() == before, || {
                format!("{name} was only planned and changed something")
            })?;
        }
        Ok(())
    })
}

/// A tool that is asked what became of a call changes nothing.
///
/// # Errors
/// A violation when something changed, or no answer came.
pub fn asking_what_became_of_a_call_changes_nothing(fixture: &dyn ToolFixture) -> Checked {
    if fixture.world().is_none() {
        return without(fixture_has::WORLD, "asking_what_became_of_a_call_changes_nothing");
    }
    run(async {
        for (number, call) in (1..).zip(fixture.calls()) {
            let name = call.name.clone();
            let context = context(number, &CancelSource::new())?;
            observe(fixture, call.clone(), context.clone()).await?;
            let before = fixture.world();
            // It may not know; what it says of a call that has ended is not held against it.
            let executor = fixture.executor();
            let _said = within(fixture, &asking(&name), executor.reconcile(call, context)).await?;
            ensure(fixture.world() == before, || {
                format!("{name} was asked what became of it and changed something")
            })?;
        }
        Ok(())
    })
}

/// A tool answers what became of a call exactly where it declares that it reconciles: whether it
/// knows is another matter.
///
/// # Errors
/// A violation when one that declares it does not support it, or the other way round.
pub fn asking_what_became_of_a_call_is_supported_as_declared(fixture: &dyn ToolFixture) -> Checked {
    run(async {
        let tools = fixture.executor().tools();
        for (number, call) in (1..).zip(fixture.calls()) {
            let name = call.name.clone();
            let declared = tools.iter().any(|tool| tool.name == name && tool.reconciles);
            let context = context(number, &CancelSource::new())?;
            let executor = fixture.executor();
            let said = within(fixture, &asking(&name), executor.reconcile(call, context)).await?;
            let unsupported = |error: ToolError| error.kind == ToolErrorKind::Unsupported;
            let told = !said.is_err_and(unsupported);
            ensure(told == declared, || {
                format!("{name} declares ({declared}) that it reconciles, and does ({told})")
            })?;
        }
        Ok(())
    })
}

fn asking(name: &str) -> String {
    format!("asking what became of {name}")
}
