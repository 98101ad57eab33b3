//! MPI operations at their call sites: data, peers and mode.
//!
//! The operation table of crate `mpi-abi` describes the parameters.

use super::expression::as_written;
use super::program::{RANKS, SIZES};
use super::roles::Conditions;
use super::scope::{NameValue, Names};
use super::syntax_node::SyntaxNode;
use super::walker::Walker;
use crate::expr::{Expr, Operator};
use crate::shape::{DataTransfer, GraphNodeKind, Mpi, SendMode, Side};
use mpi_abi::{
    Amount, Class, CollectiveKind, Condition, Count, Factor, Flow, Operation,
    ParameterKind as Parameter, Rooted,
};

/// Operations that are not shown because they move no data.
const SILENT: [&str; 3] = ["MPI_Pcontrol", "MPI_Type_free", "MPI_Abort"];

impl<'t> Walker<'_, 't> {
    /// Reads a call of an MPI function; its value is the rank or the number of ranks, if it returns one.
    pub(super) fn mpi(
        &mut self,
        name: &str,
        piece: SyntaxNode<'t>,
        list: &[SyntaxNode<'t>],
    ) -> Expr {
        if self.names.tells_rank(name, list) {
            // `Get_rank()` of the C++ bindings returns it.
            return match list.len() {
                0 if RANKS.contains(&name) => Expr::Rank,
                0 if SIZES.contains(&name) => Expr::Size,
                _ => as_written(piece),
            };
        }
        let plain = name.strip_prefix('P').filter(|it| it.starts_with("MPI_")).unwrap_or(name);
        let known = mpi_abi::find(plain).and_then(mpi_abi::operation);
        let Some(operation) = known else { return as_written(piece) };
        let value = |piece: &SyntaxNode<'t>| {
            let is_written = piece.text().starts_with('&') || piece.kind() == "initializer_list";
            if is_written { as_written(*piece) } else { self.expression(*piece) }
        };
        let arguments: Vec<Expr> = list.iter().map(value).collect();
        if !SILENT.contains(&plain) {
            let (conditions, arguments) = (&self.conditions, arguments.as_slice());
            let mpi = MpiCall { conditions, operation, arguments, list }.step();
            self.steps.push(GraphNodeKind::Mpi(mpi), self.names.location(piece));
        }
        self.names.written(operation, list);
        as_written(piece)
    }
}

impl<'t> Names<'_, 't> {
    /// Forgets variables that the call writes.
    fn written(&mut self, operation: &Operation, list: &[SyntaxNode<'t>]) {
        let is_same = operation.class == Class::Collective;
        for (parameter, argument) in operation.params.iter().zip(list) {
            if !argument.text().starts_with('&') {
                continue;
            }
            let Some(to) = argument.key() else { continue };
            let is_sent = matches!(parameter.name.as_str(), "sendbuf" | "origin_addr")
                || parameter.name == "buf"
                    && operation.movements.iter().all(|it| it.flow == Flow::Send);
            if parameter.kind == Parameter::NewComm {
                self.note_communicator(operation, &to);
            } else if !is_sent && !matches!(self.value_of(&to), Some(NameValue::Expr(Expr::Rank))) {
                let is_varying = !is_same || self.is_in_loop();
                self.forget(&to, is_varying);
            }
        }
    }

    /// Notes communicators that are parts of another, in which ranks are renumbered.
    fn note_communicator(&mut self, operation: &Operation, name: &str) {
        const SAME: [&str; 7] = [
            "Comm_dup",
            "Comm_dup_with_info",
            "Comm_idup",
            "Cart_create",
            "Graph_create",
            "Dist_graph_create",
            "Dist_graph_create_adjacent",
        ];
        if !SAME.contains(&operation.stem.as_str()) {
            self.parts.insert(name.to_owned());
        }
    }
}

/// An operation with its arguments.
struct MpiCall<'a, 'p, 't> {
    conditions: &'a Conditions<'p, 't>,
    operation: &'static Operation,
    arguments: &'a [Expr],
    list: &'a [SyntaxNode<'t>],
}

