//! The machine that a program is to run on: its network and processor speed.
//!
//! | form | contents |
//! |---|---|
//! | JSON | output of `sintonia netbench --json` |
//! | TOML | `latency_us` and `per_byte_ns`, or `[[line]]` with `from_bytes` and these two; further keys are optional |
//! | a name | one of [`NAMES`]: typical values of such a network, as a starting point |
//!
//! Of several measured pairs of ranks, the one with the median time counts; pairs inside a node and between nodes are
//! two networks, where both were measured or described (`[inside]`).

use super::collectives::Rules;
use super::network::{COPY_S_PER_BYTE, Network};
use models::network::{LinearPiece, Locality, NetModel, Pair};
use serde::Deserialize;
use thiserror::Error;

/// Predefined machines: name, latency in microseconds, nanoseconds per byte.
///
/// Costs per byte follow from the nominal bandwidth; latencies are those of MPI messages published by manufacturers
/// and by the OSU benchmarks, rounded.
pub const NAMES: [(&str, f64, f64); 5] = [
    ("ethernet-1g", 45.0, 8.0),
    ("ethernet-10g", 20.0, 0.8),
    ("infiniband-hdr", 1.2, 0.04),
    ("shared-memory", 0.4, 0.1),
    ("ideal", 0.0, 0.0),
];
/// Message length by whose time pairs of ranks are compared, in bytes.
const TYPICAL_BYTES: u64 = 8192;

/// A machine.
#[derive(Clone, Debug, PartialEq)]
pub struct Machine {
    /// Network between ranks on different nodes, and between any two ranks where nothing more is known.
    pub network: Network,
    /// Network between ranks on one node.
    pub inside: Option<Network>,
    /// Number of ranks on each node, which follow each other.
    pub ranks_per_node: Option<usize>,
    /// Node of each rank, where it is known otherwise; nodes are numbered from 0.
    pub nodes: Vec<u32>,
    /// Networks between and inside nodes at the lower and upper ends of the 95 % confidence intervals, where they were
    /// measured.
    pub limits: Option<[(Network, Option<Network>); 2]>,
    /// Computing speed relative to the machine on which the times were measured.
    pub speed: f64,
    /// Number of cores, where it matters: more ranks than cores share them.
    pub n_cores: Option<u32>,
    /// Rules by which collectives choose their algorithms.
    pub rules: Rules,
    /// Time per byte of a message of a rank to itself, in s.
    pub copy_s_per_byte: f64,
}

/// Error in the description of a machine.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum MachineError {
    /// The text has neither of the two forms.
    #[error("it is neither what `sintonia netbench --json` prints nor a description in TOML")]
    Toml(#[source] toml::de::Error),
    /// The text is JSON, but not netbench's output.
    #[error("it is JSON, but not what `sintonia netbench --json` prints")]
    Json(#[source] serde_json::Error),
    /// The file contains no measurements.
    #[error(
        "it holds no times: measure with at least two ranks, as `sintonia netbench -- mpirun -np 2`"
    )]
    Empty,
    /// A number is out of range.
    #[error("`{key} = {value}` is not possible: {wanted}")]
    Value {
        /// Name of the key.
        key: &'static str,
        /// Its value.
        value: f64,
        /// Allowed range, as an instruction.
        wanted: &'static str,
    },
    /// The description lacks a network.
    #[error("`latency_us` and `per_byte_ns` are missing; write both, or `[[line]]` with them")]
    NoNetwork,
}

/// Description of a machine in TOML.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Described {
    latency_us: Option<f64>,
    per_byte_ns: Option<f64>,
    #[serde(default)]
    line: Vec<DescribedLine>,
    eager_bytes: Option<u64>,
    overhead_share: Option<f64>,
    exchange_ratio: Option<f64>,
    inside: Option<DescribedNetwork>,
    ranks_per_node: Option<usize>,
    speed: Option<f64>,
    cores: Option<u32>,
    linear_up_to: Option<usize>,
    copy_per_byte_ns: Option<f64>,
}

