//! The plan of an experiment: a command with placeholders, and the values of its parameters.

mod check;

pub use check::PlanError;

use crate::template;
use crate::{Expression, ExpressionError};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Values of the parameters, by name.
pub type Parameters = BTreeMap<String, f64>;

/// An example plan with comments, as a starting point.
pub const EXAMPLE: &str = include_str!("plan/example.toml");

/// Runs and their parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// The command of a run.
    pub command: Command,
    /// A batch script; a command names the path of the filled-in copy by `{script}`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub script: Option<String>,
    /// Environment variables of the command; values may have placeholders too.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub environment: BTreeMap<String, String>,
    /// Values of each parameter; all combinations are run.
    pub parameters: BTreeMap<String, Vec<f64>>,
    /// Condition on the parameters; only points for which it is true are run.
    #[serde(rename = "where", skip_serializing_if = "Option::is_none")]
    pub condition: Option<String>,
    /// Combinations that are not run: every point with all these values.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exclude: Vec<Parameters>,
    /// Additional points, which are kept from fitting; parameters that are not named take their values from
    /// `parameters`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub holdout: Vec<BTreeMap<String, Vec<f64>>>,
    /// Functions that are measured separately; `*` matches any text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub functions: Vec<String>,
    /// Runs of each point.
    #[serde(default = "number::<_, 5>")]
    pub repetitions: u32,
    /// Seed of the order of runs.
    #[serde(default = "number::<_, 1>")]
    pub seed: u64,
    /// Time after which a run is stopped and counts as failed, in seconds.
    #[serde(default = "number::<_, 3600>")]
    pub timeout_s: f64,
    /// Number of times a run is started before it counts as failed for good.
    #[serde(default = "number::<_, 3>")]
    pub tries: u32,
    /// Expression for the expected time of a run in seconds, used for estimates before the first
    /// measurement.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected_s: Option<String>,
}

/// A command, as one line or as a list of words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Command {
    /// Words are separated by spaces; quotes protect spaces.
    Line(String),
    /// A list of words.
    Words(Vec<String>),
}

/// One combination of parameter values.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GridPoint {
    /// Value of each parameter.
    pub parameters: Parameters,
    /// True if the point is kept from fitting.
    pub is_holdout: bool,
}

/// Returns the default of a field.
fn number<T: From<u32>, const N: u32>() -> T {
    T::from(N)
}

impl Plan {
    /// Reads and checks a plan.
    ///
    /// # Errors
    /// At the first mistake in it.
    pub fn read(text: &str) -> Result<Self, PlanError> {
        let plan: Self = toml::from_str(text).map_err(|error| PlanError::Malformed {
            line: error.span().map_or(1, |span| text[..span.start].lines().count().max(1)),
            message: error.message().trim_end().replace('\n', ", "),
        })?;
        check::check(&plan)?;
        Ok(plan)
    }

    /// Returns the points of the grid, then those that are kept from fitting, without duplicates.
    ///
    /// # Errors
    /// When `where` has no value at some point, or no point is left.
    pub fn points(&self) -> Result<Vec<GridPoint>, PlanError> {
        let condition = self.condition.as_deref().map(Expression::read).transpose()?;
        let mut points: Vec<GridPoint> = Vec::new();
        let further = self.holdout.iter().map(|given| {
            let mut values = self.parameters.clone();
            values.extend(given.clone());
            (values, true)
        });
        for (values, is_holdout) in [(self.parameters.clone(), false)].into_iter().chain(further) {
            for parameters in combinations(&values)? {
                let is_wanted = match &condition {
                    Some(condition) => condition.value(&parameters)? != 0.0,
                    None => true,
                };
                let is_new = !is_holdout || points.iter().all(|at| at.parameters != parameters);
                if is_wanted && is_new && !self.is_excluded(&parameters) {
                    points.push(GridPoint { parameters, is_holdout });
                }
            }
        }
        let is_empty = points.iter().all(|point| point.is_holdout);
        if is_empty { Err(PlanError::NoPoints) } else { Ok(points) }
    }

    fn is_excluded(&self, at: &Parameters) -> bool {
        let has = |excluded: &Parameters| excluded.iter().all(|(name, x)| at.get(name) == Some(x));
        self.exclude.iter().any(has)
    }

    /// Returns the words of the command at a point, with the path of the filled-in script.
    ///
    /// # Errors
    /// When a placeholder has no value, or a quote is not closed.
    pub fn words(&self, point: &GridPoint, script: Option<&str>) -> Result<Vec<String>, PlanError> {
        let words = match &self.command {
            Command::Words(words) => words.clone(),
            Command::Line(line) => template::words(line)
                .map_err(|quote| PlanError::OpenQuote { command: line.clone(), quote })?,
        };
        let fill = |word: &String| template::fill(word, &point.parameters, script);
        let words = words.iter().map(fill).collect::<Result<Vec<_>, _>>()?;
        if words.is_empty() { Err(PlanError::NoCommand) } else { Ok(words) }
    }

    /// Returns the filled-in script at a point, if the plan has one.
    ///
    /// # Errors
    /// When a placeholder has no value.
    pub fn script(&self, point: &GridPoint) -> Result<Option<String>, ExpressionError> {
        let fill = |text: &String| template::fill(text, &point.parameters, None);
        self.script.as_ref().map(fill).transpose()
    }

    /// Returns the environment variables at a point.
    ///
    /// # Errors
    /// When a placeholder has no value.
    pub fn variables(&self, point: &GridPoint) -> Result<Vec<(String, String)>, ExpressionError> {
        let fill = |(name, value): (&String, &String)| {
            Ok((name.clone(), template::fill(value, &point.parameters, None)?))
        };
        self.environment.iter().map(fill).collect()
    }

