//! Functions about the program itself: its end, what it prints, and the plainest functions.

use crate::callable::NativeFunction;
use crate::context::Context;
use crate::fault::Halt;
use crate::library::{ANY, pure};
use crate::show;
use crate::value::Value;

fn joined(
    ctx: &mut Context,
    args: &[Value],
    between: &str,
    show: fn(&Value) -> String,
) -> Result<String, Halt> {
    // Room for all texts at once: a text that grows takes twice what it has.
    let texts = args.iter().filter_map(Value::as_str).map(str::len);
    let size = texts.fold(0, usize::saturating_add);
    ctx.room(size / size_of::<Value>())?;
    let mut out = String::with_capacity(size);
    for (index, arg) in args.iter().enumerate() {
        ctx.writes(arg)?;
        if index > 0 {
            out.push_str(between);
        }
        out.push_str(&show(arg));
        ctx.room(out.len() / size_of::<Value>())?;
    }
    Ok(out)
}

fn println(ctx: &mut Context, args: &mut [Value]) -> Result<Value, Halt> {
    let line = joined(ctx, args, " ", show::display)?;
    ctx.print(line)?;
    Ok(Value::Nil)
}

fn prn(ctx: &mut Context, args: &mut [Value]) -> Result<Value, Halt> {
    let line = joined(ctx, args, " ", show::readable)?;
    ctx.print(line)?;
    Ok(Value::Nil)
}

fn pr_str(ctx: &mut Context, args: &mut [Value]) -> Result<Value, Halt> {
    let text = joined(ctx, args, " ", show::readable)?;
    ctx.text(text)
}

fn str(ctx: &mut Context, args: &mut [Value]) -> Result<Value, Halt> {
    let text = joined(ctx, args, "", show::plain)?;
    ctx.text(text)
}

pub(super) const NATIVES: &[NativeFunction] = &[
    pure("return", 0, 1, |_, args| Err(Halt::Return(args.first().cloned().unwrap_or_default()))),
    pure("fail", 0, 1, |_, args| Err(Halt::Fail(args.first().cloned().unwrap_or_default()))),
    pure("println", 0, ANY, println),
    pure("prn", 0, ANY, prn),
    pure("pr-str", 0, ANY, pr_str),
    pure("str", 0, ANY, str),
    pure("identity", 1, 1, |_, args| Ok(std::mem::take(&mut args[0]))),
];
