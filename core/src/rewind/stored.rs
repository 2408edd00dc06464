//! Stored form of the changes of a rewind point: a checkpoint has one or two of each step.
//!
//! Points have no names of fields, which would take more than their values. The conversation of the
//! measured request is nearly always the one of the point before, which is stored once.

use alloc::vec::Vec;
use core::fmt;

use serde::de::{Deserializer, Error as _, SeqAccess, Visitor};
use serde::ser::Serializer;

use super::{PointChange, RewindPoint};
use crate::append_list::AppendList;
use crate::compaction::VisiblePart;
use crate::digest::Digest;
use crate::hook::SessionStart;
use crate::id::Seq;
use crate::session::MeasuredRequest;

type StoredVisible = (Digest, u64, u64);
/// The conversation; the tokens of the measured request, with its conversation unless that is the
/// one of the point before; the start; the bytes of memory.
type StoredPoint = (StoredVisible, Option<(u64, Option<StoredVisible>)>, Option<SessionStart>, u64);

pub(super) fn serialize<S: Serializer>(
    changes: &AppendList<PointChange>,
    to: S,
) -> Result<S::Ok, S::Error> {
    let mut before = None;
    let stored = |part: VisiblePart| (part.digest, part.bytes, part.items);
    to.collect_seq(changes.iter().map(|change| {
        let point = change.point.as_ref().map(|point| -> StoredPoint {
            let measured = point.measured.as_ref().map(|MeasuredRequest { tokens, visible }| {
                (*tokens, Some(stored(*visible)).filter(|_| before != Some(*visible)))
            });
            before = Some(point.visible);
            (stored(point.visible), measured, point.start, point.memory_bytes)
        });
        (change.from, point)
    }))
}

pub(super) fn deserialize<'de, D: Deserializer<'de>>(
    from: D,
) -> Result<AppendList<PointChange>, D::Error> {
    from.deserialize_seq(Changes)
}

struct Changes;

impl<'de> Visitor<'de> for Changes {
    type Value = AppendList<PointChange>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("changes of a rewind point")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let part = |(digest, bytes, items)| VisiblePart { digest, bytes, items };
        let mut before = None;
        let mut changes = Vec::new();
        while let Some((from, stored)) = list.next_element::<(Seq, Option<StoredPoint>)>()? {
            let mut point = None;
            if let Some((visible, measured, start, memory_bytes)) = stored {
                let measured = match measured {
                    None => None,
                    Some((tokens, visible)) => {
                        let visible = visible.map(part).or(before);
                        let visible = visible.ok_or_else(|| {
                            A::Error::custom("no point precedes the measured request")
                        })?;
                        Some(MeasuredRequest { tokens, visible })
                    }
                };
                let visible = part(visible);
                before = Some(visible);
                point = Some(RewindPoint { visible, measured, start, memory_bytes });
            }
            changes.push(PointChange { from, point });
        }
        Ok(changes.into())
    }
}
