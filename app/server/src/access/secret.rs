//! Secrets: tokens and tickets, from the operating system's entropy.

use getrandom::Error;

/// Creates a secret of 256 bits in 64 hexadecimal digits. Its prefix lets secret scanners find it.
///
/// # Errors
/// When the operating system provides no entropy.
pub fn new_token() -> Result<String, Error> {
    secret("windlass_")
}

pub(crate) fn secret(prefix: &str) -> Result<String, Error> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes)?;
    Ok(format!("{prefix}{}", hex(&bytes)))
}

/// Formats bytes in hexadecimal.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_are_the_same() {
        let (one, other) = (new_token().unwrap(), new_token().unwrap());
        assert_eq!(one.len(), "windlass_".len() + 64);
        assert_ne!(one, other);
    }
}
