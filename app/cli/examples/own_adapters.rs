//! The whole command `windlass`, with a store, a provider and a tool of one's own: the program of
//! `docs/adapters.md`.

#[allow(dead_code, reason = "its main function is that of another example")]
#[path = "../../windlass/examples/own_provider.rs"]
mod own_provider;
#[allow(dead_code, reason = "its main function is that of another example")]
#[path = "../../windlass/examples/own_store.rs"]
mod own_store;

use std::path::PathBuf;
use std::process::ExitCode;

use own_provider::Backwards;
use own_store::JournalStore;
use windlass::file::FileBlobs;
use windlass::store::{OpenStore, StoreScheme};
use windlass::{EffectClass, tool};
use windlass_cli::{Command, ProviderScheme, ToolScheme};

/// Counts the bytes of a text.
#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Length {
    text: String,
}

fn main() -> ExitCode {
    let journal = StoreScheme::path("journal", async |path: PathBuf| {
        let blobs = FileBlobs::new(path.with_extension("blobs"));
        Ok(OpenStore::new(JournalStore::open(&path).await?, blobs))
    });
    let backwards = ProviderScheme::new("backwards", |_| Ok(Backwards)).with_model("words");
    let length = ToolScheme::new("length", |_| {
        let length = async |_, Length { text }| Ok(text.len());
        Ok(tool("length", EffectClass::ReadOnly, length))
    });
    Command::new().store(journal).provider(backwards).tools(length).main()
}
