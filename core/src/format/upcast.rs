//! The table of upcasts: what became of the bodies of each version in the next.

use serde::Deserialize;
use serde::de::value::StrDeserializer;
use serde::de::{DeserializeSeed, IntoDeserializer};

use super::FormatVersion;
use super::reader::{InvalidBody, TreeReader, UnknownFields};
use super::tree::BodyTree;
use crate::fact::{Fact, Kind};

/// First version of fact bodies.
const FIRST_VERSION: u32 = 1;

/// Conversions of bodies. A new version adds a row for each kind whose body it changes, and no row
/// is ever changed or removed.
const UPCASTS: &[Upcast] = &[];

/// Conversion of one kind's body from one version to the next.
#[derive(Debug, Clone, Copy)]
pub struct Upcast {
    /// Kind of the facts.
    pub kind: &'static str,
    /// Version of the bodies that it converts.
    pub from: u32,
    /// Returns the body in the form of the next version.
    pub apply: fn(BodyTree) -> Result<BodyTree, InvalidBody>,
}

/// Reads the bodies of facts of all versions that an engine knows.
#[derive(Debug, Clone, Copy)]
pub struct BodyReader<'a> {
    /// Format that the engine writes.
    pub current: FormatVersion,
    /// Conversions from earlier versions. A kind without a row of a version has the same body in the
    /// next.
    pub upcasts: &'a [Upcast],
}

/// Relation of a fact's format to the one that an engine writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BodyForm {
    /// The engine's own version, or an earlier minor version of it.
    Known,
    /// An earlier version: its body is converted.
    Older,
    /// A later minor version: fields that the engine does not know are left out of the fact.
    NewerMinor,
    /// A later version, or an unknown kind: the engine cannot read it.
    Newer,
    /// A version that no engine ever wrote.
    Never,
}

impl BodyReader<'static> {
    /// Reader of this engine.
    pub const CURRENT: Self = Self { current: FormatVersion::CURRENT, upcasts: UPCASTS };
}

impl BodyReader<'_> {
    /// Returns the relation of a fact of this kind and format to the engine's own.
    #[must_use]
    pub fn form(&self, kind: &str, at: FormatVersion) -> BodyForm {
        if at.version < FIRST_VERSION {
            BodyForm::Never
        } else if at.version > self.current.version || !Fact::KINDS.contains(&kind) {
            BodyForm::Newer
        } else if at.version < self.current.version {
            BodyForm::Older
        } else if at.minor > self.current.minor {
            BodyForm::NewerMinor
        } else {
            BodyForm::Known
        }
    }

    /// Reads a body of this kind and format. An earlier one is converted version by version.
    ///
    /// # Errors
    /// [`InvalidBody`] when the engine cannot read the format, or the body does not have its form.
    pub fn read(&self, kind: &str, at: FormatVersion, body: BodyTree) -> Result<Fact, InvalidBody> {
        let unknown = match self.form(kind, at) {
            BodyForm::Known | BodyForm::Older => UnknownFields::Pass,
            BodyForm::NewerMinor => UnknownFields::Skip,
            BodyForm::Newer | BodyForm::Never => {
                let why = alloc::format!("this engine does not read format {at}");
                return Err(InvalidBody(why));
            }
        };
        let mut tree = body;
        for version in at.version..self.current.version {
            tree = self.upcast(kind, version, tree)?;
        }
        let name: StrDeserializer<'_, InvalidBody> = kind.into_deserializer();
        <Kind as Deserialize>::deserialize(name)?.deserialize(TreeReader { tree, unknown })
    }

    fn upcast(&self, kind: &str, from: u32, body: BodyTree) -> Result<BodyTree, InvalidBody> {
        let mut rows = self.upcasts.iter();
        match rows.find(|row| row.kind == kind && row.from == from) {
            Some(row) => (row.apply)(body),
            None => Ok(body),
        }
    }
}
