//! Why an input was refused, as it goes over the wire: each is written so for ever, and read back.

use std::borrow::Cow;

use windlass_core::{CallId, EffectKey, InputId, InvalidFact, Reject, Seq, TurnId};

#[test]
fn each_reject_keeps_its_wire_form() {
    let call = CallId(3);
    let started = Seq(4);
    let misfit = InvalidFact {
        at: Seq(9),
        kind: Cow::Borrowed("TurnOpened"),
        reason: String::from("a turn is open already"),
    };
    let keys = [
        (EffectKey::Sample { started }, r#"{"sample":{"started":4}}"#),
        (EffectKey::Call { call, started }, r#"{"call":{"call":3,"started":4}}"#),
        (EffectKey::Hook { hook: 1, asked: started }, r#"{"hook":{"hook":1,"asked":4}}"#),
        (EffectKey::Approval { call, asked: started }, r#"{"approval":{"call":3,"asked":4}}"#),
        (EffectKey::Reconcile { call, started }, r#"{"reconcile":{"call":3,"started":4}}"#),
        (EffectKey::Compact { started }, r#"{"compact":{"started":4}}"#),
    ];
    for (key, text) in keys {
        same(&Reject::Stale(key), &format!(r#"{{"stale":{text}}}"#));
    }
    let rejects = [
        (Reject::Idle, r#""idle""#),
        (Reject::TurnMismatch(TurnId(5)), r#"{"turn_mismatch":5}"#),
        (Reject::InputNotWaiting(InputId(6)), r#"{"input_not_waiting":6}"#),
        (Reject::InputLocked(InputId(6)), r#"{"input_locked":6}"#),
        (
            Reject::InputOpened { input: InputId(6), turn: TurnId(7) },
            r#"{"input_opened":{"input":6,"turn":7}}"#,
        ),
        (Reject::NoPendingInput, r#""no_pending_input""#),
        (Reject::Stopping, r#""stopping""#),
        (Reject::QueueFull { waiting: 7 }, r#"{"queue_full":{"waiting":7}}"#),
        (Reject::SessionFull { bytes: 9, limit: 8 }, r#"{"session_full":{"bytes":9,"limit":8}}"#),
        (Reject::Empty, r#""empty""#),
        (Reject::Duplicate(Seq(2)), r#"{"duplicate":2}"#),
        (Reject::KeyNotAllowed, r#""key_not_allowed""#),
        (Reject::NoOpenQuestion(call), r#"{"no_open_question":3}"#),
        (Reject::ArgumentsMismatch(call), r#"{"arguments_mismatch":3}"#),
        (Reject::ResultNotAwaited(call), r#"{"result_not_awaited":3}"#),
        (
            Reject::ContextTooLarge { bytes: 2, limit: 1 },
            r#"{"context_too_large":{"bytes":2,"limit":1}}"#,
        ),
        (Reject::NotRunning(call), r#"{"not_running":3}"#),
        (Reject::DeadlineReserved, r#""deadline_reserved""#),
        (
            Reject::TooManyParts { parts: 2, limit: 1 },
            r#"{"too_many_parts":{"parts":2,"limit":1}}"#,
        ),
        (
            Reject::TooManyImages { images: 17, limit: 16 },
            r#"{"too_many_images":{"images":17,"limit":16}}"#,
        ),
        (Reject::OutOfScope, r#""out_of_scope""#),
        (
            Reject::WidensPermissions(Cow::Borrowed("wider limits")),
            r#"{"widens_permissions":"wider limits"}"#,
        ),
        (Reject::InvalidTitle { limit: 200 }, r#"{"invalid_title":{"limit":200}}"#),
        (Reject::InvalidGoal, r#""invalid_goal""#),
        (
            Reject::Defect(misfit),
            r#"{"defect":{"at":9,"kind":"TurnOpened","reason":"a turn is open already"}}"#,
        ),
    ];
    for (reject, text) in &rejects {
        same(reject, text);
    }
}

fn same(reject: &Reject, text: &str) {
    assert_eq!(serde_json::to_string(reject).ok().as_deref(), Some(text));
    assert_eq!(serde_json::from_str::<Reject>(text).ok().as_ref(), Some(reject));
}

#[test]
fn what_a_newer_engine_says_is_refused_by_name() {
    let error = serde_json::from_str::<Reject>(r#""some_other""#).unwrap_err();
    assert!(error.to_string().contains("some_other"), "{error}");
}
