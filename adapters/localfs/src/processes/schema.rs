//! The tools for processes as a model is shown them.

use windlass_core::{Concurrency, EffectClass};

use super::ProcessTool;
use crate::schema::{ToolOffer, WorkspaceTool};

/// The tools in the order in which a model is shown them.
pub(crate) const PROCESS_TOOLS: [ToolOffer; 4] = [
    ToolOffer {
        tool: WorkspaceTool::Process(ProcessTool::Start),
        name: "exec_command",
        description: "Starts a command line with sh that may outlive this call: a server, a watcher, \
                      a long build, a program that asks. Waits for its end up to yield_time_ms, and \
                      returns the output so far with the exit code or, if it still runs, with its \
                      id for write_stdin and stop_process. A process ends with the session at the \
                      latest.",
        parameters: r#"{"type":"object","properties":{"cmd":{"type":"string","format":"shell","minLength":1,"description":"The command line."},"workdir":{"type":"string","format":"path","minLength":1,"description":"Folder to run it in, relative to the workspace folder. Default: the workspace folder itself."},"tty":{"type":"boolean","description":"Give it a terminal of 24 lines and 80 columns, for programs that need one. Default false."},"yield_time_ms":{"type":"integer","minimum":0,"description":"Longest wait for its end. Default 10000; the session may allow less than you ask for."},"max_output_bytes":{"type":"integer","minimum":1,"description":"Most bytes of output to show; of a longer one, its beginning and its end are shown. Default 32768; the session may allow less than you ask for."}},"required":["cmd"],"additionalProperties":false}"#,
        effect: EffectClass::Effectful,
        concurrency: Concurrency::Exclusive,
    },
    ToolOffer {
        tool: WorkspaceTool::Process(ProcessTool::Write),
        name: "write_stdin",
        description: "Writes to the stdin of a process that exec_command started, or without chars \
                      only waits for it. Returns the output since the last answer, with the exit \
                      code if it has ended. Of output that nobody asks for, the end is kept.",
        parameters: r#"{"type":"object","properties":{"id":{"type":"integer","minimum":1,"description":"Id of the process."},"chars":{"type":"string","description":"Characters to write, with \\n at the end of a line. \\u0004 at the end closes stdin; at a terminal, \\u0003 interrupts. Default: none."},"yield_time_ms":{"type":"integer","minimum":0,"description":"Longest wait for its end. Default 250 after characters, else 5000; the session may allow less than you ask for."},"max_output_bytes":{"type":"integer","minimum":1,"description":"Most bytes of output to show. Default 32768; the session may allow less than you ask for."}},"required":["id"],"additionalProperties":false}"#,
        effect: EffectClass::Effectful,
        concurrency: Concurrency::Exclusive,
    },
    ToolOffer {
        tool: WorkspaceTool::Process(ProcessTool::List),
        name: "list_processes",
        description: "Lists the processes of this session that exec_command started: those that run, \
                      those whose end write_stdin has not returned yet, and those that were lost.",
        parameters: r#"{"type":"object","properties":{},"additionalProperties":false}"#,
        effect: EffectClass::ReadOnly,
        concurrency: Concurrency::Parallel,
    },
    ToolOffer {
        tool: WorkspaceTool::Process(ProcessTool::Stop),
        name: "stop_process",
        description: "Stops a process that exec_command started, with every process that it started, \
                      and returns the rest of its output.",
        parameters: r#"{"type":"object","properties":{"id":{"type":"integer","minimum":1,"description":"Id of the process."}},"required":["id"],"additionalProperties":false}"#,
        effect: EffectClass::Idempotent,
        concurrency: Concurrency::Exclusive,
    },
];
