//! Checks the Fortran entry points against the symbols of the installed MPI libraries.

use std::collections::BTreeSet;
use std::process::Command;

use mpi_abi::{Binding, fortran_entry_points, operations};

/// Dynamic symbols that a library defines.
fn symbols(compiler: &str, library: &str) -> BTreeSet<String> {
    let found = output(compiler, &[&format!("-print-file-name={library}")]);
    let symbols = output("nm", &["--dynamic", "--defined-only", found.trim()]);
    symbols.lines().filter_map(|line| line.split_whitespace().nth(2)).map(str::to_owned).collect()
}

fn output(command: &str, arguments: &[&str]) -> String {
    let output = Command::new(command).args(arguments).output().expect("an installed command");
    assert!(output.status.success(), "`{command}` fails for {arguments:?}");
    String::from_utf8(output.stdout).expect("text")
}

fn openmpi_symbols() -> BTreeSet<String> {
    let mut all = symbols("mpicc.openmpi", "libmpi_mpifh.so");
    all.append(&mut symbols("mpicc.openmpi", "libmpi_usempif08.so"));
    all
}

fn mpich_symbols() -> BTreeSet<String> {
    symbols("mpicc.mpich", "libmpichfort.so")
}

/// Symbols made of `lower` and a suffix added by a compiler or for a module.
fn variants<'a>(all: &'a BTreeSet<String>, lower: &str) -> BTreeSet<&'a str> {
    let is_variant = |symbol: &&str| {
        let Some(ending) = symbol.to_lowercase().strip_prefix(lower).map(str::to_owned) else {
            return false;
        };
        ["", "_", "__"].contains(&ending.as_str())
            || ending.starts_with("_f08")
            || ending.starts_with("_cptr")
    };
    // `MPI_Send_f08` is an alias that no compiler generates.
    let is_one_case =
        |symbol: &&str| *symbol == symbol.to_lowercase() || *symbol == symbol.to_uppercase();
    all.iter().map(String::as_str).filter(is_variant).filter(is_one_case).collect()
}

#[test]
fn every_symbol_of_an_operation_is_an_entry_point() {
    for all in [openmpi_symbols(), mpich_symbols()] {
        let entries: BTreeSet<_> =
            operations().iter().flat_map(fortran_entry_points).map(|entry| entry.symbol).collect();
        for operation in operations().iter().filter(|o| !o.is_variadic()) {
            let lower = format!("mpi_{}", operation.stem.to_lowercase());
            let missed =
                variants(&all, &lower).into_iter().find(|symbol| !entries.contains(*symbol));
            assert_eq!(missed, None);
        }
    }
}

#[test]
fn each_library_has_the_bindings_that_the_module_describes() {
    use Binding::{Classic, F08, F08Descriptor};
    for (all, bindings) in [
        (openmpi_symbols(), &[Classic, F08][..]),
        (mpich_symbols(), &[Classic, F08, F08Descriptor][..]),
    ] {
        let entries = operations().iter().flat_map(fortran_entry_points);
        let found: BTreeSet<_> =
            entries.filter(|e| all.contains(&e.symbol)).map(|e| e.binding).collect();
        assert_eq!(found, bindings.iter().copied().collect());
    }
}
