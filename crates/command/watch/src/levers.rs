//! Levers of `--tune`: their names on the command line, and their tunlets.

use crate::options::{ALL_LEVERS, LeverOptions};
use events::Lever;
use tunlets::Tunlet;
use tunlets::built_in::OF_LEVERS;

/// Names of the levers that are asked for, with commas.
pub(crate) fn names(options: &LeverOptions) -> String {
    levers(options).into_iter().map(Lever::name).collect::<Vec<_>>().join(",")
}

/// Tunlets that are asked for, in the order of their turns.
fn asked(options: &LeverOptions) -> impl Iterator<Item = (&'static str, &'static [Lever])> {
    let is_asked = |name: &str| {
        let mut asked = options.tune.iter();
        asked.any(|asked| asked == name || asked == ALL_LEVERS)
    };
    OF_LEVERS.into_iter().filter(move |(name, _)| is_asked(name))
}

/// Levers that are asked for.
pub(crate) fn levers(options: &LeverOptions) -> Vec<Lever> {
    asked(options).flat_map(|(_, levers)| levers.iter().copied()).collect()
}

/// Tunlets that set these levers.
pub(crate) fn tunlets(options: &LeverOptions) -> Vec<Box<dyn Tunlet>> {
    asked(options).filter_map(|(name, _)| tunlets::built_in(name)).collect()
}

/// Returns whether a tunlet is one of `--tune`.
pub(crate) fn is_of_levers(tunlet: &str) -> bool {
    OF_LEVERS.iter().any(|(name, _)| *name == tunlet)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(asked: &[&str], expected: &[Lever]) {
        let tune = asked.iter().map(ToString::to_string).collect();
        assert_eq!(levers(&LeverOptions { tune, ..LeverOptions::default() }), expected);
    }

    #[test]
    fn levers_are_named_or_all() {
        check(&[], &[]);
        check(&["memory"], &[Lever::Memory, Lever::HugePages]);
        check(&["memory", "waiting"], &[Lever::Waiting, Lever::Memory, Lever::HugePages]);
        check(&["collectives"], &[Lever::Collectives]);
        check(&["all"], &Lever::ALL);
    }
}
