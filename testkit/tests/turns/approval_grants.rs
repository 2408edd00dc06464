//! Approval grants: a grant answers a question only if it is asked because nothing allowed the call.
//! A log that says otherwise is refused.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;

use windlass_core::{
    ApprovalAnswer, ApprovalAnswered, ApprovalGrant, ApprovalReason, CallId, EffectKey, Fact,
    GrantLifetime, Incoming, Input, Limits, RecordedFact, Scope, Session, Timestamp, Verdict,
    decide, evolve,
};
use windlass_testkit::world::{Script, Transitions, run};

fn session(script: &str) -> Session {
    let script: Script = script.parse().unwrap();
    run(Transitions::CORE, &script).unwrap().session().clone()
}

/// Sessions with an open question, and its reason.
fn asked() -> [(Session, ApprovalReason); 7] {
    [
        ("open permissions=ask\nsend hello\ncall write {}\nend stop", ApprovalReason::Permissions),
        ("open rules=ask:write\nsend hello\ncall write {}\nend stop", ApprovalReason::Rule),
        (
            "open permissions=ask rules=ask:write\nsend hello\ncall write {}\nend stop",
            ApprovalReason::Rule,
        ),
        (
            "open\nsend hello\ncall write {\"outside\":true}\nend stop",
            ApprovalReason::OutsideSandbox,
        ),
        (
            "open permissions=ask rules=allow:write\nsend hello\ncall write {\"outside\":true}\nend stop",
            ApprovalReason::OutsideSandbox,
        ),
        (
            "open hooks=before_tool\nsend hello\ncall write {}\nhook 0 ask\nend stop",
            ApprovalReason::Hook,
        ),
        (
            "open permissions=ask hooks=permission_request\nsend hello\ncall write {}\nhook 0 ask\n\
             end stop",
            ApprovalReason::Hook,
        ),
    ]
    .map(|(script, reason)| (session(script), reason))
}

fn grant(used: bool) -> ApprovalGrant {
    let (lifetime, text) = (GrantLifetime::Session, String::from("write"));
    ApprovalGrant { used, lifetime, text }
}

fn question(session: &Session) -> EffectKey {
    let desired = windlass_core::desired_effects(session);
    let mut keys = desired.iter().map(|one| one.key);
    keys.find(|key| matches!(key, EffectKey::Approval { .. })).unwrap()
}

fn decided(session: &Session, input: Input) -> ApprovalAnswered {
    let at = Timestamp(1_000_000);
    let drafts = decide(session, &Limits::default(), Incoming { at, entropy: 0, input }).unwrap();
    let found = drafts.into_iter().find_map(|draft| {
        let Fact::ApprovalAnswered(fact) = draft.fact else {
            return None;
        };
        Some(fact)
    });
    found.unwrap()
}

#[test]
fn a_grant_answers_where_the_permissions_ask_and_nowhere_else() {
    for (session, reason) in asked() {
        let call = session.turn().unwrap().calls().first().unwrap();
        assert_eq!(call.approval_reason(), reason);
        let answer = |used| Input::ApproverAnswered {
            key: question(&session),
            scope: Scope::system("a grant"),
            answer: ApprovalAnswer::Granted { grant: grant(used) },
        };
        let (used, given) = (decided(&session, answer(true)), decided(&session, answer(false)));
        let permits = reason == ApprovalReason::Permissions;
        assert_eq!(used.verdict == Verdict::Allow, permits, "{reason:?}");
        assert_eq!(given.verdict, Verdict::Allow, "a person said so");
        assert_eq!([used.grant.is_some(), given.grant.is_some()], [permits, permits], "{reason:?}");
        assert_eq!(used.reason.is_empty(), permits, "{}", used.reason);
    }
}

#[test]
fn a_log_in_which_a_grant_answers_for_another_reason_is_refused() {
    for (session, reason) in asked() {
        let turn = session.turn().unwrap();
        let call = turn.calls().first().unwrap();
        let recorded = RecordedFact {
            format: windlass_core::FactFormat::CURRENT,
            session: session.id.clone(),
            seq: session.next,
            turn: Some(turn.id),
            ts: turn.opened_at,
            cause: None,
            fact: Fact::ApprovalAnswered(ApprovalAnswered {
                call: CallId(call.id.0),
                by: Arc::new(Scope::system("a grant")),
                verdict: Verdict::Allow,
                reason: String::new(),
                arguments: call.arguments_digest(),
                edit: None,
                grant: Some(grant(true)),
                key: None,
            }),
        };
        let folded = evolve(session.clone(), &recorded).map_err(|fault| fault.reason);
        match reason.permits_grants() {
            true => assert!(folded.is_ok()),
            false => assert!(folded.unwrap_err().contains("no grant covers"), "{reason:?}"),
        }
    }
}
