//! The functions of the language, each in a table with how many arguments it takes.

mod about;
pub(crate) mod access;
mod arith;
mod bits;
mod choose;
mod compare;
pub(crate) mod composed;
mod describe;
mod docs;
pub(crate) mod each;
pub(crate) mod errors;
mod fold;
mod format;
mod functions;
mod json;
pub(crate) mod lazy;
mod maps;
mod maths;
mod parts;
pub(crate) mod pipeline;
mod predicates;
mod regexes;
mod sequences;
mod sets;
mod side;
mod sort;
pub(crate) mod stages;
mod strings;
mod update;
mod walk;

use std::collections::BTreeMap;
use std::sync::OnceLock;

use crate::callable::{NativeBody, NativeFunction};
use crate::context::Context;
use crate::fault::Halt;
use crate::flow::FrameRequest;
use crate::library::stages::{LazyUse, StageKind};
use crate::value::Value;

/// Any number of arguments.
const ANY: usize = usize::MAX;

static TABLES: &[&[NativeFunction]] = &[
    about::NATIVES,
    arith::NATIVES,
    bits::NATIVES,
    choose::NATIVES,
    compare::NATIVES,
    describe::NATIVES,
    each::NATIVES,
    errors::NATIVES,
    fold::NATIVES,
    format::NATIVES,
    functions::NATIVES,
    json::NATIVES,
    lazy::NATIVES,
    composed::NATIVES,
    maps::NATIVES,
    maths::NATIVES,
    parts::NATIVES,
    predicates::NATIVES,
    regexes::NATIVES,
    sequences::NATIVES,
    sets::NATIVES,
    side::NATIVES,
    sort::NATIVES,
    strings::NATIVES,
    update::NATIVES,
    walk::NATIVES,
];

static BY_NAME: OnceLock<BTreeMap<&'static str, &'static NativeFunction>> = OnceLock::new();

fn by_name() -> &'static BTreeMap<&'static str, &'static NativeFunction> {
    BY_NAME.get_or_init(|| {
        let natives = TABLES.iter().flat_map(|table| table.iter());
        natives.map(|native| (native.name, native)).collect()
    })
}

/// The function of this name.
/// Returns true if the language has a function of this name.
#[must_use]
pub fn is_function(name: &str) -> bool {
    find(name).is_some()
}

pub(crate) fn find(name: &str) -> Option<&'static NativeFunction> {
    by_name().get(name).copied()
}

/// The function of a name that was kept: also one that no program can name.
pub(crate) fn find_stored(name: &str) -> Option<&'static NativeFunction> {
    let hidden = Some(&maps::PATH_OF).filter(|native| native.name == name);
    find(name).or(hidden)
}

/// The names of all functions.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    by_name().keys().copied()
}

/// A function that runs at once.
const fn pure(
    name: &'static str,
    least: usize,
    most: usize,
    body: fn(&mut Context, &mut [Value]) -> Result<Value, Halt>,
) -> NativeFunction {
    NativeFunction { name, least, most, body: NativeBody::Pure(body), lazy: None }
}

/// A function that calls functions.
const fn flow(
    name: &'static str,
    least: usize,
    most: usize,
    body: fn(&mut Context, Vec<Value>) -> Result<FrameRequest, Halt>,
) -> NativeFunction {
    NativeFunction { name, least, most, body: NativeBody::Flow(body), lazy: None }
}

/// A function that makes a transducer without its collection, and goes over endless sequences.
const fn staged(kind: StageKind, native: NativeFunction) -> NativeFunction {
    lazily(LazyUse::Stage(kind), native)
}

/// A function that takes endless sequences too.
const fn lazily(lazy: LazyUse, native: NativeFunction) -> NativeFunction {
    let NativeFunction { name, least, most, body, .. } = native;
    NativeFunction { name, least, most, body, lazy: Some(lazy) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_is_there_twice() {
        let all: usize = TABLES.iter().map(|table| table.len()).sum();
        assert_eq!(all, by_name().len());
    }
}
