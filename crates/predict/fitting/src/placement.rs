//! Ranks on nodes: where more ranks fill a node, need a second one, or share cores, time grows in another way.
//!
//! `sintonia experiment` records the placement of each run. A regime begins at a value of a parameter, and breakpoints of
//! formulas are tried there with fewer points than elsewhere.

use serde::{Deserialize, Serialize};

/// Ranks of a run, and the nodes they ran on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Placement {
    /// Number of ranks.
    pub ranks: u32,
    /// Number of nodes with ranks.
    pub nodes: u32,
    /// Largest number of ranks on a node.
    pub ranks_per_node: u32,
    /// Smallest number of cores of these nodes.
    pub cores_per_node: u32,
}

/// What is different from a value of a parameter on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RegimeKind {
    /// Every core of a node has a rank.
    FullNode,
    /// Ranks are on several nodes.
    SeveralNodes,
    /// There are more ranks on a node than cores.
    SharedCores,
    /// There are more ranks than cores on the only node of all runs.
    BeyondNode,
}

impl RegimeKind {
    const MEASURED: [Self; 3] = [Self::FullNode, Self::SeveralNodes, Self::SharedCores];

    fn holds(self, of: &Placement) -> bool {
        match self {
            Self::FullNode => of.cores_per_node <= of.ranks_per_node,
            Self::SeveralNodes => 1 < of.nodes,
            Self::SharedCores | Self::BeyondNode => of.cores_per_node < of.ranks_per_node,
        }
    }

    /// Returns what is different, as the end of a sentence.
    pub const fn in_words(self) -> &'static str {
        match self {
            Self::FullNode => "the ranks fill a node",
            Self::SeveralNodes => "the ranks are on several nodes",
            Self::SharedCores => "ranks share cores",
            Self::BeyondNode => {
                "there are more ranks than cores on a node, and only one node was measured"
            }
        }
    }
}

/// Values of a parameter from which on something is different.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Regime {
    /// The parameter, and its index.
    pub parameter: String,
    pub(crate) parameter_idx: usize,
    /// First value.
    pub from: f64,
    /// What is different.
    pub kind: RegimeKind,
    /// Number of measured values from there on.
    pub n_values: usize,
}

/// Returns the regimes, given the point and placement of each run; those that depend on several parameters are left out.
pub(crate) fn regimes(parameters: &[String], placements: &[(Vec<f64>, Placement)]) -> Vec<Regime> {
    let mut found: Vec<Regime> = Vec::new();
    for (idx, parameter) in parameters.iter().enumerate() {
        let values = |is_wanted: &dyn Fn(&Placement) -> bool| -> Vec<f64> {
            let wanted = placements.iter().filter(|(_, placement)| is_wanted(placement));
            let mut values: Vec<f64> = wanted.filter_map(|(at, _)| at.get(idx).copied()).collect();
            values.sort_by(f64::total_cmp);
            values.dedup();
            values
        };
        for kind in RegimeKind::MEASURED {
            let (others, own) = (values(&|it| !kind.holds(it)), values(&|it| kind.holds(it)));
            let Some((last, from)) = others.last().zip(own.first()) else { continue };
            if last < from
                && !found
                    .iter()
                    .any(|it| it.parameter == *parameter && it.from.total_cmp(from).is_eq())
            {
                let parameter = parameter.clone();
                let n_values = own.len();
                found.push(Regime { parameter, parameter_idx: idx, from: *from, kind, n_values });
            }
        }
        let on_one =
            placements.iter().all(|(_, it)| it.nodes == 1 && !RegimeKind::SharedCores.holds(it));
        if let Some(from) = on_one.then(|| full_at(idx, placements)).flatten() {
            let parameter = parameter.clone();
            let kind = RegimeKind::BeyondNode;
            found.push(Regime { parameter, parameter_idx: idx, from, kind, n_values: 0 });
        }
    }
    found
}

/// Returns the value of a parameter from which on there are more ranks than cores on the only node, if the ranks are a
/// linear function of it alone.
fn full_at(idx: usize, placements: &[(Vec<f64>, Placement)]) -> Option<f64> {
    let at = |(at, it): &(Vec<f64>, Placement)| Some((*at.get(idx)?, f64::from(it.ranks)));
    let (first, first_ranks) = at(placements.first()?)?;
    let (other, other_ranks) =
        placements.iter().filter_map(at).find(|(x, _)| x.total_cmp(&first).is_ne())?;
    let slope = (other_ranks - first_ranks) / (other - first);
    let expected = |x: f64| first_ranks + slope * (x - first);
    let is_linear =
        placements.iter().filter_map(at).all(|(x, ranks)| (expected(x) - ranks).abs() < 0.01);
    let n_cores = placements.iter().map(|(_, it)| it.cores_per_node).min()?;
    let from = first + (f64::from(n_cores) + 1.0 - first_ranks) / slope;
    (is_linear && 0.0 < slope && 0 < n_cores && from.is_finite()).then_some(from)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Placements of `(p, n, ranks, nodes, ranks per node)` on nodes with four cores.
    #[track_caller]
    fn check(runs: &[(f64, f64, u32, u32, u32)], expected: &[(&str, f64, RegimeKind, usize)]) {
        let placement = |&(p, n, ranks, nodes, ranks_per_node): &_| {
            (vec![p, n], Placement { ranks, nodes, ranks_per_node, cores_per_node: 4 })
        };
        let placements: Vec<_> = runs.iter().map(placement).collect();
        let found = regimes(&["p".to_owned(), "n".to_owned()], &placements);
        let found: Vec<_> =
            found.iter().map(|it| (&it.parameter[..], it.from, it.kind, it.n_values)).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn regimes_begin_where_nodes_are_full_and_several() {
        use RegimeKind::{BeyondNode, FullNode, SeveralNodes, SharedCores};
        let runs =
            [(1.0, 9.0, 1, 1, 1), (4.0, 9.0, 4, 1, 4), (8.0, 9.0, 8, 2, 4), (16.0, 9.0, 16, 4, 4)];
        check(&runs, &[("p", 4.0, FullNode, 3), ("p", 8.0, SeveralNodes, 2)]);
        check(&[(2.0, 9.0, 2, 1, 2), (8.0, 9.0, 8, 1, 8)], &[("p", 8.0, FullNode, 1)]);
        let shared = [(2.0, 9.0, 2, 1, 2), (4.0, 9.0, 4, 1, 4), (8.0, 9.0, 8, 1, 8)];
        check(&shared, &[("p", 4.0, FullNode, 2), ("p", 8.0, SharedCores, 1)]);
        // A master and p workers, of which three fill the node.
        check(&[(1.0, 9.0, 2, 1, 2), (2.0, 9.0, 3, 1, 3)], &[("p", 4.0, BeyondNode, 0)]);
        check(&[(1.0, 5.0, 2, 1, 2), (1.0, 9.0, 2, 1, 2)], &[]);
    }
}
