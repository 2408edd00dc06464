//! QuickJS: one runtime for each program, with nothing ambient in it.

use std::sync::Arc;

use rquickjs::context::{EvalOptions, intrinsic};
use rquickjs::{Coerced, Context, Ctx, Error, Function, Module, Object, Runtime, Value};
use windlass_core::ProgramFault;
use windlass_ports::ProgramEnvironment;

use crate::check::{LIBRARY, OWN};
use crate::clock::set_clock;
use crate::fault::{self, ThrownValue, no_memory, parse_position, too_deep};
use crate::host_state::{HostState, LOOK};
use crate::key_ledger::{KeyLedger, KeyPrice};

/// The stack that reading a program may take. It bounds how deep a source is nested.
const READING: usize = 256 << 10;

/// Most memory for parsing a program, in bytes.
const READING_MEMORY: usize = 64 << 20;

/// The stack of a program: so much for each call that may be nested, within these bounds. Threads have
/// 2 MiB by default.
const STACK_A_CALL: usize = 640;
const STACK: (usize, usize) = (48 << 10, 1 << 20);

/// The most steps that one function of the library may take.
const MOST_AT_ONCE: f64 = 5e7;

/// Memory for reporting the end of a program, in bytes, beside the program's own.
const ENDING: usize = 1 << 20;

/// The name of what a call that failed throws. Its `tool` is what was called.
const TOOL_ERROR: &str = "ToolError";

/// The name of what was thrown and is no error.
pub(crate) const NO_ERROR: &str = "NoError";

const PRELUDE: &str = include_str!("prelude.js");

type Library = (
    intrinsic::Date,
    intrinsic::Eval,
    intrinsic::RegExpCompiler,
    intrinsic::RegExp,
    intrinsic::Json,
    intrinsic::Proxy,
    intrinsic::MapSet,
    intrinsic::Promise,
);

/// A source as the engine runs it: the program begins on the second line.
fn wrapped(source: &str) -> String {
    format!(
        "(function (tools, data, memory, print, console, fail, {OWN}_end, {OWN}) {{ \"use strict\"; \
         let {OWN}_last, {OWN}_k, {OWN}_n = 0; return async function () {{\n{source}\n;\
         return {OWN}_end(await {OWN}_last);\n}}; }})"
    )
}

fn options() -> EvalOptions {
    let mut options = EvalOptions::default();
    options.strict = true;
    options.filename = Some("program.js".to_owned());
    options
}

fn broken(error: &Error) -> ProgramFault {
    let words = format!("the program cannot be run: {error}");
    ProgramFault::new("runtime_error", words)
}

/// Checks that the engine can parse a program. Runs none of it.
pub(crate) fn compiles(source: &str) -> Result<(), ProgramFault> {
    let runtime = Runtime::new().map_err(|error| broken(&error))?;
    runtime.set_max_stack_size(READING);
    runtime.set_memory_limit(READING_MEMORY);
    let context = Context::custom::<Library>(&runtime).map_err(|error| broken(&error))?;
    context.with(|ctx| {
        // A module is read and not run: a source may close what stands around it.
        let read = Module::declare(ctx.clone(), "program.js", wrapped(source));
        read.map(drop).map_err(|error| {
            let thrown = caught(&ctx, &error);
            let mut fault = fault::thrown(thrown, true);
            // It may miss something only behind the program.
            let last = u32::try_from(source.lines().count()).unwrap_or(u32::MAX).max(1);
            if fault.line.is_some_and(|line| line > last) {
                (fault.line, fault.column) = (Some(last), None);
            }
            fault
        })
    })
}

/// Returns the value that a failed operation threw.
fn caught(ctx: &Ctx<'_>, error: &Error) -> ThrownValue {
    if error.is_exception() {
        return thrown_value(ctx, &ctx.catch());
    }
    ThrownValue {
        name: "SyntaxError".to_owned(),
        message: error.to_string(),
        ..ThrownValue::default()
    }
}

