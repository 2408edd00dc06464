//! Holds the approver to the promises of its port, at a terminal whose other end is a person who types.

use std::fs::{File, OpenOptions};
use std::io::{Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::sync::{Arc, Mutex};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use windlass_engine::core::Scope;
use windlass_engine::ports::{ApprovalDecision, Approver};
use windlass_testkit::approver::suite::ApproverFixture;

use super::{EDIT, Terminal, TerminalApprover};

/// End of a question.
const QUESTION: &str = "or say why not: ";

/// A person at a terminal. Without an answer, they type nothing.
struct PersonAtTerminal {
    approver: Arc<TerminalApprover>,
    answer: Arc<Mutex<Option<ApprovalDecision>>>,
}

impl PersonAtTerminal {
    fn new() -> Self {
        let person = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&person).unwrap();
        unlockpt(&person).unwrap();
        let path = ptsname(&person, Vec::<u8>::new()).unwrap().into_string().unwrap();
        let mut options = OpenOptions::new();
        options.read(true).write(true).custom_flags(libc::O_NOCTTY);
        let terminal = Terminal::over(options.open(path).unwrap()).unwrap();
        let approver = TerminalApprover::new(Scope::local("me"), "ask".into()).at(terminal);
        let answer = Arc::new(Mutex::new(None));
        let typed = answer.clone();
        std::thread::spawn(move || type_answers(File::from(person), &typed));
        Self { approver: Arc::new(approver), answer }
    }
}

/// Answers each question on the screen, until the terminal is closed.
fn type_answers(mut screen: File, answer: &Mutex<Option<ApprovalDecision>>) {
    let (mut seen, mut byte) = (Vec::new(), [0]);
    while screen.read(&mut byte).is_ok_and(|read| read == 1) {
        seen.push(byte[0]);
        let line = match answer.lock().unwrap().clone() {
            Some(answer) if seen.ends_with(QUESTION.as_bytes()) => reply(&answer),
            Some(ApprovalDecision::Allow { arguments: Some(own) })
                if seen.ends_with(EDIT.as_bytes()) =>
            {
                own
            }
            Some(_) | None => continue,
        };
        seen.clear();
        writeln!(screen, "{line}").unwrap();
    }
}

/// The line that gives an answer.
fn reply(answer: &ApprovalDecision) -> String {
    match answer {
        ApprovalDecision::Allow { arguments: None } => "y".into(),
        ApprovalDecision::Allow { arguments: Some(_) } => "e".into(),
        ApprovalDecision::Deny { reason } => reason.clone(),
        ApprovalDecision::Grant { .. } => "s".into(),
    }
}

impl ApproverFixture for PersonAtTerminal {
    fn approver(&self) -> Arc<dyn Approver> {
        self.approver.clone()
    }

    fn person(&self, answer: &ApprovalDecision) -> bool {
        *self.answer.lock().unwrap() = Some(answer.clone());
        true
    }
}

windlass_testkit::approver_suite!(PersonAtTerminal::new());
