//! Vocabulary of terms: those that a formula may be made of.

use crate::term::{Factor, Term};
use serde::{Deserialize, Serialize};

/// Role of a parameter, which determines how time may depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ParameterRole {
    /// Processes, workers or threads among which work is divided.
    Processes,
    /// A size of the problem or of a message.
    Size,
    /// Anything else.
    Any,
}

const NAMES_OF_PROCESSES: &str = "p np nprocs procs processes process ranks nranks workers nw threads cores nodes tasks \
    n_processes n_workers";

impl ParameterRole {
    /// Guesses the role of a parameter by its name.
    pub fn of_name(name: &str) -> Self {
        let name = name.to_lowercase();
        let words = name.split(|letter: char| !letter.is_alphanumeric());
        // A single letter has a meaning only as the whole name.
        let mut parts = words.filter(|word| 1 < word.len()).chain([name.as_str()]);
        if parts.any(|part| NAMES_OF_PROCESSES.split(' ').any(|name| name == part)) {
            Self::Processes
        } else if name == "n" || ["size", "bytes", "dim"].iter().any(|it| name.contains(it)) {
            Self::Size
        } else {
            Self::Any
        }
    }
}

/// A usual factor of a parameter, and how unusual it is.
#[derive(Clone, Copy, Debug)]
struct FactorTemplate {
    power: f64,
    log_power: u8,
    whole_log: bool,
    oddity: f64,
}

impl FactorTemplate {
    const fn new(power: f64, log_power: u8, oddity: f64) -> Self {
        Self { power, log_power, whole_log: false, oddity }
    }

    /// Creates a factor with the logarithm rounded down, like the steps of a hypercube.
    const fn stepped(power: f64, log_power: u8, oddity: f64) -> Self {
        Self { power, log_power, whole_log: true, oddity }
    }

    const fn factor(self, parameter_idx: usize) -> Factor {
        let Self { power, log_power, whole_log, .. } = self;
        Factor { parameter_idx, power, log_power, whole_log }
    }
}

/// Largest number of terms tried; more would be slow and find spurious terms.
const N_CHOICES_MAX: usize = 256;
/// The same with four parameters and more: the usual products of four already number hundreds.
const N_CHOICES_MAX_OF_MANY: usize = 768;

/// Division of work, trees, one message for each process.
const OF_PROCESSES: [FactorTemplate; 12] = [
    FactorTemplate::new(0.0, 0, 0.0),
    FactorTemplate::new(-1.0, 0, 0.0),
    FactorTemplate::new(0.0, 1, 0.0),
    FactorTemplate::new(1.0, 0, 0.0),
    FactorTemplate::stepped(0.0, 1, 0.5),
    FactorTemplate::new(-0.5, 0, 1.0),
    FactorTemplate::new(0.5, 0, 1.0),
    FactorTemplate::new(-1.0, 1, 1.0),
    FactorTemplate::new(0.0, 2, 1.0),
    FactorTemplate::new(1.0, 1, 1.0),
    FactorTemplate::new(-2.0, 0, 1.0),
    FactorTemplate::new(2.0, 0, 1.0),
];
/// Nested loops, sorting, surfaces.
const OF_SIZE: [FactorTemplate; 9] = [
    FactorTemplate::new(0.0, 0, 0.0),
    FactorTemplate::new(1.0, 0, 0.0),
    FactorTemplate::new(2.0, 0, 0.0),
    FactorTemplate::new(3.0, 0, 0.0),
    FactorTemplate::new(1.0, 1, 0.0),
    FactorTemplate::new(0.0, 1, 1.0),
    FactorTemplate::new(0.5, 0, 1.0),
    FactorTemplate::new(1.5, 0, 0.5),
    FactorTemplate::new(2.0, 1, 1.0),
];
/// A selection of both.
const OF_ANY: [FactorTemplate; 14] = [
    FactorTemplate::new(0.0, 0, 0.0),
    FactorTemplate::new(1.0, 0, 0.0),
    FactorTemplate::new(-1.0, 0, 0.0),
    FactorTemplate::new(0.0, 1, 0.0),
    FactorTemplate::new(2.0, 0, 0.0),
    FactorTemplate::new(3.0, 0, 0.5),
    FactorTemplate::new(1.0, 1, 0.5),
    FactorTemplate::new(0.5, 0, 1.0),
    FactorTemplate::new(-0.5, 0, 1.0),
    FactorTemplate::new(1.5, 0, 1.0),
    FactorTemplate::new(0.0, 2, 1.0),
    FactorTemplate::new(2.0, 1, 1.0),
    FactorTemplate::new(-1.0, 1, 1.0),
    FactorTemplate::stepped(0.0, 1, 1.0),
];

