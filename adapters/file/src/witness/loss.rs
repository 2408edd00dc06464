//! The sessions whose facts may lie in damaged bytes, as far as the witness has them.

use std::io;
use std::sync::Arc;

use windlass_core::Seq;
use windlass_ports::ChainLink;

use crate::format::{FIRST, KeyMap};
use crate::paths::StorePaths;
use crate::segment_map::{Damage, LostFacts, SegmentMap};
use crate::witness::Witness;
use crate::witness::record::WitnessedHead;

/// Adds to each damage of unknown sessions those that lack facts in the segment, if the witness
/// includes all sessions that may.
pub(crate) fn attribute(
    paths: &StorePaths,
    known: Option<&Witness>,
    map: &mut SegmentMap,
) -> io::Result<()> {
    let Some(known) = known.filter(|_| map.damages.iter().any(|damage| damage.half.is_none()))
    else {
        return Ok(());
    };
    let heads = known.heads(paths, map.segment)?;
    let lost: Option<Arc<[LostFacts]>> = heads.map(|heads| lost(map, &heads).into());
    let nobody: Arc<[LostFacts]> = Arc::new([]);
    for damage in &mut map.damages {
        if damage.half.is_some() {
            continue;
        }
        if damage.offset >= known.end() && known.is_last() {
            damage.lost = Some(nobody.clone());
        } else if damage.end <= known.statement.heads_end || (known.is_last() && known.is_whole()) {
            damage.lost = lost.clone();
        }
    }
    Ok(())
}

/// Adds damage if a segment that reads lacks facts of which the witness has the heads.
pub(crate) fn compare(
    paths: &StorePaths,
    known: Option<&Witness>,
    map: &mut SegmentMap,
) -> io::Result<()> {
    let Some(known) = known.filter(|_| map.damages.is_empty()) else {
        return Ok(());
    };
    let heads = known.heads(paths, map.segment)?.unwrap_or_default();
    let lost = lost(map, &heads);
    if !lost.is_empty() {
        map.damages.push(Damage {
            offset: FIRST,
            end: known.end(),
            half: None,
            id: None,
            lost: Some(lost.into()),
            unreadable: false,
            what: "facts that were written there are missing".to_owned(),
        });
    }
    Ok(())
}

/// Compares the content of a segment with the heads.
fn lost(map: &SegmentMap, heads: &KeyMap<WitnessedHead>) -> Vec<LostFacts> {
    let mut lost = Vec::new();
    for (key, head) in heads {
        let runs = map.tracks.get(key).into_iter().flat_map(|track| &track.runs);
        let mut after = Seq::ZERO;
        let mut reached = false;
        for extent in runs.map(|run| &run.extent) {
            after = after.max(extent.last);
            reached |=
                extent.last > head.last || (extent.last == head.last && extent.link == head.link);
        }
        let erased = map.erased.get(key).into_iter().flatten();
        // An erased unit that was damaged before has no link.
        let none = ChainLink([0; ChainLink::BYTES]);
        reached |= erased
            .clone()
            .any(|(last, link)| *link == none || (*last == head.last && *link == head.link));
        if !reached {
            lost.push(LostFacts { key: *key, id: head.id.clone(), last: head.last });
        }
    }
    lost.sort_unstable_by_key(|lost| lost.key);
    lost
}