/// Describes a thrown value. It may be anything, and reading it may throw again.
fn thrown_value<'js>(ctx: &Ctx<'js>, thrown: &Value<'js>) -> ThrownValue {
    let text = |value: &Value<'_>| -> Option<String> {
        let text = value.get::<Coerced<String>>().ok();
        if text.is_none() {
            drop(ctx.catch());
        }
        text.map(|Coerced(text)| text)
    };
    let Some(object) = thrown.as_object() else {
        let (name, message) = if thrown.is_string() {
            ("Error", text(thrown).unwrap_or_default())
        } else {
            let value = text(thrown).unwrap_or_else(|| "a symbol".to_owned());
            (NO_ERROR, format!("{value} was thrown, which is no error"))
        };
        return ThrownValue {
            name: name.to_owned(),
            message,
            null: thrown.is_null(),
            ..ThrownValue::default()
        };
    };
    let key = |key: &str| -> Option<String> {
        let value = object.get::<_, Value<'_>>(key);
        let Ok(value) = value else {
            drop(ctx.catch());
            return None;
        };
        if value.is_undefined() {
            return None;
        }
        text(&value)
    };
    let (name, mut message) = (key("name"), key("message"));
    if name.as_deref() == Some(TOOL_ERROR)
        && let (Some(tool), Some(words)) = (key("tool"), &message)
    {
        message = Some(format!("{tool} failed: {words}"));
    }
    if !object.is_error() && name.is_none() && message.is_none() {
        let shown = host(ctx).and_then(|host| {
            let show: Function<'_> = host.get("shown")?;
            show.call::<_, Coerced<String>>((thrown.clone(),))
        });
        let value = match shown {
            Ok(Coerced(value)) => value,
            Err(_) => {
                drop(ctx.catch());
                "an object".to_owned()
            }
        };
        return ThrownValue {
            name: NO_ERROR.to_owned(),
            message: format!("{value} was thrown, which is no error"),
            ..ThrownValue::default()
        };
    }
    ThrownValue {
        name: name.unwrap_or_else(|| "Error".to_owned()),
        message: message.unwrap_or_default(),
        position: key("stack").as_deref().and_then(parse_position),
        null: false,
    }
}

/// State of a program that cannot continue without answers.
pub(crate) enum EnginePause {
    /// It waits, for calls or for nothing.
    Waiting,
    /// It ended with a value, and what it leaves in memory where that has changed.
    Ended { returned: bool, value: String, memory: Option<MemoryTexts> },
    /// It threw an error.
    Threw(ThrownValue),
    /// It has ended or waits, and something failed that nobody has looked at.
    UnhandledRejection(ThrownValue),
}

/// What is kept, before a program and after it, as the program's engine writes it.
pub(crate) struct MemoryTexts {
    pub(crate) before: String,
    pub(crate) after: String,
}

/// A program in its engine.
pub(crate) struct Engine {
    context: Context,
    runtime: Runtime,
    shared: Arc<HostState>,
    /// Memory limit, including the memory that the engine held before the program.
    memory: usize,
    /// Memory for reporting the end, beside it.
    ending: usize,
    /// True if it throws something itself, as far as its source tells.
    throws: bool,
}

impl Engine {
    /// An engine in which this program is about to run.
    pub(crate) fn new(
        source: &str,
        world: &ProgramEnvironment,
        data: &str,
        memory: &str,
        shared: Arc<HostState>,
    ) -> Result<Self, ProgramFault> {
        let runtime = Runtime::new().map_err(|error| broken(&error))?;
        // What counts the steps is nested in the program, which is nested deeper by it.
        runtime.set_max_stack_size(STACK.1);
        let context = Context::custom::<Library>(&runtime).map_err(|error| broken(&error))?;
        let before = used(&runtime);
        let most = usize::try_from(shared.limits.memory_bytes).unwrap_or(usize::MAX / 2);
        let mut engine = Self {
            context,
            runtime,
            shared,
            memory: most.saturating_add(before),
            ending: ENDING.saturating_add(2 * memory.len()),
            throws: ["throw", "reject"].iter().any(|word| source.contains(word)),
        };
        for text in [data, memory] {
            if engine.shared.pay_for_keys(|keys| keys.json(text)) {
                engine.work()?;
            }
        }
        let room = engine.memory.saturating_add(ENDING);
        engine.runtime.set_memory_limit(room);
        let handler = engine.shared.clone();
        engine.runtime.set_interrupt_handler(Some(Box::new(move || handler.spend(LOOK))));
        engine
            .context
            .with(|ctx| {
                set_clock(&ctx, world)
                    .and_then(|()| prepare(&ctx, &world.tools, data, memory, &engine.shared))
                    .and_then(|()| hold(&ctx, source))
                    .map_err(|error| caught(&ctx, &error))
            })
            .map_err(|thrown| {
                let fault = engine.shared.lock().fault.clone();
                fault.unwrap_or_else(|| fault::thrown(thrown, true))
            })?;
        let shared = engine.shared.clone();
        engine.runtime.set_host_promise_rejection_tracker(Some(Box::new(
            move |ctx, promise, reason, heeded| rejected(&shared, &ctx, promise, reason, heeded),
        )));
        // What stands around it is not the program's.
        let around = used(&engine.runtime).saturating_sub(before + data.len() + memory.len());
        engine.memory = engine.memory.saturating_add(around.min(ENDING));
        engine.runtime.set_memory_limit(engine.memory);
        let depth = usize::try_from(engine.shared.limits.depth).unwrap_or(usize::MAX);
        engine.shared.begin();
        let stack = depth.saturating_mul(STACK_A_CALL).clamp(STACK.0, STACK.1);
        engine.runtime.set_max_stack_size(stack);
        Ok(engine)
    }

