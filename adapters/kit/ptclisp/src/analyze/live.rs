//! Finds the last read of each slot. That read moves the value out, so that a loop can change the value that it
//! builds in place.

use crate::code::{CaptureSource, Op, Proto};

/// Turns last reads into moves.
pub(super) fn mark_moves(proto: &mut Proto) {
    let size = proto.code.len();
    // A function of thousands of slots and operations is left as it is: the analysis is their product.
    if proto.slots.saturating_mul(size) > 1 << 20 {
        return;
    }
    // What is read from each operation on, found by going over the code until nothing is added.
    let mut before = vec![vec![false; proto.slots]; size + 1];
    let mut changed = true;
    while changed {
        changed = false;
        for index in (0..size).rev() {
            let live = read_from(proto, &before, index);
            if live != before[index] {
                before[index] = live;
                changed = true;
            }
        }
    }
    for index in 0..size {
        if let Op::Local(slot) = proto.code[index]
            && before[index + 1].get(slot as usize) == Some(&false)
        {
            proto.code[index] = Op::Move(slot);
        }
    }
}

/// The slots that are read from an operation on.
fn read_from(proto: &Proto, before: &[Vec<bool>], index: usize) -> Vec<bool> {
    let op = proto.code[index];
    let mut live: Vec<bool> =
        if falls_through(op) { before[index + 1].clone() } else { vec![false; proto.slots] };
    if let Some(there) = goal(op).and_then(|goal| before.get(goal as usize)) {
        for (here, there) in live.iter_mut().zip(there) {
            *here |= there;
        }
    }
    let set = |live: &mut Vec<bool>, slot: u32, value: bool| {
        if let Some(entry) = live.get_mut(slot as usize) {
            *entry = value;
        }
    };
    if let Op::Store(slot) = op {
        set(&mut live, slot, false);
    }
    // A fault may lead to a handler from any of its operations.
    let at = index as u32;
    for handler in
        proto.handlers.iter().filter(|handler| (handler.start..handler.end).contains(&at))
    {
        for (here, there) in live.iter_mut().zip(&before[handler.goal as usize]) {
            *here |= there;
        }
    }
    for slot in reads(op) {
        set(&mut live, slot, true);
    }
    if let Op::Closure(template) = op {
        let arities = proto.templates.get(template as usize);
        for arity in arities.iter().flat_map(|template| &template.arities) {
            for from in &arity.captures {
                if let CaptureSource::Slot(slot) = from {
                    set(&mut live, *slot, true);
                }
            }
        }
    }
    live
}

fn falls_through(op: Op) -> bool {
    !matches!(op, Op::Jump(_) | Op::Loop(..) | Op::Ret)
}

fn goal(op: Op) -> Option<u32> {
    match op {
        Op::Jump(goal) | Op::IfFalse(goal) | Op::AndJump(goal) | Op::OrJump(goal) => Some(goal),
        Op::Loop(_, goal) | Op::IfNil(_, goal) | Op::IfDefined(_, goal) => Some(goal),
        Op::Each(_, goal) | Op::Key(_, _, goal) | Op::IfNot(_, _, goal) => Some(goal),
        _ => None,
    }
}

fn reads(op: Op) -> impl Iterator<Item = u32> {
    let (first, second) = match op {
        Op::Local(slot) | Op::Move(slot) | Op::IfNil(slot, _) | Op::Loop(slot, _) => {
            (Some(slot), None)
        }
        Op::AsSeq(slot) | Op::Nth(slot, _) | Op::Rest(slot, _) | Op::AsMap(slot) => {
            (Some(slot), None)
        }
        Op::Pairs(slot) | Op::Key(slot, ..) | Op::Items(slot, _) | Op::Append(slot) => {
            (Some(slot), None)
        }
        Op::IfNot(slot, ..) | Op::Rethrow(slot) => (Some(slot), None),
        Op::Each(slot, _) => (Some(slot), Some(slot + 1)),
        _ => (None, None),
    };
    first.into_iter().chain(second)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_read_moves_and_an_earlier_one_does_not() {
        let mut proto = Proto {
            slots: 1,
            code: vec![Op::Local(0), Op::Local(0), Op::Vec(2), Op::Ret],
            ..Proto::default()
        };
        mark_moves(&mut proto);
        assert_eq!(proto.code[..2], [Op::Local(0), Op::Move(0)]);
    }

    #[test]
    fn a_loop_keeps_what_is_read_in_the_next_round() {
        let mut proto = Proto {
            slots: 2,
            code: vec![Op::Local(0), Op::Pop, Op::Local(1), Op::Store(1), Op::Loop(1, 0)],
            ..Proto::default()
        };
        mark_moves(&mut proto);
        assert_eq!(proto.code[0], Op::Local(0));
        assert_eq!(proto.code[2], Op::Move(1));
    }
}
