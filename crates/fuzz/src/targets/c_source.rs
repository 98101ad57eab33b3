//! A program in C, as `graph` reads it: of anybody, half written, or no program at all.

use graph::{Source, View, draw, json, read};

/// Reads it as C and as C++, and draws what becomes of it.
pub(crate) fn run(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    for name in ["program.c", "program.cpp"] {
        if let Ok(graph) = read(&[Source { name, text: &text }]) {
            assert!(graph.roles.iter().any(|role| !role.body.is_empty()), "a graph has steps");
            assert!(json(&graph).is_object());
            assert!(draw(&graph, name, View::Full).starts_with("<svg"));
        }
    }
}
