//! Children: a call that runs may have a session opened for it, within its turn's scope and settings.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use windlass_core::{CallId, Lineage, OpenSession, Reject, Scope, Session, open_child};
use windlass_testkit::world::{Posture, Script, Transitions, run};

const ASKED: &str = "open permissions=ask\nsend hello\ncall read {}\ncall write {}\nend stop";

/// A session in which call 7 runs, and a person is asked about call 10.
fn parent() -> Session {
    let script: Script = ASKED.parse().unwrap();
    run(Transitions::CORE, &script).unwrap().session().clone()
}

fn opening(parent: &Session) -> OpenSession {
    OpenSession {
        owner: (*parent.turn().unwrap().scope).clone(),
        workspace: None,
        settings: (*parent.settings).clone(),
        lineage: Lineage::Root,
    }
}

#[test]
fn a_child_belongs_to_a_call_that_runs() {
    let parent = parent();
    let opened = open_child(&parent, CallId(7), opening(&parent)).unwrap();
    let lineage = Lineage::Child { of: parent.id.clone(), call: CallId(7) };
    assert_eq!(opened.lineage, lineage);
    for call in [CallId(10), CallId(8)] {
        let refused = open_child(&parent, call, opening(&parent));
        assert!(matches!(refused, Err(Reject::NotRunning(id)) if id == call));
    }
}

#[test]
fn a_child_acts_within_the_scope_and_the_settings_of_the_turn() {
    let parent = parent();
    let mut other = opening(&parent);
    other.owner = Scope::system("somebody else");
    assert!(matches!(open_child(&parent, CallId(7), other), Err(Reject::OutOfScope)));
    let mut wider = opening(&parent);
    wider.settings = Posture::default().settings();
    assert!(matches!(open_child(&parent, CallId(7), wider), Err(Reject::WidensPermissions(_))));
    let mut longer = opening(&parent);
    longer.settings.limits.samples += 1;
    let opened = open_child(&parent, CallId(7), longer).unwrap();
    assert_eq!(opened.settings.limits, parent.turn().unwrap().limits);
}
