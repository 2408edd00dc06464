//! Changes of files and of names. Pure.

use std::collections::BTreeMap;
use std::sync::Arc;

/// A file or folder, whatever its names.
pub(super) type Node = usize;

/// The folder that is recorded.
pub(super) const ROOT: Node = 0;

/// The names of all files and folders.
pub(super) type Names = BTreeMap<(Node, String), Node>;

/// A change that a sync makes last.
#[derive(Debug, Clone)]
pub(super) enum Change {
    Write { at: usize, bytes: Arc<[u8]> },
    Length(usize),
}

/// A change of names that a sync of their folders makes last.
#[derive(Debug, Clone)]
pub(super) struct Naming {
    pub(super) gone: Option<(Node, String)>,
    pub(super) given: Option<((Node, String), Node)>,
}

impl Change {
    pub(super) fn apply(&self, to: &mut Vec<u8>) {
        match self {
            Self::Write { at, bytes } => put(to, *at, bytes),
            Self::Length(length) => to.resize(*length, 0),
        }
    }
}

/// Writes bytes into a file.
pub(super) fn put(to: &mut Vec<u8>, at: usize, bytes: &[u8]) {
    let end = at + bytes.len();
    if to.len() < end {
        to.resize(end, 0);
    }
    if let Some(place) = to.get_mut(at..end) {
        place.copy_from_slice(bytes);
    }
}

impl Naming {
    pub(super) fn apply(&self, names: &mut Names) {
        if let Some(gone) = &self.gone {
            names.remove(gone);
        }
        if let Some((name, node)) = &self.given {
            names.insert(name.clone(), *node);
        }
    }

    pub(super) fn is_in(&self, folder: Node) -> bool {
        let gone = self.gone.as_ref().is_some_and(|gone| gone.0 == folder);
        gone || self.given.as_ref().is_some_and(|given| given.0.0 == folder)
    }
}
