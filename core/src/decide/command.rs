//! Commands of a user: calls that a person makes, who thereby approves them.
//!
//! A command waits in the queue and has a turn of its own. It was compared with the rules as they
//! were and by the process that received it, so it is withdrawn once either has changed.

use alloc::borrow::Cow;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::Plan;
use super::input::{require_acceptable, require_place};
use crate::call::policy::command_denial;
use crate::error::Reject;
use crate::fact::{Fact, InputBlocked, InputQueued, InputWithdrawn};
use crate::id::InputId;
use crate::item::CallItem;
use crate::rule::{Rule, RuleVerdict};
use crate::scope::Scope;
use crate::session::{Delivery, Session};

/// Reason for a command that outlived its process.
const OTHER_PROCESS: &str = "the process that received this command ended before it ran";

/// Reason for a command that was not compared with the rules as they are.
const OTHER_RULES: &str = "the rules about calls have changed since this command was sent";

pub(super) fn on_run(
    plan: &mut Plan,
    scope: Scope,
    text: String,
    call: Option<Arc<CallItem>>,
) -> Result<(), Reject> {
    let said = InputQueued {
        scope: Arc::new(scope),
        text: text.into(),
        delivery: Delivery::Turn,
        context: Vec::new(),
        images: Vec::new(),
        key: None,
        command_key: plan.key.take(),
        dry_run: false,
        result_of: None,
        command: call,
    };
    require_acceptable(plan, &said)?;
    if let Some(why) = refusal(&plan.session, said.command.as_deref()) {
        return Err(Reject::CommandRefused(Cow::Borrowed(why)));
    }
    require_place(plan)?;
    plan.push(Fact::InputQueued(said))
}

/// Returns the reason why the session runs no such command, if there is one.
fn refusal(session: &Session, call: Option<&CallItem>) -> Option<&'static str> {
    if session.is_child() {
        return Some("an agent works in this session, and its turns are of its calling session");
    }
    let Some(tool) = call.and_then(|call| session.settings.tool(&call.name)) else {
        return Some("no tool of the session takes a command line");
    };
    let rules = call.into_iter().flat_map(|call| &call.rules);
    let mut rules = rules.filter_map(|at| session.settings.rules.get(usize::try_from(*at).ok()?));
    if rules.any(|rule| rule.verdict == RuleVerdict::Deny) {
        return Some("a rule denies it");
    }
    let denial = command_denial(session.settings.permissions, tool.effect);
    denial.map(|_| "the permissions of the session are read-only")
}

/// Withdraws the commands that wait if the rules are not these any more.
pub(super) fn withdraw_if_changed(plan: &mut Plan, rules: &[Rule]) -> Result<(), Reject> {
    if plan.session.settings.rules == rules { Ok(()) } else { withdraw(plan, OTHER_RULES) }
}

/// Withdraws the commands that an earlier process received.
pub(super) fn withdraw_recovered(plan: &mut Plan) -> Result<(), Reject> {
    withdraw(plan, OTHER_PROCESS)
}

fn withdraw(plan: &mut Plan, why: &str) -> Result<(), Reject> {
    let waiting = plan.session.queue.iter().filter(|queued| queued.command.is_some());
    let waiting: Vec<InputId> = waiting.map(|queued| queued.id).collect();
    // The turn that a fork inherited ends by itself, and its input stays in the queue.
    let inherited = plan.session.turn_is_inherited();
    for input in waiting {
        let opened = plan.session.turn().is_some_and(|turn| turn.is_opened_by(input));
        if opened && inherited {
            continue;
        }
        plan.push(match opened {
            true => Fact::InputBlocked(InputBlocked { input, reason: String::from(why) }),
            false => {
                let by = Arc::new(Scope::system(why));
                Fact::InputWithdrawn(InputWithdrawn { by, input, key: None })
            }
        })?;
    }
    Ok(())
}
