//! Writes graphs as JSON, for other programs.
//!
//! Nodes and edges are lists: a node names its container (`parent`, and `arm` within a branch), and edges name the
//! node that may follow another. Fields are added over time and never change their meaning; a change of meaning
//! raises [`FORMAT_VERSION`].

use crate::regions::roman;
use crate::shape::{
    Arm, DataTransfer, Graph, GraphNode, GraphNodeKind, JumpKind, Mpi, NodeMeasurements, Origin,
    Role,
};
use serde_json::{Map, Value, json};

/// Version of the JSON format.
pub const FORMAT_VERSION: u32 = 1;

/// Returns the graph as JSON.
#[must_use]
pub fn json(graph: &Graph) -> Value {
    let mut nodes = Vec::new();
    for role in &graph.roles {
        put(&role.body, &role.name, &Value::Null, &Value::Null, &mut nodes);
    }
    let origin = match graph.origin {
        Origin::Source => "source",
        Origin::Run => "run",
        Origin::Both => "source and run",
    };
    json!({
        "format_version": FORMAT_VERSION,
        "origin": origin,
        "n_ranks": graph.n_ranks,
        "roles": graph.roles.iter().map(role).collect::<Vec<_>>(),
        "constants": graph.constants,
        "nodes": nodes,
        "edges": edges(graph),
        "warnings": graph.warnings.iter().map(|it| {
            json!({ "file": it.file, "line": it.line, "text": it.text })
        }).collect::<Vec<_>>(),
    })
}

fn role(role: &Role) -> Value {
    let conditions = role.conditions.iter();
    let conditions = conditions
        .map(|(condition, holds)| json!({ "condition": condition.to_string(), "holds": holds }));
    json!({
        "name": role.name,
        "ranks": role.ranks,
        "conditions": conditions.collect::<Vec<_>>(),
        "measured_ranks": role.measured_ranks,
        "nodes": role.body.iter().map(|node| node.id).collect::<Vec<_>>(),
    })
}

fn put(nodes: &[GraphNode], role: &str, parent: &Value, arm: &Value, to: &mut Vec<Value>) {
    for node in nodes {
        let mut fields = Map::new();
        let (kind, label) = (kind(node), label(node));
        fields.insert("id".into(), json!(node.id));
        fields.insert("role".into(), json!(role));
        fields.insert("kind".into(), json!(kind));
        fields.insert("label".into(), json!(label));
        fields.insert("file".into(), json!(node.location.file));
        fields.insert("line".into(), json!(node.location.line));
        fields.insert("end_line".into(), json!(node.location.end_line));
        fields.insert("function".into(), json!(node.location.function));
        fields.insert("parent".into(), parent.clone());
        fields.insert("arm".into(), arm.clone());
        fields.insert("region".into(), json!(node.region));
        fields.insert("region_name".into(), json!(node.region.map(roman)));
        details(node, &mut fields);
        fields.insert("measured".into(), node.measured.as_ref().map_or(Value::Null, measured));
        to.push(Value::Object(fields));
        let parent = json!(node.id);
        match &node.kind {
            GraphNodeKind::Branch(branch) => {
                for one in &branch.arms {
                    put(&one.body, role, &parent, &json!(one.name), to);
                }
            }
            _ => node
                .bodies()
                .into_iter()
                .for_each(|body| put(body, role, &parent, &Value::Null, to)),
        }
    }
}

fn kind(node: &GraphNode) -> &'static str {
    match &node.kind {
        GraphNodeKind::Compute(_) => "computation",
        GraphNodeKind::Loop(_) => "loop",
        GraphNodeKind::Branch(_) => "branch",
        GraphNodeKind::Call(_) => "function",
        GraphNodeKind::Mpi(_) => "mpi",
        GraphNodeKind::Jump(_) => "exit",
    }
}

fn label(node: &GraphNode) -> String {
    match &node.kind {
        GraphNodeKind::Compute(compute) => compute.label.clone(),
        GraphNodeKind::Loop(of) => of.header.clone(),
        GraphNodeKind::Branch(branch) => branch.condition.clone(),
        GraphNodeKind::Call(group) => format!("{}()", group.function),
        GraphNodeKind::Mpi(_) => node.label().unwrap_or_default(),
        GraphNodeKind::Jump(exit) => exit.leaves.word().to_owned(),
    }
}

