//! (a) Memory of an idle session that has had a turn, alone and with a subscriber.

use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::sleep;

use super::client::{Caller, Reader};
use super::pace::{Pace, Text};
use super::{Pair, judged};
use xtask::say::say;

/// Most memory that one idle session may take, in bytes.
const AT_MOST: u64 = 64 * 1024;

/// Callers that open sessions at the same time.
const CALLERS: u32 = 16;

/// Open files that a server may have for itself.
const OWN_FILES: u64 = 64;

/// Time that memory has to settle before it is read.
const REST: Duration = Duration::from_secs(3);

/// Measures, prints, and returns true if the targets are met.
pub(super) async fn measure(sessions: u32) -> anyhow::Result<bool> {
    say(format_args!("(a) {sessions} sessions, each after one turn and at rest"));
    let pair = Pair::start()?;
    // What is made once for all of them is not counted.
    opened(&pair, CALLERS * 8).await?;
    sleep(REST).await;
    let before = pair.server.memory()?;
    let ids = opened(&pair, sessions).await?;
    sleep(REST).await;
    let (_, others) = pair.server.files()?;
    let count = ids.len() as u64;
    let each = pair.server.memory()?.saturating_sub(before) / count;
    let mut met =
        judged(&format!("{each} bytes of memory each, at most {AT_MOST}"), each <= AT_MOST);
    met &= judged(
        &format!("{others} open files beside sockets for all of them, at most {OWN_FILES}"),
        others <= OWN_FILES,
    );
    let mut readers = Vec::new();
    for id in &ids {
        readers.push(Reader::new(pair.server.address, id, None).await?);
    }
    sleep(REST).await;
    let (sockets, others) = pair.server.files()?;
    let each = pair.server.memory()?.saturating_sub(before) / count;
    met &= judged(
        &format!("{each} bytes each with a subscriber each, at most {AT_MOST}"),
        each <= AT_MOST,
    );
    met &= judged(
        &format!("{others} open files beside {sockets} sockets, at most {OWN_FILES}"),
        others <= OWN_FILES,
    );
    drop(readers);
    Ok(met)
}

/// Opens sessions and runs a turn in each.
async fn opened(pair: &Pair, sessions: u32) -> anyhow::Result<Vec<String>> {
    let address = pair.server.address;
    let mut callers = JoinSet::new();
    let each = sessions.div_ceil(CALLERS);
    for _ in 0..CALLERS {
        callers.spawn(async move {
            let mut caller = Caller::new(address).await?;
            let model = Pace { deltas: 4, a_second: 1_000_000, text: Text::Stamps { bytes: 16 } };
            let mut ids = Vec::new();
            for _ in 0..each {
                let id = caller.open(&model.name()).await?;
                caller.turn(&id).await?;
                while !caller.idle(&id).await? {
                    sleep(Duration::from_millis(1)).await;
                }
                ids.push(id);
            }
            anyhow::Ok(ids)
        });
    }
    let mut ids = Vec::new();
    while let Some(some) = callers.join_next().await {
        ids.extend(some??);
    }
    Ok(ids)
}
