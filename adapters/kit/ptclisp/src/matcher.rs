//! Matching, in which every step is paid for.
//!
//! A library's matcher is faster, but says nothing of how much it did: an expression that makes it slow would
//! be as cheap as any other. This is Pike's simulation of the automaton that the library compiles: at each
//! byte it holds the places that a match may have come to, in the order in which they are preferred, so that
//! the time is bounded by the text times the expression, and what is paid is what was done.

use regex_automata::nfa::thompson::{NFA, State};
use regex_automata::util::primitives::StateID;

use crate::context::Context;
use crate::fault::Halt;

/// States that are visited for the price of a step.
const STATES_A_STEP: u64 = 8;
/// States that are visited before they are charged.
const UNPAID: u64 = 1024;
/// A place that a match has not been to.
const NOWHERE: usize = usize::MAX;

/// A compiled expression, and the room that it needs.
pub(crate) struct Matcher {
    nfa: NFA,
    /// The groups, the whole match among them.
    pub(crate) groups: usize,
    now: StateSet,
    next: StateSet,
    room: MatcherScratch,
}

/// Scratch space of one search.
#[derive(Default)]
struct MatcherScratch {
    /// Ranges of the groups at the current state.
    slots: Vec<usize>,
    todo: Vec<PendingState>,
    unpaid: u64,
}

/// A match: where each group begins and ends.
pub(crate) struct Match {
    slots: Vec<usize>,
}

impl Match {
    /// Range of a group, if it took part.
    pub(crate) fn group(&self, index: usize) -> Option<(usize, usize)> {
        let (from, to) = (self.slots.get(2 * index)?, self.slots.get(2 * index + 1)?);
        (*from != NOWHERE && *to != NOWHERE).then_some((*from, *to))
    }

    /// Number of groups, including the whole match.
    pub(crate) fn groups(&self) -> usize {
        self.slots.len() / 2
    }

    /// Range of the whole match.
    pub(crate) fn whole(&self) -> (usize, usize) {
        self.group(0).unwrap_or((0, 0))
    }
}

/// The states of one byte, each once, in order, with where its groups were.
#[derive(Default)]
struct StateSet {
    order: Vec<StateID>,
    known: Vec<bool>,
    slots: Vec<usize>,
}

impl StateSet {
    fn clear(&mut self) {
        for state in self.order.drain(..) {
            self.known[state.as_usize()] = false;
        }
        self.slots.clear();
    }

    fn insert(&mut self, state: StateID) -> bool {
        !std::mem::replace(&mut self.known[state.as_usize()], true)
    }
}

/// Work left on the way through states that take no byte.
enum PendingState {
    Visit(StateID),
    /// A slot gets back what it was.
    Restore(usize, usize),
}

impl Matcher {
    pub(crate) fn new(nfa: NFA) -> Matcher {
        let states = nfa.states().len();
        let places = || StateSet { known: vec![false; states], ..StateSet::default() };
        Matcher {
            groups: nfa.group_info().group_len(regex_automata::PatternID::ZERO),
            nfa,
            now: places(),
            next: places(),
            room: MatcherScratch::default(),
        }
    }

    /// Number of states of the automaton.
    pub(crate) fn states(&self) -> usize {
        self.nfa.states().len()
    }

    /// The bytes that it takes.
    pub(crate) fn bytes(&self) -> usize {
        self.nfa.memory_usage() + 2 * self.states() * (size_of::<StateID>() + 1)
    }

    /// The first match from a byte on, with where its first groups are.
    pub(crate) fn find(
        &mut self,
        ctx: &mut Context,
        text: &str,
        mut from: usize,
        groups: usize,
    ) -> Result<Option<Match>, Halt> {
        loop {
            let found = self.search(ctx, text.as_bytes(), from, 2 * groups);
            self.now.clear();
            self.next.clear();
            self.room.todo.clear();
            let Some(slots) = found? else {
                return Ok(None);
            };
            let found = Match { slots };
            let (start, _) = found.whole();
            if text.is_char_boundary(start) {
                return Ok(Some(found));
            }
            // Nothing is matched within a character.
            from = start + 1;
        }
    }

    fn search(
        &mut self,
        ctx: &mut Context,
        text: &[u8],
        from: usize,
        width: usize,
    ) -> Result<Option<Vec<usize>>, Halt> {
        let mut found: Option<Vec<usize>> = None;
        self.room.slots = vec![NOWHERE; width];
        // A place is as wide as its slots; what all places take is taken once.
        ctx.room(2 * self.states().min(text.len() + 1) * width / 3)?;
        let anchored = self.nfa.is_always_start_anchored();
        for at in from..=text.len() {
            if self.now.order.is_empty() && (found.is_some() || (anchored && at > 0)) {
                break;
            }
            if found.is_none() {
                self.room.slots.fill(NOWHERE);
                let start = self.nfa.start_anchored();
                follow(&self.nfa, &mut self.now, &mut self.room, start, text, at);
            }
            for index in 0..self.now.order.len() {
                let row = index * width..(index + 1) * width;
                let byte = text.get(at);
                let goal = match (self.nfa.state(self.now.order[index]), byte) {
                    (State::ByteRange { trans }, Some(byte)) if trans.matches_byte(*byte) => {
                        Some(trans.next)
                    }
                    (State::Sparse(sparse), Some(byte)) => {
                        self.room.unpaid += sparse.transitions.len() as u64 / 8;
                        sparse.matches_byte(*byte)
                    }
                    (State::Dense(dense), Some(byte)) => dense.matches_byte(*byte),
                    (State::Match { .. }, _) => {
                        // What comes after it in the order is preferred less.
                        found = Some(self.now.slots[row].to_vec());
                        break;
                    }
                    _ => None,
                };
                if let Some(goal) = goal {
                    self.room.slots.copy_from_slice(&self.now.slots[row]);
                    let (next, room) = (&mut self.next, &mut self.room);
                    follow(&self.nfa, next, room, goal, text, at + 1);
                }
            }
            self.room.unpaid += 1 + self.now.order.len() as u64;
            std::mem::swap(&mut self.now, &mut self.next);
            self.next.clear();
            if self.room.unpaid >= UNPAID {
                self.pay(ctx)?;
            }
        }
        self.pay(ctx)?;
        Ok(found)
    }

