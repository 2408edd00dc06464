//! Excerpt of a text that is too long to be shown, and the storage of all of it.

use windlass_core::{Observation, ObservationStatus, StoredOutput};
use windlass_ports::{BlobError, BlobErrorKind, OutputStore};

/// Most bytes of a result that are shown, without the remark about the rest.
pub(crate) const SHOWN: usize = 32 * 1024;

/// Returns the observation of a text. A long one is stored, and its head and its tail are shown.
pub(crate) async fn observation(
    status: ObservationStatus,
    text: String,
    outputs: &OutputStore,
) -> Observation {
    if text.len() <= SHOWN {
        return Observation::new(status, text);
    }
    let (stored_output, lost) = match store(outputs, &text).await {
        Ok(stored) => (Some(stored), ""),
        Err(error) if error.kind == BlobErrorKind::Disabled => (None, ""),
        Err(error) => {
            tracing::warn!(%error, "the result of a call could not be stored");
            (None, ", and lost: they could not be stored")
        }
    };
    let (head, tail) = ends(&text, SHOWN);
    let omitted = text.len().saturating_sub(head.len() + tail.len());
    let output = format!("{head}\n[... {omitted} bytes omitted{lost} ...]\n{tail}");
    Observation {
        output_bytes: text.len() as u64,
        omitted_bytes: omitted as u64,
        stored_output,
        ..Observation::new(status, output)
    }
}

/// Returns the head and the tail of a text, of this many bytes together: three in four are of the
/// head, as a result says at its beginning what it is.
fn ends(text: &str, room: usize) -> (&str, &str) {
    let head = text.floor_char_boundary(room / 4 * 3);
    let tail = text.ceil_char_boundary(text.len().saturating_sub(room / 4).max(head));
    (text.get(..head).unwrap_or_default(), text.get(tail..).unwrap_or_default())
}

async fn store(outputs: &OutputStore, text: &str) -> Result<StoredOutput, BlobError> {
    let mut writer = outputs.begin().await?;
    writer.write(text.as_bytes()).await?;
    writer.finish().await
}

/// Cuts a text to this many bytes, with a mark.
pub(crate) fn clipped(text: &str, room: usize) -> String {
    let end = text.floor_char_boundary(room);
    let shown = text.get(..end).unwrap_or_default();
    if shown.len() == text.len() { shown.to_owned() } else { format!("{shown} [...]") }
}

#[cfg(test)]
mod tests {
    use windlass_core::SessionId;

    use super::*;

    #[tokio::test]
    async fn a_long_text_shows_its_ends_and_its_size() {
        let outputs = OutputStore::disabled(SessionId::new("s").unwrap());
        for unit in ["x", "é", "😀"] {
            let text = unit.repeat(50_000);
            let shown = observation(ObservationStatus::Done, text.clone(), &outputs).await;
            assert_eq!(shown.output_bytes, text.len() as u64);
            let units = shown.output.matches(unit).count() * unit.len();
            assert_eq!(units as u64 + shown.omitted_bytes, shown.output_bytes);
            assert!(shown.output.len() <= SHOWN + 64);
        }
        let whole = observation(ObservationStatus::Failed, "a".into(), &outputs).await;
        assert_eq!((whole.output.as_str(), whole.omitted_bytes), ("a", 0));
    }

    #[test]
    fn a_clipped_text_is_marked() {
        assert_eq!(clipped("abc", 3), "abc");
        assert_eq!(clipped("abé", 3), "ab [...]");
    }
}
