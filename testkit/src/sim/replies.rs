//! Replies: what tools, hooks, approvers and compactions say.

use std::sync::Arc;

use windlass_core::{
    ApprovalAnswer, CallId, CompactionResult, Demand, Edit, EffectKey, Fact, HookReply,
    HookVerdict, Observation, ObservationStatus, fallback_summary, plan_compaction,
};

use super::answers::{Answering, nothing_leaves};

impl Answering<'_> {
    pub(super) fn observation(&mut self, demand: Demand) -> Observation {
        let (status, output) = match (demand, self.dice.below(10)) {
            (Demand::Cancel, 0..8) => (ObservationStatus::Aborted, "stopped as asked"),
            (_, 0) => (ObservationStatus::Failed, "it went wrong"),
            (_, 1) => (ObservationStatus::Unknown, "nobody knows"),
            (_, _) => (ObservationStatus::Done, "ok"),
        };
        match self.dice.chance(100) {
            true => Observation::new(status, "y".repeat(self.dice.below(1_200))),
            false => Observation::new(status, output),
        }
    }

    pub(super) fn reply(&mut self, key: EffectKey) -> HookReply {
        let verdicts = [
            (70, HookVerdict::Pass),
            (7, HookVerdict::Allow),
            (6, HookVerdict::Ask),
            (9, HookVerdict::Deny),
            (3, HookVerdict::Halt),
            (5, HookVerdict::Failed),
        ];
        let verdict = self.dice.weigh(&verdicts).unwrap_or(HookVerdict::Pass);
        let edit = self.dice.chance(150).then(|| self.hook_edit(key));
        let context = self.dice.chance(200).then(|| Arc::from("a note"));
        HookReply { verdict, reason: String::from("because"), edit, context }
    }

    fn hook_edit(&mut self, key: EffectKey) -> Edit {
        let call = match self.driver.fact(key.started()) {
            Some(Fact::HooksAsked(fact)) => fact.at.call(),
            Some(_) | None => None,
        };
        match call {
            Some(call) => self.call_edit(call),
            None => Edit::unchecked("said otherwise".into()),
        }
    }

    pub(super) fn word(&mut self, call: CallId) -> ApprovalAnswer {
        if self.dice.chance(250) {
            let reason = String::from("not now");
            return ApprovalAnswer::Deny { reason };
        }
        let edit = self.dice.chance(250).then(|| self.call_edit(call));
        ApprovalAnswer::Allow { edit }
    }

    /// New arguments, with what whoever checks them finds.
    fn call_edit(&mut self, call: CallId) -> Edit {
        let tool = self.driver.history().call(call);
        let tool = tool.map(|item| item.name.clone()).unwrap_or_default();
        if self.dice.chance(150) {
            return Edit {
                text: "[]".into(),
                fault: Some(String::from("the arguments are not a JSON object")),
                rules: self.rules(&tool, "[]"),
                sha256: None,
                possible_rules: Vec::new(),
                outside_sandbox: false,
            };
        }
        let text = self.arguments();
        Edit {
            text: text.into(),
            fault: None,
            rules: self.rules(&tool, text),
            possible_rules: Vec::new(),
            outside_sandbox: false,
            sha256: None,
        }
    }

    /// A compaction, or none.
    pub(super) fn compaction(&mut self, key: EffectKey) -> Result<CompactionResult, String> {
        match self.dice.below(8) {
            0 => Err(String::from("the model could not be asked")),
            1 => Ok(nothing_leaves(self.driver)),
            2..4 => self.compacted(key, None),
            _ => self.compacted(key, Some("in short")),
        }
    }

    /// A compaction as an engine works it out.
    pub(super) fn compacted(
        &self,
        key: EffectKey,
        said: Option<&str>,
    ) -> Result<CompactionResult, String> {
        let Some(turn) = self.driver.session().turn() else {
            return Err(String::from("no turn is open"));
        };
        let Some(Fact::CompactionStarted(fact)) = self.driver.fact(key.started()) else {
            return Err(format!("{key} was not started"));
        };
        let (history, id) = (self.driver.history(), turn.id);
        let sketch = plan_compaction(history, &turn.settings, id, fact.strategy, fact.target_bytes);
        let mut fallback = None;
        let summary = match (sketch.summary_prompt.is_some(), said) {
            (false, _) => None,
            (true, Some(said)) => Some(said.to_owned()),
            (true, None) => {
                fallback = Some(String::from("the model gave no summary"));
                Some(fallback_summary(history, &turn.settings, id, &sketch.cut_point))
            }
        };
        let mut compaction = sketch.finish(history, id, summary);
        compaction.fallback = compaction.fallback.or(fallback);
        Ok(compaction)
    }
}
