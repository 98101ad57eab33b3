//! Description of a CUBE file (`anchor.xml`): metrics, call tree and locations.

use super::CubeFault;
use roxmltree::{Document, Node, ParsingOptions};
use std::collections::HashMap;

/// Number of elements, texts and attributes.
const ELEMENTS_MAX: u32 = 8 << 20;
/// Bytes of all call paths.
const PATH_BYTES_MAX: usize = 64 << 20;

/// Contents of the description.
pub(super) struct Anchor {
    /// Metrics that are not part of others.
    pub(super) metrics: Vec<Metric>,
    /// Calls, each after its caller.
    pub(super) nodes: Vec<CallNode>,
    /// Number of threads and other places that were measured.
    pub(super) n_locations: usize,
    /// Index of each call, in the order of inclusive metrics.
    by_caller: Vec<usize>,
}

/// Metric of the file.
pub(super) struct Metric {
    /// Number in the names of its members.
    pub(super) id: String,
    pub(super) name: String,
    /// Type of its values, such as `UINT64`.
    pub(super) value_type: String,
    /// True if the values of a call include those of the calls that it makes.
    pub(super) is_inclusive: bool,
}

/// Call of a function by its callers.
pub(super) struct CallNode {
    /// Names of the callers and the function, with arrows in between.
    pub(super) path: String,
    /// Indices of the calls that it makes.
    pub(super) callees: Vec<usize>,
}

impl Anchor {
    pub(super) fn of(bytes: &[u8]) -> Result<Self, CubeFault> {
        let wrong = |what: &str| CubeFault::Anchor(what.to_owned());
        let text = std::str::from_utf8(bytes).map_err(|_| wrong("it is not text in UTF-8"))?;
        let options = ParsingOptions { nodes_limit: ELEMENTS_MAX, ..ParsingOptions::default() };
        let document = Document::parse_with_options(text, options);
        let document = document.map_err(|error| CubeFault::Anchor(error.to_string()))?;
        let root = document.root_element();
        let (metrics, program, system) =
            (part(root, "metrics")?, part(root, "program")?, part(root, "system")?);
        let metrics = children(metrics, "metric").map(Metric::of).collect::<Option<Vec<_>>>();
        let n_locations = system.descendants().filter(|it| it.has_tag_name("location")).count();
        let (nodes, by_caller) = calls(program)?;
        if n_locations == 0 {
            return Err(wrong("it has no locations"));
        }
        let metrics = metrics.ok_or_else(|| wrong("a metric has no number or no name"))?;
        Ok(Self { metrics, nodes, n_locations, by_caller })
    }

    /// Returns the index of the call for each row of values, from its position in the index of the metric.
    pub(super) fn nodes_of(
        &self,
        metric: &Metric,
        rows: &[usize],
    ) -> Result<Vec<usize>, CubeFault> {
        let node = |row: &usize| {
            let found = self.by_caller.get(*row).copied();
            // Rows of exclusive metrics are in the order of the file.
            found.map(|node_idx| if metric.is_inclusive { node_idx } else { *row })
        };
        rows.iter().map(node).collect::<Option<Vec<_>>>().ok_or(CubeFault::WrongIndex)
    }
}

impl Metric {
    fn of(element: Node<'_, '_>) -> Option<Self> {
        let text = |name: &str| Some(child(element, name)?.text()?.trim().to_owned());
        Some(Self {
            id: element.attribute("id")?.to_owned(),
            name: text("uniq_name")?,
            value_type: text("dtype")?,
            is_inclusive: element.attribute("type") == Some("INCLUSIVE"),
        })
    }
}

fn children<'a, 'input>(
    of: Node<'a, 'input>,
    name: &'a str,
) -> impl Iterator<Item = Node<'a, 'input>> {
    of.children().filter(move |element| element.has_tag_name(name))
}

fn child<'a, 'input>(of: Node<'a, 'input>, name: &'a str) -> Option<Node<'a, 'input>> {
    children(of, name).next()
}

fn part<'a, 'input>(root: Node<'a, 'input>, name: &'a str) -> Result<Node<'a, 'input>, CubeFault> {
    child(root, name).ok_or_else(|| CubeFault::Anchor(format!("`{name}` is missing")))
}

/// Returns the calls of a program, and their indices in the order of inclusive metrics.
fn calls<'a>(program: Node<'a, '_>) -> Result<(Vec<CallNode>, Vec<usize>), CubeFault> {
    let wrong = |what: &str| CubeFault::Anchor(what.to_owned());
    let named = |it: Node<'a, '_>| Some((it.attribute("id")?, child(it, "name")?.text()?));
    let names: HashMap<&str, &str> = children(program, "region").filter_map(named).collect();
    let (mut nodes, mut roots) = (Vec::<CallNode>::new(), Vec::new());
    let (mut found, mut n_path_bytes) = (HashMap::new(), 0);
    for element in program.descendants().filter(|element| element.has_tag_name("cnode")) {
        let id = element.attribute("calleeId").ok_or_else(|| wrong("a call has no region"))?;
        let name = *names.get(id).ok_or_else(|| wrong("a call is of an unknown region"))?;
        let caller = element.parent().and_then(|parent| found.get(&parent.id()).copied());
        let path = match caller.and_then(|caller: usize| nodes.get(caller)) {
            Some(caller) => format!("{}->{name}", caller.path),
            None => name.to_owned(),
        };
        n_path_bytes += path.len();
        if PATH_BYTES_MAX < n_path_bytes {
            return Err(CubeFault::TooLarge);
        }
        let node_idx = nodes.len();
        match caller {
            Some(caller) => nodes[caller].callees.push(node_idx),
            None => roots.push(node_idx),
        }
        found.insert(element.id(), node_idx);
        nodes.push(CallNode { path, callees: Vec::new() });
    }
    let order = by_caller(&nodes, &roots);
    Ok((nodes, order))
}

/// Returns each root, followed by the callees of each call below it.
fn by_caller(nodes: &[CallNode], roots: &[usize]) -> Vec<usize> {
    let mut order = Vec::with_capacity(nodes.len());
    for (root, end) in roots.iter().zip(roots.iter().skip(1).chain([&nodes.len()])) {
        order.push(*root);
        order.extend(nodes[*root..*end].iter().flat_map(|node| &node.callees));
    }
    order
}
