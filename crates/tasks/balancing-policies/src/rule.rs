//! Rules by name: which nodes are told what, and which side begins.
//!
//! | name | side that begins | nodes that are told | from |
//! |---|---|---|---|
//! | `periodic:T` | senders | all, every T seconds | the source |
//! | `event` | senders | all, when a node becomes or ceases to be a receiver | the source |
//! | `on-demand` | senders | the asking node, when it begins an operation | the source |
//! | `adaptive[:MIN:MAX]` | senders | as `periodic`, more often while states change | ours |
//! | `forwarding[:HOPS]` | senders | as `event`; requests are passed on by nodes that take nothing | ours |
//! | `subscription` | receivers | each receiver once, when a node becomes a sender | ours |
//! | `power-of-two[:D]` | receivers | D nodes for each task that waits | after Ousterhout et al. 2013 |
//! | `stealing` | receivers | none: a node with room asks | after Blumofe and Leiserson 1999 |

use crate::receiver_initiated::ReceiverRule;
use crate::sender_initiated::SenderRule;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::str::FromStr;

/// Rule by which nodes tell each other about their load, with its numbers, such as `periodic:1`.
#[derive(Clone, Copy)]
pub struct Rule {
    pub(crate) spec: &'static RuleSpec,
    pub(crate) numbers: Numbers,
}

/// Numbers behind the name of a rule; those that it does not have are 0.
pub(crate) type Numbers = [u32; 2];

/// Description of a rule, for help and tables, and what it is made of.
#[derive(Clone, Copy, Debug)]
pub struct RuleSpec {
    /// Name without its numbers.
    pub name: &'static str,
    /// Form in which it is written.
    pub form: &'static str,
    /// The rule with its defaults, or an example.
    pub example: &'static str,
    /// One sentence that says what it does.
    pub sentence: &'static str,
    /// True if the rule is the source's.
    pub is_of_source: bool,
    pub(crate) parameters: Parameters,
    pub(crate) initiative: Initiative,
}

/// Numbers that a rule takes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Parameters {
    None,
    /// A period in seconds, kept in ms.
    Period,
    /// The shortest and the longest period in seconds, kept in ms.
    Periods {
        default: &'static str,
    },
    /// A number from 1 to 64.
    Count {
        needs: &'static str,
        default: u32,
    },
}

/// Side that begins an operation, and how the rule's part of a node is made.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Initiative {
    /// Nodes with tasks look for nodes with room.
    Sender(fn(Numbers) -> Box<dyn SenderRule>),
    /// Nodes with room fetch tasks.
    Receiver(fn(Numbers) -> Box<dyn ReceiverRule>),
}

impl Rule {
    /// All rules, those of the source first.
    pub const ALL: &'static [&'static RuleSpec] = &[
        &crate::periodic::SPEC,
        &crate::event::SPEC,
        &crate::on_demand::SPEC,
        &crate::subscription::SPEC,
        &crate::forwarding::SPEC,
        &crate::adaptive::SPEC,
        &crate::power_of_two::SPEC,
        &crate::stealing::SPEC,
    ];

    /// The rule that we recommend: few messages, and no wait while there is room.
    pub const DEFAULT: Self = Self { spec: &crate::subscription::SPEC, numbers: [0; 2] };

    /// Returns whether nodes with room fetch tasks; otherwise nodes with tasks look for room.
    pub const fn is_receiver_initiated(self) -> bool {
        matches!(self.spec.initiative, Initiative::Receiver(_))
    }
}

impl PartialEq for Rule {
    fn eq(&self, other: &Self) -> bool {
        (self.spec.name, self.numbers) == (other.spec.name, other.numbers)
    }
}

impl Eq for Rule {}

impl Hash for Rule {
    fn hash<H: Hasher>(&self, to: &mut H) {
        (self.spec.name, self.numbers).hash(to);
    }
}

impl fmt::Debug for Rule {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, to)
    }
}

/// Reasons why a text is no rule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RuleError {
    /// There is no rule of this name.
    #[error("there is no rule `{0}`; write {forms}", forms = forms())]
    Unknown(String),
    /// The name is right, what follows it is not.
    #[error("`{text}` needs {needs}: {example}")]
    Number {
        /// The text as written.
        text: String,
        /// Expected form.
        needs: &'static str,
        /// Correct example.
        example: &'static str,
    },
    /// A number was given to a rule that takes none.
    #[error("`{text}` is `{name}` without a number")]
    NoNumber {
        /// The text as written.
        text: String,
        /// Correct form.
        name: &'static str,
    },
}

fn forms() -> String {
    let (last, others) =
        Rule::ALL.split_last().map_or(("", &[][..]), |(last, others)| (last.form, others));
    let others: Vec<&str> = others.iter().map(|spec| spec.form).collect();
    format!("{} or {last}", others.join(", "))
}

impl FromStr for Rule {
    type Err = RuleError;

    fn from_str(text: &str) -> Result<Self, RuleError> {
        let (name, numbers) = match text.split_once(':') {
            Some((name, numbers)) => (name, Some(numbers)),
            None => (text, None),
        };
        let spec = Self::ALL.iter().copied().find(|spec| spec.name == name);
        let spec = spec.ok_or_else(|| RuleError::Unknown(text.to_owned()))?;
        if let (Parameters::None, Some(_)) = (spec.parameters, numbers) {
            return Err(RuleError::NoNumber { text: text.to_owned(), name: spec.name });
        }
        let numbers = spec.parameters.read(numbers).ok_or_else(|| RuleError::Number {
            text: text.to_owned(),
            needs: spec.parameters.needs(),
            example: spec.example,
        })?;
        Ok(Self { spec, numbers })
    }
}

impl Parameters {
    fn read(self, text: Option<&str>) -> Option<Numbers> {
        match self {
            Self::None => Some([0; 2]),
            Self::Period => Some([milliseconds(text?)?, 0]),
            Self::Periods { default } => {
                let (min, max) = text.unwrap_or(default).split_once(':')?;
                let (min_ms, max_ms) = (milliseconds(min)?, milliseconds(max)?);
                (min_ms <= max_ms).then_some([min_ms, max_ms])
            }
            Self::Count { default, .. } => {
                let number = text.map_or(Some(default), |text| text.parse().ok())?;
                (1..=64).contains(&number).then_some([number, 0])
            }
        }
    }

    const fn needs(self) -> &'static str {
        match self {
            Self::None => "no number",
            Self::Period => "a period in seconds from 0.001 to 86400",
            Self::Periods { .. } => "periods in seconds, the shorter first",
            Self::Count { needs, .. } => needs,
        }
    }
}

/// Reads seconds as users write them; returns milliseconds.
#[expect(clippy::cast_possible_truncation, reason = "at most a day of milliseconds")]
#[expect(clippy::cast_sign_loss, reason = "at least one")]
fn milliseconds(text: &str) -> Option<u32> {
    let ms = text.parse::<f64>().ok()? * 1000.0;
    (1.0..=86_400_000.0).contains(&ms).then(|| ms.round() as u32)
}

impl fmt::Display for Rule {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = |ms: u32| f64::from(ms) / 1000.0;
        let (name, [first, second]) = (self.spec.name, self.numbers);
        match self.spec.parameters {
            Parameters::None => to.write_str(name),
            Parameters::Period => write!(to, "{name}:{}", seconds(first)),
            Parameters::Periods { .. } => {
                write!(to, "{name}:{}:{}", seconds(first), seconds(second))
            }
            Parameters::Count { .. } => write!(to, "{name}:{first}"),
        }
    }
}
