//! MPI operations at their call sites: data, peers and mode.
//!
//! The operation table of crate `mpi-abi` describes the parameters.

use super::expression::as_written;
use super::program::{RANKS, SIZES};
use super::scope::Value;
use super::syntax_node::SyntaxNode;
use super::walker::Walker;
use crate::expr::{Expr, Operator};
use crate::shape::{Kind, Mpi, SendMode, Side, Transfer};
use mpi_abi::{Amount, Class, Condition, Count, Factor, Flow, Kind as Parameter, Mode, Operation};

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
        if self.tells_rank(name, list) {
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
        let arguments: Vec<Expr> = list.iter().map(|it| self.value_of_argument(*it)).collect();
        if !SILENT.contains(&plain) {
            let call = MpiCall { walker: self, operation, arguments: &arguments, list };
            let mpi = call.step();
            let location = self.location(piece);
            self.push(Kind::Mpi(mpi), location);
        }
        self.written(operation, list);
        as_written(piece)
    }

    fn value_of_argument(&mut self, piece: SyntaxNode<'t>) -> Expr {
        if piece.text().starts_with('&') || piece.kind() == "initializer_list" {
            return as_written(piece);
        }
        self.expression(piece)
    }

    /// Forgets variables that the call writes.
    fn written(&mut self, operation: &Operation, list: &[SyntaxNode<'t>]) {
        let is_same = operation.class == Class::Collective;
        for (parameter, argument) in operation.params.iter().zip(list) {
            if !argument.text().starts_with('&') {
                continue;
            }
            let Some(to) = super::scope::key(*argument) else { continue };
            let is_sent = matches!(parameter.name.as_str(), "sendbuf" | "origin_addr")
                || parameter.name == "buf"
                    && operation.movements.iter().all(|it| it.flow == Flow::Send);
            if parameter.kind == Parameter::NewComm {
                self.note_communicator(operation, &to);
            } else if !is_sent && !matches!(self.value_of(&to), Some(Value::Expr(Expr::Rank))) {
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
    walker: &'a mut Walker<'p, 't>,
    operation: &'static Operation,
    arguments: &'a [Expr],
    list: &'a [SyntaxNode<'t>],
}

impl MpiCall<'_, '_, '_> {
    fn step(mut self) -> Mpi {
        let operation = self.operation;
        let root = operation.root().and_then(|at| self.arguments.get(at)).cloned();
        let transfers: Vec<Transfer> =
            operation.movements.iter().map(|movement| self.transfer(movement)).collect();
        let side = self.side(&transfers, root.as_ref());
        let tag = ["tag", "sendtag", "recvtag"].iter().find_map(|name| operation.named(name));
        let request = operation
            .position(Parameter::Request)
            .or_else(|| operation.position(Parameter::Requests))
            .or_else(|| operation.position(Parameter::RequestValue));
        let written = |at: Option<usize>| at.and_then(|at| self.list.get(at)).map(|it| it.words());
        Mpi {
            operation: operation.name.clone(),
            class: class_name(operation.class),
            mode: mode_name(operation.mode),
            send_mode: SendMode::of(operation),
            side,
            root,
            tag: tag.and_then(|at| self.arguments.get(at)).cloned(),
            scope: written(operation.scope()).unwrap_or_default(),
            request: written(request),
            transfers,
        }
    }

    fn side(&mut self, transfers: &[Transfer], root: Option<&Expr>) -> Side {
        let has = |side: Side| transfers.iter().any(|transfer| transfer.side == side);
        match (has(Side::Sends), has(Side::Receives)) {
            (true, true) => return Side::Both,
            (true, false) => return Side::Sends,
            (false, true) => return Side::Receives,
            (false, false) => {}
        }
        let is_collective = matches!(self.operation.class, Class::Collective | Class::Neighborhood);
        if !is_collective || self.operation.movements.is_empty() {
            return Side::Neither;
        }
        let Some(root) = root else { return Side::Both };
        let is_root = Expr::Rank.join(Operator::Equal, root.clone());
        let is_root = match &is_root {
            Expr::Number(known) => Some(*known != 0),
            condition => self.walker.holds_quietly(condition),
        };
        let stem = self.operation.stem.to_ascii_lowercase();
        let from_root = stem.contains("bcast") || stem.contains("scatter");
        match is_root {
            None => Side::Both,
            Some(is_root) if is_root == from_root => Side::Sends,
            Some(_) => Side::Receives,
        }
    }

    fn transfer(&mut self, movement: &mpi_abi::Movement) -> Transfer {
        let side = match movement.flow {
            Flow::Send | Flow::Put | Flow::Accumulate | Flow::Write => Side::Sends,
            Flow::Receive | Flow::Get | Flow::Read => Side::Receives,
            _ => Side::Both,
        };
        let peer = movement.peer.or_else(|| {
            let source = self.operation.named("source")?;
            (side == Side::Receives).then_some(source)
        });
        let peer = peer.and_then(|at| self.arguments.get(at)).cloned();
        let bytes = movement.cases.iter().find(|case| self.applies(case.condition));
        let bytes = bytes.and_then(|case| self.bytes(case.amount));
        Transfer { side, peer, bytes }
    }

    fn applies(&mut self, condition: Condition) -> bool {
        let text = |at: usize| self.list.get(at).map(|it| it.words()).unwrap_or_default();
        match condition {
            Condition::Always => true,
            Condition::InPlace(at) => text(at) == "MPI_IN_PLACE",
            Condition::RemoteRoot(at) => text(at) == "MPI_ROOT",
            Condition::Root(at) => {
                let Some(root) = self.arguments.get(at).cloned() else { return false };
                self.walker.holds_quietly(&Expr::Rank.join(Operator::Equal, root)) == Some(true)
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

/// Returns the name of a family in the operation table.
fn class_name(class: Class) -> &'static str {
    Class::NAMES.iter().find(|row| row.1 == class).map_or("", |row| row.0)
}

/// Returns the name of a mode in the operation table.
fn mode_name(mode: Mode) -> &'static str {
    Mode::NAMES.iter().find(|row| row.1 == mode).map_or("", |row| row.0)
}

/// Returns the size of an element of a datatype on 64-bit systems, in bytes.
fn bytes_of_datatype(name: &str) -> Option<i64> {
    const TYPES: [(&str, i64); 34] = [
        ("MPI_CHAR", 1),
        ("MPI_SIGNED_CHAR", 1),
        ("MPI_UNSIGNED_CHAR", 1),
        ("MPI_BYTE", 1),
        ("MPI_PACKED", 1),
        ("MPI_C_BOOL", 1),
        ("MPI_CXX_BOOL", 1),
        ("MPI_INT8_T", 1),
        ("MPI_UINT8_T", 1),
        ("MPI_SHORT", 2),
        ("MPI_UNSIGNED_SHORT", 2),
        ("MPI_INT16_T", 2),
        ("MPI_UINT16_T", 2),
        ("MPI_INT", 4),
        ("MPI_UNSIGNED", 4),
        ("MPI_FLOAT", 4),
        ("MPI_INT32_T", 4),
        ("MPI_UINT32_T", 4),
        ("MPI_WCHAR", 4),
        ("MPI_LONG", 8),
        ("MPI_UNSIGNED_LONG", 8),
        ("MPI_LONG_LONG", 8),
        ("MPI_LONG_LONG_INT", 8),
        ("MPI_UNSIGNED_LONG_LONG", 8),
        ("MPI_DOUBLE", 8),
        ("MPI_INT64_T", 8),
        ("MPI_UINT64_T", 8),
        ("MPI_AINT", 8),
        ("MPI_OFFSET", 8),
        ("MPI_COUNT", 8),
        ("MPI_FLOAT_INT", 8),
        ("MPI_2INT", 8),
        ("MPI_LONG_DOUBLE", 16),
        ("MPI_C_DOUBLE_COMPLEX", 16),
    ];
    TYPES.iter().find(|row| row.0 == name).map(|row| row.1)
}
