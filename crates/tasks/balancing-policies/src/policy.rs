//! Policies by name: a rule, which says which nodes are told what, and the domain in which they are told.

use crate::domain::{Domain, DomainError};
use crate::rule::{Rule, RuleError};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// Way in which a node finds other nodes for its tasks, or tasks for itself.
///
/// Written `RULE` or `RULE@DOMAIN`, such as `event@overlapping:4`; without a domain, all nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Policy {
    /// Rule by which nodes are told.
    pub rule: Rule,
    /// Nodes that may be told.
    pub domain: Domain,
}

/// Reasons why a text is no policy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PolicyError {
    /// The part before `@` is wrong.
    #[error(transparent)]
    Rule(#[from] RuleError),
    /// The part after `@` is wrong.
    #[error(transparent)]
    Domain(#[from] DomainError),
}

impl Policy {
    /// Recommended policy: few messages, and no waiting while there is room.
    pub const DEFAULT: Self = Self { rule: Rule::DEFAULT, domain: Domain::Global };

    /// Reads a policy from a rule and a domain as users write them.
    ///
    /// # Errors
    /// When there is no such rule or domain.
    pub fn parse(rule: &str, domain: &str) -> Result<Self, PolicyError> {
        Ok(Self { rule: rule.parse()?, domain: domain.parse()? })
    }
}

impl Default for Policy {
    fn default() -> Self {
        Self::DEFAULT
    }
}

impl FromStr for Policy {
    type Err = PolicyError;

    fn from_str(text: &str) -> Result<Self, PolicyError> {
        let (rule, domain) = text.split_once('@').unwrap_or((text, "global"));
        Self::parse(rule, domain)
    }
}

impl fmt::Display for Policy {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.domain {
            Domain::Global => self.rule.fmt(to),
            domain => write!(to, "{}@{domain}", self.rule),
        }
    }
}

impl From<Policy> for String {
    fn from(policy: Policy) -> Self {
        policy.to_string()
    }
}

impl TryFrom<String> for Policy {
    type Error = PolicyError;

    fn try_from(text: String) -> Result<Self, PolicyError> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let said = match text.parse::<Policy>() {
            Ok(policy) => {
                assert_eq!(policy.to_string().parse(), Ok(policy));
                policy.to_string()
            }
            Err(error) => error.to_string(),
        };
        assert_eq!(said, expected);
    }

    #[test]
    fn a_policy_is_a_rule_and_a_domain() {
        check("event", "event");
        check("event@global", "event");
        check("periodic:3@overlapping:4", "periodic:3@overlapping:4");
        check("periodic:0.25@overlapping:4:1", "periodic:0.25@overlapping:4:1");
        check("on-demand@random:7", "on-demand@random:7");
        check("subscription@random:3", "subscription@random:3");
        check("forwarding", "forwarding:4");
        check("forwarding:2", "forwarding:2");
        check("adaptive", "adaptive:0.5:30");
        check("adaptive:1:8", "adaptive:1:8");
        check("power-of-two", "power-of-two:2");
        check("power-of-two:3@random:16", "power-of-two:3@random:16");
        check("stealing@overlapping:8", "stealing@overlapping:8");
    }

    #[test]
    fn a_wrong_policy_is_answered_with_what_there_is() {
        check(
            "periodical",
            "there is no rule `periodical`; write periodic:T, event, on-demand, subscription, \
             forwarding[:HOPS], adaptive[:MIN:MAX], power-of-two[:D] or stealing",
        );
        check("periodic", "`periodic` needs a period in seconds from 0.001 to 86400: periodic:1");
        check(
            "periodic:0",
            "`periodic:0` needs a period in seconds from 0.001 to 86400: periodic:1",
        );
        check(
            "adaptive:8:1",
            "`adaptive:8:1` needs periods in seconds, the shorter first: adaptive:0.5:30",
        );
        check("forwarding:x", "`forwarding:x` needs a number of hops from 1 to 64: forwarding:4");
        check(
            "power-of-two:0",
            "`power-of-two:0` needs a number of probes from 1 to 64: power-of-two:2",
        );
        check("event:2", "`event:2` is `event` without a number");
        check(
            "event@all",
            "there is no domain `all`; write global, overlapping:SIZE[:OVERLAP] or random:SIZE",
        );
        check("event@random", "`random` needs the number of nodes that are told: random:3");
        check("event@overlapping:1", "`overlapping:1` needs a size of 2 at least: overlapping:4");
        check(
            "event@overlapping:4:4",
            "`overlapping:4:4` needs an overlap below its size: overlapping:4:2",
        );
    }
}