/// Description of a network.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct DescribedNetwork {
    latency_us: Option<f64>,
    per_byte_ns: Option<f64>,
    #[serde(default)]
    line: Vec<DescribedLine>,
    eager_bytes: Option<u64>,
    overhead_share: Option<f64>,
    exchange_ratio: Option<f64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DescribedLine {
    from_bytes: u64,
    latency_us: f64,
    per_byte_ns: f64,
}

impl Machine {
    /// Creates a machine as fast as the one on which the times were measured.
    #[must_use]
    pub fn of(network: Network) -> Self {
        Self {
            network,
            inside: None,
            ranks_per_node: None,
            nodes: Vec::new(),
            limits: None,
            speed: 1.0,
            n_cores: None,
            rules: Rules::default(),
            copy_s_per_byte: COPY_S_PER_BYTE,
        }
    }

    /// Returns the computing speed of each of `n_ranks`: more ranks than cores take turns.
    #[must_use]
    pub fn speed_of(&self, n_ranks: usize) -> f64 {
        let cores = self.n_cores.map_or(f64::INFINITY, f64::from);
        self.speed * (cores / n_ranks.max(1) as f64).min(1.0)
    }

    /// Returns the node of each of `n_ranks`; empty if it is not known.
    #[must_use]
    pub fn nodes_of(&self, n_ranks: usize) -> Vec<u32> {
        match self.ranks_per_node {
            Some(n) => (0..n_ranks)
                .map(|rank| u32::try_from(rank / n.max(1)).unwrap_or(u32::MAX))
                .collect(),
            None if self.nodes.len() == n_ranks => self.nodes.clone(),
            None => Vec::new(),
        }
    }

    /// Returns the machine at the lower and the upper ends of its intervals, if it was measured.
    #[must_use]
    pub fn at_limits(&self) -> Option<[Self; 2]> {
        let limits = self.limits.clone()?;
        Some(limits.map(|(network, inside)| Self { network, inside, limits: None, ..self.clone() }))
    }

    /// Sends messages of up to this length without asking the receiver, in all networks.
    pub fn raise_eager(&mut self, n_bytes: u64) {
        let limits = self.limits.iter_mut().flatten();
        let pairs = limits.flat_map(|(network, inside)| std::iter::once(network).chain(inside));
        let own = std::iter::once(&mut self.network).chain(&mut self.inside);
        for network in own.chain(pairs) {
            network.eager_bytes = network.eager_bytes.max(n_bytes);
        }
    }

    /// Returns a predefined machine.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        let (_, latency_us, per_byte_ns) = NAMES.iter().find(|(known, ..)| *known == name)?;
        Some(Self::of(Network::uniform(latency_us * 1e-6, per_byte_ns * 1e-9)))
    }

    /// Reads a machine from the text of a file.
    ///
    /// # Errors
    /// When the text has neither form, or a number is out of range.
    pub fn read(text: &str) -> Result<Self, MachineError> {
        if text.trim_start().starts_with(['[', '{']) && !text.trim_start().starts_with("[[line]]") {
            return Self::measured(text);
        }
        toml::from_str::<Described>(text).map_err(MachineError::Toml)?.machine()
    }

    fn measured(text: &str) -> Result<Self, MachineError> {
        let mut pairs: Vec<Pair> = serde_json::from_str(text).map_err(MachineError::Json)?;
        pairs.retain(|pair| !pair.model.pieces.is_empty());
        let is_between = |pair: &Pair| pair.place == Some(Locality::BetweenNodes);
        let (between, others): (Vec<Pair>, _) = pairs.into_iter().partition(is_between);
        let is_on_several = !between.is_empty();
        let (all, inside) = if is_on_several { (between, others) } else { (others, Vec::new()) };
        let model = typical(all).ok_or(MachineError::Empty)?;
        let inside = typical(inside);
        let at = |end| {
            let of_inside = inside.as_ref().map(|model| Network::measured_at(model, end));
            (Network::measured_at(&model, end), of_inside)
        };
        let limits = Some([at(-1.0), at(1.0)]);
        let of_inside = inside.as_ref().map(Network::measured);
        Ok(Self { limits, inside: of_inside, ..Self::of(Network::measured(&model)) })
    }
}

