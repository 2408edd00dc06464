//! Choice of the tools that suit a model: it edits files by the one that it was trained on, and is
//! offered images only if it sees them.

use alloc::borrow::ToOwned as _;
use alloc::string::String;
use alloc::vec::Vec;

use crate::settings::ToolSpec;

/// Tool that changes files by a patch.
pub const PATCH_TOOL: &str = "apply_patch";

/// Tool that replaces an exact text in a file.
pub const EDIT_TOOL: &str = "edit_file";

/// Tool that shows an image file to the model.
pub const VIEW_IMAGE_TOOL: &str = "view_image";

/// Tools that suit a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ModelTools {
    /// Tools that edit files.
    pub edits: EditTools,
    /// True if the model sees images.
    pub images: bool,
}

impl ModelTools {
    /// Removes the tools that do not suit the model.
    pub fn choose(self, tools: &mut Vec<ToolSpec>) {
        if !self.images {
            tools.retain(|tool| tool.name != VIEW_IMAGE_TOOL);
            for agent in tools.iter_mut().filter_map(|tool| tool.agent.as_mut()) {
                agent.tools.retain(|name| name != VIEW_IMAGE_TOOL);
            }
        }
        self.edits.choose(tools);
    }
}

/// Tools that edit files, as far as they are available.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EditTools {
    /// Offers [`PATCH_TOOL`].
    Patch,
    /// Offers [`EDIT_TOOL`].
    Text,
    /// Offers both.
    Both,
}

impl EditTools {
    /// Removes the tool that is not offered, if the other one is among the tools. Agents that may use
    /// it may use the other one instead.
    pub fn choose(self, tools: &mut Vec<ToolSpec>) {
        let (offered, left_out) = match self {
            Self::Patch => (PATCH_TOOL, EDIT_TOOL),
            Self::Text => (EDIT_TOOL, PATCH_TOOL),
            Self::Both => return,
        };
        if !tools.iter().any(|tool| tool.name == offered) {
            return;
        }
        tools.retain(|tool| tool.name != left_out);
        for agent in tools.iter_mut().filter_map(|tool| tool.agent.as_mut()) {
            replace(&mut agent.tools, left_out, offered);
        }
    }
}

fn replace(names: &mut Vec<String>, old: &str, new: &str) {
    if names.iter().any(|name| name == new) {
        names.retain(|name| name != old);
    }
    for name in names.iter_mut().filter(|name| *name == old) {
        *name = new.to_owned();
    }
}

#[cfg(test)]
mod tests {
    use alloc::boxed::Box;

    use super::*;
    use crate::agent::AgentSpec;
    use crate::settings::EffectClass;

    fn chosen(choice: EditTools, names: &[&str], agent: &[&str]) -> (Vec<String>, Vec<String>) {
        let tool = |name: &&str| ToolSpec::new(*name, EffectClass::Effectful);
        let mut tools: Vec<ToolSpec> = names.iter().map(tool).collect();
        let helper = AgentSpec::new("Help.").with_tools(agent.iter().copied());
        tools.push(tool(&"agent").with(|it| it.agent = Some(Box::new(helper))));
        choice.choose(&mut tools);
        let agent = tools.pop().and_then(|tool| tool.agent).map(|agent| agent.tools);
        (tools.into_iter().map(|tool| tool.name).collect(), agent.unwrap_or_default())
    }

    #[test]
    fn images_are_offered_to_those_that_see_them() {
        let helper = AgentSpec::new("Help.").with_tools([VIEW_IMAGE_TOOL, "shell"]);
        for (images, left) in [(true, 2), (false, 1)] {
            let tool = |name: &str| ToolSpec::new(name, EffectClass::ReadOnly);
            let agent = tool("agent").with(|it| it.agent = Some(Box::new(helper.clone())));
            let mut tools = Vec::from([tool(VIEW_IMAGE_TOOL), agent]);
            ModelTools { edits: EditTools::Both, images }.choose(&mut tools);
            assert_eq!(tools.len(), left);
            assert_eq!(tools.pop().unwrap().agent.unwrap().tools.len(), left);
        }
    }

    fn texts(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| String::from(*name)).collect()
    }

    #[test]
    fn one_tool_of_two_is_offered_to_the_model_and_its_agents() {
        let both = ["edit_file", "apply_patch", "shell"];
        for (choice, tools, agent) in [
            (EditTools::Patch, &["apply_patch", "shell"][..], &["apply_patch", "shell"][..]),
            (EditTools::Text, &["edit_file", "shell"], &["edit_file", "shell"]),
            (EditTools::Both, &both, &["edit_file", "shell"]),
        ] {
            let found = chosen(choice, &both, &["edit_file", "shell"]);
            assert_eq!(found, (texts(tools), texts(agent)), "{choice:?}");
        }
        let found = chosen(EditTools::Patch, &both, &["edit_file", "apply_patch"]);
        assert_eq!(found.1, ["apply_patch"]);
        // A tool that stands alone stays.
        let found = chosen(EditTools::Patch, &["edit_file"], &["edit_file"]);
        assert_eq!(found, (texts(&["edit_file"]), texts(&["edit_file"])));
    }
}
