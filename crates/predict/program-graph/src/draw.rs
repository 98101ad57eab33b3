//! Draws graphs as SVG, with one lane for each role.
//!
//! A picture holds two views: the whole graph (DP*Graph+), and
//! regions, forks and joins only (T-Graph*). One is shown, and a click switches to the other.
//!
//! # Invariants
//! - Every picture is self-contained: generic fonts, no other files.
//!
//! # Not here
//! Plots of times (`prediction`).

mod fragment;
mod frames;
mod labels;
mod lanes;
mod legend;
mod steps;
mod symbol;
mod text;

use crate::shape::Graph;

/// View that is shown first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum View {
    /// Every operation, loop, conditional and function.
    Full,
    /// Regions, forks and joins.
    Regions,
}

/// Returns the picture of a graph as an SVG file.
#[must_use]
pub fn draw(graph: &Graph, title: &str, view: View) -> String {
    lanes::page(graph, title, view)
}