/// Returns the model of the pair with the median time.
fn typical(mut pairs: Vec<Pair>) -> Option<NetModel> {
    let time_s = |pair: &Pair| pair.model.one_way_s(TYPICAL_BYTES);
    pairs.sort_by(|a, b| time_s(a).total_cmp(&time_s(b)));
    let middle = pairs.len() / 2;
    pairs.into_iter().nth(middle).map(|pair| pair.model)
}

impl Described {
    fn machine(self) -> Result<Machine, MachineError> {
        let own = DescribedNetwork {
            latency_us: self.latency_us,
            per_byte_ns: self.per_byte_ns,
            line: self.line,
            eager_bytes: self.eager_bytes,
            overhead_share: self.overhead_share,
            exchange_ratio: self.exchange_ratio,
        };
        let mut machine = Machine::of(own.network()?);
        machine.inside = self.inside.map(DescribedNetwork::network).transpose()?;
        if let Some(n) = self.ranks_per_node {
            within("ranks_per_node", n as f64, 0 < n, "write a number above 0")?;
        }
        machine.ranks_per_node = self.ranks_per_node;
        if let Some(speed) = self.speed {
            let is_possible = 0.0 < speed && speed.is_finite();
            machine.speed = within("speed", speed, is_possible, "write a number above 0")?;
        }
        if let Some(cores) = self.cores {
            within("cores", f64::from(cores), 0 < cores, "write a number above 0")?;
        }
        if let Some(copy_ns) = self.copy_per_byte_ns {
            let is_possible = 0.0 <= copy_ns && copy_ns.is_finite();
            let wanted = "write 0 or a number above";
            machine.copy_s_per_byte =
                within("copy_per_byte_ns", copy_ns, is_possible, wanted)? * 1e-9;
        }
        machine.n_cores = self.cores;
        machine.rules.linear_up_to = self.linear_up_to.unwrap_or(machine.rules.linear_up_to);
        Ok(machine)
    }
}

impl DescribedNetwork {
    fn network(self) -> Result<Network, MachineError> {
        let whole = match (self.latency_us, self.per_byte_ns) {
            (Some(latency_us), Some(per_byte_ns)) => {
                Some(DescribedLine { from_bytes: 0, latency_us, per_byte_ns })
            }
            (None, None) => None,
            _ => return Err(MachineError::NoNetwork),
        };
        let lines = whole.into_iter().chain(self.line).map(|line| line.line());
        let lines = lines.collect::<Result<Vec<_>, _>>()?;
        if lines.is_empty() {
            return Err(MachineError::NoNetwork);
        }
        let mut network = Network::of_lines(lines);
        network.eager_bytes = self.eager_bytes.unwrap_or(network.eager_bytes);
        if let Some(ratio) = self.exchange_ratio {
            let is_possible = (1.0..=2.0).contains(&ratio);
            network.exchange_ratio =
                within("exchange_ratio", ratio, is_possible, "write a number from 1 to 2")?;
        }
        if let Some(share) = self.overhead_share {
            let wanted = "write a number from 0 to 0.5";
            network.overhead_share =
                within("overhead_share", share, (0.0..=0.5).contains(&share), wanted)?;
        }
        Ok(network)
    }
}

impl DescribedLine {
    fn line(&self) -> Result<LinearPiece, MachineError> {
        let time = |key, value: f64| {
            within(key, value, 0.0 <= value && value.is_finite(), "write 0 or a number above")
        };
        let latency_s = time("latency_us", self.latency_us)? * 1e-6;
        let s_per_byte = time("per_byte_ns", self.per_byte_ns)? * 1e-9;
        Ok(LinearPiece::exact(self.from_bytes, latency_s, s_per_byte))
    }
}

