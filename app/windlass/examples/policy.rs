//! Property test of a policy: a model that calls anything never gets past it.
//!
//! The policy is a hook on payments. The model is a script of random calls, and the property is that
//! exactly the payments within the limit are made. A run in which the policy never had to deny would
//! prove nothing, so denials are counted.

#![allow(clippy::print_stdout, reason = "an example prints")]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use proptest::collection::vec;
use proptest::test_runner::{Config, TestCaseError, TestRunner};
use serde_json::json;
use windlass::{
    EffectClass, HookCall, HookContext, HookPoint, HookReply, HookSubject, Result, tool,
};
use windlass_testkit::provider::{ScriptedProvider, call, say};

/// Pays an amount of cents.
#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Pay {
    cents: u64,
}

const LIMIT: u64 = 1_000;

/// The policy: no payment is above the limit.
async fn limited(call: HookCall, _: HookContext) -> Result<HookReply> {
    let HookSubject::Call { tool, arguments, .. } = &call.subject else {
        return Ok(HookReply::pass());
    };
    if tool != "pay" {
        return Ok(HookReply::pass());
    }
    // Arguments that cannot be read are an error of the hook, which denies.
    let Pay { cents } = serde_json::from_str(arguments)?;
    Ok(if cents > LIMIT { HookReply::deny("above the limit") } else { HookReply::pass() })
}

/// Returns the payments of a turn whose model asks for these amounts.
async fn payments(asked: &[u64]) -> Result<Vec<u64>> {
    let calls = asked.iter().map(|cents| call("pay", json!({ "cents": cents })));
    let model = ScriptedProvider::new(calls.chain([say("Done.")]));
    let (paid, receipts) = std::sync::mpsc::channel();
    let pay = tool("pay", EffectClass::Effectful, move |_, Pay { cents }| {
        let sent = paid.send(cents);
        async move { Ok(sent?) }
    });
    let builder = windlass::builder("any-model").provider(model).tool(pay);
    let windlass = builder.hook("limit", HookPoint::BeforeTool, limited).open().await?;
    windlass.run("Pay the bills.").await?;
    Ok(receipts.try_iter().collect())
}

fn main() -> Result {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let denials = Arc::new(AtomicUsize::new(0));
    let denied = denials.clone();
    let holds = move |asked: Vec<u64>| {
        let paid = runtime.block_on(payments(&asked));
        let paid = paid.map_err(|error| TestCaseError::fail(error.to_string()))?;
        let within: Vec<u64> = asked.iter().copied().filter(|cents| *cents <= LIMIT).collect();
        denied.fetch_add(asked.len() - within.len(), Ordering::Relaxed);
        match paid == within {
            true => Ok(()),
            false => Err(TestCaseError::fail(format!("asked for {asked:?}, paid {paid:?}"))),
        }
    };
    // A failure shrinks to the shortest list of amounts that shows it.
    let config = Config { cases: 64, failure_persistence: None, ..Config::default() };
    TestRunner::new(config).run(&vec(0..2 * LIMIT, 1..5), holds)?;
    match denials.load(Ordering::Relaxed) {
        0 => return Err("the policy never had to deny, so nothing was tested".into()),
        denials => println!("the policy holds, with {denials} payments denied"),
    }
    Ok(())
}
