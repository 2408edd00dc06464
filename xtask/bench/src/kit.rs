//! The adapters of the contestants, made as the reference app makes them.

use std::path::Path;
use std::sync::Arc;

use anyhow::Context as _;
use windlass_file::FileStore;
use windlass_http::http_wire;
use windlass_openai::{Api, OpenAi, OpenAiConfig};
use windlass_ports::{LogStore, Provider};
use windlass_postgres::{PostgresConfig, PostgresStore};
use windlass_sled::SledStore;
use windlass_sqlite::SqliteStore;

use crate::stores::Kind;

/// A provider that asks the server at this base address.
///
/// # Errors
/// When it cannot be made.
pub(crate) fn provider(base_url: &str, api: Api) -> anyhow::Result<Arc<dyn Provider>> {
    let config = OpenAiConfig::new(api).with_base_url(base_url).with_api_key("none");
    let provider = OpenAi::over(&config, http_wire(base_url)?)
        .with_context(|| format!("asking {base_url}"))?;
    Ok(Arc::new(provider))
}

/// A provider that asks the server at this base address over WebSockets.
///
/// # Errors
/// When it cannot be made.
pub(crate) fn socket(base_url: &str) -> anyhow::Result<Arc<dyn Provider>> {
    let config = OpenAiConfig::new(Api::Responses)
        .with_base_url(base_url)
        .with_api_key("none")
        .with_websocket();
    let provider = OpenAi::over(&config, http_wire(base_url)?)
        .with_context(|| format!("asking {base_url}"))?;
    Ok(Arc::new(provider))
}

/// The file store in this folder.
///
/// # Errors
/// When it cannot be opened.
pub(crate) fn file(dir: &Path) -> anyhow::Result<Arc<dyn LogStore>> {
    Ok(Arc::new(FileStore::open(dir.to_owned())?))
}

/// Opens a store of this kind in this folder, on a thread that may block.
///
/// # Errors
/// When it cannot be opened.
pub(crate) async fn store(kind: Kind, dir: &Path) -> anyhow::Result<Arc<dyn LogStore>> {
    let dir = dir.to_owned();
    let open = move || match kind {
        Kind::File => file(&dir),
        Kind::Sled => sled(&dir),
        Kind::Sqlite => sqlite(&dir),
        Kind::Postgres | Kind::PostgresUnprepared => {
            anyhow::bail!("a server's store lies in no folder")
        }
    };
    tokio::task::spawn_blocking(open).await?
}

/// The sled store in this folder.
///
/// # Errors
/// When it cannot be opened.
pub(crate) fn sled(dir: &Path) -> anyhow::Result<Arc<dyn LogStore>> {
    Ok(Arc::new(SledStore::open(dir.to_owned())?))
}

/// The SQLite store in this folder.
///
/// # Errors
/// When it cannot be opened.
pub(crate) fn sqlite(dir: &Path) -> anyhow::Result<Arc<dyn LogStore>> {
    Ok(Arc::new(SqliteStore::open(dir.to_owned())?))
}

/// A PostgreSQL store on this server.
///
/// # Errors
/// When the server does not let it in.
pub(crate) async fn postgres(url: &str) -> anyhow::Result<Arc<dyn LogStore>> {
    let config = PostgresConfig::parse(url)?;
    Ok(Arc::new(PostgresStore::connect(config).await?))
}