    /// Starts the program.
    pub(crate) fn begin(&self) -> Result<(), ProgramFault> {
        self.within(|ctx, host| {
            let program: Function<'_> = ctx.globals().get(PROGRAM)?;
            ctx.globals().remove(PROGRAM)?;
            host.get::<_, Function<'_>>("begin")?.call::<_, ()>((program,))
        })
    }

    /// Delivers the answer to a call.
    pub(crate) fn deliver_answer(
        &self,
        id: u32,
        good: bool,
        text: &str,
    ) -> Result<(), ProgramFault> {
        if good && self.shared.pay_for_keys(|keys| keys.json(text)) {
            return self.work();
        }
        let give = (id, good, text);
        self.within(|_, host| host.get::<_, Function<'_>>("give")?.call::<_, ()>(give))
    }

    /// Gives the program the output of a tool that is text, whatever it contains.
    pub(crate) fn deliver_text(&self, id: u32, text: &str) -> Result<(), ProgramFault> {
        let give = (id, text);
        self.within(|_, host| host.get::<_, Function<'_>>("giveText")?.call::<_, ()>(give))
    }

    fn within(
        &self,
        work: impl for<'js> FnOnce(&Ctx<'js>, &Object<'js>) -> rquickjs::Result<()>,
    ) -> Result<(), ProgramFault> {
        let done = self.context.with(|ctx| {
            let done = host(&ctx).and_then(|host| work(&ctx, &host));
            done.map_err(|error| caught(&ctx, &error))
        });
        done.map_err(|thrown| self.fault(thrown))
    }

    /// The fault of something thrown, unless the program must end for another reason.
    pub(crate) fn fault(&self, thrown: ThrownValue) -> ProgramFault {
        if let Some(fault) = self.shared.lock().fault.clone() {
            return fault;
        }
        // Where there is no room for an error either, null is thrown.
        let full = thrown.null && (!self.throws || used(&self.runtime) > self.memory / 2);
        let fault = fault::thrown(thrown, false);
        if full || fault.class == "memory_exceeded" {
            return ProgramFault {
                line: fault.line,
                column: fault.column,
                ..no_memory(self.shared.limits.memory_bytes)
            };
        }
        fault
    }

    /// Does what there is to do without answers.
    pub(crate) fn work(&self) -> Result<(), ProgramFault> {
        loop {
            if self.shared.spend(3) {
                let fault = self.shared.lock().fault.clone();
                return Err(fault.unwrap_or_else(|| ProgramFault::new("stopped", "it stopped")));
            }
            match self.runtime.execute_pending_job() {
                Ok(true) => {}
                Ok(false) => return Ok(()),
                Err(job) => {
                    let thrown = job.0.with(|ctx| thrown_value(&ctx, &ctx.catch()));
                    return Err(self.fault(thrown));
                }
            }
        }
    }

    /// Returns the state of the program.
    pub(crate) fn pause_state(&self) -> Result<EnginePause, ProgramFault> {
        // Telling must be possible where the program has used up its memory.
        self.runtime.set_memory_limit(self.memory.saturating_add(self.ending));
        let rest = self.context.with(|ctx| {
            let rest = rest(&ctx);
            rest.map_err(|error| caught(&ctx, &error))
        });
        self.runtime.set_memory_limit(self.memory);
        rest.map_err(|thrown| self.fault(thrown))
    }
}

/// Name of the global that holds the program until it starts.
const PROGRAM: &str = "__windlass_program";

fn used(runtime: &Runtime) -> usize {
    usize::try_from(runtime.memory_usage().malloc_size).unwrap_or_default()
}

fn host<'js>(ctx: &Ctx<'js>) -> rquickjs::Result<Object<'js>> {
    ctx.globals().get(OWN)
}

/// Remembers a promise that was rejected and that nobody has looked at, or forgets it.
fn rejected<'js>(
    shared: &HostState,
    ctx: &Ctx<'js>,
    promise: Value<'js>,
    reason: Value<'js>,
    heeded: bool,
) {
    let told = host(ctx).and_then(|host| {
        let rejected: Function<'_> = host.get("rejected")?;
        rejected.call::<_, ()>((promise, reason, heeded))
    });
    if told.is_err() {
        // There is no room to remember it, or the program must end anyway.
        drop(ctx.catch());
        shared.end(no_memory(shared.limits.memory_bytes));
    }
}

