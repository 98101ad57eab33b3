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

use std::fmt;
use std::str::FromStr;

/// Rule by which nodes tell each other about their load.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Rule {
    /// States are announced periodically.
    Periodic {
        /// Period in ms.
        period_ms: u32,
    },
    /// A state is announced when a node becomes or ceases to be a receiver.
    Event,
    /// States are asked for when an operation begins.
    OnDemand,
    /// A sender announces its tasks once, and nodes with room pull.
    Subscription,
    /// As `Event`, and busy nodes pass requests on.
    Forwarding {
        /// Most times that a request is passed on.
        n_hops: u8,
    },
    /// States are announced periodically, more often while they change.
    Adaptive {
        /// Shortest period in ms.
        min_ms: u32,
        /// Longest period in ms.
        max_ms: u32,
    },
    /// Some nodes are probed for each task; the first with room gets it.
    PowerOfTwo {
        /// Number of probed nodes for each task.
        n_probes: u8,
    },
    /// Nodes with room ask others for tasks.
    Stealing,
}

/// Description of a rule, for help and tables.
#[derive(Clone, Copy, Debug)]
pub struct RuleSpec {
    /// Form in which it is written.
    pub form: &'static str,
    /// The rule with its defaults, or an example.
    pub example: Rule,
    /// One sentence that says what it does.
    pub sentence: &'static str,
    /// True if the rule is the source's.
    pub is_of_source: bool,
}

impl Rule {
    /// All rules, those of the source first.
    pub const ALL: [RuleSpec; 8] = [
        crate::periodic::SPEC,
        crate::event::SPEC,
        crate::on_demand::SPEC,
        crate::subscription::SPEC,
        crate::forwarding::SPEC,
        crate::adaptive::SPEC,
        crate::power_of_two::SPEC,
        crate::stealing::SPEC,
    ];

    /// Returns whether nodes with room fetch tasks; otherwise nodes with tasks look for room.
    pub const fn is_pulling(self) -> bool {
        matches!(self, Self::Subscription | Self::PowerOfTwo { .. } | Self::Stealing)
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

const PERIOD: (&str, &str) = ("a period in seconds from 0.001 to 86400", "periodic:1");
const PERIODS: (&str, &str) = ("periods in seconds, the shorter first", "adaptive:0.5:30");
const HOPS: (&str, &str) = ("a number of hops from 1 to 64", "forwarding:4");
const PROBES: (&str, &str) = ("a number of probes from 1 to 64", "power-of-two:2");

impl FromStr for Rule {
    type Err = RuleError;

    fn from_str(text: &str) -> Result<Self, RuleError> {
        let (name, numbers) = match text.split_once(':') {
            Some((name, numbers)) => (name, Some(numbers)),
            None => (text, None),
        };
        let wrong = |(needs, example)| RuleError::Number { text: text.to_owned(), needs, example };
        let bare = |name, rule| match numbers {
            None => Ok(rule),
            Some(_) => Err(RuleError::NoNumber { text: text.to_owned(), name }),
        };
        match name {
            "event" => bare("event", Self::Event),
            "on-demand" => bare("on-demand", Self::OnDemand),
            "subscription" => bare("subscription", Self::Subscription),
            "stealing" => bare("stealing", Self::Stealing),
            "periodic" => {
                let period_ms = numbers.and_then(milliseconds).ok_or_else(|| wrong(PERIOD))?;
                Ok(Self::Periodic { period_ms })
            }
            "adaptive" => {
                let (min, max) = numbers.unwrap_or("0.5:30").split_once(':').unwrap_or_default();
                let periods = milliseconds(min).zip(milliseconds(max));
                let (min_ms, max_ms) =
                    periods.filter(|(min, max)| min <= max).ok_or_else(|| wrong(PERIODS))?;
                Ok(Self::Adaptive { min_ms, max_ms })
            }
            "forwarding" => {
                let n_hops = few(numbers, 4).ok_or_else(|| wrong(HOPS))?;
                Ok(Self::Forwarding { n_hops })
            }
            "power-of-two" => {
                let n_probes = few(numbers, 2).ok_or_else(|| wrong(PROBES))?;
                Ok(Self::PowerOfTwo { n_probes })
            }
            _ => Err(RuleError::Unknown(text.to_owned())),
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

fn few(text: Option<&str>, default: u8) -> Option<u8> {
    let number = text.map_or(Some(default), |text| text.parse().ok());
    number.filter(|number| (1..=64).contains(number))
}

impl fmt::Display for Rule {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = |ms: u32| f64::from(ms) / 1000.0;
        match self {
            Self::Periodic { period_ms } => write!(to, "periodic:{}", seconds(*period_ms)),
            Self::Event => to.write_str("event"),
            Self::OnDemand => to.write_str("on-demand"),
            Self::Subscription => to.write_str("subscription"),
            Self::Forwarding { n_hops } => write!(to, "forwarding:{n_hops}"),
            Self::Adaptive { min_ms, max_ms } => {
                write!(to, "adaptive:{}:{}", seconds(*min_ms), seconds(*max_ms))
            }
            Self::PowerOfTwo { n_probes } => write!(to, "power-of-two:{n_probes}"),
            Self::Stealing => to.write_str("stealing"),
        }
    }
}
