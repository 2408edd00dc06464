//! The file of a recording: a header line, then one line an answer.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;

use serde_json::{Value, json};

use super::line::Exchange;

/// A recording as it is read.
pub(super) struct Recording {
    pub(super) name: String,
    pub(super) exchanges: Vec<Exchange>,
}

/// Creates a file with the header.
pub(super) fn create(path: &Path, name: &str) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).open(path)?;
    file.write_all(format!("{}\n", json!({ "recording": 1, "provider": name })).as_bytes())
}

/// Appends an answer.
pub(super) fn append(path: &Path, exchange: &Exchange) -> io::Result<()> {
    let mut file = OpenOptions::new().append(true).open(path)?;
    file.write_all(format!("{}\n", exchange.to_json()).as_bytes())
}

/// Reads a whole file.
pub(super) fn read(path: &Path) -> io::Result<Recording> {
    let text = fs::read_to_string(path)?;
    let broken = |number: usize, why: String| {
        let words = format!("{} is no recording: line {number}: {why}", path.display());
        io::Error::new(io::ErrorKind::InvalidData, words)
    };
    let mut lines = (1_usize..).zip(text.lines());
    let header = lines.next().map_or("", |(_, line)| line);
    let header: Value =
        serde_json::from_str(header).map_err(|error| broken(1, error.to_string()))?;
    let name = match (&header["recording"], &header["provider"]) {
        (Value::Number(version), Value::String(name)) if version.as_u64() == Some(1) => name,
        (version, _) => return Err(broken(1, format!("it has version {version}, not 1"))),
    };
    let mut exchanges = Vec::new();
    for (number, line) in lines {
        let value =
            serde_json::from_str(line).map_err(|error| broken(number, error.to_string()))?;
        exchanges.push(Exchange::from_json(&value).map_err(|why| broken(number, why))?);
    }
    Ok(Recording { name: name.clone(), exchanges })
}
