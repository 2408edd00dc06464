//! Layouts of many sessions at once, with one look at each segment.

use windlass_core::{Seq, SessionId};
use windlass_ports::StoreError;

use crate::catalog::reading::collect;
use crate::catalog::{LogPart, SegmentCatalog, SegmentContent, SessionLayout};
use crate::format::SessionKey;
use crate::segment_map::{UnitLocation, UnitRun};

/// Layout of a session, with the units at the beginning of its log.
#[derive(Debug, Default)]
pub(crate) struct UnitLayout {
    pub(crate) layout: SessionLayout,
    /// Units of each part up to a position.
    pub(crate) units: Vec<Vec<UnitLocation>>,
}

impl SegmentCatalog {
    /// Finds the parts of the logs of many sessions, with their units up to position `until`.
    pub(crate) fn layouts(
        &self,
        sessions: &[SessionId],
        until: Seq,
    ) -> Result<Vec<UnitLayout>, StoreError> {
        let keys: Vec<SessionKey> = sessions.iter().map(SessionKey::of).collect();
        let mut layouts: Vec<UnitLayout> = Vec::new();
        layouts.resize_with(keys.len(), UnitLayout::default);
        let units = |run: &UnitRun| -> Vec<UnitLocation> {
            run.units.iter().take_while(|unit| unit.first <= until).copied().collect()
        };
        self.each_segment(true, &mut |content| {
            match content {
                SegmentContent::Map(map, open) => {
                    for (key, found) in keys.iter().zip(&mut layouts) {
                        collect(map, *key, open, &mut found.layout);
                        let runs = map.tracks.get(key).into_iter().flat_map(|track| &track.runs);
                        found.units.extend(runs.map(units));
                    }
                }
                SegmentContent::Index(segment, index) => {
                    let runs: Result<Vec<_>, _> = keys.iter().map(|key| index.runs(*key)).collect();
                    for (runs, found) in runs?.into_iter().zip(&mut layouts) {
                        for (number, run) in runs.into_iter().enumerate() {
                            found.units.push(units(&run));
                            let extent = run.extent;
                            let part = LogPart { segment, number, extent, open: false };
                            found.layout.parts.push(part);
                        }
                    }
                }
            }
            Ok(())
        })?;
        Ok(layouts)
    }
}
