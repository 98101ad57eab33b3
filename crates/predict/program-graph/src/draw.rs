//! Draws graphs as SVG, with one lane for each role.
//!
//! A picture holds two views: the whole graph (DP*Graph+), and
//! regions, forks and joins only (T-Graph*). One is shown, and a click switches to the other. Where a view is taller
//! than a screen, its functions are folded: a click opens each on a page of its own.
//!
//! # Invariants
//! - Every picture is self-contained: generic fonts, no other files.

mod folded;
mod fragment;
mod frames;
mod labels;
mod legend;
mod steps;
mod symbol;
mod text;

use crate::shape::{Graph, Origin, Role};
use display::text::escape_xml;
use folded::{FoldedFunction, FoldedFunctions};
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
.out{fill:#fff;stroke:#52606d}.bar{fill:#374151}.switch{cursor:pointer}.switch rect{fill:#e9eef4;stroke:#9aa5b1}\
.open{cursor:pointer}.fold{fill:#e9eef4;stroke:#4a6fa5;stroke-width:1.2}.open:hover rect{stroke:#1d2733}";

/// Height of a view above which its functions are folded, in pixels.
const SCREEN_HEIGHT: f64 = 900.0;

/// Script that shows another page of the picture, remembers the way to it, and resizes the picture.
const SCRIPT: &str = "\
var way=[];function pages(){return document.querySelectorAll('.page')}\
function shown(){var id='full';pages().forEach(function(g){if(g.style.display!=='none')id=g.id});return id}\
function turn(to){var e=document.documentElement,s=document.getElementById(to),\
w=s.getAttribute('data-width'),t=s.getAttribute('data-height');\
pages().forEach(function(g){g.style.display=g.id===to?'inline':'none'});\
e.setAttribute('viewBox','0 0 '+w+' '+t);e.setAttribute('width',w);e.setAttribute('height',t);window.scrollTo(0,0)}\
function show(to){way.push(shown());turn(to)}function back(){turn(way.pop()||'full')}\
function other(){turn(shown()==='full'?'regions':'full')}";

/// View that is shown first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum View {
    /// Every operation, loop, conditional and function.
    Full,
    /// Regions, forks and joins.
    Regions,
}

/// A page of a picture, by its name.
struct Page {
    name: String,
    drawing: Fragment,
}

/// Returns the picture of a graph as an SVG file: a lane for each role, the legend, and the switch between the views.
#[must_use]
pub fn draw(graph: &Graph, name: &str, view: View) -> String {
    let mut pages = view_of(graph, name, View::Full);
    pages.extend(view_of(graph, name, View::Regions));
    let shown = view.page();
    let first = pages.iter().find(|page| page.name == shown);
    let (w, h) = first.map_or((0.0, 0.0), |page| (page.drawing.right, page.drawing.height));
    let groups: String = pages.iter().map(|page| group(page, page.name == shown)).collect();
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{w:.0}\" height=\"{h:.0}\" viewBox=\"0 0 {w:.0} {h:.0}\">\n\
         <title>{}</title>\n<style>{STYLE}</style>\n\
         <defs><marker id=\"arrow\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"7\" markerHeight=\"7\" orient=\"auto\">\
         <path d=\"M0 0.8 L7.5 4 L0 7.2 Z\" fill=\"#52606d\"/></marker></defs>\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n{groups}<script>{SCRIPT}</script>\n</svg>\n",
        escape_xml(name),
    )
}

impl View {
    /// Name of its first page.
    fn page(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Regions => "regions",
        }
    }
}

fn group(page: &Page, is_shown: bool) -> String {
    let display = if is_shown { "inline" } else { "none" };
    let (name, drawing) = (&page.name, &page.drawing);
    format!(
        "<g id=\"{name}\" style=\"display:{display}\" class=\"page\" data-width=\"{:.0}\" data-height=\"{:.0}\">{}</g>\n",
        drawing.right, drawing.height, drawing.svg
    )
}

/// Draws a view: its first page, and those of folded functions if it would be too tall without.
fn view_of(graph: &Graph, name: &str, view: View) -> Vec<Page> {
    let lane = |role: &Role| Drawer::new(view, None).body(&role.body).unwrap_or_default();
    let lanes: Vec<Fragment> = graph.roles.iter().map(lane).collect();
    let first = first_page(graph, (name, view), &lanes);
    if first.drawing.height <= SCREEN_HEIGHT {
        return vec![first];
    }
    let mut lanes = Vec::new();
    let mut pages = Vec::new();
    for (at, role) in graph.roles.iter().enumerate() {
        let prefix = format!("{}-{at}-", view.page());
        let mut drawer = Drawer::new(view, Some(FoldedFunctions::new(prefix)));
        lanes.push(drawer.body(&role.body).unwrap_or_default());
        pages.extend(drawer.folded().into_iter().map(|function| page_of(role, function)));
    }
    pages.insert(0, first_page(graph, (name, view), &lanes));
    pages
}

fn first_page(graph: &Graph, (name, view): (&str, View), lanes: &[Fragment]) -> Page {
    let tallest = lanes.iter().map(|lane| lane.height).fold(0.0, f64::max);
    let lane_height = LANE_HEAD + tallest + 2.0 * LANE_PAD;
    let mut page = Fragment::default();
    let mut x = MARGIN;
    for (role, lane) in graph.roles.iter().zip(lanes) {
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
    let words = match view {
        View::Full => "regions only",
        View::Regions => "whole graph",
    };
    let x = page.right - MARGIN - button_width(words);
    put_button(&mut page, x, words, ("other()", "shows the other view"));
    Page { name: view.page().to_owned(), drawing: page }
}

/// Draws the page of a folded function.
fn page_of(role: &Role, function: FoldedFunction) -> Page {
    let FoldedFunction { page: name, title, body } = function;
    let mut page = Fragment::default();
    let height = LANE_HEAD + body.height + 2.0 * LANE_PAD;
    let lane_width = put_lane(&mut page, role, &body, (MARGIN, height));
    let back = "◂ back";
    put_button(&mut page, MARGIN, back, ("back()", "shows the page before"));
    let title_x = MARGIN + button_width(back) + 14.0;
    page.text(title_x, 25.0, "h", &title);
    page.right = (lane_width + 2.0 * MARGIN).max(title_x + width(&title, 16.0) * 1.1 + MARGIN);
    page.height = TITLE_HEIGHT + height + MARGIN;
    Page { name, drawing: page }
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

fn button_width(words: &str) -> f64 {
    width(words, fragment::SIZE) + 20.0
}

/// Draws a button at this position, with the script that it runs and its tooltip.
fn put_button(page: &mut Fragment, x: f64, words: &str, (script, hint): (&str, &str)) {
    let w = button_width(words);
    page.put(&format!("<g class=\"switch\" onclick=\"{script}\"><title>{hint}</title><rect x=\"{x:.1}\" y=\"10\" width=\"{w:.1}\" height=\"22\" rx=\"4\"/>\
         <text x=\"{:.1}\" y=\"25\">{words}</text></g>",
        x + 10.0));
}
