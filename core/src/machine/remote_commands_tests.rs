//! Remote commands: their order, their acknowledgements, and a failing mailbox.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::tests::{Shell, WHO, send, settings, setup};
use super::*;
use crate::scope::Scope;

fn shell() -> Shell {
    Shell { machine: Machine::new(MachineSetup { has_mailbox: true, ..setup(settings()) }) }
}

/// Returns a shell that waits for its mailbox, with a durable opening.
fn reading() -> Shell {
    let mut shell = shell();
    let recovered = shell.handle(MachineEvent::Recovered { matched: Vec::new() });
    assert!(recovered.contains(&"read the mailbox, first true".to_string()));
    shell.appended();
    shell
}

fn id(name: &str) -> RemoteCommandId {
    RemoteCommandId(name.into())
}

fn found(shell: &mut Shell, names: &[&str]) -> Vec<String> {
    let ids = names.iter().map(|name| id(name)).collect();
    shell.handle(MachineEvent::MailboxRead { ids })
}

fn says(tenant: &str, key: &str, until: u64, fault: Option<RemoteCommandFault>) -> RemoteBody {
    RemoteBody::Command {
        scope: Scope::Principal {
            tenant: tenant.into(),
            principal: WHO.into(),
            claims: BTreeMap::new(),
        },
        until: Timestamp(until),
        input: send(key, Some(key)),
        fault,
    }
}

fn remote(shell: &mut Shell, name: &str, body: RemoteBody) -> Vec<String> {
    let id = id(name);
    shell.handle(MachineEvent::Remote(RemoteCommand { id, body }))
}

fn replies(actions: &[String]) -> String {
    let reply = actions.iter().find(|action| action.starts_with("reply"));
    reply.cloned().unwrap_or_default()
}

#[test]
fn commands_of_this_process_wait_for_the_first_look() {
    let mut shell = reading();
    assert!(!shell.machine.accepts_commands() && !shell.machine.is_at_rest());
    found(&mut shell, &[]);
    assert!(shell.machine.accepts_commands() && shell.machine.is_at_rest());
    let again = shell.handle(MachineEvent::MailboxChanged);
    assert_eq!(again, ["read the mailbox, first false"]);
}

#[test]
fn a_command_is_replied_to_once_it_is_durable_and_the_mailbox_is_read_again() {
    let mut shell = reading();
    found(&mut shell, &["a", "b"]);
    let first = remote(&mut shell, "a", says("local", "a", 100, None));
    assert!(!replies(&first).contains("Accepted"));
    let second = remote(&mut shell, "b", says("another", "b", 100, None));
    assert_eq!(replies(&second), "", "nothing is durable");
    let mut actions = shell.appended();
    if shell.machine.is_appending() {
        actions.extend(shell.appended());
    }
    let reply = replies(&actions);
    assert!(reply.contains("Accepted"), "{actions:?}");
    assert!(reply.contains("OutOfScope"), "{actions:?}");
    let again = shell.handle(MachineEvent::RemoteAcknowledged);
    assert_eq!(again, ["read the mailbox, first false"]);
}

#[test]
fn a_command_that_is_read_again_gets_the_same_reply() {
    let mut shell = reading();
    found(&mut shell, &["a"]);
    remote(&mut shell, "a", says("local", "a", 100, None));
    let first = replies(&shell.appended());
    assert!(first.contains("Accepted"));
    let failed = shell.handle(MachineEvent::MailboxFailed { superseded: false });
    assert_eq!(failed, ["Mailbox in 100"]);
    let over = shell.handle(MachineEvent::Elapsed(Timer::Mailbox));
    assert_eq!(over, ["read the mailbox, first false"]);
    found(&mut shell, &["a"]);
    let late = says("local", "a", 0, None);
    assert_eq!(replies(&remote(&mut shell, "a", late)), first);
}

#[test]
fn a_late_command_is_refused_unless_it_was_taken_before() {
    let mut shell = reading();
    found(&mut shell, &["a", "b"]);
    remote(&mut shell, "a", says("local", "a", 5, None));
    let fault = Some(RemoteCommandFault::TooLarge(9));
    let both = remote(&mut shell, "b", says("local", "b", 100, fault));
    let reply = replies(&both);
    assert!(reply.contains("Expired { until: Timestamp(5) }"), "{both:?}");
    assert!(reply.contains("Invalid(TooLarge(9))"), "{both:?}");
    let mut shell = reading();
    found(&mut shell, &[]);
    shell.command(0, send("a", Some("a")));
    shell.appended();
    shell.handle(MachineEvent::MailboxChanged);
    found(&mut shell, &["a"]);
    let taken = remote(&mut shell, "a", says("local", "a", 5, None));
    assert!(replies(&taken).contains("Accepted"), "{taken:?}");
}

#[test]
fn an_unreadable_command_is_refused_after_some_reads_with_longer_and_longer_pauses() {
    let mut shell = reading();
    let mut pauses = Vec::new();
    loop {
        found(&mut shell, &["a"]);
        let read = remote(&mut shell, "a", RemoteBody::Unreadable("gone".into()));
        if replies(&read).contains("Unreadable(\"gone\")") {
            break;
        }
        pauses.extend(read);
        shell.handle(MachineEvent::Elapsed(Timer::Mailbox));
    }
    let expected = [100, 200, 400, 800].map(|ms| format!("Mailbox in {ms}"));
    assert_eq!(pauses, expected);
    assert!(shell.machine.accepts_commands());
}

#[test]
fn a_session_that_is_let_go_leaves_remote_commands_to_the_next_process() {
    let mut shell = reading();
    shell.handle(MachineEvent::Close);
    assert!(shell.machine.accepts_commands(), "nobody waits for a look any more");
    found(&mut shell, &["a"]);
    let left = remote(&mut shell, "a", says("local", "a", 100, None));
    assert_eq!(left, ["Mailbox in 100"]);
    assert!(shell.machine.is_at_rest());
    let over = shell.handle(MachineEvent::Elapsed(Timer::Mailbox));
    assert_eq!(over, Vec::<String>::new());
}

#[test]
fn a_mailbox_of_another_owner_ends_it() {
    let mut shell = reading();
    let failed = shell.handle(MachineEvent::MailboxFailed { superseded: true });
    assert_eq!(failed, ["exit Superseded"]);
}

#[test]
fn no_key_is_forgotten_before_its_command_is_replied_to() {
    let mut shell = reading();
    found(&mut shell, &["a"]);
    remote(&mut shell, "a", says("local", "a", 100, None));
    shell.appended();
    let mut taken = 0;
    let crowded = loop {
        let key = format!("k{taken}");
        let input = Input::Keyed {
            key,
            input: alloc::boxed::Box::new(Input::SetGoal {
                scope: Scope::local(WHO),
                goal: Some(crate::goal::Goal { text: "all is well".into(), turns: 1 }),
            }),
        };
        let said = shell.command(taken, input);
        if said.iter().any(|word| word.contains("KeysExhausted")) {
            break said;
        }
        taken += 1;
    };
    assert_eq!(crowded, [format!("refuse {taken} KeysExhausted")]);
    assert!(!shell.machine.accepts_commands(), "they wait while replies are written");
    assert!((taken as usize) < Session::MAX_KEYS);
    shell.handle(MachineEvent::RemoteAcknowledged);
    found(&mut shell, &[]);
    assert!(shell.machine.accepts_commands());
    let unkeyed = shell.command(900, send("more", None));
    assert!(!unkeyed.contains(&"refuse 900 KeysExhausted".to_string()));
}
