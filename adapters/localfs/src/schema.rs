//! The workspace tools as a model is shown them. Byte-stable: no path and no setting of the day.

use windlass_core::{Concurrency, EffectClass, ToolGrammar, ToolSpec, VIEW_IMAGE_TOOL};

use crate::files::FileTool;
use crate::patch::GRAMMAR;
use crate::processes::{PROCESS_TOOLS, ProcessTool};

/// Tool of a workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WorkspaceTool {
    /// One that works on files.
    File(FileTool),
    /// Shell in the workspace folder.
    Shell,
    /// One that works on processes that outlive their calls.
    Process(ProcessTool),
}

/// A workspace tool and what is said of it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ToolOffer {
    /// Tool behind the name.
    pub(crate) tool: WorkspaceTool,
    /// Name of the tool.
    pub(crate) name: &'static str,
    pub(crate) description: &'static str,
    pub(crate) parameters: &'static str,
    pub(crate) effect: EffectClass,
    pub(crate) concurrency: Concurrency,
}

impl ToolOffer {
    /// The tool as the engine knows it.
    pub(crate) fn spec(&self) -> ToolSpec {
        ToolSpec::new(self.name, self.effect).with(|it| {
            it.description = self.description.to_owned();
            it.parameters = self.parameters.to_owned();
            it.concurrency = self.concurrency;
            it.grammar = self.grammar().map(Box::new);
        })
    }
}

impl ToolOffer {
    /// The grammar of the tool's text, if it takes one.
    fn grammar(&self) -> Option<ToolGrammar> {
        match self.tool {
            WorkspaceTool::File(FileTool::Patch) => Some(ToolGrammar {
                argument: String::from("patch"),
                definition: GRAMMAR.to_owned(),
            }),
            WorkspaceTool::File(_) | WorkspaceTool::Process(_) | WorkspaceTool::Shell => None,
        }
    }
}

/// Argument that asks to run outside of the sandbox.
const OUTSIDE: &str = r#","outside_sandbox":{"type":"boolean","format":"outside_sandbox","description":"Run it outside of the sandbox. Only after the same command failed because of the sandbox, and if it is needed: a person is asked each time."}"#;

impl ToolOffer {
    /// The tool with the argument that asks to run outside of the sandbox.
    pub(crate) fn spec_with_calls_outside(&self) -> ToolSpec {
        let spec = self.spec();
        let parameters =
            spec.parameters.replacen(r#"},"required""#, &format!(r#"{OUTSIDE}}},"required""#), 1);
        spec.with(|it| it.parameters = parameters)
    }
}

/// Returns all tools in the order in which a model is shown them.
pub(crate) fn offers() -> impl Iterator<Item = &'static ToolOffer> {
    TOOLS.iter().chain(&PROCESS_TOOLS)
}

