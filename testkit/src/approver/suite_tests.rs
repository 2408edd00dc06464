//! The approver suite: approvers that are right pass it, and each case finds the fault that it is
//! there for.

use std::sync::Mutex;
use std::time::Duration;

use windlass_ports::{CancelSource, ExternalApprover, NoApprover};

use super::suite::ApproverFixture;
use super::*;
use crate::store::Checked;
use crate::suite::every_case_bites;

/// A fault to plant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    None,
    AlwaysDenies,
    DeafToCancel,
    AllowsWhenCancelled,
    AnswersOnce,
    AllowsByItself,
    AllowsTheSecond,
    HasAPersonAtTimes,
}

/// What the person will say, asked by a scripted approver with a fault where one is planted.
struct Fixture {
    fault: Fault,
    next: Arc<Mutex<Option<ApprovalDecision>>>,
    asked: Arc<Mutex<u32>>,
}

impl Fixture {
    fn new(fault: Fault) -> Self {
        Self { fault, next: Arc::default(), asked: Arc::default() }
    }
}

impl ApproverFixture for Fixture {
    fn approver(&self) -> Arc<dyn Approver> {
        Arc::new(Asks { fault: self.fault, next: self.next.clone(), asked: self.asked.clone() })
    }

    fn person(&self, answer: &ApprovalDecision) -> bool {
        let denied = matches!(answer, ApprovalDecision::Deny { .. });
        let alone = [Fault::AllowsByItself, Fault::AllowsTheSecond].contains(&self.fault);
        if alone || (denied && self.fault == Fault::HasAPersonAtTimes) {
            return false;
        }
        *self.next.lock().unwrap() = Some(answer.clone());
        true
    }

    fn patience(&self) -> Duration {
        // These hang, and the case is to find that.
        let hangs = [Fault::DeafToCancel, Fault::AnswersOnce].contains(&self.fault);
        Duration::from_millis(if hangs { 300 } else { 60_000 })
    }
}

struct Asks {
    fault: Fault,
    next: Arc<Mutex<Option<ApprovalDecision>>>,
    asked: Arc<Mutex<u32>>,
}

#[async_trait]
impl Approver for Asks {
    async fn ask(&self, mut request: ApprovalRequest) -> Result<Approval, ApproverError> {
        let never = CancelSource::new();
        let said = self.next.lock().unwrap().take();
        let count = {
            let mut asked = self.asked.lock().unwrap();
            *asked += 1;
            *asked
        };
        let second = self.fault == Fault::AllowsTheSecond && count > 1;
        if second || self.fault == Fault::AllowsByItself {
            return Ok(allow());
        }
        if self.fault == Fault::DeafToCancel {
            request.cancel = never.signal();
        }
        let denies = self.fault == Fault::AlwaysDenies;
        let silent = self.fault == Fault::AnswersOnce && count > 1;
        let said = said.filter(|_| !silent);
        let said = said.map(|said| if denies { deny("never").answer } else { said });
        let scripted = match said {
            Some(answer) => {
                let by = Scope::local("person");
                ScriptedApprover::answering(move |_| Approval {
                    by: by.clone(),
                    answer: answer.clone(),
                })
            }
            None => ScriptedApprover::holding(),
        };
        let asked = scripted.ask(request).await;
        if asked.is_err() && self.fault == Fault::AllowsWhenCancelled {
            return Ok(allow());
        }
        asked
    }
}

/// An approver that gets no answer by itself.
struct Alone(Arc<dyn Approver>);

impl ApproverFixture for Alone {
    fn approver(&self) -> Arc<dyn Approver> {
        self.0.clone()
    }

    fn person(&self, _answer: &ApprovalDecision) -> bool {
        false
    }
}

mod scripted_approver {
    use super::*;

    crate::approver_suite!(Fixture::new(Fault::None));
}

mod answered_elsewhere {
    use super::*;

    crate::approver_suite!(Alone(Arc::new(ExternalApprover)));
}

mod nobody_asked {
    use super::*;

    crate::approver_suite!(Alone(Arc::new(NoApprover)));
}

#[test]
fn every_case_finds_its_fault() -> Checked {
    let bites = [
        ("what_the_person_says_is_the_answer", Fault::AlwaysDenies, "the person said"),
        ("what_the_person_says_is_the_answer", Fault::AllowsByItself, "nobody said so"),
        (
            "what_the_person_says_is_the_answer",
            Fault::HasAPersonAtTimes,
            "a person for some answers and not for others",
        ),
        (
            "a_question_that_is_cancelled_before_it_is_asked_ends",
            Fault::AllowsWhenCancelled,
            "nobody said so",
        ),
        ("a_question_that_is_cancelled_ends_soon", Fault::DeafToCancel, "did not end"),
        ("a_dropped_question_leaves_the_approver_in_order", Fault::AnswersOnce, "did not end"),
        (
            "a_dropped_question_leaves_the_approver_in_order",
            Fault::AllowsTheSecond,
            "nobody said so",
        ),
        ("asking_again_is_harmless", Fault::AllowsTheSecond, "nobody said so"),
        ("asking_again_is_harmless", Fault::AnswersOnce, "did not end"),
    ];
    every_case_bites(suite::CASES, &bites, |case, fault| case(&Fixture::new(*fault)))
}