    /// Returns the expected time of a run at a point before the first measurement, in seconds, if the plan
    /// gives one.
    pub fn expected_s(&self, point: &GridPoint) -> Option<f64> {
        let expression = Expression::read(self.expected_s.as_ref()?).ok()?;
        expression.value(&point.parameters).ok().filter(|time_s| 0.0 <= *time_s)
    }

    /// Returns the fields that differ from an earlier plan so that its measurements cannot be combined with
    /// this plan's.
    ///
    /// More repetitions, other limits and another estimate are compatible.
    pub fn changes_since(&self, earlier: &Self) -> Vec<&'static str> {
        let pairs = [
            ("command", self.command != earlier.command),
            ("script", self.script != earlier.script),
            ("environment", self.environment != earlier.environment),
            ("parameters", self.parameters != earlier.parameters),
            ("where", self.condition != earlier.condition),
            ("exclude", self.exclude != earlier.exclude),
            ("holdout", self.holdout != earlier.holdout),
            ("functions", self.functions != earlier.functions),
            ("seed", self.seed != earlier.seed),
            ("repetitions", self.repetitions < earlier.repetitions),
        ];
        pairs.into_iter().filter(|(_, differs)| *differs).map(|(name, _)| name).collect()
    }
}

impl GridPoint {
    /// Returns the point as text: `n = 200, p = 4`.
    pub fn in_words(&self) -> String {
        let each = self.parameters.iter().map(|(name, value)| format!("{name} = {value}"));
        each.collect::<Vec<_>>().join(", ")
    }
}

/// Returns all combinations; the last parameter varies fastest.
fn combinations(values: &BTreeMap<String, Vec<f64>>) -> Result<Vec<Parameters>, PlanError> {
    let n = values.values().map(Vec::len).try_fold(1_usize, usize::checked_mul);
    if n.is_none_or(|n| check::N_RUNS_MAX < n) {
        return Err(PlanError::TooManyRuns);
    }
    let mut all = vec![Parameters::new()];
    for (name, values) in values {
        let with = |before: &Parameters, value: f64| {
            let mut point = before.clone();
            point.insert(name.clone(), value);
            point
        };
        all = all.iter().flat_map(|it| values.iter().map(move |value| with(it, *value))).collect();
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHORT: &str =
        "command = 'mpirun -n {p + 1} ./x {n}'\nparameters = { n = [10, 20], p = [1, 2] }\n";

    #[track_caller]
    fn check_words(more: &str, expected: &[&str]) {
        let plan = Plan::read(&format!("{SHORT}{more}")).unwrap();
        let points = plan.points().unwrap();
        let words = points.iter().map(|point| {
            let kept = if point.is_holdout { " kept" } else { "" };
            plan.words(point, None).unwrap()[2..].join(" ") + kept
        });
        assert_eq!(words.collect::<Vec<_>>(), expected, "{more}");
    }

    #[test]
    fn all_combinations_are_run() {
        check_words("", &["2 ./x 10", "3 ./x 10", "2 ./x 20", "3 ./x 20"]);
        check_words("where = 'n / p >= 10'", &["2 ./x 10", "2 ./x 20", "3 ./x 20"]);
        check_words("exclude = [{ n = 20, p = 1 }, { n = 10 }]", &["3 ./x 20"]);
    }

    #[test]
    fn points_to_validate_with_come_last_and_are_new() {
        let grid = ["2 ./x 10", "3 ./x 10", "2 ./x 20", "3 ./x 20"];
        let with = |more: &[&'static str]| [&grid[..], more].concat();
        check_words("[[holdout]]\nn = [40]", &with(&["2 ./x 40 kept", "3 ./x 40 kept"]));
        check_words(
            "[[holdout]]\np = [2, 4]\n[[holdout]]\nn = [20]\np = [4]",
            &with(&["5 ./x 10 kept", "5 ./x 20 kept"]),
        );
    }

    #[test]
    fn scripts_and_variables_are_filled_in() {
        let text = "command = ['sbatch', '--wait', '{script}']\nscript = 'srun -n {p} x'\n\
                    environment = { THREADS = '{p * 2}' }\nparameters = { p = [3] }";
        let plan = Plan::read(text).unwrap();
        let point = &plan.points().unwrap()[0];
        assert_eq!(plan.words(point, Some("/s")).unwrap(), ["sbatch", "--wait", "/s"]);
        assert_eq!(plan.script(point).unwrap().unwrap(), "srun -n 3 x");
        assert_eq!(plan.variables(point).unwrap(), [("THREADS".to_owned(), "6".to_owned())]);
        assert_eq!(point.in_words(), "p = 3");
    }

    #[test]
    fn the_example_is_a_plan() {
        let plan = Plan::read(EXAMPLE).unwrap();
        let points = plan.points().unwrap();
        assert!(points.iter().any(|point| point.is_holdout));
        assert!(points.iter().all(|point| plan.expected_s(point).is_some()));
    }

    #[test]
    fn only_changes_that_matter_are_changes() {
        #[track_caller]
        fn check(text: &str, expected: &[&str]) {
            let earlier = Plan::read(&format!("{SHORT}repetitions = 5")).unwrap();
            assert_eq!(Plan::read(text).unwrap().changes_since(&earlier), expected);
        }
        check(&format!("# another word\n{SHORT}"), &[]);
        check(&format!("{SHORT}repetitions = 9\ntries = 1\ntimeout_s = 5\nexpected_s = 'n'"), &[]);
        check(&format!("{SHORT}repetitions = 4\nseed = 2"), &["seed", "repetitions"]);
        check("command = 'x {n}'\nparameters = { n = [10] }", &["command", "parameters"]);
    }
}
