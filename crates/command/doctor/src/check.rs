//! Check of one thing on this machine, and how checks are shown.

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
    /// What does not work, or works less well; empty when all is well.
    pub(crate) costs: String,
    /// What to do about it; empty when all is well.
    pub(crate) remedy: String,
}

impl Check {
    pub(crate) fn ok(name: &'static str, found: impl Into<String>) -> Self {
        let (costs, remedy) = (String::new(), String::new());
        Self { name, found: found.into(), state: CheckResult::Ok, costs, remedy }
    }

    pub(crate) fn limited(
        name: &'static str,
        found: impl Into<String>,
        [costs, remedy]: Advice,
    ) -> Self {
        Self { state: CheckResult::Limited, ..Self::missing(name, found, [costs, remedy]) }
    }

    pub(crate) fn missing(
        name: &'static str,
        found: impl Into<String>,
        [costs, remedy]: Advice,
    ) -> Self {
        let found = found.into();
        Self {
            name,
            found,
            state: CheckResult::Missing,
            costs: costs.into(),
            remedy: remedy.into(),
        }
    }
}

/// Costs and remedy of a check, in this order.
pub(crate) type Advice<'a> = [&'a str; 2];

/// Renders the checks for people: a line for each, and below it what is amiss.
pub(crate) fn render(checks: &[Check], style: Style) -> String {
    let width = checks.iter().map(|check| check.name.len()).max().unwrap_or(0);
    let block = |check: &Check| {
        let state = style.paint(check.state);
        let mut text = format!("{state}  {:width$}  {}\n", check.name, check.found);
        if !check.costs.is_empty() {
            text += &format!("         {:width$}  {}\n", "", check.costs);
        }
        if !check.remedy.is_empty() {
            text += &format!("         {:width$}  -> {}\n", "", check.remedy);
        }
        text
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
        "name": check.name, "found": check.found, "state": word(check.state),
        "costs": check.costs, "remedy": check.remedy,
    })
}

/// Whether output is colored.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Style {
    pub(crate) color: bool,
}

impl Style {
    fn paint(self, state: CheckResult) -> String {
        self.colored(state, word(state))
    }

    pub(crate) fn colored(self, state: CheckResult, word: &str) -> String {
        let code = match state {
            CheckResult::Ok => 32,
            CheckResult::Limited => 33,
            CheckResult::Missing => 31,
        };
        if self.color { format!("\x1b[{code}m{word:7}\x1b[0m") } else { format!("{word:7}") }
    }
}

fn word(state: CheckResult) -> &'static str {
    match state {
        CheckResult::Ok => "ok",
        CheckResult::Limited => "limited",
        CheckResult::Missing => "missing",
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
        assert_eq!(render(&checks, Style { color: false }), expected);
        assert_eq!(one_json(&checks[1])["state"], "missing");
    }
}
