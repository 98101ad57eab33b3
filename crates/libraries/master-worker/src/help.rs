//! Help text of the command line options.

use crate::Options;

impl Options {
    /// The options as arguments, one per line, as a program prints them with `--help`.
    pub const HELP: &'static str = include_str!("help.txt");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_an_option() {
        for line in Options::HELP.lines().filter(|line| line.starts_with("  --")) {
            for option in line.split_whitespace().take(1) {
                let (_, others) = Options::parse([option.to_owned(), "1".to_owned()]);
                assert!(others.is_empty() || others == ["1"], "{option}: {others:?}");
            }
        }
    }
}
