//! Draws graphs as SVG, with one lane for each role.
//!
//! A picture holds two views: the whole graph (DP*Graph+), and
//! regions, forks and joins only (T-Graph*). One is shown, and a click switches to the other.
//!
//! # Invariants
//! - Every picture is self-contained: generic fonts, no other files.

mod fragment;
mod frames;
mod labels;
mod legend;
mod steps;
mod symbol;
mod text;

use crate::shape::{Graph, Origin, Role};
use display::text::escape_xml;
use fragment::Fragment;
use steps::Drawer;
use text::width;

const MARGIN: f64 = 16.0;
const TITLE_HEIGHT: f64 = 40.0;
const LANE_HEAD: f64 = 38.0;
const LANE_PAD: f64 = 14.0;

const STYLE: &str = "\
text{font-family:Helvetica,Arial,'Liberation Sans',sans-serif;font-size:11px;fill:#1d2733}\
.h{font-size:16px;font-weight:bold}.r{font-size:13px;font-weight:bold}\
.b{font-weight:bold}.s,.c,.e,.f,.m,.x{font-size:9.5px}.s,.e,.f{fill:#52606d}.e,.n{text-anchor:end}\
.c,.p{text-anchor:middle}.p{font-size:9.5px}.n{font-weight:bold;fill:#7a4b00}.m{fill:#a01c48}.x{font-style:italic;fill:#52606d}\
.way{fill:none;stroke:#52606d;stroke-width:1}.lane{fill:#fff;stroke:#c4ccd6}.head{fill:#e9eef4;stroke:none}\
.loop{fill:#4a6fa5;fill-opacity:.05;stroke:#4a6fa5;stroke-width:1}.call{fill:none;stroke:#d5dbe3}\
.comp{fill:#f3f4f6;stroke:#374151}.again{fill:#fff;stroke:#9aa5b1}.cond{fill:#fff8e1;stroke:#a37b00}\
.send{fill:#dbeafe;stroke:#1d4ed8}.recv{fill:#dcfce7;stroke:#15803d}.coll{fill:#ffedd5;stroke:#c2410c}\
.done{fill:#f3e8ff;stroke:#7e22ce}.side{fill:#fce7f3;stroke:#be185d}.file{fill:#ccfbf1;stroke:#0f766e}\
.else{fill:#f3f4f6;stroke:#4b5563}.send,.recv,.coll,.done,.side,.file,.else,.comp{stroke-width:1.4}\
.dash{stroke-dasharray:4 2.5}.l{fill:none;stroke:#1d2733;stroke-width:1.2}.fill{fill:#1d2733}\
.dot{fill:#fff;stroke:#1d2733}.pill{fill:#374151}.pill+text{fill:#fff}.region{fill:#fff8e1;stroke:#7a4b00;stroke-width:1.2}\
.out{fill:#fff;stroke:#52606d}.bar{fill:#374151}.switch{cursor:pointer}.switch rect{fill:#e9eef4;stroke:#9aa5b1}";

/// Script that shows the other view and resizes the picture.
const SCRIPT: &str = "\
function other(){var d=document,a=d.getElementById('full'),b=d.getElementById('regions'),\
f=a.style.display==='none',s=f?a:b,h=f?b:a;h.style.display='none';s.style.display='inline';\
var e=d.documentElement,w=s.getAttribute('data-width'),t=s.getAttribute('data-height');\
e.setAttribute('viewBox','0 0 '+w+' '+t);e.setAttribute('width',w);e.setAttribute('height',t)}";

/// View that is shown first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum View {
    /// Every operation, loop, conditional and function.
    Full,
    /// Regions, forks and joins.
    Regions,
}

/// Returns the picture of a graph as an SVG file: a lane for each role, the legend, and the switch between the views.
#[must_use]
pub fn draw(graph: &Graph, name: &str, view: View) -> String {
    let full = view_of(graph, name, View::Full);
    let regions = view_of(graph, name, View::Regions);
    let shown = if view == View::Full { &full } else { &regions };
    let group = |id: &str, page: &Fragment, is_shown: bool| {
        let display = if is_shown { "inline" } else { "none" };
        format!(
            "<g id=\"{id}\" style=\"display:{display}\" data-width=\"{:.0}\" data-height=\"{:.0}\">{}</g>\n",
            page.right, page.height, page.svg
        )
    };
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{w:.0}\" height=\"{h:.0}\" viewBox=\"0 0 {w:.0} {h:.0}\">\n\
         <title>{}</title>\n<style>{STYLE}</style>\n\
         <defs><marker id=\"arrow\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"7\" markerHeight=\"7\" orient=\"auto\">\
         <path d=\"M0 0.8 L7.5 4 L0 7.2 Z\" fill=\"#52606d\"/></marker></defs>\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n{}{}<script>{SCRIPT}</script>\n</svg>\n",
        escape_xml(name),
        group("full", &full, view == View::Full),
        group("regions", &regions, view == View::Regions),
        w = shown.right,
        h = shown.height,
    )
}

