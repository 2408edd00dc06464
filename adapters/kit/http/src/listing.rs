//! Models that an endpoint lists; a list shows that the endpoint is reachable and accepts the key.

use std::time::Duration;

use serde_json::Value;
use windlass_core::{FailureKind, Retry};
use windlass_ports::ProviderError;

use crate::client::Client;

/// Most bytes of a list of models.
const MOST_BYTES: usize = 8 * 1024 * 1024;

impl Client {
    /// Lists the ids of the models that the endpoint offers at `models`, requested with this query.
    ///
    /// # Errors
    /// [`ProviderError`] when the endpoint cannot be reached within `wait`, rejects the request, or
    /// returns no list of models.
    pub async fn models(
        &self,
        query: Option<(&str, &str)>,
        wait: Duration,
    ) -> Result<Vec<String>, ProviderError> {
        let (mut url, origin) = self.call(&["models"]);
        if let Some((name, value)) = query {
            url.query_pairs_mut().append_pair(name, value);
        }
        let listing = async {
            let (mut sent, origin) = self.send("GET", &url, &origin, None, wait).await?;
            let mut body = Vec::new();
            while let Some(bytes) = sent.chunk().await.map_err(|e| origin.broken(e))? {
                if body.len().saturating_add(bytes.len()) > MOST_BYTES {
                    return Err(origin.no_models());
                }
                body.extend_from_slice(&bytes);
            }
            listed(&body).ok_or_else(|| origin.no_models())
        };
        tokio::time::timeout(wait, listing).await.unwrap_or_else(|_| {
            Err(origin.error(FailureKind::Timeout, Retry::Soon, origin.slow(wait)))
        })
    }
}

/// Returns the ids in a list of models: `{"data": [..]}`, `{"models": [..]}` or a bare list.
fn listed(body: &[u8]) -> Option<Vec<String>> {
    let value: Value = serde_json::from_slice(body).ok()?;
    let list = value.get("data").or_else(|| value.get("models")).unwrap_or(&value);
    let id = |model: &Value| {
        let id = model.get("id").or_else(|| model.get("name"))?;
        Some(id.as_str()?.to_owned())
    };
    Some(list.as_array()?.iter().filter_map(id).collect())
}
