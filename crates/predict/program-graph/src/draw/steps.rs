//! Draws the steps of a role as parts of a picture.

use super::View;
use super::folded::{FoldedFunction, FoldedFunctions, opener};
use super::fragment::{Fragment, SIZE, SMALL, columns, text_box};
use super::frames::{called, diamond, parted, passed, repeated};
use super::labels::{
    N_BESIDE_MAX, beside, counted, describe, location, locations, n_operations, per_rank, product,
    regions_of,
};
use super::symbol::{HALF, HEIGHT, symbol};
use super::text::{cut, times, width};
use crate::regions::roman;
use crate::shape::{Arm, Branch, Expansion, GraphNode, GraphNodeKind, InlinedCall, Jump, Mpi};
use display::units::seconds;

/// Largest number of characters of conditions, and of loop headers.
const N_CONDITION_MAX: usize = 40;
const N_HEADER_MAX: usize = 44;
/// Height of columns where functions are folded, in pixels.
const COLUMN_HEIGHT_MAX: f64 = 560.0;
/// Height up to which the body of a function is drawn at its call where others are folded, in pixels.
const OPEN_HEIGHT_MAX: f64 = 70.0;

/// Draws the steps of one role.
pub(super) struct Drawer {
    view: View,
    /// Functions already drawn: contents and regions.
    drawn: Vec<(String, String)>,
    /// Functions that are opened by a click; `None` where all are open.
    folded: Option<FoldedFunctions>,
}

impl Drawer {
    /// Creates a drawer that draws functions at their calls, or that folds those of more than a few steps.
    pub(super) fn new(view: View, folded: Option<FoldedFunctions>) -> Self {
        Self { view, drawn: Vec::new(), folded }
    }

    /// Returns the functions that were folded.
    pub(super) fn folded(self) -> Vec<FoldedFunction> {
        self.folded.map(FoldedFunctions::finish).unwrap_or_default()
    }

    /// Draws a sequence, in columns where functions are folded; `None` when nothing of it is shown.
    pub(super) fn body(&mut self, nodes: &[GraphNode]) -> Option<Fragment> {
        let fragments = self.fragments(nodes);
        let height_max = if self.folded.is_some() { COLUMN_HEIGHT_MAX } else { f64::INFINITY };
        (!fragments.is_empty()).then(|| columns(&fragments, height_max))
    }

    fn fragments(&mut self, nodes: &[GraphNode]) -> Vec<Fragment> {
        let mut fragments = Vec::new();
        // Consecutive computation without MPI shares one box.
        for run in nodes.chunk_by(|one, next| is_quiet(one) && is_quiet(next)) {
            if run.iter().all(is_quiet) {
                fragments.extend(self.computation(run));
            } else {
                run.iter().for_each(|node| fragments.extend(self.node(node)));
            }
        }
        fragments
    }

    fn node(&mut self, node: &GraphNode) -> Vec<Fragment> {
        match &node.kind {
            GraphNodeKind::Mpi(mpi) => self.operation(node, mpi).into_iter().collect(),
            GraphNodeKind::Jump(exit) => self.exit(exit).into_iter().collect(),
            GraphNodeKind::Branch(branch) => self.branch(branch).into_iter().collect(),
            GraphNodeKind::Call(group) if self.view == View::Regions && self.folded.is_none() => {
                self.fragments(&group.body)
            }
            GraphNodeKind::Call(group) => self.group(node, group).into_iter().collect(),
            GraphNodeKind::Loop(of) => {
                let inner = self.body(&of.body).unwrap_or_default();
                let iterations = node.measured.and_then(|it| it.iterations);
                let iterations =
                    iterations.map(|it| format!(" = {}", times(it))).unwrap_or_default();
                let count = cut(&product(&of.count), N_CONDITION_MAX);
                let header = match self.view {
                    View::Full => cut(&of.header, N_HEADER_MAX),
                    View::Regions => String::new(),
                };
                let mut fragment = repeated(&format!("↻ {count}{iterations} ×"), &header, &inner);
                fragment.hint(&format!("{} ({})", of.header, location(node)));
                vec![fragment]
            }
            GraphNodeKind::Compute(_) => Vec::new(),
        }
    }

