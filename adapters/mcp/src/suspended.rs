//! Suspended calls: the state that a run leaves for the next one.

use std::collections::HashMap;
use std::sync::Arc;

use rmcp::model::{
    ElicitRequest, ElicitResult, ElicitationAction, InputRequest, InputRequests, InputResponses,
};
use serde::{Deserialize, Serialize};
use windlass_core::{CallId, SessionId, SuspendedCall, Suspension, TurnId};
use windlass_ports::ToolContext;
use windlass_ports::sync::Mutex;

use crate::call::RunningCall;
use crate::elicit::PendingInput;
use crate::handler::LiveQuestion;

/// Most calls that are held while their servers wait for answers. Further questions are dismissed.
const MAX_HELD: usize = 64;
/// Name of the only request of a held call.
const HELD: &str = "held";

/// Way in which a suspended call goes on. It is the state of the suspension.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(crate) enum NextStep {
    /// The tool is called again, with the answers and the server's own state.
    Call {
        input: PendingInput,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        request_state: Option<String>,
    },
    /// The server goes on with a task, which may ask.
    Task {
        id: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        input: Option<PendingInput>,
    },
    /// The request is still under way in this process, and its server waits for the answer.
    Held { input: PendingInput },
}

impl NextStep {
    /// Reads what an earlier run left, with the answer to its question.
    ///
    /// # Errors
    /// The fault of a state that this version does not know.
    pub(crate) fn read(suspended: &SuspendedCall) -> Result<Self, serde_json::Error> {
        let mut step: Self = serde_json::from_str(&suspended.suspension.state)?;
        if let (Some(answer), Some(input)) = (&suspended.answer, step.input_mut()) {
            input.answer(answer);
        }
        Ok(step)
    }

    fn input(&self) -> Option<&PendingInput> {
        match self {
            Self::Call { input, .. } | Self::Held { input } => Some(input),
            Self::Task { input, .. } => input.as_ref(),
        }
    }

    fn input_mut(&mut self) -> Option<&mut PendingInput> {
        match self {
            Self::Call { input, .. } | Self::Held { input } => Some(input),
            Self::Task { input, .. } => input.as_mut(),
        }
    }

    /// Returns true if a person is to answer before it can go on.
    pub(crate) fn asks(&self) -> bool {
        self.input().is_some_and(|input| input.question().is_some())
    }

    /// Returns the suspension that leaves this for the next run.
    pub(crate) fn suspension(&self) -> Suspension {
        Suspension {
            // It holds texts alone.
            state: Arc::from(serde_json::to_string(self).unwrap_or_default()),
            question: self.input().and_then(PendingInput::question),
            // Asking for the state of a task changes nothing, and it takes each answer once.
            repeatable: matches!(self, Self::Task { .. }),
        }
    }
}

/// Calls whose servers wait for an answer, by their sessions and ids.
#[derive(Default)]
pub(crate) struct HeldCalls(Mutex<HashMap<(SessionId, CallId), HeldCall>>);

/// A call whose server waits for an answer. Dropping it cancels its request.
pub(crate) struct HeldCall {
    turn: TurnId,
    pub(crate) call: RunningCall,
    question: LiveQuestion,
}

impl HeldCall {
    /// Sends the answer, and returns the call.
    pub(crate) fn answer(self, input: PendingInput) -> RunningCall {
        self.question.answer(result(input.into_responses()));
        self.call
    }
}

impl HeldCalls {
    /// Holds a call until its question is answered. `None` if there are too many, or if nobody can
    /// answer: the question is dismissed then.
    pub(crate) fn hold(
        &self,
        context: &ToolContext,
        call: RunningCall,
        question: LiveQuestion,
    ) -> Option<NextStep> {
        let request = InputRequest::Elicitation(ElicitRequest::new(question.params.clone()));
        let requests = InputRequests::from([(HELD.to_owned(), request)]);
        let input = PendingInput::new(Some(&requests)).ok()?;
        let mut held = self.0.lock();
        if held.len() >= MAX_HELD {
            return None;
        }
        let key = (context.session.clone(), context.call);
        held.insert(key, HeldCall { turn: context.turn, call, question });
        Some(NextStep::Held { input })
    }

    /// Takes a call that is to go on.
    pub(crate) fn take(&self, session: &SessionId, call: CallId) -> Option<HeldCall> {
        self.0.lock().remove(&(session.clone(), call))
    }

    /// Cancels the calls of a session's earlier turns: nobody waits for them any more.
    pub(crate) fn release_earlier(&self, context: &ToolContext) {
        let is_over = |session: &SessionId, held: &HeldCall| {
            *session == context.session && held.turn != context.turn
        };
        self.0.lock().retain(|(session, _), held| !is_over(session, held));
    }

    /// Cancels the calls of a session.
    pub(crate) fn release(&self, session: &SessionId) {
        self.0.lock().retain(|(held, _), _| held != session);
    }
}

fn result(mut responses: InputResponses) -> ElicitResult {
    let response = responses.remove(HELD).and_then(|value| serde_json::from_value(value).ok());
    response.unwrap_or_else(|| ElicitResult::new(ElicitationAction::Cancel))
}
