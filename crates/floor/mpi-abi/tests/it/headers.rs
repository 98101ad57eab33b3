//! Checks the table against the prototypes of the installed MPI libraries.

use std::collections::{BTreeMap, BTreeSet};

use mpi_abi::{find, is_local, operation, operations};

use crate::compiler::{Compiler, compilers};

/// C types of the parameters by function, without `const`, arrays as pointers.
type Prototypes = BTreeMap<String, Vec<String>>;

#[test]
fn every_row_agrees_with_the_prototypes() {
    for compiler in compilers() {
        let prototypes = prototypes(&compiler);
        for operation in operations() {
            let Some(declared) = prototypes.get(&operation.name) else { continue };
            let expected: Vec<_> =
                operation.params.iter().map(|p| p.kind.c_declaration()).collect();
            assert_eq!(*declared, expected, "`{}` of {}", operation.name, compiler.command);
        }
    }
}

#[test]
fn no_function_is_forgotten() {
    for compiler in compilers() {
        let prototypes = prototypes(&compiler);
        let is_known = |name: &str| is_local(name) || find(name).is_some();
        let forgotten: Vec<_> = prototypes.keys().filter(|name| !is_known(name)).collect();
        assert_eq!(forgotten, [""; 0], "of {}", compiler.command);
    }
}

#[test]
fn every_operation_of_mpi_3_is_declared_everywhere() {
    // Operations that Open MPI 4, which implements MPI-3.1, lacks.
    let newer = |name: &str| {
        let operation = find(name).and_then(operation).expect("a name of the table");
        operation.is_large
            || (name.ends_with("_init") && operation.params.iter().any(|p| p.name == "info"))
            || ["Session", "Isendrecv", "_from_group", "_idup_with_info", "_buffer", "Buffer_"]
                .iter()
                .any(|part| name.contains(part) && name != "MPI_Buffer_detach")
            || ["MPI_Pready", "MPI_Parrived", "MPI_Request_get_status_"]
                .iter()
                .any(|start| name.starts_with(start))
    };
    for compiler in compilers() {
        let declared: BTreeSet<_> = prototypes(&compiler).into_keys().collect();
        let names = operations().iter().map(|operation| &operation.name);
        let missing: Vec<_> = names.filter(|name| !declared.contains(*name)).collect();
        let old: Vec<_> = missing.into_iter().filter(|name| !newer(name)).collect();
        assert_eq!(old, [""; 0], "of {}", compiler.command);
    }
}

/// Prototypes of all `MPI_` functions in the preprocessed header.
fn prototypes(compiler: &Compiler) -> Prototypes {
    let text = compiler.preprocessed("#include <mpi.h>\n");
    let mut prototypes = Prototypes::new();
    for (start, _) in text.match_indices("MPI_") {
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        if text[..start].ends_with(is_word) {
            continue;
        }
        let end = start + text[start..].find(|c| !is_word(c)).expect("an end of the name");
        let Some(rest) = text[end..].trim_start().strip_prefix('(') else { continue };
        let before = text[..start].trim_end();
        let returns = before.ends_with(is_word) && !before.ends_with("typedef");
        let list = &rest[..closing(rest)];
        if returns && !list.starts_with('*') {
            prototypes.insert(text[start..end].to_owned(), parameter_types(list));
        }
    }
    assert!(300 < prototypes.len(), "only {} functions were found", prototypes.len());
    prototypes
}

/// Position of the parenthesis that closes a list.
fn closing(text: &str) -> usize {
    let mut depth = 0;
    let closes = |c: char| {
        depth += match c {
            '(' => 1,
            ')' => -1,
            _ => 0,
        };
        depth < 0
    };
    text.find(closes).expect("a closing parenthesis")
}

fn parameter_types(list: &str) -> Vec<String> {
    if list.trim() == "void" {
        return Vec::new();
    }
    list.split(',').map(parameter_type).collect()
}

/// C type of a parameter: that of `const int counts[]` is `int*`.
fn parameter_type(parameter: &str) -> String {
    let n_arrays = parameter.matches('[').count();
    let declarator = parameter.split('[').next().expect("split gives one part at least");
    let spaced = declarator.replace('*', " * ");
    let mut words: Vec<_> = spaced.split_whitespace().filter(|word| *word != "const").collect();
    if 1 < words.len() && words.last() != Some(&"*") {
        words.pop();
    }
    words.concat() + &"*".repeat(n_arrays)
}