    /// Draws a function; functions that only call each other share a frame.
    fn group(&mut self, node: &GraphNode, group: &InlinedCall) -> Option<Fragment> {
        if group.expansion != Expansion::Here {
            return Some(self.elsewhere(group));
        }
        if self.folded.is_some() {
            return self.folded_group(node, group);
        }
        let mut names = vec![format!("{}()", group.function)];
        let mut body = &group.body;
        while let [GraphNode { kind: GraphNodeKind::Call(inner), .. }] = body.as_slice()
            && inner.expansion == Expansion::Here
        {
            names.push(format!("{}()", inner.function));
            body = &inner.body;
        }
        let inside = locations(body);
        let regions = regions_of(body);
        let known = self.drawn.iter().find(|(known, _)| *known == inside);
        if let Some((_, before)) = known.filter(|_| 1 < n_operations(body)) {
            let words = format!("as at {before}: {regions}");
            let lines = [(0, cut(&names.join(" › "), N_CONDITION_MAX)), (0, words)];
            return Some(text_box(&lines, "again"));
        }
        let inner = self.body(body)?;
        self.drawn.push((inside, regions));
        let mut fragment = called(&cut(&names.join(" › "), 70), &inner);
        fragment.hint(&format!("{} ({})", group.function, location(node)));
        Some(fragment)
    }

    /// Draws a call of a function that is drawn elsewhere.
    fn elsewhere(&self, group: &InlinedCall) -> Fragment {
        let words = match group.expansion {
            Expansion::Around => format!("{}() again, within itself", group.function),
            _ => format!("{}() as before", group.function),
        };
        let fragment = text_box(&[(0, words)], "again");
        match self.folded.as_ref().and_then(|folded| folded.page_of(&group.function)) {
            Some(page) => opener(&page, fragment),
            None => fragment,
        }
    }

    /// Draws a function as a box that opens it, unless it is about as small as that.
    fn folded_group(&mut self, node: &GraphNode, group: &InlinedCall) -> Option<Fragment> {
        let contents = locations(&group.body);
        let known = self.folded.as_ref().and_then(|folded| folded.known(&contents));
        let page = match known {
            Some(page) => page,
            None => {
                let inner = self.body(&group.body)?;
                let name = format!("{}()", group.function);
                if inner.height <= OPEN_HEIGHT_MAX {
                    return Some(if self.view == View::Full {
                        called(&name, &inner)
                    } else {
                        inner
                    });
                }
                let title = format!("{name} ({})", location(node));
                self.folded.as_mut()?.add(&group.function, (contents, title), inner)
            }
        };
        let words = match regions_of(&group.body).as_str() {
            "" => format!("▸ {}()", group.function),
            regions => format!("▸ {}(): {regions}", group.function),
        };
        let mut fragment = text_box(&[(0, cut(&words, N_CONDITION_MAX + 20))], "fold");
        fragment.hint(&format!("opens {} ({})", group.function, location(node)));
        Some(opener(&page, fragment))
    }

    fn branch(&mut self, branch: &Branch) -> Option<Fragment> {
        let condition = cut(&branch.condition, N_CONDITION_MAX);
        let mut condition = match self.view {
            View::Full => diamond(&condition),
            View::Regions => diamond(&cut(&condition, 14)),
        };
        condition.hint(&branch.condition);
        let label = |arm: &Arm| {
            let share = arm.probability.map(|share| format!(" {:.0} %", share * 100.0));
            format!("{} · {}{}", arm.name, cut(&arm.label, 30), share.unwrap_or_default())
        };
        let mut with: Vec<(String, Fragment)> = Vec::new();
        let mut without: Vec<String> = Vec::new();
        for arm in &branch.arms {
            match self.body(&arm.body) {
                Some(fragment) => with.push((label(arm), fragment)),
                None => without.push(label(arm)),
            }
        }
        match (with.as_slice(), without.as_slice()) {
            ([], _) => None,
            ([(label, inner)], past) => {
                Some(passed(&condition, (label, inner), past.first().map_or("", String::as_str)))
            }
            (_, []) => Some(parted(&condition, &with)),
            (_, past) => {
                let empty = Fragment { height: 1.0, ..Fragment::default() };
                with.push((past.join(", "), empty));
                Some(parted(&condition, &with))
            }
        }
    }

    fn exit(&self, exit: &Jump) -> Option<Fragment> {
        if self.view == View::Regions {
            let mut end = Fragment { is_end: true, ..Fragment::of(4.0, 4.0, 8.0) };
            end.put("<circle class=\"out\" cx=\"0\" cy=\"4\" r=\"3\"/>");
            return exit.condition.is_empty().then_some(end);
        }
        let condition = cut(&exit.condition, N_CONDITION_MAX);
        let words = match condition.as_str() {
            "" => exit.leaves.word().to_owned(),
            condition => format!("{} if {condition}", exit.leaves.word()),
        };
        let mut fragment = Fragment::of(4.0, 30.0 + width(&words, SMALL), 10.0);
        if !condition.is_empty() {
            fragment.flow_line(&[(0.0, 0.0), (0.0, 10.0)], false);
        }
        fragment.put("<circle class=\"out\" cx=\"0\" cy=\"5\" r=\"3\"/>");
        fragment.flow_line(&[(3.0, 5.0), (20.0, 5.0)], true);
        fragment.text(25.0, 8.5, "x", &words);
        fragment.is_end = condition.is_empty();
        fragment.hint(&exit.condition);
        Some(fragment)
    }

