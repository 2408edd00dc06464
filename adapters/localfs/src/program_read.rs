//! Content of a file for a program: in the observation if it has room there, and else stored whole.

use windlass_core::{Observation, ObservationStatus};
use windlass_ports::ToolContext;

use crate::fault::CallFailure;
use crate::files::read::FileContent;
use crate::full_output::{FullOutput, StorageResult};
use crate::stop::HaltReason;
use crate::text::{VisibleText, push_line, start_within};

/// The observation of a whole file. The engine gives a program the stored output, if there is one.
pub(crate) async fn observation(content: FileContent, context: &ToolContext) -> Observation {
    let FileContent { bytes, room } = content;
    let total = bytes.len() as u64;
    let end = start_within(&bytes, room);
    let mut visible = VisibleText::default();
    visible.push(bytes.get(..end).unwrap_or_default());
    if end == bytes.len() {
        let output_bytes = total;
        return Observation {
            output_bytes,
            ..Observation::new(ObservationStatus::Done, visible.text)
        };
    }
    let mut whole = FullOutput::new(context.outputs.clone());
    whole.begin(bytes);
    let stored = tokio::select! {
        biased;
        () = context.cancel.cancelled() => return HaltReason::Cancelled.observation(String::new()),
        stored = whole.finish() => stored,
    };
    let stored_output = match stored.stored_output().filter(|stored| stored.bytes == total) {
        Some(stored) => stored,
        None => return cannot_store(total, end).observation(),
    };
    let omitted = total.saturating_sub(end as u64);
    let mark = StorageResult::NotStored.describe_omission(omitted, total);
    push_line(&mut visible.text, &mark);
    Observation {
        output_bytes: total,
        omitted_bytes: omitted,
        stored_output: Some(stored_output),
        ..Observation::new(ObservationStatus::Done, visible.text)
    }
}

fn cannot_store(bytes: u64, most: usize) -> CallFailure {
    CallFailure::Message(format!(
        "the file has {bytes} bytes, and only {most} can be passed on at once: read it in pages, \
         with offset and limit in lines"
    ))
}
