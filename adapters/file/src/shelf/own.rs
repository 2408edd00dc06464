//! The segment that this store object appends to: what it holds, as far as it is durable.
//!
//! What each append changes of its session stands somewhere in memory, and is read seldom. So what was
//! appended waits in the order in which it came, and goes into the map when somebody looks, or when
//! there is much of it.

use std::hint::black_box;

use windlass_kit_log::Seat;
use windlass_ports::{Link, Summary};

use crate::format::Key;
use crate::map::{Added, Map, UnitAt};

/// The most units that wait: half a megabyte, and less time than a sync takes.
const MOST: usize = 16 * 1024;

/// A map and what waits to go into it.
#[derive(Debug)]
pub(crate) struct Own {
    map: Map,
    waiting: Vec<(Key, UnitAt)>,
    /// Where the logs stand that have units among these, by seat.
    tails: Vec<Option<Tail>>,
    /// The seats that have one.
    with_tail: Vec<Seat>,
}

#[derive(Debug)]
struct Tail {
    key: Key,
    link: Link,
    summary: Option<Summary>,
}

impl Own {
    pub(super) fn new(map: Map) -> Self {
        Self {
            map,
            waiting: Vec::new(),
            tails: Vec::new(),
            with_tail: Vec::new(),
        }
    }

    /// Takes in a group that stands from `start` to `end`.
    pub(super) fn add(&mut self, start: u64, end: u64, series: u8, units: Vec<(Seat, Added)>) {
        self.map.group = start;
        self.map.end = end;
        self.map.series = series;
        for (seat, _) in &units {
            // The processor fetches what all of them need from memory at a time.
            let tail = self.tails.get(seat.index()).and_then(Option::as_ref);
            black_box(tail.map(|tail| (tail.key, tail.link.0.last())));
        }
        for (seat, added) in units {
            self.add_unit(seat, added);
        }
        if self.waiting.len() >= MOST {
            self.fold();
        }
    }

    fn add_unit(&mut self, seat: Seat, added: Added) {
        if added.opening.is_some() {
            self.fold();
            self.map.add(added);
            return;
        }
        let tail = Tail {
            key: added.key,
            link: added.link,
            summary: added.summary,
        };
        if self.tails.len() <= seat.index() {
            self.tails.resize_with(seat.index() + 1, || None);
        }
        let before = self.tails.get(seat.index()).and_then(Option::as_ref);
        if before.is_some_and(|before| before.key != tail.key) {
            // Of who had the seat before.
            self.fold();
        }
        if let Some(at) = self.tails.get_mut(seat.index())
            && at.replace(tail).is_none()
        {
            self.with_tail.push(seat);
        }
        self.waiting.push((added.key, added.at));
    }

    /// What the segment holds.
    pub(super) fn map(&mut self) -> &mut Map {
        self.fold();
        &mut self.map
    }

    pub(super) fn into_map(mut self) -> Map {
        self.fold();
        self.map
    }

    fn fold(&mut self) {
        for (key, at) in self.waiting.drain(..) {
            self.map.go_on(key, at);
        }
        for seat in self.with_tail.drain(..) {
            let tail = self.tails.get_mut(seat.index());
            if let Some(tail) = tail.and_then(Option::take) {
                self.map.end_at(tail.key, tail.link, tail.summary);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use windlass_core::{Seq, SessionId, Timestamp};

    use super::*;
    use crate::format::{Opening, Place};

    const PLACE: Place = Place { lane: 0, number: 1 };

    fn link(number: u64) -> Link {
        let mut link = Link([0; Link::BYTES]);
        link.0[..8].copy_from_slice(&number.to_le_bytes());
        link
    }

    /// The unit at an offset: of a session, its `first`th fact.
    fn added(of: u64, first: u64, offset: u32, opens: bool) -> Added {
        let summary = |last| Summary {
            last: Seq(last),
            changed: Timestamp(u64::from(offset)),
            tenant: None,
            turning: false,
            waiting: 0,
        };
        let opening = Opening {
            id: SessionId::new(&format!("s{of}")).unwrap(),
            link: link(u64::from(offset) - 1),
            summary: Some(summary(first - 1)),
        };
        Added {
            key: Key(of),
            at: UnitAt {
                offset,
                len: 4,
                first: Seq(first),
                count: 1,
            },
            opening: opens.then(|| Box::new(opening)),
            link: link(u64::from(offset)),
            summary: Some(summary(first)),
        }
    }

    /// Sessions that come and go at few seats, in groups, as a writer has them.
    fn groups() -> Vec<Vec<(Seat, Added)>> {
        let mut lasts = [0; 7];
        let mut groups = Vec::new();
        let mut offset = 64;
        for round in 0..400_u64 {
            let mut group = Vec::new();
            for step in 0..5 {
                let of = (round * 3 + step * step) % 7;
                // Another session at the same seat for a while.
                let seat = Seat(u32::try_from(of % 3).unwrap());
                let last = &mut lasts[usize::try_from(of).unwrap()];
                *last += 1;
                group.push((seat, added(of, *last, offset, *last % 50 == 1)));
                offset += 4;
            }
            groups.push(group);
        }
        groups
    }

    fn same(map: &Map, expected: &Map) {
        assert_eq!(map.tracks, expected.tracks);
        assert_eq!(map.damages, expected.damages);
        assert_eq!(
            (map.end, map.group, map.series),
            (expected.end, expected.group, expected.series)
        );
    }

    #[test]
    fn who_looks_finds_what_was_added_whenever_it_looks() {
        for every in [1, 7, 1_000] {
            let mut own = Own::new(Map::empty(PLACE, 64));
            let mut expected = Map::empty(PLACE, 64);
            for (number, group) in groups().into_iter().enumerate() {
                let end = 64 + 20 * (number as u64 + 1);
                for (_, added) in &group {
                    expected.add(added.clone());
                }
                (expected.group, expected.end, expected.series) = (end - 20, end, 3);
                own.add(end - 20, end, 3, group);
                if number % every == 0 {
                    same(own.map(), &expected);
                }
            }
            assert!(expected.damages.is_empty() && expected.tracks.len() == 7);
            same(&own.into_map(), &expected);
        }
    }

    #[test]
    fn what_waits_has_a_bound() {
        let mut own = Own::new(Map::empty(PLACE, 64));
        own.add(64, 68, 0, vec![(Seat(0), added(1, 1, 64, true))]);
        for first in 2..(MOST as u64 * 3) {
            let offset = 64 + 4 * u32::try_from(first).unwrap();
            let unit = added(1, first, offset, false);
            own.add(64, 68, 0, vec![(Seat(0), unit)]);
            assert!(own.waiting.len() < MOST && own.with_tail.len() <= 1);
        }
        let last = own.map().tracks.get(&Key(1)).unwrap().runs[0].stretch.last;
        assert_eq!(last, Seq(MOST as u64 * 3 - 1));
    }
}