    fn operation(&self, node: &GraphNode, mpi: &Mpi) -> Option<Fragment> {
        let name = mpi.operation.trim_start_matches("MPI_");
        if mpi.class == "environment" {
            let mut fragment = Fragment::of(42.0, 42.0, 20.0);
            fragment.put(
                "<rect class=\"pill\" x=\"-42\" y=\"0\" width=\"84\" height=\"20\" rx=\"10\"/>",
            );
            fragment.text(0.0, 14.0, "p", &cut(&mpi.operation, 16));
            return Some(fragment);
        }
        let number = node.region.map(roman).unwrap_or_default();
        if self.view == View::Regions {
            return Some(numbered(&number, name));
        }
        let beside = cut(&beside(mpi), N_BESIDE_MAX);
        let measured = node.measured.map(|it| cut(&counted(&it), 2 * N_BESIDE_MAX));
        let measured = measured.unwrap_or_default();
        let x = HALF + 8.0;
        let widest =
            (width(name, SIZE) * 1.08).max(width(&beside, SMALL)).max(width(&measured, SMALL));
        let left = x + width(&number, SIZE) * 1.1;
        let lines = [("s", &beside), ("m", &measured)].into_iter().filter(|it| !it.1.is_empty());
        let height = if beside.is_empty() || measured.is_empty() { HEIGHT } else { HEIGHT + 11.0 };
        let mut fragment = Fragment::of(left, x + widest, height);
        fragment.put(&symbol(mpi));
        if HEIGHT < height {
            fragment.flow_line(&[(0.0, HEIGHT), (0.0, height)], false);
        }
        fragment.text(-HALF - 6.0, HEIGHT / 2.0 + 4.0, "n", &number);
        fragment.text(x, 10.5, "b", name);
        for ((class, words), y) in lines.zip([22.5, 34.0]) {
            fragment.text(x, y, class, words);
        }
        fragment.hint(&format!("{} ({})", mpi.operation, location(node)));
        Some(fragment)
    }

    /// Draws nodes without MPI in one box.
    fn computation(&self, nodes: &[GraphNode]) -> Option<Fragment> {
        let mut lines = Vec::new();
        nodes.iter().for_each(|node| describe(node, 0, &mut lines));
        let number = nodes.iter().find_map(|node| node.region).map(roman).unwrap_or_default();
        if lines.is_empty() || self.view == View::Regions && number.is_empty() {
            return None;
        }
        if self.view == View::Regions {
            return Some(numbered(&number, "computation"));
        }
        let n_hidden = lines.len().saturating_sub(N_LINES_MAX);
        lines.truncate(N_LINES_MAX);
        if 0 < n_hidden {
            lines.push((0, format!("and {n_hidden} more")));
        }
        let mut fragment = text_box(&lines, "comp");
        fragment.left += width(&number, SIZE) * 1.1 + 8.0;
        let x = -fragment.right - 6.0;
        fragment.text(x, fragment.height / 2.0 + 4.0, "n", &number);
        if let Some(measured) = nodes.iter().find_map(|node| node.measured) {
            let words = format!("{} per rank", seconds(measured.compute_s / per_rank(&measured)));
            let x = fragment.right + 6.0;
            fragment.text(x, fragment.height / 2.0 + 3.5, "m", &words);
            fragment.right = x + width(&words, SMALL);
        }
        fragment.hint(&nodes.first().map(location).unwrap_or_default());
        Some(fragment)
    }
}

/// Largest number of lines in a box of computation.
const N_LINES_MAX: usize = 7;

/// Draws a region as its number.
fn numbered(number: &str, name: &str) -> Fragment {
    let half = (width(number, SIZE) / 2.0 + 7.0).max(13.0);
    let name = cut(name, 24);
    let mut fragment = Fragment::of(half, half + 6.0 + width(&name, SMALL), 22.0);
    fragment.put(&format!(
        "<rect class=\"region\" x=\"{:.1}\" y=\"0\" width=\"{:.1}\" height=\"22\" rx=\"11\"/>",
        -half,
        2.0 * half
    ));
    fragment.text(0.0, 15.0, "p", number);
    fragment.text(half + 6.0, 14.5, "s", &name);
    fragment
}

fn is_quiet(node: &GraphNode) -> bool {
    !node.has_mpi()
        && match &node.kind {
            GraphNodeKind::Jump(_) => false,
            GraphNodeKind::Call(group) => group.expansion == Expansion::Here,
            _ => true,
        }
}
