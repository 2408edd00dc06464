//! Typed tools, and functions as hooks and approvers, keep the promises of their ports.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::future::pending;
use std::sync::{Arc, Mutex};

use windlass_engine::Toolbox;
use windlass_engine::core::{EffectClass, HookOccurrence, HookPoint, HookReply, InputId};
use windlass_engine::ports::{
    ApprovalDecision, Approver, ExternalApprover, HookCall, HookSubject, Hooks, NoApprover,
    NoHooks, ToolCall, ToolExecutor,
};
use windlass_testkit::approver::suite::ApproverFixture;
use windlass_testkit::hooks::suite::HooksFixture;
use windlass_testkit::tools::suite::ToolFixture;

use crate::closures::{ApproverFunction, HookFunctions};
use crate::tool::tool;

/// Tells the weather.
#[derive(serde::Deserialize, schemars::JsonSchema)]
struct City {
    city: String,
}

/// One tool, as an embedder writes it.
struct OneTool;

fn call(name: &str) -> ToolCall {
    ToolCall { name: name.into(), arguments: r#"{"city":"Oslo"}"#.into() }
}

impl ToolFixture for OneTool {
    fn executor(&self) -> Arc<dyn ToolExecutor> {
        Arc::new(tool("weather", EffectClass::ReadOnly, async |_, City { city }| {
            Ok(format!("{city}: cold"))
        }))
    }

    fn calls(&self) -> Vec<ToolCall> {
        vec![call("weather")]
    }
}

mod one_tool {
    use super::*;

    windlass_testkit::tool_suite!(OneTool);
}

/// A tool that changes something.
#[derive(Clone, Default)]
struct Notes(Arc<Mutex<Vec<String>>>);

impl ToolFixture for Notes {
    fn executor(&self) -> Arc<dyn ToolExecutor> {
        let notes = self.0.clone();
        Arc::new(tool("note", EffectClass::Effectful, move |_, City { city }| {
            notes.lock().unwrap().push(city);
            async { Ok(()) }
        }))
    }

    fn calls(&self) -> Vec<ToolCall> {
        vec![call("note")]
    }

    fn world(&self) -> Option<String> {
        Some(self.0.lock().unwrap().join(","))
    }
}

mod a_tool_with_effects {
    use super::*;

    windlass_testkit::tool_suite!(Notes::default());
}

/// A tool that only reads and does not end by itself.
struct Waits;

impl ToolFixture for Waits {
    fn executor(&self) -> Arc<dyn ToolExecutor> {
        Arc::new(tool("wait", EffectClass::ReadOnly, async |_, City { city }| {
            if city == "Oslo" {
                pending::<()>().await;
            }
            Ok(())
        }))
    }

    fn calls(&self) -> Vec<ToolCall> {
        vec![ToolCall { name: "wait".into(), arguments: r#"{"city":"Rome"}"#.into() }]
    }

    fn endless(&self) -> Option<ToolCall> {
        Some(call("wait"))
    }
}

mod a_tool_that_waits {
    use super::*;

    windlass_testkit::tool_suite!(Waits);
}

/// Functions as hooks: an ordinary one, one that stays, and one with too much to say.
struct Functions;

fn question(hook: &str) -> HookCall {
    HookCall {
        hook: hook.into(),
        at: HookOccurrence::PromptSubmitted { input: InputId(3) },
        subject: HookSubject::Prompt { text: "hello".into() },
    }
}

fn pass(reason: &str) -> HookReply {
    HookReply { reason: reason.to_owned(), ..HookReply::pass() }
}

impl HooksFixture for Functions {
    fn hooks(&self) -> Arc<dyn Hooks> {
        let mut hooks = HookFunctions::default();
        let point = HookPoint::PromptSubmitted;
        hooks.push("ordinary".into(), point, async |_, _| Ok(pass("fine")));
        hooks.push("stays".into(), point, async |_, _| pending().await);
        hooks.push("talks".into(), point, async |_, _| Ok(pass(&"x".repeat(5_000))));
        hooks.after(Arc::new(NoHooks))
    }

    fn questions(&self) -> Vec<HookCall> {
        vec![question("ordinary")]
    }

    fn endless(&self) -> Option<HookCall> {
        Some(question("stays"))
    }

    fn talkative(&self) -> Option<HookCall> {
        Some(question("talks"))
    }
}

mod functions {
    use super::*;

    windlass_testkit::hooks_suite!(Functions);
}

/// A function as an approver, which answers what the person said.
#[derive(Default)]
struct Person(Arc<Mutex<Option<ApprovalDecision>>>);

impl ApproverFixture for Person {
    fn approver(&self) -> Arc<dyn Approver> {
        let said = self.0.clone();
        Arc::new(ApproverFunction::new(move |_| {
            let said = said.lock().unwrap().take();
            async {
                match said {
                    Some(said) => Ok(said),
                    None => pending().await,
                }
            }
        }))
    }

    fn person(&self, answer: &ApprovalDecision) -> bool {
        *self.0.lock().unwrap() = Some(answer.clone());
        true
    }
}

windlass_testkit::approver_suite!(Person::default());

/// Approvers without a person of their own.
struct NobodyHere(Arc<dyn Approver>);

impl ApproverFixture for NobodyHere {
    fn approver(&self) -> Arc<dyn Approver> {
        self.0.clone()
    }

    fn person(&self, _: &ApprovalDecision) -> bool {
        false
    }
}

mod no_approver {
    use super::*;

    windlass_testkit::approver_suite!(NobodyHere(Arc::new(NoApprover)));
}

mod external_approver {
    use super::*;

    windlass_testkit::approver_suite!(NobodyHere(Arc::new(ExternalApprover)));
}

/// The engine's toolbox, over two executors.
struct TwoExecutors(Notes);

impl ToolFixture for TwoExecutors {
    fn executor(&self) -> Arc<dyn ToolExecutor> {
        let both = Toolbox::new().with(self.0.executor()).unwrap();
        Arc::new(both.with(Waits.executor()).unwrap())
    }

    fn calls(&self) -> Vec<ToolCall> {
        [self.0.calls(), Waits.calls()].concat()
    }

    fn endless(&self) -> Option<ToolCall> {
        Waits.endless()
    }

    fn world(&self) -> Option<String> {
        self.0.world()
    }
}

mod toolbox {
    use super::*;

    windlass_testkit::tool_suite!(TwoExecutors(Notes::default()));
}