fn within(
    key: &'static str,
    value: f64,
    is_possible: bool,
    wanted: &'static str,
) -> Result<f64, MachineError> {
    is_possible.then_some(value).ok_or(MachineError::Value { key, value, wanted })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, n_bytes: u64, expected_s: f64) {
        let machine = Machine::read(text).expect("a machine");
        let found_s = machine.network.one_way_s(n_bytes);
        assert!((found_s - expected_s).abs() < 1e-15, "{found_s}, not {expected_s}");
    }

    #[track_caller]
    fn check_wrong(text: &str, names: &str) {
        let error = Machine::read(text).expect_err("no machine").to_string();
        assert!(error.contains(names), "{error}");
    }

    #[test]
    fn a_machine_is_described_or_measured() {
        check("latency_us = 2\nper_byte_ns = 0.5\nspeed = 2.0\ncores = 4\n", 1000, 2.5e-6);
        let line = "from_bytes = 100\nlatency_us = 9.0\nper_byte_ns = 0.0\n";
        check(&format!("latency_us = 2\nper_byte_ns = 0.5\n[[line]]\n{line}"), 1000, 9e-6);
        check(&format!("[[line]]\n{line}"), 10, 9e-6);
        let piece = r#"{"from_bytes":0,"latency_s":1e-6,"latency_margin_s":1e-7,"s_per_byte":1e-9,"s_per_byte_margin":0}"#;
        let slow = piece.replace("1e-6", "1e-3");
        let pair = |piece: &str| {
            format!(r#"{{"from":0,"to":1,"model":{{"pieces":[{piece}],"samples":[]}}}}"#)
        };
        let measured = format!("[{},{},{}]", pair(&slow), pair(piece), pair(piece));
        check(&measured, 1000, 2e-6);
        let between = pair(&slow).replace("\"model\"", "\"place\":\"between_nodes\",\"model\"");
        let both = format!("[{},{between},{}]", pair(piece), pair(piece));
        check(&both, 0, 1e-3);
        let inside = Machine::read(&both).expect("a machine").inside.expect("a network inside");
        assert!((inside.one_way_s(1000) - 2e-6).abs() < 1e-15);
        let described = "latency_us = 50\nper_byte_ns = 1\nranks_per_node = 2\n\
            [inside]\nlatency_us = 1\nper_byte_ns = 0.1\n";
        let described = Machine::read(described).expect("a machine");
        assert_eq!(described.nodes_of(3), [0, 0, 1]);
        assert!((described.inside.expect("a network").one_way_s(0) - 1e-6).abs() < 1e-15);
        let limits = Machine::read(&measured).expect("a machine").limits.expect("limits");
        assert!((limits[1].0.one_way_s(0) - 1.1e-6).abs() < 1e-15);
    }

    #[test]
    fn what_makes_no_sense_is_named() {
        check_wrong("latency_us = 2\n", "per_byte_ns");
        check_wrong("speed = 2.0\n", "latency_us");
        check_wrong("latency_us = -2\nper_byte_ns = 1\n", "latency_us = -2");
        check_wrong("latency_us = 2\nper_byte_ns = 1\nspeed = 0\n", "speed = 0");
        check_wrong("latency_us = 2\nper_byte_ns = 1\ncores = 0\n", "cores = 0");
        check_wrong(
            "latency_us = 2\nper_byte_ns = 1\ncopy_per_byte_ns = -1\n",
            "copy_per_byte_ns = -1",
        );
        check_wrong("latencies = 2\n", "neither");
        check_wrong("latency_us = 2\nper_byte_ns = 1\nexchange_ratio = 3\n", "exchange_ratio = 3");
        check_wrong("latency_us = 2\nper_byte_ns = 1\nranks_per_node = 0\n", "ranks_per_node = 0");
        check_wrong("latency_us = 2\nper_byte_ns = 1\n[inside]\nlatency_us = 2\n", "per_byte_ns");
        check_wrong("[]", "no times");
        check_wrong("{}", "netbench");
    }

    #[test]
    fn the_names_are_machines() {
        for (name, ..) in NAMES {
            assert!(Machine::named(name).is_some(), "{name}");
        }
        assert_eq!(Machine::named("abacus"), None);
    }
}
