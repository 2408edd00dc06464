//! Quick start: a model by name, one typed tool, a prompt and its answer.

#![allow(clippy::print_stdout, reason = "an example prints")]

/// Looks up today's weather in a city.
#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Weather {
    city: String,
}

#[tokio::main]
async fn main() -> windlass::Result {
    let weather = async |_, Weather { city }| Ok(format!("It is sunny in {city}."));
    let weather = windlass::tool("weather", windlass::EffectClass::ReadOnly, weather);
    // "openai/gpt-5" or "anthropic/claude-sonnet-4-5" with a key in the environment. The demo model
    // is a script: the prompt tells it which tool to call.
    let windlass = windlass::builder("demo").tool(weather).open().await?;
    println!("{}", windlass.run(r#"repeat 1: weather {"city": "Oslo"}"#).await?);
    Ok(())
}
