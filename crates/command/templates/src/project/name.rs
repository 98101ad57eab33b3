//! Checks the name of a project: it names a crate, a file, and a table in a description.

use anyhow::bail;

/// Most bytes of a name.
const N_BYTES_MAX: usize = 40;

/// Names that `cargo`, `make` or a compiler reserve.
const RESERVED: &str = "
    abstract all alloc as async await become box break build check clean const continue core
    crate deps do dyn else enum examples extern false final fn for gen if impl in incremental
    let loop macro main makefile master-worker match mod move mut pub ref return self src static std
    struct super test trait true try type unsafe use where while yield";

/// Checks that `what`, such as a tunlet, may have this name.
pub(crate) fn check(name: &str, what: &str) -> anyhow::Result<()> {
    let is_letter = |byte: u8| byte.is_ascii_lowercase();
    let is_plain =
        |byte: u8| is_letter(byte) || byte.is_ascii_digit() || matches!(byte, b'-' | b'_');
    if !name.bytes().next().is_some_and(is_letter) || !name.bytes().all(is_plain) {
        bail!(
            "`{name}` cannot be the name of a {what}; begin with a lower-case letter and go on with \
             lower-case letters, digits, `-` and `_`"
        );
    }
    if N_BYTES_MAX < name.len() {
        bail!(
            "`{name}` is too long for the name of a {what}; use {N_BYTES_MAX} characters at most"
        );
    }
    if RESERVED.split_whitespace().any(|word| word == name) {
        bail!(
            "`{name}` is a word of the language or of its tools; choose another name for the {what}"
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #[track_caller]
    fn check(name: &str, expected: bool) {
        assert_eq!(super::check(name, "tunlet").is_ok(), expected, "{name}");
    }

    #[test]
    fn a_name_can_be_typed_everywhere() {
        check("a", true);
        check("my-tunlet_2", true);
        check(&"a".repeat(40), true);
        check(&"a".repeat(41), false);
        check("", false);
        check("2nd", false);
        check("-a", false);
        check("My", false);
        check("a b", false);
        check("../a", false);
        check("größe", false);
        check("loop", false);
        check("test", false);
        check("build", false);
        check("master-worker", false);
    }
}
