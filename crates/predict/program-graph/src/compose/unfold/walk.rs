//! Walks one rank through its role.

use super::{Setting, UnfoldError};
use crate::expr::Expr;
use crate::shape::{
    Branch, DataTransfer, Expansion, Graph, GraphNode, GraphNodeKind, InlinedCall, JumpKind, Loop,
    Mpi, Role, Side,
};
use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};

/// A node that a rank passes, with values computed from the loop variables at that moment.
pub(super) struct VisitedNode<'a> {
    pub(super) node: &'a GraphNode,
    pub(super) mpi: &'a Mpi,
    /// Peers and bytes of each transfer.
    pub(super) peer: Vec<Option<f64>>,
    pub(super) bytes: Vec<Option<f64>>,
    pub(super) root: Option<f64>,
    pub(super) tag: Option<f64>,
}

impl VisitedNode<'_> {
    pub(super) fn label(&self) -> String {
        self.node.label().unwrap_or_default()
    }
}

/// State of the walk of one rank.
pub(super) struct Walk<'a> {
    graph: &'a Graph,
    role: &'a Role,
    setting: &'a Setting<'a>,
    rank: u32,
    n_steps_max: usize,
    /// Functions whose body at another call is being walked.
    elsewhere: Vec<&'a str>,
    /// Bodies of functions at the calls that show them.
    bodies: BTreeMap<&'a str, Option<&'a [GraphNode]>>,
    /// Values of the variables of enclosing loops.
    variables: BTreeMap<String, f64>,
    /// Number of times each arm of a branch was taken, by the branch's place.
    arms: BTreeMap<u64, Vec<u64>>,
    pub(super) visited: Vec<VisitedNode<'a>>,
    pub(super) notes: BTreeSet<String>,
}

/// Returns a lookup of names on a rank, including constants of the program.
pub(super) fn values<'a>(
    graph: &'a Graph,
    setting: &'a Setting<'_>,
    rank: u32,
) -> impl Fn(&str) -> Option<f64> + 'a {
    move |name| match name {
        "rank" => Some(f64::from(rank)),
        "p" => Some(setting.n_ranks as f64),
        "MPI_PROC_NULL" => Some(-1.0),
        name => match graph.constants.get(name) {
            Some(constant) => Some(*constant as f64),
            None => (setting.value_of)(name, rank),
        },
    }
}

impl<'a> Walk<'a> {
    pub(super) fn new(
        (graph, role): (&'a Graph, &'a Role),
        setting: &'a Setting<'a>,
        rank: u32,
        n_steps_max: usize,
    ) -> Self {
        Self {
            graph,
            role,
            setting,
            rank,
            n_steps_max,
            elsewhere: Vec::new(),
            bodies: BTreeMap::new(),
            variables: BTreeMap::new(),
            arms: BTreeMap::new(),
            visited: Vec::new(),
            notes: BTreeSet::new(),
        }
    }

    /// Walks through nodes in order; returns how they are left early, if they are.
    pub(super) fn sequence(
        &mut self,
        nodes: &'a [GraphNode],
    ) -> Result<Option<JumpKind>, UnfoldError> {
        for node in nodes {
            if let Some(leave) = self.node(node)? {
                return Ok(Some(leave));
            }
        }
        Ok(None)
    }

    fn node(&mut self, node: &'a GraphNode) -> Result<Option<JumpKind>, UnfoldError> {
        match &node.kind {
            GraphNodeKind::Mpi(mpi) => self.pass(node, mpi)?,
            GraphNodeKind::Loop(of) if node.has_mpi() => return self.repeat(node, of),
            GraphNodeKind::Branch(of) => return self.branch(node, of),
            GraphNodeKind::Call(of) => {
                let leave = self.call(of)?;
                return Ok(leave.filter(|leave| *leave == JumpKind::Program));
            }
            GraphNodeKind::Jump(exit) if exit.condition.is_empty() => return Ok(Some(exit.leaves)),
            GraphNodeKind::Jump(_) | GraphNodeKind::Compute(_) | GraphNodeKind::Loop(_) => (),
        }
        Ok(None)
    }

    fn call(&mut self, of: &'a InlinedCall) -> Result<Option<JumpKind>, UnfoldError> {
        let name = of.function.as_str();
        let body = match of.expansion {
            Expansion::Here => return self.sequence(&of.body),
            Expansion::Earlier if !self.elsewhere.contains(&name) => self.body_of(name),
            _ => None,
        };
        let Some(body) = body else {
            self.notes.insert(format!("`{name}` is recursive: assumed to be entered once"));
            return Ok(None);
        };
        self.notes.insert(format!("all calls of `{name}` are taken to be like its first one"));
        self.elsewhere.push(name);
        let leave = self.sequence(body);
        self.elsewhere.pop();
        leave
    }

