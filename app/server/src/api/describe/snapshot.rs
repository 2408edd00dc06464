//! Schema of a turn snapshot, for the description; a test compares it with serialised values.

#![expect(dead_code, reason = "they are read by the description alone")]

use std::collections::BTreeMap;

use serde::Serialize;
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
    /// Purpose of the model call: work, the last call for work, or a re-ask for valid output.
    kind: SampleKindShape,
    /// Number of attempts at the model call.
    attempts: u32,
    /// Time of the first request, in milliseconds since 1970.
    started: u64,
    /// Time at which the cycle ended.
    ended: u64,
    /// Text of the answer so far, followed by the source of a program that came as a native call.
    raw_response: String,
    /// Source of the answer's program.
    #[schema(required = false)]
    program: String,
    /// Call of the program.
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
    /// Calls of the model and its program, in the order in which they were made.
    tool_calls: Vec<CycleCallShape>,
    /// Memory for later programs after the cycle.
    #[schema(required = false)]
    memory: ProgramMemoryShape,
    /// Conversation that the model received.
    messages: MessagesShape,
    /// Reported tokens of all attempts.
    #[schema(required = false)]
    usage: UsageShape,
    /// True if the cycle succeeded.
    success: bool,
    /// Cause of the failure.
    #[schema(required = false)]
    failure: ProgramFaultShape,
}

/// Memory for later programs, as their runtime writes it.
#[derive(Serialize, ToSchema)]
#[serde(untagged)]
#[schema(as = ProgramMemory)]
pub(crate) enum ProgramMemoryShape {
    /// Whole memory, from a session of an earlier version.
    Whole(String),
    /// Definitions by name.
    Definitions {
        /// Whole memory of an earlier version, which the definitions change.
        #[schema(required = false)]
        base: String,
        /// Values by name; null for a definition of the base that is removed.
        entries: BTreeMap<String, Option<String>>,
    },
}

/// Purpose of a model call.
#[derive(ToSchema)]
#[schema(rename_all = "snake_case", as = SampleKind)]
pub(crate) enum SampleKindShape {
    /// Ordinary work of the turn.
    Normal,
    /// Last call for work: its program cannot call tools.
    MustReturn,
    /// Re-ask: the answer did not match the output schema, or the last program had no result.
    ReAsk,
}

/// End of a program.
#[derive(ToSchema)]
#[schema(as = ProgramEnd)]
pub(crate) struct ProgramEndShape {
    /// Name of the end.
    end: ProgramEndName,
    /// Of an end without a fault: JSON text.
    #[schema(required = false)]
    value: String,
    /// Of a fault: its class.
    #[schema(required = false)]
    class: String,
    /// Of a fault: the message.
    #[schema(required = false)]
    message: String,
    /// Of a fault: the line, from 1.
    #[schema(required = false)]
    line: u32,
    /// Of a fault: the character in the line, from 1.
    #[schema(required = false)]
    column: u32,
    /// Of a fault: advice.
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
    /// Program that made the call.
    #[schema(required = false)]
    program: u64,
    /// Name of the tool.
    name: String,
    /// Proposed arguments as JSON text.
    arguments: String,
    /// Arguments that the call ran with, if they were changed.
    #[schema(required = false)]
    edited: String,
    /// Status of the call; null if its answer was discarded.
    #[schema(required)]
    status: Option<StatusShape>,
    /// Output as its caller received it.
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

/// Conversation, described by its changes: the first `same` items of the session's previous
/// snapshot, and then `added`. After a compaction, and in the first snapshot of a page, `same` is
/// 0.
#[derive(ToSchema)]
#[schema(as = CycleMessages)]
pub(crate) struct MessagesShape {
    /// Number of items that the model received.
    count: u64,
    /// Number of these that the previous snapshot has too.
    same: u64,
    /// Remaining items, each an object whose one key names its kind.
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
        ProgramEnd, ProgramFault, RetainedMemory, SampleKind, Timestamp, TurnId, TurnSnapshot,
        Usage,
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
        let observation =
            Observation { omitted_bytes: 3, ..Observation::new(ObservationStatus::Done, "out") };
        let call = CycleCall {
            id: CallId(5),
            program: Some(CallId(4)),
            call: Arc::new(CallItem {
                provider_id: String::new(),
                name: "read".into(),
                arguments: "{}".into(),
                fault: None,
                rules: Vec::new(),
                possible_rules: Vec::new(),
                outside_sandbox: false,
                sha256: None,
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
            memory: Some(Arc::new(RetainedMemory {
                base: Some("m".into()),
                ..RetainedMemory::default()
            })),
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