impl MpiCall<'_, '_, '_> {
    fn step(self) -> Mpi {
        let operation = self.operation;
        let root = operation.root().and_then(|at| self.arguments.get(at)).cloned();
        let transfers: Vec<DataTransfer> =
            operation.movements.iter().map(|movement| self.transfer(movement)).collect();
        let side = self.side(&transfers, root.as_ref());
        let tag = ["tag", "sendtag", "recvtag"].iter().find_map(|name| operation.named(name));
        let requests = [Parameter::Request, Parameter::Requests, Parameter::RequestValue];
        let request = requests.into_iter().find_map(|kind| operation.position(kind));
        let written = |at: Option<usize>| at.and_then(|at| self.list.get(at)).map(|it| it.words());
        Mpi {
            operation: operation.name.clone(),
            class: operation.class.name(),
            mode: operation.mode.name(),
            send_mode: SendMode::of(operation),
            side,
            root,
            tag: tag.and_then(|at| self.arguments.get(at)).cloned(),
            scope: written(operation.scope()).unwrap_or_default(),
            request: written(request),
            transfers,
        }
    }

    fn side(&self, transfers: &[DataTransfer], root: Option<&Expr>) -> Side {
        let has = |side: Side| transfers.iter().any(|transfer| transfer.side == side);
        let side = Side::joined(has(Side::Sends), has(Side::Receives));
        let is_collective = matches!(self.operation.class, Class::Collective | Class::Neighborhood);
        if side != Side::Neither || !is_collective || self.operation.movements.is_empty() {
            return side;
        }
        let Some(root) = root else { return Side::Both };
        let is_root = Expr::Rank.join(Operator::Equal, root.clone());
        let is_root = match &is_root {
            Expr::Number(known) => Some(*known != 0),
            condition => self.conditions.holds_quietly(condition),
        };
        let rooted = self.operation.collective().and_then(CollectiveKind::rooted);
        let from_root = rooted == Some(Rooted::FromRoot);
        match is_root {
            None => Side::Both,
            Some(is_root) if is_root == from_root => Side::Sends,
            Some(_) => Side::Receives,
        }
    }

    fn transfer(&self, movement: &mpi_abi::Movement) -> DataTransfer {
        let side = Side::of(movement.flow);
        let peer = movement.peer.or_else(|| {
            let source = self.operation.named("source")?;
            (side == Side::Receives).then_some(source)
        });
        let peer = peer.and_then(|at| self.arguments.get(at)).cloned();
        let bytes = movement.cases.iter().find(|case| self.applies(case.condition));
        let bytes = bytes.and_then(|case| self.bytes(case.amount));
        DataTransfer { side, peer, bytes }
    }

    fn applies(&self, condition: Condition) -> bool {
        let text = |at: usize| self.list.get(at).map(|it| it.words()).unwrap_or_default();
        match condition {
            Condition::Always => true,
            Condition::InPlace(at) => text(at) == "MPI_IN_PLACE",
            Condition::RemoteRoot(at) => text(at) == "MPI_ROOT",
            Condition::Root(at) => {
                let Some(root) = self.arguments.get(at).cloned() else { return false };
                self.conditions.holds_quietly(&Expr::Rank.join(Operator::Equal, root)) == Some(true)
            }
            _ => false,
        }
    }

    fn bytes(&self, amount: Amount) -> Option<Expr> {
        let argument = |at: usize| self.arguments.get(at).cloned();
        match amount {
            Amount::Status(_) => {
                let count = self.operation.named("recvcount").or(self.operation.named("count"))?;
                let of = self.operation.named("recvtype").or(self.operation.named("datatype"))?;
                Some(argument(count)?.times(self.bytes_of(of)?))
            }
            Amount::Elements { count, datatype, factor } => {
                let count = match count {
                    Count::One => Expr::Number(1),
                    Count::Param(at) => argument(at)?,
                    Count::Own(at) => Expr::Call("own".into(), vec![argument(at)?]),
                    _ => return None,
                };
                let bytes = count.times(self.bytes_of(datatype)?);
                Some(match self.factor(factor)? {
                    Expr::Number(1) => bytes,
                    factor => bytes.times(factor),
                })
            }
            Amount::Sum { counts, datatype, .. } => {
                let sum = Expr::Call("sum".into(), vec![argument(counts)?]);
                Some(sum.times(self.bytes_of(datatype)?))
            }
            Amount::SumOfProducts { counts, datatypes, .. } => {
                Some(Expr::Call("sum".into(), vec![argument(counts)?, argument(datatypes)?]))
            }
            _ => None,
        }
    }

    fn factor(&self, factor: Factor) -> Option<Expr> {
        Some(match factor {
            Factor::One => Expr::Number(1),
            Factor::Param(at) => self.arguments.get(at)?.clone(),
            Factor::Peers | Factor::Ranks => Expr::Size,
            Factor::Outdegree => Expr::Name("outdegree".into()),
            _ => return None,
        })
    }

    fn bytes_of(&self, at: usize) -> Option<Expr> {
        let written = self.list.get(at)?.words();
        Some(match bytes_of_datatype(&written) {
            Some(n_bytes) => Expr::Number(n_bytes),
            None => Expr::Call("sizeof".into(), vec![Expr::Name(written)]),
        })
    }
}

/// Returns the size of an element of a datatype on 64-bit systems, in bytes.
fn bytes_of_datatype(name: &str) -> Option<i64> {
    const NAMES: [(i64, &str); 5] = [
        (1, "CHAR SIGNED_CHAR UNSIGNED_CHAR BYTE PACKED C_BOOL CXX_BOOL INT8_T UINT8_T"),
        (2, "SHORT UNSIGNED_SHORT INT16_T UINT16_T"),
        (4, "INT UNSIGNED FLOAT INT32_T UINT32_T WCHAR"),
        (
            8,
            "LONG UNSIGNED_LONG LONG_LONG LONG_LONG_INT UNSIGNED_LONG_LONG DOUBLE INT64_T UINT64_T AINT OFFSET COUNT \
             FLOAT_INT 2INT",
        ),
        (16, "LONG_DOUBLE C_DOUBLE_COMPLEX"),
    ];
    let name = name.strip_prefix("MPI_")?;
    NAMES.iter().find(|row| row.1.split(' ').any(|known| known == name)).map(|row| row.0)
}
