//! Programs of this repository, as JSON; and a long program.

use program_graph::{Graph, GraphNodeKind, SourceFile, json, read};
use serde_json::Value;
use std::path::Path;

/// Returns the sources and headers of a folder, sorted by name.
fn sources(folder: &str, wanted: &[&str]) -> Vec<(String, String)> {
    let folder =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../apps").join(folder).join("src");
    let entries = std::fs::read_dir(folder).expect("the program is there");
    let paths = entries.map(|entry| entry.expect("it can be read").path());
    let mut files: Vec<(String, String)> = paths
        .map(|path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            (name, std::fs::read_to_string(path).expect("it is text"))
        })
        .filter(|(name, _)| {
            wanted.is_empty() || name.ends_with(".h") || wanted.contains(&name.as_str())
        })
        .collect();
    files.sort();
    files
}

fn program(folder: &str, wanted: &[&str]) -> Graph {
    let files = sources(folder, wanted);
    let files: Vec<SourceFile<'_>> =
        files.iter().map(|(name, text)| SourceFile { name, text }).collect();
    read(&files).expect("it is a program")
}

/// Formats the significant fields of each node, one node to a line; without line numbers, so that a comment in
/// the program changes nothing here.
fn shown(graph: &Graph) -> String {
    let json = json(graph);
    let mut text = String::new();
    for role in json["roles"].as_array().expect("a list") {
        let [name, ranks] = ["name", "ranks"].map(|field| words(&role[field]));
        text.push_str(&format!("{name} ({ranks}) {}\n", role["nodes"]));
    }
    for node in json["nodes"].as_array().expect("a list") {
        let fields = "id role parent arm kind region_name label side mode count".split(' ');
        let fields: Vec<String> = fields.map(|field| without_lines(&words(&node[field]))).collect();
        text.push_str(&fields.join(" | "));
        let transfers = node["transfers"].as_array();
        for transfer in transfers.into_iter().flatten() {
            let [peer, bytes] = ["peer", "bytes"].map(|field| words(&transfer[field]));
            text.push_str(&format!(" | {peer} {bytes} B"));
        }
        text.push('\n');
    }
    for edge in json["edges"].as_array().expect("a list") {
        text.push_str(&format!("{}-{} {}\n", edge["from"], edge["to"], words(&edge["kind"])));
    }
    text
}

fn words(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        value => value.to_string(),
    }
}

/// Shortens `main.c:12 MPI_Send` to `main.c MPI_Send`.
fn without_lines(text: &str) -> String {
    let words = text.split(' ').map(|word| match word.split_once(".c:") {
        Some((file, line)) if line.chars().all(|c| c.is_ascii_digit()) => format!("{file}.c"),
        _ => word.to_owned(),
    });
    words.collect::<Vec<_>>().join(" ")
}

#[test]
fn the_matrix_programs() {
    let common = ["matrix.c", "matrixinit.c", "start.c"];
    insta::assert_snapshot!(
        "matmul1",
        shown(&program("matmul", &[&common[..], &["matmul1.c"]].concat()))
    );
    insta::assert_snapshot!(
        "matmul2",
        shown(&program("matmul", &[&common[..], &["matmul2.c"]].concat()))
    );
}

#[test]
fn xfire() {
    let graph = program("xfire", &[]);
    assert_eq!(graph.warnings, [], "all of it is understood");
    insta::assert_snapshot!("xfire", shown(&graph));
}

#[test]
fn json_of_a_program_has_its_version() {
    let json = json(&program("matmul", &["matmul2.c"]));
    assert_eq!(json["format_version"], 1);
    assert_eq!(json["origin"], "source");
    let n_nodes = json["nodes"].as_array().map_or(0, Vec::len);
    for edge in json["edges"].as_array().expect("a list") {
        for end in ["from", "to"] {
            let id = edge[end].as_u64().and_then(|id| usize::try_from(id).ok());
            assert!(id.is_some_and(|id| id < n_nodes), "{edge}");
        }
    }
}

#[test]
fn a_long_program_is_read_whole() {
    let mut text = "#include <mpi.h>\nint main(int argc, char **argv)\n{\nint rank, p;\n\
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);\nMPI_Comm_size(MPI_COMM_WORLD, &p);\n"
        .to_owned();
    for step in 0..100 {
        text.push_str(&format!(
            "for (int i = {step}; i < n; i++) {{\nif (rank == 0)\n    MPI_Send(a, n, MPI_INT, 1, {step}, c);\n\
             else\n    MPI_Recv(a, n, MPI_INT, 0, {step}, c, s);\n}}\n"
        ));
    }
    text.push_str("}\n");
    assert!(500 <= text.lines().count());
    let graph = read(&[SourceFile { name: "long.c", text: &text }]).expect("a program");
    for role in &graph.roles {
        let n_loops =
            role.body.iter().filter(|it| matches!(it.kind, GraphNodeKind::Loop(_))).count();
        assert_eq!(n_loops, 100);
    }
    let last = graph.roles[1].body.last().and_then(|it| it.bodies().first()?.first()?.region);
    assert_eq!(last, Some(100));
}
