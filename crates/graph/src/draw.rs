//! Graphs as pictures: SVG with one lane for each role.
//!
//! A picture holds two views, of which one is shown and a click shows the other: the whole graph (DP*Graph+), and
//! regions, forks and joins only (T-Graph*).
//!
//! # Invariants
//! - Every picture needs nothing but itself: generic fonts, no other file.
//!
//! # Not here
//! Plots of times (`cli`).

mod frames;
mod lanes;
mod legend;
mod part;
mod pictogram;
mod said;
mod steps;
mod symbol;
mod text;

use crate::shape::Graph;

/// What is shown first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum View {
    /// Every operation, loop, conditional and function.
    Full,
    /// Regions, forks and joins.
    Regions,
}

/// The picture of a graph, as the text of an SVG file.
#[must_use]
pub fn draw(graph: &Graph, title: &str, view: View) -> String {
    lanes::page(graph, title, view)
}
