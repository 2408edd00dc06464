//! `windlass replay --verify`: replays a session's decisions and reports differences. An upgrade is
//! checked against existing logs, without a model and without a tool.

use std::fmt::Write as _;

use serde_json::json;
use windlass_engine::core::{ReplayReport, SessionId};

use super::closed;
use crate::args::ReplayArgs;
use crate::exit::{ExitKind, Failure};
use crate::present::{print_json, print_line, visible};
use crate::wiring::Adapters;

/// Facts of one read.
const PAGE: usize = 1_000;

pub(super) async fn replay(args: ReplayArgs, adapters: &Adapters) -> Result<ExitKind, Failure> {
    if !args.verify {
        let words = format!(
            "a replay only verifies and runs nothing: use `windlass replay {} --verify`",
            args.session
        );
        return Err(Failure::usage(words));
    }
    let site = adapters.workspace(&args.place)?;
    let store = site.open_to_read().await?.store;
    let id = &args.session.resolve(&site, &*store).await?;
    let verified = store.verify(id).await?;
    let told = windlass_engine::replay(store.as_ref(), id, PAGE).await?;
    if told.facts < verified.last.0 {
        let words = format!(
            "session {id}: the log holds {} facts, {} were read",
            verified.last, told.facts
        );
        return Err(Failure::new(ExitKind::Store, words));
    }
    let printed = match args.json {
        true => print_json(&object(id, &told)),
        false => print_line(&visible(&words(id, &told))),
    };
    printed.map_err(closed)?;
    Ok(match told.is_same() {
        true => ExitKind::Completed,
        false => ExitKind::Failed,
    })
}

/// Formats the result: one line for the coverage, and one for each divergence.
fn words(id: &SessionId, told: &ReplayReport) -> String {
    let ReplayReport {
        facts,
        turns,
        requests,
        different_requests,
        request_divergences,
        same,
        cut_short,
        different,
        divergences,
        unverifiable,
        unverifiable_decisions,
    } = told;
    let decisions = same + different + unverifiable;
    let mut text = format!(
        "{id}: {facts} facts and {turns} turns folded, {requests} requests rendered, \
         {different_requests} of them different; {decisions} decisions replayed: {same} the same \
         ({cut_short} cut short by the end of a process), {different} different, {unverifiable} \
         unverifiable"
    );
    let mut more = |words: String| {
        // Writing to a `String` cannot fail.
        let _ = write!(text, "\n  {words}");
    };
    for one in divergences {
        more(one.to_string());
    }
    for one in request_divergences {
        more(format!(
            "at {}: the request was {}, this engine renders {}",
            one.seq, one.recorded, one.rendered
        ));
    }
    for one in unverifiable_decisions {
        more(format!("at {}: unverifiable: {}", one.seq, one.reason));
    }
    for (all, named, what) in [
        (*different, divergences.len(), "differences"),
        (*different_requests, request_divergences.len(), "requests"),
        (*unverifiable, unverifiable_decisions.len(), "unverifiable decisions"),
    ] {
        let unnamed = all.saturating_sub(named as u64);
        if unnamed > 0 {
            more(format!("and {unnamed} more {what}"));
        }
    }
    text
}

/// Formats the result as one JSON object.
fn object(id: &SessionId, told: &ReplayReport) -> String {
    let divergences = told.divergences.iter().map(|one| {
        json!({
            "seq": one.seq,
            "recorded": one.recorded,
            "replacement": one.replacement.to_string(),
        })
    });
    let requests = told
        .request_divergences
        .iter()
        .map(|one| json!({ "seq": one.seq, "recorded": one.recorded, "rendered": one.rendered }));
    let unverifiable = told
        .unverifiable_decisions
        .iter()
        .map(|one| json!({ "seq": one.seq, "reason": one.reason.to_string() }));
    json!({
        "session": id,
        "same": told.is_same(),
        "facts": told.facts,
        "turns": told.turns,
        "requests": {
            "rendered": told.requests,
            "different": told.different_requests,
            "first": requests.collect::<Vec<_>>(),
        },
        "decisions": {
            "same": told.same,
            "cut_short": told.cut_short,
            "different": told.different,
            "first": divergences.collect::<Vec<_>>(),
            "unverifiable": told.unverifiable,
            "unverifiable_decisions": unverifiable.collect::<Vec<_>>(),
        },
    })
    .to_string()
}
