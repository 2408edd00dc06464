//! Deferred tools: tools that a request offers once a search has found them, so that the schemas of
//! many tools do not fill each request. Absent on purpose: the choice of the tools that are deferred.

use alloc::borrow::ToOwned as _;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use crate::budget::AddedContent;
use crate::call::{Observation, ObservationStatus};
use crate::options::ToolChoice;
use crate::session::Session;
use crate::settings::{EffectClass, Settings, ToolSpec};
use crate::stage::Stage;

/// Name of the tool that finds deferred tools. If the settings offer it and no executor has a tool
/// of that name, the engine itself runs it.
pub const SEARCH_TOOLS_TOOL: &str = "search_tools";

/// Most tools that one search finds.
pub const MAX_FOUND_TOOLS: usize = 20;
/// Most bytes of the tools that one search describes.
const MAX_TEXT: usize = 32 * 1024;
/// Most bytes of a tool's description and of its schema in the result of a search.
const MAX_PART: usize = 4 * 1024;
/// Most groups of tools that the search tool names.
const MAX_GROUPS: usize = 40;

impl ToolSpec {
    /// Estimates the tokens of the tool in a request, as the budget of a turn does: a token for each
    /// three bytes of its name, description and schema, and some for its frame.
    #[must_use]
    pub fn estimated_tokens(&self) -> u64 {
        let texts = [&self.name, &self.description, &self.parameters];
        let bytes = texts.iter().map(|text| text.len()).sum::<usize>() as u64;
        AddedContent { bytes, items: 1 }.tokens()
    }
}

/// Returns the tool that finds the deferred ones of these tools; `None` if none is deferred. It names
/// their groups: the part of a name before the last `__`, which is a server of tools.
#[must_use]
pub fn search_tools_tool(tools: &[ToolSpec]) -> Option<ToolSpec> {
    let mut groups = BTreeMap::<&str, usize>::new();
    for tool in tools.iter().filter(|tool| tool.deferred) {
        let group = tool.name.rsplit_once("__").map_or(tool.name.as_str(), |(group, _)| group);
        *groups.entry(group).or_default() += 1;
    }
    if groups.is_empty() {
        return None;
    }
    let each = groups.iter().take(MAX_GROUPS).map(|(group, count)| format!("{group} ({count})"));
    let mut each: Vec<String> = each.collect();
    if groups.len() > MAX_GROUPS {
        each.push("and more".to_owned());
    }
    Some(ToolSpec::new(SEARCH_TOOLS_TOOL, EffectClass::ReadOnly).with(|it| {
        it.description = format!(
            "Finds further tools by words of their names, descriptions and arguments. You can call \
             the tools that it finds from your next message on, and not before. Further tools: {}.",
            each.join(", ")
        );
        it.parameters = r#"{"type":"object","properties":{"query":{"type":"string","minLength":1,"maxLength":1000,"description":"Words that describe the tool, or its name."},"max":{"type":"integer","minimum":1,"maximum":20,"description":"Most tools to find. Default 5."}},"required":["query"],"additionalProperties":false}"#.to_owned();
    }))
}

impl Settings {
    /// Returns true if a request offers a tool: it may run, and is not deferred or was found. A tool
    /// that the options demand is not deferred, and the functions of programs are not either.
    pub(crate) fn offers(&self, tool: &ToolSpec, found: &BTreeSet<String>) -> bool {
        self.may_offer(tool) && !self.defers(tool, found)
    }

    /// Returns true if a tool waits until a search finds it.
    pub(crate) fn defers(&self, tool: &ToolSpec, found: &BTreeSet<String>) -> bool {
        let demanded =
            matches!(&self.options.tool_choice, ToolChoice::Tool(name) if *name == tool.name);
        tool.deferred && !demanded && self.options.program.is_none() && !found.contains(&tool.name)
    }

    /// Searches the deferred tools for words. The result names the tools that requests offer from
    /// then on, the best first.
    #[must_use]
    pub fn search_tools(&self, query: &str, max: usize) -> Observation {
        let deferred = || self.tools.iter().filter(|tool| tool.deferred && self.may_offer(tool));
        let words = words(query);
        let mut hits: Vec<(u32, &ToolSpec)> =
            deferred().map(|tool| (score(tool, query, &words), tool)).collect();
        hits.retain(|(score, _)| *score > 0);
        // Of equal ones, the first of the settings is the first.
        hits.sort_by_key(|(score, _)| core::cmp::Reverse(*score));
        let (all, mut text, mut offers) = (hits.len(), String::new(), Vec::new());
        for (_, tool) in hits.into_iter().take(max.clamp(1, MAX_FOUND_TOOLS)) {
            let described = described(tool);
            if !offers.is_empty() && text.len() + described.len() > MAX_TEXT {
                break;
            }
            text.push_str(&described);
            offers.push(tool.name.clone());
        }
        match (offers.len(), all) {
            (0, _) => text = format!("None of {} tools matches.", deferred().count()),
            (count, all) if all > count => {
                text.push_str(&format!("[{} more match: use other words]", all - count));
            }
            (_, _) => {}
        }
        Observation { offers, ..Observation::new(ObservationStatus::Done, text) }
    }
}

/// Describes a tool for the model.
fn described(tool: &ToolSpec) -> String {
    let end = tool.description.floor_char_boundary(MAX_PART);
    let description = tool.description.get(..end).unwrap_or_default();
    let parameters = match tool.parameters.len() {
        short if short <= MAX_PART => tool.parameters.clone(),
        long => format!("[{long} bytes: shown with the tool]"),
    };
    format!("{}: {description}\narguments: {parameters}\n\n", tool.name)
}

