//! Cases of the fixture itself: it shows enough for the other cases to see something.

use std::collections::BTreeSet;

use windlass_core::EffectClass;
use windlass_ports::CancelSource;

use super::{ToolFixture, context, ensure, fixture_has, observe, without};
use crate::store::{Checked, Violation, run_in_parallel as run};

/// The fixture names a call of each declared tool, but for those that it shows without end or with
/// too much to say, and of no other.
///
/// # Errors
/// A violation when it does not, as the cases would then hold a tool to nothing.
pub fn each_tool_has_a_call(fixture: &dyn ToolFixture) -> Checked {
    let tools = fixture.executor().tools();
    let called: BTreeSet<String> = fixture.calls().into_iter().map(|call| call.name).collect();
    ensure(!called.is_empty(), || {
        "the fixture names no call: give one at least in ToolFixture::calls".into()
    })?;
    let endless = fixture.endless().map(|call| call.name);
    let talkative = fixture.talkative().map(|talkative| talkative.call.name);
    let others: Vec<String> = endless.into_iter().chain(talkative).collect();
    for name in tools.iter().map(|tool| &tool.name) {
        ensure(called.contains(name) || others.contains(name), || {
            format!("the fixture names no call of {name}: give one in ToolFixture::calls")
        })?;
    }
    for name in called.iter().chain(&others) {
        ensure(tools.iter().any(|tool| tool.name == *name), || {
            format!("the fixture names a call of {name}, which the executor does not declare")
        })?;
    }
    Ok(())
}

/// The world reads otherwise after the first call of a tool that is not read-only.
///
/// # Errors
/// A violation when it reads as before: the tool did nothing, or the fixture does not look.
pub fn what_changes_something_shows_in_the_world(fixture: &dyn ToolFixture) -> Checked {
    if fixture.world().is_none() {
        return without(fixture_has::WORLD, "what_changes_something_shows_in_the_world");
    }
    run(async {
        let tools = fixture.executor().tools();
        let mut seen = BTreeSet::new();
        for (number, call) in (1..).zip(fixture.calls()) {
            let name = call.name.clone();
            let tool = tools.iter().find(|tool| tool.name == name);
            let tool = tool.ok_or_else(|| Violation::new(format!("{name} is not declared")))?;
            let before = fixture.world();
            observe(fixture, call, context(number, &CancelSource::new())?).await?;
            let shows = tool.effect == EffectClass::ReadOnly || fixture.world() != before;
            ensure(!seen.insert(name.clone()) || shows, || {
                format!(
                    "{name} was run and is not read-only, and ToolFixture::world reads as before: \
                     it must tell all that the tools can change"
                )
            })?;
        }
        Ok(())
    })
}
