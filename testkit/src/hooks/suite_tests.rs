//! The hooks suite: scripted hooks pass it, and each case finds the fault that it is there for.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use windlass_core::{HookOccurrence, HookPoint, InputId, Timestamp};
use windlass_ports::HookSubject;

use super::suite::HooksFixture;
use super::*;
use crate::store::Checked;
use crate::suite::every_case_bites;

/// A clock whose time passes.
struct Passing;

#[async_trait]
impl Clock for Passing {
    fn now(&self) -> Timestamp {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        Timestamp(since.as_millis().try_into().unwrap())
    }

    async fn sleep_until(&self, moment: Timestamp) {
        tokio::time::sleep(Duration::from_millis(moment.since_ms(self.now()))).await;
    }

    fn entropy(&self) -> u64 {
        0
    }
}

/// A fault to plant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    None,
    TwoOfOneName,
    Fails,
    UnknownPasses,
    UnknownFails,
    RedactsNamelessly,
    NamesNoRedactor,
    DeafToCancel,
    PassesWhenCancelled,
    NoDeadline,
    EndsAtOnce,
    Unbounded,
    RedactsPieces,
    ForgetsTheEnd,
}

/// Scripted hooks, with a fault where one is planted.
struct Fixture {
    fault: Fault,
    hooks: ScriptedHooks,
}

impl Fixture {
    fn new(fault: Fault) -> Self {
        let hook = |name: &str| ScriptedHook::new(name, HookPoint::PromptSubmitted);
        let planted = |one: Fault| fault == one;
        let mut stuck = hook("stuck");
        if !planted(Fault::EndsAtOnce) {
            stuck = stuck.stalls();
        }
        let mut guard = hook("guard").says(deny("no"));
        if planted(Fault::Fails) {
            guard = guard.fails();
        }
        let two = planted(Fault::TwoOfOneName);
        let length = if planted(Fault::Unbounded) { 2_000 } else { 10 };
        let talks = hook(if two { "guard" } else { "talks" });
        let talks = talks.says(context(&"x".repeat(length)));
        let mut hooks = ScriptedHooks::new([guard, talks, stuck]);
        if !planted(Fault::NoDeadline) {
            hooks = hooks.with_clock(Passing);
        }
        Self { fault, hooks: hooks.with_redactor(move || Box::new(Stars::new(fault))) }
    }
}

impl HooksFixture for Fixture {
    fn hooks(&self) -> Arc<dyn Hooks> {
        Arc::new(Faulty(self.hooks.clone(), self.fault))
    }

    fn questions(&self) -> Vec<HookCall> {
        vec![question("guard")]
    }

    fn endless(&self) -> Option<HookCall> {
        Some(question("stuck"))
    }

    fn talkative(&self) -> Option<HookCall> {
        Some(question("talks"))
    }

    fn secret(&self) -> Option<(String, String)> {
        Some(("the word is s3cret, s3c".into(), "s3cret".into()))
    }

    fn patience(&self) -> Duration {
        // These hang, and the case is to find that.
        let hangs = [Fault::DeafToCancel, Fault::NoDeadline].contains(&self.fault);
        Duration::from_millis(if hangs { 400 } else { 60_000 })
    }
}

fn question(hook: &str) -> HookCall {
    HookCall {
        hook: hook.into(),
        at: HookOccurrence::PromptSubmitted { input: InputId(2) },
        subject: HookSubject::Prompt { text: "hello".into() },
    }
}

/// Hooks with a fault of the adapter itself.
struct Faulty(ScriptedHooks, Fault);

#[async_trait]
impl Hooks for Faulty {
    fn hooks(&self) -> Vec<HookSpec> {
        self.0.hooks()
    }

    async fn ask(&self, call: HookCall, context: HookContext) -> Result<HookReply, HookError> {
        let Self(hooks, fault) = self;
        let never = windlass_ports::CancelSource::new();
        let mut context = context;
        if *fault == Fault::DeafToCancel {
            context.cancel = never.signal();
        }
        let asked = hooks.ask(call, context).await;
        if asked.is_err() && [Fault::UnknownPasses, Fault::PassesWhenCancelled].contains(fault) {
            return Ok(HookReply::pass());
        }
        if *fault == Fault::UnknownFails {
            return asked.map_err(|error| HookError::failed(error.to_string()));
        }
        asked
    }

    fn redaction(&self) -> Option<String> {
        let named = self.0.redaction();
        named.filter(|_| self.1 != Fault::RedactsNamelessly)
    }

    fn redactor(&self) -> Option<Box<dyn Redactor>> {
        let there = self.0.redactor();
        there.filter(|_| self.1 != Fault::NamesNoRedactor)
    }
}

/// Puts stars in the place of `s3cret`, and holds back what may become it.
struct Stars {
    fault: Fault,
    held: String,
}

impl Stars {
    fn new(fault: Fault) -> Self {
        let held = String::new();
        Self { fault, held }
    }
}

impl Redactor for Stars {
    fn push(&mut self, _slot: u32, text: &str) -> String {
        if self.fault == Fault::RedactsPieces {
            return self.redact(text);
        }
        self.held.push_str(text);
        let mut ready = self.redact(&self.held);
        let longest = (0..=ready.len()).find(|at| "s3cret".starts_with(&ready[*at..]));
        self.held = ready.split_off(longest.unwrap_or(ready.len()));
        ready
    }

    fn end(&mut self, _slot: u32) -> String {
        let held = std::mem::take(&mut self.held);
        if self.fault == Fault::ForgetsTheEnd {
            return String::new();
        }
        held
    }

    fn redact(&self, text: &str) -> String {
        text.replace("s3cret", "***")
    }
}

mod scripted_hooks {
    use super::*;

    crate::hooks_suite!(Fixture::new(Fault::None));
}

#[test]
fn every_case_finds_its_fault() -> Checked {
    let bites = [
        ("hooks_are_well_formed", Fault::TwoOfOneName, "called"),
        ("a_question_is_answered", Fault::Fails, "guard failed"),
        ("an_unknown_hook_fails", Fault::UnknownFails, "must answer Unsupported"),
        ("a_redactor_is_declared_by_its_name", Fault::RedactsNamelessly, "there is a redactor"),
        ("a_redactor_is_declared_by_its_name", Fault::NamesNoRedactor, "there is no redactor"),
        ("an_unknown_hook_fails", Fault::UnknownPasses, "Pass"),
        (
            "a_hook_that_is_cancelled_before_it_starts_ends",
            Fault::PassesWhenCancelled,
            "told to stop says",
        ),
        ("a_running_hook_ends_soon_after_it_is_cancelled", Fault::DeafToCancel, "did not end"),
        ("a_running_hook_ends_at_its_deadline", Fault::NoDeadline, "did not end"),
        ("a_dropped_question_leaves_the_hooks_in_order", Fault::EndsAtOnce, "ended at once"),
        ("what_a_hook_says_is_bounded", Fault::Unbounded, "are the most"),
        ("what_is_redacted_does_not_depend_on_the_cut", Fault::RedactsPieces, "in pieces of"),
        ("what_is_redacted_does_not_depend_on_the_cut", Fault::ForgetsTheEnd, "in pieces of"),
    ];
    every_case_bites(suite::CASES, &bites, |case, fault| case(&Fixture::new(*fault)))
}
