//! Program mode: the model writes a program that calls the tools, in place of one call after another.
//!
//! The program runs in an interpreter with limits, and each of its calls is recorded like any other:
//! a process that dies in the middle of a program repeats no call that may have changed something.

#![allow(clippy::print_stdout, reason = "an example prints")]

use windlass::{EffectClass, tool};

/// Returns the price of an article in cents.
#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Price {
    article: u32,
}

#[tokio::main]
async fn main() -> windlass::Result {
    let price = async |_, Price { article }| Ok(100 * article);
    let windlass = windlass::builder("demo")
        .tool(tool("price", EffectClass::ReadOnly, price))
        .program_runtime(windlass::ptclisp::PtcLisp)
        .open()
        .await?;
    let answer = windlass.run(r#"repeat 3: price {"article": {step}}"#).await?;
    // The program is a call, too.
    println!("{answer}\n{} calls for {} request", answer.usage.calls, answer.usage.samples);
    Ok(())
}
