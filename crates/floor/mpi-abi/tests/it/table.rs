//! Tests of the table on its own.

use mpi_abi::{
    Amount, Binding, CType, Class, Condition, Factor, Flow, Mode, Operation, OperationId,
    ParameterKind, TABLE_TEXT, find, fortran_entry_points, is_local, operation, operations, parse,
};

#[track_caller]
fn get(name: &str) -> &'static Operation {
    operation(find(name).expect("a name of the table")).expect("an identifier that was found")
}

#[test]
fn every_line_is_read() {
    let (table, problems) = parse(TABLE_TEXT);
    assert_eq!(problems, []);
    assert_eq!(table.operations, operations());
    assert_eq!(operations().len(), 361);
}

#[test]
fn an_identifier_is_a_position() {
    for (position, expected) in (0..).zip(operations()) {
        assert_eq!(find(&expected.name), Some(OperationId(position)), "{}", expected.name);
    }
    assert_eq!(operation(OperationId(u16::MAX)), None);
    assert_eq!(find("MPI_Comm_rank"), None);
}

#[test]
fn no_function_is_both_watched_and_local() {
    for operation in operations() {
        assert!(!is_local(&operation.name), "{}", operation.name);
    }
    assert!(is_local("MPI_Comm_rank"));
    assert!(!is_local("Comm_rank"));
}

#[test]
fn the_mode_follows_from_the_name() {
    for operation in operations().iter().filter(|o| o.class == Class::Collective) {
        let mode = match operation.stem.as_str() {
            stem if stem.ends_with("_init") => Mode::Persistent,
            stem if stem.starts_with('I') => Mode::Nonblocking,
            _ => Mode::Blocking,
        };
        assert_eq!(operation.mode, mode, "{}", operation.name);
    }
}

#[test]
fn a_movement_names_its_parameters() {
    let sendrecv = get("MPI_Sendrecv_c");
    let [sent, received] = &sendrecv.movements[..] else { panic!("two movements") };
    assert_eq!((sent.flow, received.flow), (Flow::Send, Flow::Receive));
    assert_eq!(sent.peer, sendrecv.named("dest"));
    let status = sendrecv.position(ParameterKind::Status).expect("a status");
    assert_eq!(received.cases[0].amount, Amount::Status(status));

    let alltoallv = get("MPI_Ialltoallv");
    let [case, other] = &alltoallv.movements[0].cases[..] else { panic!("two cases") };
    assert_eq!(case.condition, Condition::InPlace(0));
    let n = Factor::Peers;
    assert_eq!(other.amount, Amount::Sum { counts: 1, datatype: 3, n });
    assert_eq!(get("MPI_Waitall").completes, Some(1));
}

#[test]
fn every_transfer_between_ranks_has_a_scope() {
    for operation in operations().iter().filter(|o| !o.movements.is_empty()) {
        let has_scope =
            operation.scope().is_some() || operation.position(ParameterKind::Message).is_some();
        assert!(has_scope, "{}", operation.name);
    }
}

#[test]
fn kinds_say_how_c_passes_them() {
    for (kind, expected) in [
        (ParameterKind::Buf, CType::Pointer),
        (ParameterKind::Comm, CType::Handle),
        (ParameterKind::LargeCount, CType::Count),
        (ParameterKind::Unit, CType::Int),
        (ParameterKind::Logical, CType::Int),
        (ParameterKind::Variadic, CType::Variadic),
    ] {
        assert_eq!(kind.c_type(), expected, "{kind:?}");
    }
}

#[track_caller]
fn check_entry_points(name: &str, expected: &[(&str, Binding)]) {
    let entries = fortran_entry_points(get(name));
    let found: Vec<_> = entries.iter().map(|e| (e.symbol.as_str(), e.binding)).collect();
    assert_eq!(found, expected);
}

#[test]
fn fortran_has_other_names() {
    use Binding::{Classic, F08, F08Descriptor};
    check_entry_points(
        "MPI_Send",
        &[
            ("mpi_send_f08_", F08),
            ("mpi_send_f08ts_", F08Descriptor),
            ("mpi_send_", Classic),
            ("mpi_send__", Classic),
            ("mpi_send", Classic),
            ("MPI_SEND", Classic),
        ],
    );
    check_entry_points(
        "MPI_Win_allocate",
        &[
            ("mpi_win_allocate_f08_", F08),
            ("mpi_win_allocate_", Classic),
            ("mpi_win_allocate__", Classic),
            ("mpi_win_allocate", Classic),
            ("MPI_WIN_ALLOCATE", Classic),
            ("mpi_win_allocate_cptr_", Classic),
            ("mpi_win_allocate_cptr__", Classic),
            ("mpi_win_allocate_cptr", Classic),
            ("MPI_WIN_ALLOCATE_CPTR", Classic),
        ],
    );
    check_entry_points("MPI_Pcontrol", &[]);
    check_entry_points(
        "MPI_Send_c",
        &[("mpi_send_f08_large_", F08), ("mpi_send_f08ts_large_", F08Descriptor)],
    );
}