fn words(text: &str) -> Vec<String> {
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_lowercase).collect()
}

/// Returns how well a tool matches: its name counts more than its description, and that more than its
/// arguments.
fn score(tool: &ToolSpec, query: &str, asked: &[String]) -> u32 {
    let (name, description) = (tool.name.to_lowercase(), tool.description.to_lowercase());
    let (parts, parameters) = (words(&name), tool.parameters.to_lowercase());
    let of_word = |word: &String| {
        let name_counts = match parts.contains(word) {
            true => 8,
            false => 4 * u32::from(name.contains(word.as_str())),
        };
        let others = [(2, &description), (1, &parameters)];
        let others =
            others.iter().map(|(worth, text)| worth * u32::from(text.contains(word.as_str())));
        name_counts + others.sum::<u32>()
    };
    let exact = 1_000 * u32::from(tool.name == query.trim());
    asked.iter().map(of_word).fold(exact, u32::saturating_add)
}

impl Session {
    /// Adds the tools that a search has found. The measured request did not offer them, and the answer
    /// that searched for them cannot call them.
    pub(crate) fn add_found(&mut self, tool: &str, observation: &Observation) {
        if tool != SEARCH_TOOLS_TOOL || observation.offers.is_empty() {
            return;
        }
        let Some(settings) = self.turn().map(|turn| turn.settings.clone()) else {
            return;
        };
        let deferred = |name: &&String| settings.tool(name).is_some_and(|tool| tool.deferred);
        let new = observation.offers.iter().filter(deferred);
        let new: Vec<String> =
            new.filter(|name| !self.found_tools.contains(*name)).cloned().collect();
        if new.is_empty() {
            return;
        }
        Arc::make_mut(&mut self.found_tools).extend(new.iter().cloned());
        self.measured = None;
        let bytes = settings.base_bytes(&self.found_tools);
        if let Some(turn) = self.turn_mut() {
            turn.base_bytes = bytes;
            if let Stage::Sampling(sampling) = &mut turn.stage {
                sampling.found.extend(new);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings() -> Settings {
        let tool = |name: &str, description: &str, deferred| {
            ToolSpec::new(name, EffectClass::ReadOnly).with(|it| {
                it.description = description.to_owned();
                it.deferred = deferred;
            })
        };
        Settings::new("p", "m").with(|it| {
            it.tools = alloc::vec![
                tool("grep", "Searches files for a commit.", false),
                tool("mcp__git__commit", "Records changes.", true),
                tool("mcp__git__log", "Shows each commit.", true),
                tool("mcp__docs__find", "Searches pages.", true),
            ];
        })
    }

    fn found(query: &str, max: usize) -> Vec<String> {
        settings().search_tools(query, max).offers
    }

    #[test]
    fn a_search_finds_deferred_tools_and_the_name_counts_most() {
        assert_eq!(found("commit", 5), ["mcp__git__commit", "mcp__git__log"]);
        assert_eq!(found("Commit, please", 1), ["mcp__git__commit"]);
        assert_eq!(found("mcp__git__log", 1), ["mcp__git__log"]);
        assert!(found("weather", 5).is_empty());
        let one = settings().search_tools("commit", 1).output;
        let described = "mcp__git__commit: Records changes.\narguments: {\"type\":\"object\"}\n\n";
        assert_eq!(one, format!("{described}[1 more match: use other words]"));
    }

    #[test]
    fn the_search_tool_names_the_groups_of_the_deferred_tools() {
        let tool = search_tools_tool(&settings().tools).unwrap();
        assert!(tool.description.ends_with("Further tools: mcp__docs (1), mcp__git (2)."));
        assert_eq!(search_tools_tool(&settings().tools[..1]), None);
    }

    #[test]
    fn a_deferred_tool_is_offered_once_it_was_found() {
        let settings = Arc::new(settings());
        let names = |settings: &Arc<Settings>, found: &[&str]| {
            let found = found.iter().map(|name| (*name).to_owned()).collect();
            let asked = settings.for_request(&found);
            asked.tools.iter().map(|tool| tool.name.clone()).collect::<Vec<_>>()
        };
        assert_eq!(names(&settings, &[]), ["grep"]);
        assert_eq!(names(&settings, &["mcp__git__log"]), ["grep", "mcp__git__log"]);
        let demands = Settings::clone(&settings).with(|it| {
            it.options.tool_choice = ToolChoice::Tool("mcp__docs__find".to_owned());
        });
        assert_eq!(names(&Arc::new(demands), &[]), ["grep", "mcp__docs__find"]);
    }

    #[test]
    fn long_tools_are_found_within_bounds() {
        let mut settings = settings();
        settings.tools = (0..40)
            .map(|number| {
                ToolSpec::new(format!("t{number}"), EffectClass::ReadOnly).with(|it| {
                    it.description = "long ".repeat(2_000);
                    it.parameters = "long ".repeat(2_000);
                    it.deferred = true;
                })
            })
            .collect();
        let found = settings.search_tools("long", 40);
        assert!(found.output.len() < MAX_TEXT + 100, "{}", found.output.len());
        assert_eq!(found.offers.len(), 7);
        assert!(found.output.ends_with("[33 more match: use other words]"));
    }
}
