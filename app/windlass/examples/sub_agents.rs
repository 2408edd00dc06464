//! Sub-agents: a tool that is a session of its own, with its own instructions and tools.
//!
//! The budget of the turn covers its agents: a limit of samples holds for all of them together.

#![allow(clippy::print_stdout, reason = "an example prints")]

use windlass::{AgentSpec, EffectClass, Limits, tool};

/// Looks up facts about a town.
#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Facts {
    town: String,
}

#[tokio::main]
async fn main() -> windlass::Result {
    let facts =
        async |_, Facts { town }| Ok(format!("{town} has a harbour and a museum of ships."));
    let researcher = AgentSpec::new("You research one town and report in a paragraph.")
        .with_tools(["facts"])
        .with_samples(4);
    let windlass = windlass::builder("demo")
        .tool(tool("facts", EffectClass::ReadOnly, facts))
        .agent("research", "Researches a town.", researcher)
        .limits(Limits::default().with(|it| it.samples = 10))
        .open()
        .await?;
    // What the demo model is told to do: call the agent, which is told to call its tool.
    let task = serde_json::json!({ "prompt": r#"repeat 1: facts {"town": "Bergen"}"# });
    let answer = windlass.run(format!("repeat 1: research {task}")).await?;
    println!("{answer}\n{} samples of both sessions", answer.usage.with_agents().samples);
    Ok(())
}
