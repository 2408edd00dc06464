//! The shape of a snapshot, for the description; a test holds it to what the core writes.

#![expect(dead_code, reason = "they are read by the description alone")]

use utoipa::ToSchema;

use super::shapes::UsageShape;

/// Result of one cycle of a turn: a model call with all its attempts, and the calls that it made.
#[derive(ToSchema)]
#[schema(as = TurnSnapshot)]
pub(crate) struct SnapshotShape {
    /// Id of the turn.
    turn: u64,
    /// Number of the cycle in its turn, from 1.
    number: u32,
    /// Purpose of the model call: work, the last of its work, or an answer that fits the contract.
    kind: SampleKindShape,
    /// Number of attempts at the model call.
    attempts: u32,
    /// When it was first asked, in milliseconds since 1970.
    started: u64,
    /// When it was over.
    ended: u64,
    /// The text of the answer, as far as it came, and after it the source of a program that came by a
    /// native call.
    raw_response: String,
    /// The source of the program that the answer has.
    #[schema(required = false)]
    program: String,
    /// The call that the program is.
    #[schema(required = false)]
    program_call: u64,
    /// End of the program, if it was run to one.
    #[schema(required = false)]
    result: ProgramEndShape,
    /// Lines that the program printed.
    prints: Vec<String>,
    /// Repairs made to the program's source.
    #[schema(required = false)]
    repairs: Vec<String>,
    /// Each call that the model or its program made, in the order in which they were made.
    tool_calls: Vec<CycleCallShape>,
    /// Memory for later programs, as their runtime writes it.
    #[schema(required = false)]
    memory: String,
    /// The conversation that the model was shown.
    messages: MessagesShape,
    /// Tokens of all attempts, as far as the provider said.
    #[schema(required = false)]
    usage: UsageShape,
    /// True if the cycle did what it was to do.
    success: bool,
    /// Cause of the failure.
    #[schema(required = false)]
    failure: ProgramFaultShape,
}

/// Purpose of a model call.
#[derive(ToSchema)]
#[schema(rename_all = "snake_case", as = SampleKind)]
pub(crate) enum SampleKindShape {
    /// Ordinary work of the turn.
    Normal,
    /// The last one for work: its program cannot call tools.
    MustReturn,
    /// An answer that fits the contract, after one that did not.
    Retry,
}

/// End of a program.
#[derive(ToSchema)]
#[schema(as = ProgramEnd)]
pub(crate) struct ProgramEndShape {
    /// Name of the end.
    end: ProgramEndName,
    /// Of one that did not end with a fault: JSON text.
    #[schema(required = false)]
    value: String,
    /// Of a fault: its class.
    #[schema(required = false)]
    class: String,
    /// Of a fault: what went wrong.
    #[schema(required = false)]
    message: String,
    /// Of a fault: the line, from 1.
    #[schema(required = false)]
    line: u32,
    /// Of a fault: the character in the line, from 1.
    #[schema(required = false)]
    column: u32,
    /// Of a fault: what to do about it.
    #[schema(required = false)]
    hint: String,
}

/// Name of a program's end.
#[derive(ToSchema)]
#[schema(rename_all = "snake_case")]
pub(crate) enum ProgramEndName {
    Value,
    Return,
    Fail,
    Fault,
}

/// Cause of a failure.
#[derive(ToSchema)]
#[schema(as = ProgramFault)]
pub(crate) struct ProgramFaultShape {
    /// The class, for example `parse_error`.
    class: String,
    /// Description of the failure.
    message: String,
    /// The line, from 1.
    #[schema(required = false)]
    line: u32,
    /// The character in the line, from 1.
    #[schema(required = false)]
    column: u32,
    /// Advice on the failure.
    #[schema(required = false)]
    hint: String,
}

