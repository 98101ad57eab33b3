//! Check of one thing on this machine, and how checks are shown.

use display::ink::{Tone, paint};
use serde_json::{Value, json};

/// Result of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CheckResult {
    /// Everything wanted is there.
    Ok,
    /// There, but not all of it works.
    Limited,
    /// Not there.
    Missing,
}

/// Check of one thing on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Check {
    pub(crate) name: &'static str,
    pub(crate) found: String,
    pub(crate) state: CheckResult,
    /// Sentence about what does not work, or works less well; empty when all is well.
    pub(crate) costs: String,
    /// Advice about it; empty when all is well.
    pub(crate) remedy: String,
}

impl Check {
    pub(crate) fn ok(name: &'static str, found: impl Into<String>) -> Self {
        let (costs, remedy) = (String::new(), String::new());
        Self { name, found: found.into(), state: CheckResult::Ok, costs, remedy }
    }

    pub(crate) fn limited(name: &'static str, found: impl Into<String>, advice: Advice) -> Self {
        Self { state: CheckResult::Limited, ..Self::missing(name, found, advice) }
    }

    pub(crate) fn missing(name: &'static str, found: impl Into<String>, advice: Advice) -> Self {
        let [costs, remedy] = advice.map(str::to_owned);
        Self { name, found: found.into(), state: CheckResult::Missing, costs, remedy }
    }
}

/// Costs and remedy of a check, in this order.
pub(crate) type Advice<'a> = [&'a str; 2];

/// Renders the checks for people: a line for each, followed by costs and remedy if anything is missing.
pub(crate) fn render(checks: &[Check], color: bool) -> String {
    let width = checks.iter().map(|check| check.name.len()).max().unwrap_or(0);
    let block = |check: &Check| {
        let Check { name, found, state, costs, remedy } = check;
        let shown = format!("{}  {name:width$}  {found}\n", state.paint(state.name(), color));
        match state {
            CheckResult::Ok => shown,
            _ => format!("{shown}{0:9}{0:width$}  {costs}\n{0:9}{0:width$}  -> {remedy}\n", ""),
        }
    };
    let amiss = checks.iter().filter(|check| check.state != CheckResult::Ok).count();
    let last = match amiss {
        0 => "all is there".to_owned(),
        1 => "1 thing is missing or limited; the rest works without it".to_owned(),
        n => format!("{n} things are missing or limited; the rest works without them"),
    };
    checks.iter().map(block).collect::<String>() + &format!("\n{last}\n")
}

/// One check as JSON.
pub(crate) fn one_json(check: &Check) -> Value {
    json!({
        "name": check.name, "found": check.found, "state": check.state.name(),
        "costs": check.costs, "remedy": check.remedy,
    })
}

impl CheckResult {
    fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Limited => "limited",
            Self::Missing => "missing",
        }
    }

    /// Word in the color of this result, in a column.
    pub(crate) fn paint(self, word: &str, color: bool) -> String {
        let tone = match self {
            Self::Ok => Tone::Good,
            Self::Limited => Tone::Fair,
            Self::Missing => Tone::Poor,
        };
        paint(color, tone, &format!("{word:7}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_amiss_is_followed_by_its_cost_and_remedy() {
        let checks =
            [Check::ok("clock", "invariant"), Check::missing("slurm", "no `srun`", ["a", "b"])];
        let expected = "\
ok       clock  invariant
missing  slurm  no `srun`
                a
                -> b

1 thing is missing or limited; the rest works without it
";
        assert_eq!(render(&checks, false), expected);
        assert_eq!(one_json(&checks[1])["state"], "missing");
    }
}
