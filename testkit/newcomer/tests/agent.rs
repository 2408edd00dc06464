//! An agent on the newcomer's own store and provider, with a typed tool: it answers, and another process
//! finds its session.

mod fixtures;

use fixtures::protocol::Desk;
use newcomer::provider::DeskProvider;
use newcomer::store::LinesStore;
use serde_json::json;
use windlass::file::FileBlobs;
use windlass::http::http_wire;
use windlass::{EffectClass, Windlass, tool};
use windlass_testkit::http::{ModelServer, Reply, Script};

/// Looks up today's weather in a city.
#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Weather {
    city: String,
}

async fn agent(server: &ModelServer, folder: &std::path::Path) -> windlass::Result<Windlass> {
    let base_url = server.base_url();
    let provider = DeskProvider::new(&base_url, "key", 1 << 20, http_wire(&base_url)?)?;
    let weather = async |_, Weather { city }| Ok(format!("It is sunny in {city}."));
    let blobs = FileBlobs::new(folder.join("blobs"));
    let builder = windlass::builder("any").provider(provider);
    let builder = builder.stores(LinesStore::open(folder, None), blobs);
    Ok(builder.tool(tool("weather", EffectClass::ReadOnly, weather)).open().await?)
}

#[tokio::test]
async fn it_answers_and_its_session_is_found_again() -> windlass::Result {
    let folder = tempfile::tempdir()?;
    let script = Script::list([
        Reply::call("weather", json!({ "city": "Oslo" })),
        Reply::say("Sunny, all day."),
        Reply::say("Also in Bergen."),
    ]);
    let server = ModelServer::start(script.speaking(&Desk))?;
    let first = agent(&server, folder.path()).await?;
    let answer = first.conversation("trip")?.run("How is the weather in Oslo?").await?;
    assert_eq!(answer.output, "Sunny, all day.");
    first.shutdown().await;
    let second = agent(&server, folder.path()).await?;
    let answer = second.conversation("trip")?.run("And in Bergen?").await?;
    assert_eq!(answer.output, "Also in Bergen.");
    let seen = server.samples()[1].asked();
    assert_eq!(seen.results[0].1, "It is sunny in Oslo.");
    assert_eq!(server.misses(), Vec::<String>::new());
    Ok(())
}
