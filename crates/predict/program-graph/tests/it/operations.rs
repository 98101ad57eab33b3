//! Every operation of the table, called by a program.

use crate::said::{graph, main_of};
use mpi_abi::{Operation, ParameterKind as Parameter};
use program_graph::{Expr, Graph, GraphNode, GraphNodeKind, Mpi, SendMode, Side};

/// Returns a call with parameter names as arguments, as a program would write it.
fn call(operation: &Operation) -> String {
    let argument = |param: &mpi_abi::Param| match param.kind {
        Parameter::Type => "MPI_DOUBLE".to_owned(),
        Parameter::Comm => "MPI_COMM_WORLD".to_owned(),
        Parameter::Request
        | Parameter::Status
        | Parameter::Flag
        | Parameter::OutInt
        | Parameter::NewComm => format!("&{}", param.name),
        _ => param.name.clone(),
    };
    let arguments: Vec<String> = operation.params.iter().map(argument).collect();
    format!("{}({});", operation.name, arguments.join(", "))
}

fn operations(graph: &Graph) -> Vec<Mpi> {
    let nodes = graph.roles.iter().flat_map(|role| &role.body).flat_map(GraphNode::all);
    let operations = nodes.filter_map(|node| match &node.kind {
        GraphNodeKind::Mpi(mpi) => Some(mpi.clone()),
        _ => None,
    });
    operations.collect()
}

#[test]
fn every_operation_of_the_table_is_known() {
    let left_out = ["MPI_Abort", "MPI_Pcontrol", "MPI_Type_free", "MPI_Type_free_c"];
    for operation in mpi_abi::operations() {
        if left_out.contains(&operation.name.as_str()) {
            continue;
        }
        // The barrier is needed because a program without communication has no graph.
        let body = format!("{}\nMPI_Barrier(MPI_COMM_WORLD);", call(operation));
        let found = operations(&graph(&main_of(&body)));
        let first = found.first().map(|mpi| mpi.operation.as_str());
        assert_eq!(first, Some(operation.name.as_str()));
        assert_eq!(found[0].class, operation.class.name(), "{}", operation.name);
        let moves = operation.movements.len();
        assert_eq!(found[0].transfers.len(), moves, "{}", operation.name);
    }
}

/// Checks an operation whose communicator is written `COMM`; transfers are `PEER:BYTES`.
#[track_caller]
fn check(call: &str, mode: &str, send_mode: Option<SendMode>, side: Side, transfers: &str) {
    let found = operations(&graph(&main_of(&call.replace("COMM", "MPI_COMM_WORLD"))));
    let mpi = &found[0];
    let text = |it: &Option<Expr>| it.as_ref().map(ToString::to_string).unwrap_or_default();
    let said = mpi.transfers.iter().map(|it| format!("{}:{}", text(&it.peer), text(&it.bytes)));
    let said = said.collect::<Vec<_>>().join(" ");
    assert_eq!(
        (mpi.mode, mpi.send_mode, mpi.side, said.as_str()),
        (mode, send_mode, side, transfers),
        "{call}"
    );
}

#[test]
fn modes_peers_and_bytes_are_read() {
    use SendMode::{Buffered, Ready, Standard, Synchronous};
    use Side::{Both, Receives, Sends};
    let send = |name: &str| format!("{name}(a, 2 * n, MPI_DOUBLE, to, 7, COMM);");
    check(&send("MPI_Send"), "blocking", Some(Standard), Sends, "to:16 * n");
    check(&send("MPI_Ssend"), "blocking", Some(Synchronous), Sends, "to:16 * n");
    check(&send("MPI_Bsend"), "blocking", Some(Buffered), Sends, "to:16 * n");
    check(&send("MPI_Rsend"), "blocking", Some(Ready), Sends, "to:16 * n");
    check(&send("PMPI_Send"), "blocking", Some(Standard), Sends, "to:16 * n");
    let isend = |name: &str| format!("{name}(a, n, MPI_BYTE, rank + 1, 7, COMM, &r);");
    check(&isend("MPI_Isend"), "nonblocking", Some(Standard), Sends, "rank + 1:n");
    check(&isend("MPI_Issend"), "nonblocking", Some(Synchronous), Sends, "rank + 1:n");
    check(&isend("MPI_Ibsend"), "nonblocking", Some(Buffered), Sends, "rank + 1:n");
    check(&isend("MPI_Irsend"), "nonblocking", Some(Ready), Sends, "rank + 1:n");
    check(&isend("MPI_Ssend_init"), "persistent", Some(Synchronous), Sends, "rank + 1:n");
    check(&isend("MPI_Irecv"), "nonblocking", None, Receives, "rank + 1:n");
    check(&isend("MPI_Recv_init"), "persistent", None, Receives, "rank + 1:n");
    let recv = "MPI_Recv(a, n, type, MPI_ANY_SOURCE, 7, COMM, &s);";
    check(recv, "blocking", None, Receives, "MPI_ANY_SOURCE:n * sizeof(type)");
    let both = "MPI_Sendrecv(a, 1, MPI_INT, up, 1, b, 2, MPI_INT, down, 1, COMM, &s);";
    check(both, "blocking", Some(Standard), Both, "up:4 down:8");
}

#[test]
fn sides_and_bytes_of_the_others_are_read() {
    use Side::{Both, Neither, Receives, Sends};
    let blocking = |call, side, bytes| check(call, "blocking", None, side, bytes);
    let nonblocking = |call, side, bytes| check(call, "nonblocking", None, side, bytes);
    blocking("MPI_Wait(&r, &s);", Neither, "");
    nonblocking("MPI_Testall(2, r, &f, s);", Neither, "");
    blocking("MPI_Bcast(a, n, MPI_INT, 0, COMM);", Both, ":4 * n");
    nonblocking("MPI_Ibcast(a, n, MPI_INT, 0, COMM, &r);", Both, ":4 * n");
    blocking("MPI_Reduce(a, b, n, MPI_INT, MPI_SUM, 0, COMM);", Both, ":4 * n");
    blocking("MPI_Allreduce(a, b, n, MPI_INT, MPI_SUM, COMM);", Both, ":4 * n");
    blocking("MPI_Barrier(COMM);", Neither, "");
    nonblocking("MPI_Put(a, n, MPI_INT, to, 0, n, MPI_INT, win);", Sends, "to:4 * n");
    nonblocking("MPI_Get(a, n, MPI_INT, to, 0, n, MPI_INT, win);", Receives, "to:4 * n");
    let neighbors = "MPI_Neighbor_alltoall(a, n, MPI_INT, b, n, MPI_INT, COMM);";
    blocking(neighbors, Both, ":4 * n * outdegree");
}

#[test]
fn a_collective_has_two_sides() {
    let text = main_of(
        "if (rank == 0) puts(\"root\"); else MPI_Barrier(c);\n\
         MPI_Scatter(a, n, MPI_INT, b, n, MPI_INT, 0, MPI_COMM_WORLD);\n\
         MPI_Gather(a, n, MPI_INT, b, n, MPI_INT, 0, MPI_COMM_WORLD);",
    );
    let sides: Vec<Side> = operations(&graph(&text)).iter().map(|mpi| mpi.side).collect();
    let workers = [Side::Neither, Side::Receives, Side::Sends];
    assert_eq!(sides, [&[Side::Sends, Side::Receives], workers.as_slice()].concat());
}
