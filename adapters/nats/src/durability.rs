//! Evidence: whether the servers that keep the logs sync before they answer. It is asked over the
//! system account, which sees the configuration of each server.

use std::collections::BTreeMap;

use async_nats::jetstream::stream::Info;
use async_nats::{Client, Message};
use futures_util::StreamExt as _;
use serde::Deserialize;
use tokio::time::{Duration, Instant, timeout_at};
use windlass_ports::{Durability, StoreError, StoreErrorKind};

use crate::config::NatsConfig;
use crate::open::connect;

/// Time for the servers' answers: all are asked at once, and even a single server is waited for,
/// since it may not be alone.
const PATIENCE: Duration = Duration::from_secs(1);

/// Report of a server about its JetStream.
#[derive(Debug, Deserialize)]
struct ServerReport {
    server: ServerIdentity,
    data: Option<JetStreamReport>,
}

#[derive(Debug, Deserialize)]
struct ServerIdentity {
    name: String,
}

#[derive(Debug, Deserialize)]
struct JetStreamReport {
    #[serde(default)]
    config: Option<SyncConfig>,
}

#[derive(Debug, Deserialize)]
struct SyncConfig {
    #[serde(default)]
    sync_always: bool,
}

/// Returns the durability that the store may declare: the stated one, unless it is observed to be
/// false; `Power` if it is observed; else `Process`.
///
/// # Errors
/// `Invalid` when power is stated and a server is seen not to sync before it answers; `Unavailable`
/// when the system account was named and cannot be asked.
pub(crate) async fn durability(
    config: &NatsConfig,
    logs: &[Info],
) -> Result<Durability, StoreError> {
    let stated = config.durability;
    let Some(login) = &config.system else {
        return Ok(stated.unwrap_or(Durability::Process));
    };
    let shown = config.shown();
    let server = connect(config, login).await?;
    let mut keepers: Vec<String> = logs.iter().flat_map(keepers).collect();
    keepers.sort();
    keepers.dedup();
    let synced = ask(&server.client, &keepers).await.map_err(|what| {
        let context = format!("asking the system account of {shown} for its JetStream: {what}");
        StoreError::new(StoreErrorKind::Unavailable, context)
    })?;
    judge(&shown, stated, &keepers, &synced)
}

/// The names of the servers that keep a stream.
fn keepers(info: &Info) -> Vec<String> {
    let Some(cluster) = &info.cluster else {
        return Vec::new();
    };
    let replicas = cluster.replicas.iter().map(|peer| peer.name.clone());
    cluster.leader.iter().cloned().chain(replicas).collect()
}

fn judge(
    shown: &str,
    stated: Option<Durability>,
    keepers: &[String],
    synced: &BTreeMap<String, bool>,
) -> Result<Durability, StoreError> {
    // A server that is no part of a cluster does not name itself in a stream.
    let all = match keepers {
        [] => synced.len() == 1 && synced.values().all(|always| *always),
        keepers => keepers.iter().all(|name| synced.get(name) == Some(&true)),
    };
    let seen_not = match keepers {
        [] => synced.values().any(|always| !always),
        keepers => keepers.iter().any(|name| synced.get(name) == Some(&false)),
    };
    match stated {
        Some(Durability::Power) if seen_not => Err(StoreError::new(
            StoreErrorKind::Invalid,
            format!(
                "opening {shown}: durability=power is stated, and a server that keeps the logs \
                 answers before it syncs; set `sync_interval: always` in the jetstream block of \
                 each server, or state durability=process"
            ),
        )),
        Some(stated) => Ok(stated),
        None if all => Ok(Durability::Power),
        None => Ok(Durability::Process),
    }
}

/// Lists the servers that have JetStream, each with true if it syncs before it answers.
async fn ask(client: &Client, known: &[String]) -> Result<BTreeMap<String, bool>, String> {
    let inbox = client.new_inbox();
    let subscribed = client.subscribe(inbox.clone()).await;
    let mut answers = subscribed.map_err(|error| error.to_string())?;
    let request = client.publish_with_reply("$SYS.REQ.SERVER.PING.JSZ", inbox, "".into());
    request.await.map_err(|error| error.to_string())?;
    let until = Instant::now() + PATIENCE;
    let mut synced = BTreeMap::new();
    while let Ok(Some(answer)) = timeout_at(until, answers.next()).await {
        if let Some((name, always)) = read(&answer)? {
            synced.insert(name, always);
        }
        if known.iter().all(|name| synced.contains_key(name)) && !known.is_empty() {
            break;
        }
    }
    match synced.is_empty() {
        true => Err(String::from("no server answered; is it the system account?")),
        false => Ok(synced),
    }
}

fn read(answer: &Message) -> Result<Option<(String, bool)>, String> {
    if answer.status.is_some() {
        return Err(String::from("nobody answers; is it the system account?"));
    }
    let answer: ServerReport =
        serde_json::from_slice(&answer.payload).map_err(|error| error.to_string())?;
    let config = answer.data.and_then(|data| data.config);
    Ok(config.map(|config| (answer.server.name, config.sync_always)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(
        stated: Option<Durability>,
        keepers: &[&str],
        synced: &[(&str, bool)],
    ) -> Option<Durability> {
        let keepers: Vec<String> = keepers.iter().map(|name| (*name).to_owned()).collect();
        let synced = synced.iter().map(|(name, always)| ((*name).to_owned(), *always));
        judge("here", stated, &keepers, &synced.collect()).ok()
    }

    #[test]
    fn power_is_declared_on_evidence_or_on_the_word_of_whoever_runs_the_servers() {
        let (power, process) = (Some(Durability::Power), Some(Durability::Process));
        let all = &[("a", true), ("b", true), ("c", true)];
        let one_not = &[("a", true), ("b", false), ("c", true)];
        assert_eq!(judged(None, &["a", "b", "c"], all), power);
        assert_eq!(judged(None, &["a", "b", "c"], one_not), process);
        assert_eq!(judged(None, &["a", "c"], one_not), power);
        assert_eq!(judged(None, &["a", "d"], all), process);
        assert_eq!(judged(power, &["a", "d"], all), power);
        assert_eq!(judged(power, &["a", "b"], one_not), None);
        assert_eq!(judged(process, &["a"], all), process);
        assert_eq!(judged(None, &[], &[("a", true)]), power);
        assert_eq!(judged(None, &[], all), process);
        assert_eq!(judged(power, &[], &[("a", false)]), None);
    }
}