/// Adds the fields specific to this kind of node.
fn details(node: &GraphNode, to: &mut Map<String, Value>) {
    let mut put = |name: &str, value: Value| drop(to.insert(name.to_owned(), value));
    match &node.kind {
        GraphNodeKind::Compute(compute) => {
            put("n_statements", json!(compute.n_statements));
            put("n_loops", json!(compute.n_loops));
        }
        GraphNodeKind::Loop(of) => {
            put("count", json!(of.count.to_string()));
            let repeat = of.repeat.as_ref();
            put("variable", json!(repeat.map(|it| &it.variable)));
            put("first", json!(repeat.map(|it| it.first.to_string())));
            put("step", json!(repeat.map(|it| it.step.to_string())));
        }
        GraphNodeKind::Branch(branch) => {
            put("decides", json!(branch.decides.to_string()));
            put("arms", branch.arms.iter().map(arm).collect());
        }
        GraphNodeKind::Call(group) => put("is_recursive", json!(group.is_recursive)),
        GraphNodeKind::Jump(exit) => put("condition", json!(exit.condition)),
        GraphNodeKind::Mpi(mpi) => operation(mpi, &mut put),
    }
}

fn arm(arm: &Arm) -> Value {
    json!({
        "name": arm.name,
        "label": arm.label,
        "probability": arm.probability,
        "nodes": arm.body.iter().map(|node| node.id).collect::<Vec<_>>(),
    })
}

fn operation(mpi: &Mpi, put: &mut impl FnMut(&str, Value)) {
    let said = |expr: &Option<crate::expr::Expr>| json!(expr.as_ref().map(ToString::to_string));
    let transfer = |transfer: &DataTransfer| {
        json!({
            "side": transfer.side.name(),
            "peer": said(&transfer.peer),
            "bytes": said(&transfer.bytes),
        })
    };
    put("operation", json!(mpi.operation));
    put("class", json!(mpi.class));
    put("mode", json!(mpi.mode));
    put("send_mode", json!(mpi.send_mode.map(crate::shape::SendMode::name)));
    put("side", json!(mpi.side.name()));
    put("transfers", mpi.transfers.iter().map(transfer).collect());
    put("root", said(&mpi.root));
    put("tag", said(&mpi.tag));
    put("scope", json!(mpi.scope));
    put("request", json!(mpi.request));
}

fn measured(measured: &NodeMeasurements) -> Value {
    json!({
        "count": measured.count,
        "n_ranks": measured.n_ranks,
        "compute_s": measured.compute_s,
        "mpi_s": measured.mpi_s,
        "bytes": measured.bytes,
        "iterations": measured.iterations,
        "n_places": measured.n_places,
    })
}

/// Nodes whose successor is open at the end of a sequence, with the kind of edge.
type DanglingEnds = Vec<(usize, &'static str)>;

/// Returns the edges of a graph: `next`, `enter` (into a container), `again` (back to the head of a loop).
fn edges(graph: &Graph) -> Value {
    let mut edges = Vec::new();
    for role in &graph.roles {
        follow(&role.body, Vec::new(), &mut edges);
    }
    let edges = edges.into_iter();
    edges.map(|(from, to, kind)| json!({ "from": from, "to": to, "kind": kind })).collect()
}

/// Connects a sequence to its predecessors; returns the open ends behind it.
fn follow(
    nodes: &[GraphNode],
    before: DanglingEnds,
    edges: &mut Vec<(usize, usize, &'static str)>,
) -> DanglingEnds {
    let mut open = before;
    for node in nodes {
        edges.extend(open.iter().map(|(from, kind)| (*from, node.id, *kind)));
        open = match &node.kind {
            GraphNodeKind::Loop(of) => {
                let ends = follow(&of.body, vec![(node.id, "enter")], edges);
                edges.extend(ends.iter().map(|(from, _)| (*from, node.id, "again")));
                vec![(node.id, "next")]
            }
            GraphNodeKind::Call(group) => {
                let ends = follow(&group.body, vec![(node.id, "enter")], edges);
                let mut ends = if group.body.is_empty() { vec![(node.id, "next")] } else { ends };
                // An early return continues behind the call.
                returns(&group.body, &mut ends);
                ends
            }
            GraphNodeKind::Branch(branch) => {
                let arms = branch.arms.iter();
                let ends = arms.flat_map(|arm| {
                    if arm.body.is_empty() {
                        return vec![(node.id, "next")];
                    }
                    follow(&arm.body, vec![(node.id, "enter")], edges)
                });
                let mut ends: DanglingEnds = ends.collect();
                ends.dedup();
                ends
            }
            GraphNodeKind::Jump(exit) if exit.condition.is_empty() => Vec::new(),
            _ => vec![(node.id, "next")],
        };
    }
    open
}

fn returns(nodes: &[GraphNode], to: &mut DanglingEnds) {
    for node in nodes {
        match &node.kind {
            GraphNodeKind::Jump(exit) if exit.leaves == JumpKind::Function => {
                if !to.iter().any(|(from, _)| *from == node.id) {
                    to.push((node.id, "next"));
                }
            }
            GraphNodeKind::Call(_) => {}
            _ => node.bodies().into_iter().for_each(|body| returns(body, to)),
        }
    }
}
