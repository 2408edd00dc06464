//! `windlass replay --verify`: would today's engine decide as a log says? An upgrade is rehearsed
//! over the logs that are there, without a model and without a tool.

use std::fmt::Write as _;

use serde_json::json;
use windlass_engine::core::{Rehearsed, SessionId};

use super::closed;
use crate::args::Replay;
use crate::exit::{Exit, Failure};
use crate::present::line;
use crate::wiring::Site;

/// Facts that are read at a time.
const PAGE: usize = 1_000;

pub(super) async fn replay(args: Replay) -> Result<Exit, Failure> {
    let id = &args.session;
    if !args.verify {
        let words =
            format!("a replay runs nothing, and only checks: say `windlass replay {id} --verify`");
        return Err(Failure::usage(words));
    }
    let store = Site::new(&args.place)?.open_to_read().await?.store;
    let verified = store.verify(id).await?;
    let told = windlass_engine::rehearse(store.as_ref(), id, PAGE).await?;
    if told.facts < verified.last.0 {
        let words = format!(
            "session {id}: the log holds {} facts, {} were read",
            verified.last, told.facts
        );
        return Err(Failure::new(Exit::Store, words));
    }
    let text = match args.json {
        true => object(id, &told),
        false => words(id, &told),
    };
    line(&text).map_err(closed)?;
    Ok(match told.is_same() {
        true => Exit::Completed,
        false => Exit::Failed,
    })
}

/// Formats the result: one line for the coverage, and one for each divergence.
fn words(id: &SessionId, told: &Rehearsed) -> String {
    let Rehearsed {
        facts,
        turns,
        requests,
        other_requests,
        requested,
        same,
        cut_short,
        different,
        divergences,
        unjudged,
        unclear,
    } = told;
    let decisions = same + different + unjudged;
    let mut text = format!(
        "{id}: {facts} facts and {turns} turns folded, {requests} requests rendered, \
         {other_requests} of them otherwise; {decisions} decisions made anew: {same} the same \
         ({cut_short} cut short by the end of a process), {different} different, {unjudged} not \
         judged"
    );
    let mut more = |words: String| {
        // A `String` takes all that is written to it.
        let _ = write!(text, "\n  {words}");
    };
    for one in divergences {
        more(format!(
            "at {}: the log has {}, today's engine would write {}",
            one.seq, one.recorded, one.instead
        ));
    }
    for one in requested {
        more(format!(
            "at {}: the request was {}, today's engine renders {}",
            one.seq, one.recorded, one.rendered
        ));
    }
    for one in unclear {
        more(format!("at {}: not judged: {}", one.seq, one.why));
    }
    for (all, named, what) in [
        (*different, divergences.len(), "differences"),
        (*other_requests, requested.len(), "requests"),
        (
            *unjudged,
            unclear.len(),
            "decisions that could not be judged",
        ),
    ] {
        let unnamed = all.saturating_sub(named as u64);
        if unnamed > 0 {
            more(format!("and {unnamed} more {what}"));
        }
    }
    text
}

/// The same, as one JSON object.
fn object(id: &SessionId, told: &Rehearsed) -> String {
    let divergences = told.divergences.iter().map(|one| {
        json!({ "seq": one.seq, "recorded": one.recorded, "instead": one.instead.to_string() })
    });
    let requested = told
        .requested
        .iter()
        .map(|one| json!({ "seq": one.seq, "recorded": one.recorded, "rendered": one.rendered }));
    let unclear = told
        .unclear
        .iter()
        .map(|one| json!({ "seq": one.seq, "why": one.why.to_string() }));
    json!({
        "session": id,
        "same": told.is_same(),
        "facts": told.facts,
        "turns": told.turns,
        "requests": {
            "rendered": told.requests,
            "different": told.other_requests,
            "first": requested.collect::<Vec<_>>(),
        },
        "decisions": {
            "same": told.same,
            "cut_short": told.cut_short,
            "different": told.different,
            "first": divergences.collect::<Vec<_>>(),
            "unjudged": told.unjudged,
            "unclear": unclear.collect::<Vec<_>>(),
        },
    })
    .to_string()
}