fn hold(ctx: &Ctx<'_>, source: &str) -> rquickjs::Result<()> {
    let program: Function<'_> = ctx.eval_with_options(wrapped(source), options())?;
    ctx.globals().set(PROGRAM, program)
}

fn rest(ctx: &Ctx<'_>) -> rquickjs::Result<EnginePause> {
    let host = host(ctx)?;
    let state: i32 = host.get::<_, Function<'_>>("state")?.call(())?;
    Ok(match state {
        0 => EnginePause::Waiting,
        1 => EnginePause::Ended {
            returned: host.get::<_, Function<'_>>("returned")?.call(())?,
            value: host.get::<_, Function<'_>>("value")?.call(())?,
            memory: memory_texts(&host)?,
        },
        state => {
            let thrown: Value<'_> = host.get::<_, Function<'_>>("thrown")?.call(())?;
            let thrown = thrown_value(ctx, &thrown);
            if state == 2 {
                EnginePause::Threw(thrown)
            } else {
                EnginePause::UnhandledRejection(thrown)
            }
        }
    })
}

fn memory_texts(host: &Object<'_>) -> rquickjs::Result<Option<MemoryTexts>> {
    let text = |name: &str| -> rquickjs::Result<Option<String>> {
        host.get::<_, Function<'_>>(name)?.call(())
    };
    let Some(after) = text("memory")? else { return Ok(None) };
    Ok(Some(MemoryTexts { before: text("before")?.unwrap_or_default(), after }))
}

/// Puts what stands around a program into its global object.
fn prepare(
    ctx: &Ctx<'_>,
    tools: &[Arc<str>],
    data: &str,
    memory: &str,
    shared: &Arc<HostState>,
) -> rquickjs::Result<()> {
    let prelude: Function<'_> = ctx.eval(PRELUDE)?;
    let own = || shared.clone();
    let calls = own();
    let call =
        Function::new(ctx.clone(), move |name: String, text: String| calls.call(&name, text))?;
    let prints = own();
    let print = Function::new(ctx.clone(), move |text: String| !prints.print(&text))?;
    let fails = own();
    let fail = Function::new(ctx.clone(), move |text: String| fails.fail(text))?;
    let pays = own();
    let pay = Function::new(ctx.clone(), move |steps: f64| {
        // A number of steps that no limit has is all of them.
        let steps = if steps.is_finite() { steps } else { 1e15 };
        // What takes long is not begun: nothing could end it.
        if steps > MOST_AT_ONCE {
            let words = format!("one operation takes {steps} steps, which is too much at once");
            pays.end(fault::less("fuel_exceeded", words));
        }
        pays.spend(steps as u64)
    })?;
    let ticks = own();
    let tick = Function::new(ctx.clone(), move |rounds: f64| ticks.spend(rounds as u64))?;
    let turns = own();
    let over = Function::new(ctx.clone(), move || {
        let most = turns.limits.loop_rounds;
        let words = format!("a loop may go round {most} times and goes round more");
        turns.end(fault::less("loop_limit_exceeded", words));
    })?;
    let filled = own();
    let full = Function::new(ctx.clone(), move |stack: String| {
        filled.end_at(no_memory(filled.limits.memory_bytes), parse_position(&stack));
    })?;
    let nested = own();
    let deep = Function::new(ctx.clone(), move |stack: String| {
        nested.end_at(too_deep(), parse_position(&stack));
    })?;
    let ledger = own();
    let weigh = Function::new(ctx.clone(), move |kind: i32, key: Value<'_>| {
        ledger.pay_for_keys(|keys| price(keys, kind, &key))
    })?;
    let names: Vec<&str> = tools.iter().map(|tool| &**tool).collect();
    let library = LIBRARY.to_vec();
    prelude.call((
        [call, print, fail, pay, tick, over, full, deep, weigh].to_vec(),
        names,
        library,
        data,
        memory,
    ))
}

/// Returns the price of a key: 0 of a property, 1 of a map or a set; 2 is a text of JSON.
fn price(keys: &mut KeyLedger, kind: i32, key: &Value<'_>) -> KeyPrice {
    if let Some(number) = key.as_number() {
        return keys.number(number);
    }
    let Some(Ok(text)) = key.as_string().map(|text| text.to_string()) else {
        return keys.unreadable();
    };
    match kind {
        0 => keys.property(&text),
        1 => keys.text(&text),
        _ => keys.json(&text),
    }
}