    /// Returns the body of a function at the first call that shows it.
    fn body_of(&mut self, name: &'a str) -> Option<&'a [GraphNode]> {
        let body = &self.role.body;
        *self.bodies.entry(name).or_insert_with(|| {
            body.iter().flat_map(GraphNode::all).find_map(|node| match &node.kind {
                GraphNodeKind::Call(of) if of.function == name && !of.body.is_empty() => {
                    Some(of.body.as_slice())
                }
                _ => None,
            })
        })
    }

    fn repeat(
        &mut self,
        node: &'a GraphNode,
        of: &'a Loop,
    ) -> Result<Option<JumpKind>, UnfoldError> {
        let measured = node.measured.and_then(|measured| measured.iterations);
        let count = self
            .value(&of.count)
            .or(measured)
            .ok_or_else(|| self.unknown(of.header.clone(), &of.count))?;
        let turn = of.repeat.as_ref().and_then(|repeat| {
            Some((&repeat.variable, self.value(&repeat.first)?, self.value(&repeat.step)?))
        });
        let mut number = 0.0;
        while number < count.round() {
            if let Some((variable, first, step)) = turn {
                self.variables.insert(variable.clone(), first + number * step);
            }
            match self.sequence(&of.body)? {
                Some(JumpKind::Loop) => break,
                None | Some(JumpKind::Iteration) => number += 1.0,
                leave => return Ok(leave),
            }
        }
        if let Some((variable, ..)) = turn {
            self.variables.remove(variable);
        }
        Ok(None)
    }

    fn branch(
        &mut self,
        node: &'a GraphNode,
        of: &'a Branch,
    ) -> Result<Option<JumpKind>, UnfoldError> {
        let arm = match self.value(&of.decides) {
            Some(value) if of.arms.len() == 2 => usize::from(value == 0.0),
            _ => self.arm_in_turn(node, of),
        };
        match of.arms.get(arm) {
            Some(arm) => self.sequence(&arm.body),
            None => Ok(None),
        }
    }

    /// Returns the arm that is furthest behind its share of the passages, or a random one.
    fn arm_in_turn(&mut self, node: &GraphNode, of: &Branch) -> usize {
        let n_arms = of.arms.len().max(1);
        let even = 1.0 / n_arms as f64;
        let shares: Vec<f64> = of.arms.iter().map(|arm| arm.probability.unwrap_or(even)).collect();
        if node.has_mpi() && of.arms.iter().any(|arm| arm.probability.is_none()) {
            self.notes.insert(format!(
                "the probability of `{}` is unknown: its arms are taken equally often",
                of.condition
            ));
        }
        let place = place_of(node, of);
        let taken = self.arms.entry(place).or_insert_with(|| vec![0; n_arms]);
        let n_passed = taken.iter().sum::<u64>();
        let behind = |arm: usize| shares[arm] * (n_passed + 1) as f64 - taken[arm] as f64;
        let arm = match self.setting.seed {
            Some(seed) => drawn(seed, place, n_passed, &shares),
            None => (0..shares.len())
                .rev()
                .max_by(|a, b| behind(*a).total_cmp(&behind(*b)))
                .unwrap_or(0),
        };
        if let Some(n_taken) = taken.get_mut(arm) {
            *n_taken += 1;
        }
        arm
    }

    fn pass(&mut self, node: &'a GraphNode, mpi: &'a Mpi) -> Result<(), UnfoldError> {
        if self.n_steps_max <= self.visited.len() {
            return Err(UnfoldError::TooLong);
        }
        let value = |of: &Option<Expr>| self.value(of.as_ref()?);
        let is_message = mpi.class == "point-to-point";
        let has_peer = |it: &&DataTransfer| matches!(it.side, Side::Sends | Side::Receives);
        for transfer in mpi.transfers.iter().filter(has_peer).filter(|_| is_message) {
            if value(&transfer.peer).is_none() {
                let peer = transfer.peer.clone().unwrap_or(Expr::Unknown("peer".to_owned()));
                return Err(self.unknown(node.label().unwrap_or_default(), &peer));
            }
        }
        let visited = VisitedNode {
            node,
            mpi,
            peer: mpi.transfers.iter().map(|transfer| value(&transfer.peer)).collect(),
            bytes: mpi.transfers.iter().map(|transfer| value(&transfer.bytes)).collect(),
            root: value(&mpi.root),
            tag: value(&mpi.tag),
        };
        if mpi.class == "collective" {
            let label = visited.label();
            if !matches!(mpi.scope.as_str(), "" | "MPI_COMM_WORLD") {
                self.notes.insert(format!(
                    "`{label}` is on `{}`, whose members are unknown: it is treated as one of all ranks",
                    mpi.scope
                ));
            }
            if mpi.mode == "nonblocking" {
                self.notes.insert(format!("`{label}` is treated as blocking"));
            }
        }
        self.visited.push(visited);
        Ok(())
    }

    fn unknown(&self, label: String, of: &Expr) -> UnfoldError {
        let known = values(self.graph, self.setting, self.rank);
        let names = of.unknown(&|name| self.variables.get(name).copied().or_else(|| known(name)));
        UnfoldError::Unknown { label, names: names.into_iter().collect() }
    }

    fn value(&self, of: &Expr) -> Option<f64> {
        let known = values(self.graph, self.setting, self.rank);
        of.value(&|name| self.variables.get(name).copied().or_else(|| known(name)))
    }
}

/// Returns a number that identifies a branch in the sources: all roles that pass it take the same arms.
fn place_of(node: &GraphNode, of: &Branch) -> u64 {
    let mut hasher = DefaultHasher::new();
    (&node.location.file, node.location.line, &of.condition).hash(&mut hasher);
    hasher.finish()
}

/// Draws an arm, the same on all ranks in the same passage.
fn drawn(seed: u64, place: u64, visited: u64, shares: &[f64]) -> usize {
    let mixed =
        random::mixed(seed ^ place.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ visited.rotate_left(32));
    let bits = u32::try_from(mixed >> 32).unwrap_or(u32::MAX);
    let at = f64::from(bits) / f64::from(u32::MAX);
    let mut sum = 0.0;
    let arm = shares.iter().position(|share| {
        sum += share;
        at < sum
    });
    arm.unwrap_or(shares.len().saturating_sub(1))
}
