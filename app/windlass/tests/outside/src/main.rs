//! The quick start of the README, as a user has it.

/// Looks up today's weather in a city.
#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Weather { city: String }
#[tokio::main]
async fn main() -> windlass::Result {
    let weather = windlass::tool("weather", windlass::EffectClass::ReadOnly, async |_, Weather { city }| Ok(format!("It is sunny in {city}.")));
    let windlass = windlass::builder("openai/gpt-5").store("file:state").tool(weather).open().await?;
    println!("{}", windlass.run("How is the weather in Oslo?").await?);
    Ok(())
}
