//! Target: a C program as `program-graph` reads it: by any author, incomplete, or no program at all.

use program_graph::{SourceFile, View, draw, json, read};

/// Reads the text as C and as C++, and draws the graph.
pub(crate) fn run(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    for name in ["program.c", "program.cpp"] {
        if let Ok(graph) = read(&[SourceFile { name, text: &text }]) {
            assert!(graph.roles.iter().any(|role| !role.body.is_empty()), "a graph has steps");
            assert!(json(&graph).is_object());
            assert!(draw(&graph, name, View::Full).starts_with("<svg"));
        }
    }
}
