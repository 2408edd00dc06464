//! The table of facts, with the group and the properties of each. It is complete; the body of a
//! fact is a struct of the same name in this folder.

use alloc::string::String;
use alloc::sync::Arc;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer};
use serde::ser::SerializeStruct;

use super::generate::facts;
use super::*;
use crate::id::{CallId, InputId};
use crate::settings::Settings;

facts! {
    /// The session: its opening and its settings.
    Session: SessionFact {
        SessionOpened turn(Outside) settings(settings);
        SettingsChanged turn(Outside) settings(settings) keys(key);
        PermissionsNarrowed turn(Outside);
        SessionRenamed turn(Outside) keys(key);
        SessionRewound turn(Outside) keys(key);
        FilesRestored turn(Outside) keys(key);
    }

    /// Recovery: a process resumes the work of one that ended.
    Recovery: RecoveryFact {
        SessionResumed turn(Outside);
        ReconcileStarted starts(Reconcile) call(call);
    }

    /// The goal of the session.
    Goal: GoalFact {
        GoalSet turn(Outside) keys(key);
        GoalEnded;
    }

    /// Inputs of users.
    Input: InputFact {
        InputQueued turn(Outside) keys(key command_key);
        InputAccepted dequeues(input);
        InputBlocked dequeues(input);
        InputEdited turn(Outside) keys(key);
        InputMoved turn(Outside) keys(key);
        InputWithdrawn turn(Outside) dequeues(input) keys(key);
    }

    /// Course of a turn.
    Turn: TurnFact {
        TurnOpened turn(Opens) keys(key);
        InterruptRequested keys(key);
        TurnSettled;
    }

    /// Questions to hooks, and their answers.
    Hook: HookFact {
        HooksAsked starts(Hook);
        HookDecided;
    }

    /// Context that no user wrote.
    Context: ContextFact {
        ContextInjected;
    }

    /// Compactions of the conversation.
    Compaction: CompactionFact {
        CompactionRequested turn(Outside) keys(key);
        CompactionStarted starts(Compact);
        Compacted;
        CompactionFailed;
    }

    /// Requests to the model, and its answers.
    Sample: SampleFact {
        SampleStarted starts(Sample);
        ItemAdded;
        SampleEnded;
        SampleCut;
    }

    /// Decisions on whether a call may run.
    Permission: PermissionFact {
        CallDecided call(call);
        ApprovalAsked starts(Approval) call(call);
        ApprovalAnswered call(call) keys(key);
    }

    /// Runs of calls, and their results.
    Run: RunFact {
        CallStarted starts(Call) call(call);
        CallSuspended call(call);
        CallResumed call(call) keys(key);
        CallObserved call(call) keys(key);
    }

    /// Programs that the model writes.
    Program: ProgramFact {
        ProgramCalled;
        ProgramRun;
    }
}