const fn templates(role: ParameterRole) -> &'static [FactorTemplate] {
    match role {
        ParameterRole::Processes => &OF_PROCESSES,
        ParameterRole::Size => &OF_SIZE,
        ParameterRole::Any => &OF_ANY,
    }
}

/// Returns whether a factor is so unusual for its parameter's role that only many values can confirm it.
pub(crate) fn is_unusual(role: ParameterRole, factor: &Factor) -> bool {
    let template =
        templates(role).iter().find(|template| template.factor(factor.parameter_idx) == *factor);
    template.is_some_and(|template| 1.0 <= template.oddity)
}

/// A term that may be part of a formula.
#[derive(Clone, Debug)]
pub(crate) struct Choice {
    pub(crate) term: Term,
    /// Measure of how unusual it is; 0 for the most common.
    pub(crate) oddity: f64,
}

/// Returns the products of the parameters' factors, the constant first; of too many, the simplest.
pub(crate) fn choices(roles: &[ParameterRole]) -> Vec<Choice> {
    let n_max = if roles.len() < 4 { N_CHOICES_MAX } else { N_CHOICES_MAX_OF_MANY };
    let mut choices = vec![Choice { term: Term::constant(), oddity: 0.0 }];
    for (parameter_idx, role) in roles.iter().enumerate() {
        let before = std::mem::take(&mut choices);
        for template in templates(*role) {
            let factor = template.factor(parameter_idx);
            choices.extend(before.iter().map(|choice| Choice {
                term: Term::of(choice.term.factors.iter().copied().chain([factor])),
                oddity: choice.oddity + template.oddity,
            }));
        }
        if n_max < choices.len() {
            choices.sort_by(|a, b| a.complexity().total_cmp(&b.complexity()));
            choices.truncate(n_max);
        }
    }
    choices
}

impl Choice {
    fn complexity(&self) -> f64 {
        self.oddity + self.term.factors.len() as f64 / 4.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(name: &str, expected: ParameterRole) {
        assert_eq!(ParameterRole::of_name(name), expected);
    }

    #[test]
    fn names_say_what_parameters_stand_for() {
        check("p", ParameterRole::Processes);
        check("Ranks", ParameterRole::Processes);
        check("num_procs", ParameterRole::Processes);
        check("MPI ranks", ParameterRole::Processes);
        check("step_p", ParameterRole::Any);
        check("n", ParameterRole::Size);
        check("message_bytes", ParameterRole::Size);
        check("x", ParameterRole::Any);
    }

    #[test]
    fn many_parameters_have_simple_terms_only() {
        assert_eq!(choices(&[]).len(), 1);
        assert_eq!(choices(&[ParameterRole::Processes]).len(), OF_PROCESSES.len());
        let many = choices(&[
            ParameterRole::Any,
            ParameterRole::Processes,
            ParameterRole::Size,
            ParameterRole::Any,
        ]);
        assert_eq!(many.len(), N_CHOICES_MAX_OF_MANY);
        let all =
            many.iter().filter(|choice| choice.term.factors.len() == 4 && choice.oddity == 0.0);
        assert_eq!(all.count(), 3 * 4 * 4 * 4);
        assert_eq!(
            choices(&[ParameterRole::Any, ParameterRole::Processes, ParameterRole::Size]).len(),
            N_CHOICES_MAX
        );
        assert!(many[0].term.factors.is_empty());
    }
}