/// The tools for files, and the shell.
///
/// What reads changes nothing and runs beside others. `write_file` puts the same whole content in
/// place each time, so it may be run again after a crash. `edit_file`, `apply_patch` and `shell` may not:
/// the second edit finds what the first one left, and a command may do anything. What changes files
/// runs alone, so that what a model asks for in one answer happens in the order of asking.
const TOOLS: [ToolOffer; 9] = [
    ToolOffer {
        tool: WorkspaceTool::File(FileTool::Read),
        name: "read_file",
        description: "Reads a text file of the workspace, a page of lines at a time. The last \
                      line in brackets says how to go on when there is more. In a program it \
                      returns the bare content: the whole file, unless offset or limit ask for a \
                      page.",
        parameters: r#"{"type":"object","properties":{"path":{"type":"string","format":"path","minLength":1,"description":"Path relative to the workspace folder."},"offset":{"type":"integer","minimum":1,"description":"First line to read, counted from 1. Default 1."},"limit":{"type":"integer","minimum":1,"description":"Most lines to read. Default 2000."}},"required":["path"],"additionalProperties":false}"#,
        effect: EffectClass::ReadOnly,
        concurrency: Concurrency::Parallel,
    },
    ToolOffer {
        tool: WorkspaceTool::File(FileTool::View),
        name: VIEW_IMAGE_TOOL,
        description: "Shows you an image file of the workspace (PNG, JPEG, GIF or WebP): a screenshot, \
                      a chart, a drawing.",
        parameters: r#"{"type":"object","properties":{"path":{"type":"string","format":"path","minLength":1,"description":"Path relative to the workspace folder."}},"required":["path"],"additionalProperties":false}"#,
        effect: EffectClass::ReadOnly,
        concurrency: Concurrency::Parallel,
    },
    ToolOffer {
        tool: WorkspaceTool::File(FileTool::List),
        name: "list_dir",
        description: "Lists a folder of the workspace, sorted by name: folders end in /, files \
                      show their size, symbolic links their target. What .gitignore names is left out.",
        parameters: r#"{"type":"object","properties":{"path":{"type":"string","format":"path","description":"Folder relative to the workspace folder. Default: the workspace folder itself."},"depth":{"type":"integer","minimum":1,"maximum":16,"description":"Levels of folders to list. Default 1."},"include_ignored":{"type":"boolean","description":"Include files that .gitignore names. Default false."}},"additionalProperties":false}"#,
        effect: EffectClass::ReadOnly,
        concurrency: Concurrency::Parallel,
    },
    ToolOffer {
        tool: WorkspaceTool::File(FileTool::Grep),
        name: "grep",
        description: "Searches the text files of the workspace line by line with a regular \
                      expression (no look-around, no back-references). Shows path:line: text, \
                      sorted by path. Binary files, .git and what .gitignore names are left out.",
        parameters: r#"{"type":"object","properties":{"pattern":{"type":"string","minLength":1,"description":"Regular expression that a line must match."},"path":{"type":"string","format":"path","description":"Folder or file to search, relative to the workspace folder. Default: the whole workspace."},"glob":{"type":"string","minLength":1,"description":"Only files whose name fits this pattern, for example *.{ts,tsx}; with a / it is held against the path below the searched folder, for example src/**/*.rs."},"ignore_case":{"type":"boolean","description":"Whether upper and lower case are the same. Default false."},"context":{"type":"integer","minimum":0,"maximum":10,"description":"Lines to show before and after each match. Default 0."},"files_only":{"type":"boolean","description":"Show only the paths of files with a match. Default false."},"include_ignored":{"type":"boolean","description":"Include files that .gitignore names. Default false."}},"required":["pattern"],"additionalProperties":false}"#,
        effect: EffectClass::ReadOnly,
        concurrency: Concurrency::Parallel,
    },
    ToolOffer {
        tool: WorkspaceTool::File(FileTool::Glob),
        name: "glob",
        description: "Finds files of the workspace by name. Shows their paths, sorted. .git and \
                      what .gitignore names are left out.",
        parameters: r#"{"type":"object","properties":{"pattern":{"type":"string","minLength":1,"description":"Pattern that a file's name must fit, for example *.{ts,tsx}; with a / it is held against the path below the searched folder, for example src/**/*.rs."},"path":{"type":"string","format":"path","description":"Folder to search, relative to the workspace folder. Default: the whole workspace."},"include_ignored":{"type":"boolean","description":"Include files that .gitignore names. Default false."}},"required":["pattern"],"additionalProperties":false}"#,
        effect: EffectClass::ReadOnly,
        concurrency: Concurrency::Parallel,
    },
    ToolOffer {
        tool: WorkspaceTool::File(FileTool::Write),
        name: "write_file",
        description: "Writes a file of the workspace: creates it, with the folders on its path, \
                      or replaces its whole content. To change a part of a file use the tool for that.",
        parameters: r#"{"type":"object","properties":{"path":{"type":"string","format":"path","minLength":1,"description":"Path relative to the workspace folder."},"content":{"type":"string","description":"The whole content."}},"required":["path","content"],"additionalProperties":false}"#,
        effect: EffectClass::Idempotent,
        concurrency: Concurrency::Exclusive,
    },
    ToolOffer {
        tool: WorkspaceTool::File(FileTool::Edit),
        name: "edit_file",
        description: "Replaces a piece of text in a file of the workspace. `old` must be the \
                      exact text, white space included, and occur exactly once unless \
                      replace_all is set.",
        parameters: r#"{"type":"object","properties":{"path":{"type":"string","format":"path","minLength":1,"description":"Path relative to the workspace folder."},"old":{"type":"string","minLength":1,"description":"The exact text to replace."},"new":{"type":"string","description":"The text to put in its place; may be empty."},"replace_all":{"type":"boolean","description":"Replace every occurrence. Default false."}},"required":["path","old","new"],"additionalProperties":false}"#,
        effect: EffectClass::Effectful,
        concurrency: Concurrency::Exclusive,
    },
    ToolOffer {
        tool: WorkspaceTool::File(FileTool::Patch),
        name: "apply_patch",
        description: "Changes files of the workspace by a patch: all files or none. A patch is\n\
                      *** Begin Patch\n\
                      *** Add File: path, then the lines of the new file, each after +\n\
                      *** Delete File: path\n\
                      *** Update File: path, then *** Move to: path if it moves, then changes: @@ \
                      and optionally a line that stands above, then lines after a blank (stay), - \
                      (go) or + (come); *** End of File after those that end the file\n\
                      *** End Patch\n\
                      Give about 3 lines around a change, so that its place is the only one.",
        parameters: r#"{"type":"object","properties":{"patch":{"type":"string","format":"patch","minLength":1,"description":"The whole patch, from *** Begin Patch to *** End Patch."}},"required":["patch"],"additionalProperties":false}"#,
        effect: EffectClass::Effectful,
        concurrency: Concurrency::Exclusive,
    },
    ToolOffer {
        tool: WorkspaceTool::Shell,
        name: "shell",
        description: "Runs a command line with sh in the workspace folder. Each call is a new \
                      shell: a change of folder or of variables does not last. The result begins \
                      with the exit code (in a program only if it is not 0), then come stdout and \
                      stderr in the order of writing. There is no terminal and no input. Processes \
                      that are left in the background are killed when the command line ends: \
                      exec_command starts those that may go on. Of a line at most 2000 bytes are shown.",
        parameters: r#"{"type":"object","properties":{"command":{"type":"string","format":"shell","minLength":1,"description":"The command line."},"timeout_ms":{"type":"integer","minimum":1,"description":"Kill it after so many milliseconds. Default 120000, which is 2 minutes; the session may allow less than you ask for."},"output_bytes":{"type":"integer","minimum":1,"description":"Most bytes of output to show; of a longer one, its beginning and its end are shown. Default 32768; the session may allow less than you ask for."}},"required":["command"],"additionalProperties":false}"#,
        effect: EffectClass::Effectful,
        concurrency: Concurrency::Exclusive,
    },
];

#[cfg(test)]
mod tests {
    use windlass_ports::TEXT_TOOLS;

    use super::offers;

    #[test]
    fn the_argument_that_leaves_the_sandbox_is_one_of_command_lines() {
        for (name, line) in [("shell", "command"), ("exec_command", "cmd")] {
            let tool = offers().find(|tool| tool.name == name).unwrap();
            let schema = tool.spec_with_calls_outside().parameters;
            let schema: serde_json::Value = serde_json::from_str(&schema).unwrap();
            assert_eq!(schema["properties"]["outside_sandbox"]["format"], "outside_sandbox");
            assert_eq!(schema["required"], serde_json::json!([line]));
            assert!(!tool.spec().parameters.contains("outside"));
        }
    }

    #[test]
    fn programs_get_the_output_of_these_tools_as_text() {
        let mut names: Vec<_> = offers().map(|tool| tool.name).collect();
        names.sort_unstable();
        assert_eq!(names, TEXT_TOOLS);
    }
}
