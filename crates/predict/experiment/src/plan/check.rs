//! Checks of a plan, made before any run is started.

use super::{GridPoint, Plan};
use crate::template::SCRIPT;
use crate::{Expression, ExpressionError};
use thiserror::Error;

/// Largest number of runs (points times repetitions), and of combinations before `where`: more would be a typing
/// mistake.
pub(super) const N_RUNS_MAX: usize = 1_000_000;

/// Error in a plan.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum PlanError {
    /// It is not TOML, or has an unknown field.
    #[error("line {line} of the plan cannot be read: {message}")]
    Malformed {
        /// Line of the error, from 1.
        line: usize,
        /// Message of the TOML reader.
        message: String,
    },
    /// An expression is invalid.
    #[error(transparent)]
    Expression(#[from] ExpressionError),
    /// The command is empty.
    #[error(
        "`command` is empty; write what starts the program, such as `mpirun -n {{p}} ./program {{n}}`"
    )]
    NoCommand,
    /// A quote of the command is not closed.
    #[error("the quote {quote} of the command `{command}` is not closed")]
    OpenQuote {
        /// The command.
        command: String,
        /// The quote.
        quote: char,
    },
    /// The name is not allowed for a parameter.
    #[error("invalid parameter name `{0}`: use letters, digits and `_`, and no reserved word")]
    BadName(String),
    /// A parameter has no values, a repeated value, or one that is not finite.
    #[error("parameter `{0}` needs a list of numbers, each once")]
    BadValues(String),
    /// A table names an undefined parameter.
    #[error("`{place}` names `{name}`, which is not among `parameters`")]
    NotAParameter {
        /// `exclude` or `holdout`.
        place: &'static str,
        /// The name.
        name: String,
    },
    /// A number is out of range.
    #[error("`{name}` has to be {range}")]
    OutOfRange {
        /// Name of the field.
        name: &'static str,
        /// Allowed range.
        range: &'static str,
    },
    /// No point is left to run.
    #[error("no point is left to run; `where` and `exclude` leave none of the combinations")]
    NoPoints,
    /// The plan has too many runs.
    #[error("the plan has more than {N_RUNS_MAX} runs; reduce values or repetitions")]
    TooManyRuns,
    /// The plan has a script that the command does not use, or the command uses a script that the plan
    /// lacks.
    #[error("`script` and `{{script}}` in the command must be used together")]
    ScriptUnused,
}

pub(super) fn check(plan: &Plan) -> Result<(), PlanError> {
    for (name, values) in &plan.parameters {
        check_name(name)?;
        check_values(name, values)?;
    }
    let known = |place: &'static str, name: &String| {
        let error = PlanError::NotAParameter { place, name: name.clone() };
        plan.parameters.contains_key(name).then_some(()).ok_or(error)
    };
    plan.exclude.iter().flat_map(|it| it.keys()).try_for_each(|name| known("exclude", name))?;
    for (name, values) in plan.holdout.iter().flatten() {
        known("holdout", name)?;
        check_values(name, values)?;
    }
    check_numbers(plan)?;
    if let Some(text) = &plan.expected_s {
        Expression::read(text)?;
    }
    if names_script(plan) != plan.script.is_some() {
        return Err(PlanError::ScriptUnused);
    }
    // Placeholders are filled in at every point, so that no mistake appears only during the experiment.
    let points = plan.points()?;
    points.iter().try_for_each(|point| check_point(plan, point))?;
    let n_runs = points.len().saturating_mul(plan.repetitions as usize);
    if N_RUNS_MAX < n_runs {
        return Err(PlanError::TooManyRuns);
    }
    Ok(())
}

fn check_point(plan: &Plan, point: &GridPoint) -> Result<(), PlanError> {
    plan.words(point, Some(""))?;
    plan.script(point)?;
    plan.variables(point)?;
    if let Some(text) = &plan.expected_s {
        Expression::read(text)?.value(&point.parameters)?;
    }
    Ok(())
}

fn check_name(name: &str) -> Result<(), PlanError> {
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let is_plain = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(is_of_name);
    if is_plain && !Expression::is_reserved(name) && name != SCRIPT {
        return Ok(());
    }
    Err(PlanError::BadName(name.to_owned()))
}

fn check_values(name: &str, values: &[f64]) -> Result<(), PlanError> {
    let is_new = |(idx, value): (usize, &f64)| value.is_finite() && !values[..idx].contains(value);
    if !values.is_empty() && values.iter().enumerate().all(is_new) {
        return Ok(());
    }
    Err(PlanError::BadValues(name.to_owned()))
}

fn check_numbers(plan: &Plan) -> Result<(), PlanError> {
    let ranges = [
        ("repetitions", "1 or more", 1 <= plan.repetitions),
        ("tries", "1 or more", 1 <= plan.tries),
        ("timeout_s", "from 0.1 to 1e7 seconds", (0.1..=1e7).contains(&plan.timeout_s)),
    ];
    match ranges.into_iter().find(|(_, _, holds)| !holds) {
        Some((name, range, _)) => Err(PlanError::OutOfRange { name, range }),
        None => Ok(()),
    }
}

fn names_script(plan: &Plan) -> bool {
    let place = format!("{{{SCRIPT}}}");
    match &plan.command {
        super::Command::Line(line) => line.contains(&place),
        super::Command::Words(words) => words.iter().any(|word| word.contains(&place)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let said = Plan::read(text).unwrap_err().to_string();
        assert!(said.contains(expected), "{said}");
    }

    #[test]
    fn what_is_wrong_is_found_before_a_run() {
        let plan =
            |more: &str| format!("command = 'x {{n}}'\n{more}\nparameters = {{ n = [1, 2] }}");
        check("parameters = { n = [1] }", "missing field `command`");
        check(&plan("repetition = 3"), "unknown field `repetition`");
        check(&plan("repetitions = 0"), "`repetitions` has to be 1 or more");
        check(&plan("timeout_s = 0"), "`timeout_s` has to be from 0.1");
        check(
            &plan("where = 'p < 2'"),
            "`p < 2` uses the unknown parameter `p`; known parameters: `n`",
        );
        check(&plan("where = 'n > 2'"), "no point is left to run");
        check(&plan("exclude = [{ p = 2 }]"), "`exclude` names `p`, which is not among");
        check(&plan("holdout = [{ p = [2] }]"), "`holdout` names `p`, which is not among");
        check(&plan("expected_s = 'n +'"), "cannot parse `n +`");
        check(&plan("script = 'x'"), "`{script}` in the command must be used together");
        check(&plan("repetitions = 1000000"), "more than 1000000 runs");
        check("command = '{script}'\nparameters = { n = [1] }", "must be used together");
        check("command = ' '\nparameters = { n = [1] }", "`command` is empty");
        check("command = \"a 'b\"\nparameters = { n = [1] }", "quote ' of the command `a 'b`");
        check("command = 'x {1 / (n - 1)}'\nparameters = { n = [2, 1] }", "has no value at n = 1");
        check("command = 'x'\nparameters = { floor = [1] }", "invalid parameter name `floor`");
        check("command = 'x'\nparameters = { n = [] }", "`n` needs a list of numbers");
        check("command = 'x'\nparameters = { n = [1, 1] }", "`n` needs a list of numbers");
    }
}
