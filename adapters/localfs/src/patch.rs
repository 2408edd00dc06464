//! Patches in the grammar that models of OpenAI are trained on: read, and applied to the text of a
//! file. No I/O.

pub(crate) mod apply;
pub(crate) mod parse;

/// Grammar of a patch, in the syntax of Lark.
pub(crate) const GRAMMAR: &str = include_str!("patch/patch.lark");

/// Changes of several files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Patch {
    /// One entry a section, in the order of the patch.
    pub(crate) files: Vec<FilePatch>,
}

/// Change of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FilePatch {
    /// Path as the patch has it.
    pub(crate) path: String,
    /// Change of the file.
    pub(crate) action: FileAction,
}

/// Action on one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum FileAction {
    /// Creates it.
    Add {
        /// Content of the whole file.
        content: String,
    },
    /// Deletes it.
    Delete,
    /// Changes it, and moves it if there is a new path.
    Update {
        /// New path of the file.
        move_to: Option<String>,
        /// Changes from top to bottom.
        chunks: Vec<PatchChunk>,
    },
}

/// Change of neighbouring lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PatchChunk {
    /// Line of the patch where it begins, from 1.
    pub(crate) line: usize,
    /// Lines that precede the chunk in the file, outermost first: the texts after `@@`.
    pub(crate) contexts: Vec<String>,
    /// Lines that stay, go and come.
    pub(crate) lines: Vec<PatchLine>,
    /// True if the chunk ends with the file.
    pub(crate) at_end: bool,
}

/// Line of a chunk, without its mark and its line end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PatchLine {
    /// Stays as it is.
    Keep(String),
    /// Goes.
    Remove(String),
    /// Comes.
    Add(String),
}

impl PatchChunk {
    /// The lines that the file has before the change.
    pub(crate) fn old(&self) -> Vec<&str> {
        let old = self.lines.iter().filter_map(|line| match line {
            PatchLine::Keep(text) | PatchLine::Remove(text) => Some(text.as_str()),
            PatchLine::Add(_) => None,
        });
        old.collect()
    }

    /// The chunk that takes the change back.
    pub(crate) fn reversed(&self) -> Self {
        let lines = self.lines.iter().map(|line| match line.clone() {
            PatchLine::Keep(text) => PatchLine::Keep(text),
            PatchLine::Remove(text) => PatchLine::Add(text),
            PatchLine::Add(text) => PatchLine::Remove(text),
        });
        Self { lines: lines.collect(), ..self.clone() }
    }
}

impl Patch {
    /// Every path that the patch names, in its order.
    pub(crate) fn paths(&self) -> impl Iterator<Item = &str> {
        self.files.iter().flat_map(|file| {
            let moved = match &file.action {
                FileAction::Update { move_to, .. } => move_to.as_deref(),
                FileAction::Add { .. } | FileAction::Delete => None,
            };
            std::iter::once(file.path.as_str()).chain(moved)
        })
    }
}
