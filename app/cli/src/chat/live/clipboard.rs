//! Image of the system's clipboard, by the programs of the system that reach it.

use std::io;
use std::process::Stdio;
use std::time::Duration;

use tokio::io::AsyncReadExt as _;
use tokio::process::Command;
use windlass_engine::NewInput;
use windlass_engine::core::ImageMedia;

/// Longest wait for a program.
const WAIT: Duration = Duration::from_secs(3);

/// Program that writes the image of a clipboard to its output.
type Reader = (&'static str, &'static [&'static str]);

/// Returns the programs of a system, by whether its environment has a variable.
fn readers(has: impl Fn(&str) -> bool) -> Vec<Reader> {
    let mut all: Vec<Reader> = Vec::new();
    if cfg!(target_os = "macos") {
        all.push(("pngpaste", &["-"]));
    }
    if has("WAYLAND_DISPLAY") {
        all.push(("wl-paste", &["--no-newline", "--type", "image/png"]));
    }
    if has("DISPLAY") {
        all.push(("xclip", &["-selection", "clipboard", "-target", "image/png", "-out"]));
    }
    all
}

/// Returns the image of the clipboard.
///
/// # Errors
/// The reason why there is none, with what to do.
pub(super) async fn image() -> Result<Vec<u8>, String> {
    const INSTEAD: &str = "paste or type the path of an image file";
    let readers = readers(|name| std::env::var_os(name).is_some());
    let mut missing = Vec::new();
    for (program, arguments) in readers {
        match output(program, arguments).await {
            Ok(image) if image.len() > NewInput::IMAGE_BYTES => {
                let most = NewInput::IMAGE_BYTES;
                return Err(format!("the image of the clipboard has more than {most} bytes"));
            }
            Ok(image) if ImageMedia::of(&image).is_some() => return Ok(image),
            Ok(_) => return Err(format!("the clipboard has no image: {INSTEAD}")),
            Err(error) if error.kind() == io::ErrorKind::NotFound => missing.push(program),
            Err(error) => return Err(format!("{program} failed: {error}; {INSTEAD}")),
        }
    }
    Err(match missing.as_slice() {
        [] => format!("no clipboard can be reached from here: {INSTEAD}"),
        programs => {
            format!("install {} to paste images, or {INSTEAD}", programs.join(" or "))
        }
    })
}

/// Runs a program, and returns its output up to one byte more than an image may have.
async fn output(program: &str, arguments: &[&str]) -> io::Result<Vec<u8>> {
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.kill_on_drop(true).spawn()?;
    let Some(stdout) = child.stdout.take() else {
        return Ok(Vec::new());
    };
    let mut image = Vec::new();
    let mut stdout = stdout.take(NewInput::IMAGE_BYTES as u64 + 1);
    match tokio::time::timeout(WAIT, stdout.read_to_end(&mut image)).await {
        Ok(read) => read.map(|_| image),
        Err(_) => Err(io::Error::new(io::ErrorKind::TimedOut, "it gave no answer in time")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_display_decides_which_program_is_asked() {
        let names = |has: &[&str]| -> Vec<_> {
            let linux = readers(|name| has.contains(&name)).into_iter();
            linux.map(|reader| reader.0).filter(|name| *name != "pngpaste").collect()
        };
        assert_eq!(names(&["WAYLAND_DISPLAY", "DISPLAY"]), ["wl-paste", "xclip"]);
        assert_eq!(names(&["DISPLAY"]), ["xclip"]);
        assert!(names(&[]).is_empty());
    }
}
