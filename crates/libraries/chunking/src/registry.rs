//! Registry of all policies, by name.

use crate::guarded::Guarded;
use crate::policy::{Policy, Settings};

/// Description of a policy.
#[derive(Clone, Copy, Debug)]
pub struct PolicySpec {
    /// Name, in lower case.
    pub name: &'static str,
    /// Description of the policy in one sentence.
    pub sentence: &'static str,
    /// Publication; empty when there is none.
    pub source: &'static str,
    /// True if the publication assumes times known beforehand. Without [`Settings::overhead_s`] and
    /// [`Settings::spread`] the policy measures them.
    pub assumes_known: bool,
    pub(crate) make: fn(&Settings) -> Box<dyn Policy>,
}

impl PolicySpec {
    /// Creates the policy, without measurements. Whatever it is told, it answers with at least one task and
    /// at most the tasks left.
    pub fn policy(&self, settings: &Settings) -> Box<dyn Policy> {
        Box::new(Guarded((self.make)(&settings.cleaned())))
    }
}

/// Error: no policy has this name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown policy `{name}`; choose one of {}", names())]
#[non_exhaustive]
pub struct UnknownPolicy {
    /// Name that was asked for.
    pub name: String,
}

/// All policies, the default one first.
static ALL: &[PolicySpec] = &[
    crate::best::SPEC,
    crate::static_split::SPEC,
    crate::self_scheduling::SPEC,
    crate::fixed_size::SPEC,
    crate::guided::SPEC,
    crate::trapezoid::SPEC,
    crate::factoring::SPEC,
    crate::halving::SPEC,
    crate::predictive::SPEC,
    crate::adjusting::SPEC,
    crate::weighted_batches::SPEC,
    crate::weighted_chunks::SPEC,
];

/// Returns every policy, the default one first.
pub fn all() -> &'static [PolicySpec] {
    ALL
}

/// Returns the policy with this name.
///
/// # Errors
/// When no policy has it.
pub fn by_name(name: &str) -> Result<&'static PolicySpec, UnknownPolicy> {
    let found = ALL.iter().find(|spec| spec.name == name);
    found.ok_or_else(|| UnknownPolicy { name: name.to_owned() })
}

fn names() -> String {
    let names: Vec<String> = ALL.iter().map(|spec| format!("`{}`", spec.name)).collect();
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_name_is_one_policy() {
        let names: BTreeSet<&str> = all().iter().map(|spec| spec.name).collect();
        assert_eq!(names.len(), all().len());
        for spec in all() {
            assert_eq!(by_name(spec.name).unwrap().sentence, spec.sentence);
        }
        assert_eq!(all()[0].name, "best");
    }

    #[test]
    fn a_wrong_name_is_answered_with_the_right_ones() {
        let said = by_name("GSS").unwrap_err().to_string();
        assert!(said.starts_with("unknown policy `GSS`; choose one of `best`, `static`"), "{said}");
    }
}
