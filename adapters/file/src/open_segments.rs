//! Segments that stay open while many logs of a listing are looked up.

use std::collections::HashMap;
use std::fs::File;
use std::io;

use crate::catalog::SegmentCatalog;
use crate::format::SegmentId;
use crate::paths;

/// Most segments to keep open.
const MOST: usize = 64;

/// Open segments.
#[derive(Default)]
pub(crate) struct OpenSegments(HashMap<SegmentId, File>);

impl OpenSegments {
    /// Returns a segment, and opens it if it is not open; `None` if there is no such file.
    pub(crate) fn open(
        &mut self,
        catalog: &SegmentCatalog,
        segment: SegmentId,
    ) -> io::Result<Option<&File>> {
        if !self.0.contains_key(&segment) {
            let Some(file) = paths::open_to_read(&catalog.path(segment))? else {
                return Ok(None);
            };
            if self.0.len() == MOST {
                self.0.clear();
            }
            self.0.insert(segment, file);
        }
        Ok(self.0.get(&segment))
    }
}