fn view_of(graph: &Graph, name: &str, view: View) -> Fragment {
    let lane = |role: &Role| Drawer::new(view).body(&role.body).unwrap_or_default();
    let lanes: Vec<Fragment> = graph.roles.iter().map(lane).collect();
    let tallest = lanes.iter().map(|lane| lane.height).fold(0.0, f64::max);
    let lane_height = LANE_HEAD + tallest + 2.0 * LANE_PAD;
    let mut page = Fragment::default();
    let mut x = MARGIN;
    for (role, lane) in graph.roles.iter().zip(&lanes) {
        x += put_lane(&mut page, role, lane, (x, lane_height)) + MARGIN;
    }
    let legend = legend::legend(graph, view, x.max(640.0) - 2.0 * MARGIN);
    let legend_y = TITLE_HEIGHT + lane_height + MARGIN;
    page.place(&legend.svg, MARGIN, legend_y);
    let labels_x = MARGIN + width(name, 16.0) * 1.1 + 14.0;
    page.text(MARGIN, 25.0, "h", name);
    page.text(labels_x, 25.0, "s", &labels(graph));
    page.right = x.max(legend.right + 2.0 * MARGIN).max(labels_x + 346.0);
    page.height = legend_y + legend.height + MARGIN;
    put_switch(&mut page, view);
    page
}

/// Describes the origin of the graph in a few words.
fn labels(graph: &Graph) -> String {
    let ranks = graph.n_ranks.map(|n| format!(", {n} ranks")).unwrap_or_default();
    match graph.origin {
        Origin::Source => "from its sources".to_owned(),
        Origin::Run => format!("from a run{ranks}"),
        Origin::Both => format!("from its sources, with what a run measured{ranks}"),
    }
}

/// Draws a lane at its position; returns its width.
fn put_lane(page: &mut Fragment, role: &Role, lane: &Fragment, (x, height): (f64, f64)) -> f64 {
    let head = width(&role.name, 13.0) * 1.08 + width(&role.ranks, fragment::SIZE) + 30.0;
    let left = lane.left.max(60.0) + LANE_PAD;
    let w = (left + lane.right + LANE_PAD).max(head + 2.0 * LANE_PAD);
    let y = TITLE_HEIGHT;
    page.put(&format!("<rect class=\"lane\" x=\"{x:.1}\" y=\"{y}\" width=\"{w:.1}\" height=\"{height:.1}\" rx=\"6\"/>\
         <path class=\"head\" d=\"M{x:.1} {} V{} a6 6 0 0 1 6 -6 H{:.1} a6 6 0 0 1 6 6 V{} Z\"/>",
        y + 26.0,
        y + 6.0,
        x + w - 6.0,
        y + 26.0));
    page.text(x + 10.0, y + 18.0, "r", &role.name);
    let beside = match (role.name == role.ranks, role.measured_ranks.len()) {
        (true, 0) => String::new(),
        (true, n) => format!("{n} measured"),
        (false, 0) => role.ranks.clone(),
        (false, n) => format!("{}, {n} measured", role.ranks),
    };
    page.text(x + 20.0 + width(&role.name, 13.0) * 1.08, y + 18.0, "s", &beside);
    page.place(&lane.svg, x + left, y + LANE_HEAD);
    w
}

fn put_switch(page: &mut Fragment, view: View) {
    let words = match view {
        View::Full => "regions only",
        View::Regions => "whole graph",
    };
    let w = width(words, fragment::SIZE) + 20.0;
    let x = page.right - MARGIN - w;
    page.put(&format!("<g class=\"switch\" onclick=\"other()\"><title>shows the other view</title><rect x=\"{x:.1}\" y=\"10\" width=\"{w:.1}\" height=\"22\" rx=\"4\"/>\
         <text x=\"{:.1}\" y=\"25\">{words}</text></g>",
        x + 10.0));
}