/// A call of a cycle.
#[derive(ToSchema)]
#[schema(as = CycleCall)]
pub(crate) struct CycleCallShape {
    /// Id of the call.
    id: u64,
    /// The program that made it.
    #[schema(required = false)]
    program: u64,
    /// Name of the tool.
    name: String,
    /// The arguments that were asked for: JSON text.
    arguments: String,
    /// Those that it ran with, where somebody changed them.
    #[schema(required = false)]
    edited: String,
    /// Status of the call; null if its answer was discarded.
    #[schema(required)]
    status: Option<StatusShape>,
    /// Its output, as whoever made the call was shown it.
    #[schema(required)]
    output: Option<String>,
    /// Number of bytes of the output that are left out.
    #[schema(required = false)]
    omitted_bytes: u64,
}

/// Status of a call that ended.
#[derive(ToSchema)]
#[schema(rename_all = "snake_case", as = ObservationStatus)]
pub(crate) enum StatusShape {
    Done,
    Failed,
    Denied,
    Aborted,
    Unknown,
    NotStarted,
}

/// A conversation, told by what is new in it: the first `same` items of what the snapshot before in the
/// session was shown, and then `added`. After a compaction `same` is 0, and so it is in the first of a page.
#[derive(ToSchema)]
#[schema(as = CycleMessages)]
pub(crate) struct MessagesShape {
    /// Number of items that the model was shown.
    count: u64,
    /// Number of them that the previous snapshot showed too.
    same: u64,
    /// The rest, each an object whose one key says what it is.
    added: Vec<serde_json::Map<String, serde_json::Value>>,
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::sync::Arc;

    use serde_json::Value;
    use utoipa::PartialSchema;
    use windlass_engine::core::{
        CallId, CallItem, Cycle, CycleCall, CycleMessages, Observation, ObservationStatus,
        ProgramEnd, ProgramFault, SampleKind, Timestamp, TurnId, TurnSnapshot, Usage,
    };

    use super::*;

    fn described<T: PartialSchema>() -> BTreeSet<String> {
        let schema = serde_json::to_value(T::schema()).unwrap();
        let properties = schema["properties"].as_object().unwrap();
        properties.keys().cloned().collect()
    }

    fn written(value: &Value) -> BTreeSet<String> {
        value.as_object().unwrap().keys().cloned().collect()
    }

    #[test]
    fn a_snapshot_is_described_as_it_is_written() {
        let fault = ProgramFault {
            line: Some(1),
            column: Some(2),
            hint: Some("write less".into()),
            ..ProgramFault::new("parse_error", "no end")
        };
        let observation = Observation {
            omitted_bytes: 3,
            ..Observation::new(ObservationStatus::Done, "out")
        };
        let call = CycleCall {
            id: CallId(5),
            program: Some(CallId(4)),
            call: Arc::new(CallItem {
                provider_id: String::new(),
                name: "read".into(),
                arguments: "{}".into(),
                fault: None,
                rules: Vec::new(),
                opaque: None,
                inline: false,
            }),
            edited: Some("{ }".into()),
            observation: Some(Arc::new(observation)),
        };
        let cycle = Cycle {
            turn: TurnId(1),
            number: 1,
            kind: SampleKind::Normal,
            attempts: 1,
            started: Timestamp(1),
            ended: Timestamp(2),
            raw_response: "x".into(),
            program: Some("x".into()),
            program_call: Some(CallId(4)),
            result: Some(ProgramEnd::Fault(fault.clone())),
            prints: vec!["p".into()],
            repairs: vec!["r".into()],
            tool_calls: vec![call],
            memory: Some("m".into()),
            messages: CycleMessages::default(),
            usage: Some(Usage::default()),
        };
        let snapshot = TurnSnapshot::failure(cycle, fault);
        let snapshot = serde_json::to_value(snapshot).unwrap();
        assert_eq!(described::<SnapshotShape>(), written(&snapshot));
        let mut end = written(&snapshot["result"]);
        end.insert("value".into());
        assert_eq!(described::<ProgramEndShape>(), end);
        let failure = written(&snapshot["failure"]);
        assert_eq!(described::<ProgramFaultShape>(), failure);
        let call = written(&snapshot["tool_calls"][0]);
        assert_eq!(described::<CycleCallShape>(), call);
        let messages = written(&snapshot["messages"]);
        assert_eq!(described::<MessagesShape>(), messages);
    }
}