    fn pay(&mut self, ctx: &mut Context) -> Result<(), Halt> {
        let steps = self.room.unpaid / STATES_A_STEP;
        self.room.unpaid %= STATES_A_STEP;
        ctx.spend_steps(steps)
    }
}

/// Adds a state and all that are reached from it without a byte.
fn follow(
    nfa: &NFA,
    places: &mut StateSet,
    room: &mut MatcherScratch,
    state: StateID,
    text: &[u8],
    at: usize,
) {
    room.todo.push(PendingState::Visit(state));
    while let Some(next) = room.todo.pop() {
        let mut state = match next {
            PendingState::Visit(state) => state,
            PendingState::Restore(slot, was) => {
                room.slots[slot] = was;
                continue;
            }
        };
        while places.insert(state) {
            room.unpaid += 1 + room.slots.len() as u64 / 8;
            places.order.push(state);
            places.slots.extend_from_slice(&room.slots);
            state = match nfa.state(state) {
                State::ByteRange { .. }
                | State::Sparse(_)
                | State::Dense(_)
                | State::Fail
                | State::Match { .. } => break,
                State::Look { look, next } => {
                    if !nfa.look_matcher().matches(*look, text, at) {
                        break;
                    }
                    *next
                }
                State::Union { alternates } => match alternates.split_first() {
                    Some((first, others)) => {
                        room.todo
                            .extend(others.iter().rev().map(|other| PendingState::Visit(*other)));
                        *first
                    }
                    None => break,
                },
                State::BinaryUnion { alt1, alt2 } => {
                    room.todo.push(PendingState::Visit(*alt2));
                    *alt1
                }
                State::Capture { next, slot, .. } => {
                    let slot = slot.as_usize();
                    if let Some(was) = room.slots.get_mut(slot) {
                        room.todo.push(PendingState::Restore(slot, *was));
                        *was = at;
                    }
                    *next
                }
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::limits::Limits;
    use crate::pattern::Pattern;

    /// All groups of the first match, by this matcher.
    fn ours(source: &str, text: &str, from: usize) -> Option<Vec<Option<(usize, usize)>>> {
        let mut ctx = Context::new(Limits::default());
        let pattern = Pattern::new(source).expect("well formed");
        let mut matcher = Matcher::new(pattern.compiled().expect("small"));
        let groups = matcher.groups;
        let found = matcher.find(&mut ctx, text, from, groups).expect("cheap");
        found.map(|found| (0..groups).map(|group| found.group(group)).collect())
    }

    /// The same by the library's.
    fn theirs(source: &str, text: &str, from: usize) -> Option<Vec<Option<(usize, usize)>>> {
        let regex = regex_automata::meta::Regex::new(source).expect("well formed");
        let mut captures = regex.create_captures();
        let input = regex_automata::Input::new(text).span(from..text.len());
        regex.search_captures(&input, &mut captures);
        let groups = captures.group_len();
        let group = |index| captures.get_group(index).map(|at| (at.start, at.end));
        captures.is_match().then(|| (0..groups).map(group).collect())
    }

    fn source() -> impl Strategy<Value = String> {
        let leaf = prop_oneof![
            "[abé]",
            Just(".".to_owned()),
            Just(r"\w".to_owned()),
            Just(r"\b".to_owned()),
            Just(r"\B".to_owned()),
            Just("^".to_owned()),
            Just("$".to_owned()),
            Just("[^a]".to_owned()),
            Just("(?i:B)".to_owned()),
            Just(r"\s".to_owned()),
        ];
        leaf.prop_recursive(4, 20, 3, |inner| {
            prop_oneof![
                (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("{a}{b}")),
                (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("(?:{a}|{b})")),
                (inner.clone(), "[*+?]|[*+?][?]|[{]2,3[}]")
                    .prop_map(|(a, n)| format!("(?:{a}){n}")),
                inner.prop_map(|a| format!("({a})")),
            ]
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(150))]

        #[test]
        fn it_finds_what_the_library_finds(source in source(), text in "[abBé \n]{0,8}", at in 0_usize..4) {
            let from = (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at));
            let from = from.unwrap_or(0);
            prop_assert_eq!(ours(&source, &text, from), theirs(&source, &text, from), "{} {:?}", source, text);
        }
    }
}
