//! Generates a function over the values of an operation's parameters from its accounting.
//!
//! Numbers are passed as `i64`, handles as `Handle`, pointers as `usize`, whatever the language.

use mpi_abi::{
    Amount, Case, Class, Condition, Count, Factor, Flow, Mode, Movement, Operation, ParameterKind,
};
use std::collections::BTreeSet;

/// Positions of the parameters that accounting uses, in order.
pub(crate) fn used_params(operation: &Operation) -> Vec<usize> {
    let mut used = BTreeSet::new();
    used.extend(operation.scope());
    used.extend(operation.root());
    used.extend(operation.completes);
    used.extend(operation.position(ParameterKind::Request));
    used.extend(tag(operation));
    used.extend(made_communicator(operation));
    for name in COMPLETION_PARAMS {
        used.extend(operation.completes.and(operation.named(name)));
    }
    used.extend(operation.completes.and(statuses(operation).map(|(param, _)| param)));
    for movement in &operation.movements {
        used.extend(movement.peer);
        for case in &movement.cases {
            used.extend(condition_param(case.condition));
            used.extend(amount_params(case.amount).into_iter().flatten());
        }
    }
    used.into_iter().collect()
}

const COMPLETION_PARAMS: [&str; 6] =
    ["count", "incount", "flag", "indx", "outcount", "array_of_indices"];

/// Operations that take a request which exists already.
const USERS_OF_REQUESTS: [&str; 3] = ["Start", "Cancel", "Request_free"];

/// Communicator that the operation has made once it returns.
fn made_communicator(operation: &Operation) -> Option<usize> {
    let frees = matches!(operation.stem.as_str(), "Comm_free" | "Comm_disconnect");
    let made = operation.position(ParameterKind::NewComm);
    made.filter(|_| operation.mode == Mode::Blocking && !frees)
}

/// Status of an operation or its array of statuses, and whether it is an array.
pub(crate) fn statuses(operation: &Operation) -> Option<(usize, bool)> {
    let one = operation.position(ParameterKind::Status).map(|param| (param, false));
    one.or_else(|| operation.position(ParameterKind::Statuses).map(|param| (param, true)))
}

/// Returns whether a request of the operation receives one message, and nothing else: MPICH fills no status of
/// `MPI_Isendrecv`.
fn is_receive(operation: &Operation) -> bool {
    operation.class == Class::PointToPoint
        && matches!(operation.mode, Mode::Nonblocking | Mode::Persistent)
        && matches!(&*operation.movements, [Movement { flow: Flow::Receive, .. }])
}

fn tag(operation: &Operation) -> Option<usize> {
    operation.named("tag").or_else(|| operation.named("sendtag"))
}

fn condition_param(condition: Condition) -> Option<usize> {
    match condition {
        Condition::InPlace(param) | Condition::Root(param) | Condition::RemoteRoot(param) => {
            Some(param)
        }
        _ => None,
    }
}

fn amount_params(amount: Amount) -> [Option<usize>; 3] {
    let param = |factor| match factor {
        Factor::Param(param) => Some(param),
        _ => None,
    };
    match amount {
        Amount::Status(status) => [Some(status), None, None],
        Amount::Elements { count, datatype, factor } => {
            let count = match count {
                Count::Param(param) | Count::Own(param) => Some(param),
                _ => None,
            };
            [Some(datatype), count, param(factor)]
        }
        Amount::Sum { counts, datatype, n } => [Some(counts), Some(datatype), param(n)],
        Amount::SumOfProducts { counts, datatypes, n } => [Some(counts), Some(datatypes), param(n)],
        _ => [None; 3],
    }
}

/// Rust type in which accounting takes a parameter.
pub(crate) fn value_type(kind: ParameterKind) -> &'static str {
    use mpi_abi::CType;
    match kind.c_type() {
        CType::Int | CType::Count | CType::Aint | CType::Offset => "i64",
        CType::Handle => "Handle",
        _ => "usize",
    }
}

/// Name of a parameter in generated code.
pub(crate) fn variable(operation: &Operation, param: usize) -> String {
    format!("p_{}", operation.params[param].name)
}

pub(crate) fn write(code: &mut String, number: usize, operation: &Operation) {
    let params: String = used_params(operation)
        .into_iter()
        .map(|param| {
            let kind = operation.params[param].kind;
            format!(", {}: {}", variable(operation, param), value_type(kind))
        })
        .collect();
    let body = Body { number, operation };
    code.push_str(&format!(
        "/// Accounts for one `{name}`.\n\
         #[inline(always)]\n\
         #[allow(unused_variables, clippy::too_many_arguments, reason = \"generated\")]\n\
         fn account_{number}(call: &mut MonitoredCall{params}) {{\n{scope}{tag}{root}{movements}{requests}{made}}}\n",
        name = operation.name,
        scope = body.scope(),
        tag = body.tag(),
        root = body.root(),
        movements = body.movements(),
        requests = body.requests(),
        made = body.made(),
    ));
}

struct Body<'a> {
    number: usize,
    operation: &'a Operation,
}

impl Body<'_> {
    fn variable(&self, param: usize) -> String {
        variable(self.operation, param)
    }

    fn scope(&self) -> String {
        let Some(scope) = self.operation.scope() else { return String::new() };
        let function = match self.operation.params[scope].kind {
            ParameterKind::Comm => "in_communicator",
            ParameterKind::Win => "in_window",
            _ => return String::new(),
        };
        format!("    call.arguments.{function}({});\n", self.variable(scope))
    }

    fn tag(&self) -> String {
        let Some(tag) = tag(self.operation) else { return String::new() };
        format!("    call.tagged({});\n", self.variable(tag))
    }

    fn root(&self) -> String {
        let Some(root) = self.operation.root() else { return String::new() };
        format!("    call.rooted({});\n", self.variable(root))
    }

    fn movements(&self) -> String {
        let movements: String =
            self.operation.movements.iter().map(|movement| self.movement(movement)).collect();
        match self.operation.root() {
            // A rank outside the exchange may pass anything but the root and the communicator.
            Some(root) if !movements.is_empty() => format!(
                "    if !call.arguments.is_bystander({}) {{\n{movements}    }}\n",
                self.variable(root)
            ),
            _ => movements,
        }
    }

    fn movement(&self, movement: &Movement) -> String {
        if let [Case { amount: Amount::Status(status), .. }] = movement.cases.as_slice() {
            return format!("    call.receive_status({});\n", self.variable(*status));
        }
        let bytes = self.cases(&movement.cases);
        let peer = movement.peer.map(|peer| self.variable(peer));
        let statement = match (movement.flow, peer) {
            (Flow::Send | Flow::Put | Flow::Accumulate, Some(peer)) => {
                format!("call.send(bytes, {peer})")
            }
            (Flow::Receive | Flow::Get, Some(peer)) => format!("call.receive(bytes, {peer})"),
            _ => "call.moved(bytes)".to_owned(),
        };
        format!("    let bytes = {bytes};\n    {statement};\n")
    }

    fn cases(&self, cases: &[Case]) -> String {
        let mut code = String::new();
        for case in cases {
            let amount = self.amount(case.amount);
            match self.condition(case.condition) {
                Some(condition) => code.push_str(&format!("if {condition} {{ {amount} }} else ")),
                None => code.push_str(&format!("{{ {amount} }}")),
            }
        }
        code
    }

    fn condition(&self, condition: Condition) -> Option<String> {
        let (function, param) = match condition {
            Condition::InPlace(buffer) => ("is_in_place", buffer),
            Condition::Root(root) => ("is_root", root),
            Condition::RemoteRoot(root) => ("is_remote_root", root),
            _ => return None,
        };
        Some(format!("call.arguments.{function}({})", self.variable(param)))
    }

    fn factor(&self, factor: Factor) -> String {
        match factor {
            Factor::Param(param) => format!("{} as u64", self.variable(param)),
            Factor::Peers => "call.arguments.n_peers()".to_owned(),
            Factor::Ranks => "call.arguments.n_ranks()".to_owned(),
            Factor::Outdegree => "call.arguments.outdegree()".to_owned(),
            _ => "1".to_owned(),
        }
    }

    fn amount(&self, amount: Amount) -> String {
        match amount {
            Amount::Elements { count, datatype, factor } => {
                let count = match count {
                    Count::Param(param) => self.variable(param),
                    Count::Own(counts) => {
                        format!("call.arguments.own_count({})", self.counts(counts))
                    }
                    _ => "1".to_owned(),
                };
                let elements = format!(
                    "let n = {count}; call.arguments.elements(n, {})",
                    self.variable(datatype)
                );
                match self.factor(factor).as_str() {
                    "1" => elements,
                    factor => format!("let factor = {factor}; factor * {{ {elements} }}"),
                }
            }
            Amount::Sum { counts, datatype, n } => format!(
                "let n = {}; call.arguments.sum({}, {}, n)",
                self.factor(n),
                self.counts(counts),
                self.variable(datatype)
            ),
            Amount::SumOfProducts { counts, datatypes, n } => format!(
                "let n = {}; call.arguments.sum_of_products({}, {}, n)",
                self.factor(n),
                self.counts(counts),
                self.variable(datatypes)
            ),
            _ => "0".to_owned(),
        }
    }

    fn counts(&self, counts: usize) -> String {
        let width = match self.operation.params[counts].kind {
            ParameterKind::LargeCounts => "Large",
            _ => "Small",
        };
        format!("CountArray::{width}({})", self.variable(counts))
    }

    fn requests(&self) -> String {
        if self.operation.completes.is_some() {
            return self.completion();
        }
        match self.operation.position(ParameterKind::Request) {
            Some(request) if USERS_OF_REQUESTS.contains(&self.operation.stem.as_str()) => {
                format!("    call.used_request({});\n", self.variable(request))
            }
            Some(request) if is_receive(self.operation) => format!(
                "    call.made_receive({}, {}, bytes, {});\n",
                self.number,
                self.variable(request),
                self.operation.mode == Mode::Persistent
            ),
            Some(request) => {
                format!("    call.made_request({}, {});\n", self.number, self.variable(request))
            }
            None => String::new(),
        }
    }

    fn made(&self) -> String {
        let made = made_communicator(self.operation);
        let made =
            made.map(|made| format!("    call.made_communicator({});\n", self.variable(made)));
        made.unwrap_or_default()
    }

    fn completion(&self) -> String {
        let named = |name| self.operation.named(name).map(|param| self.variable(param));
        let done =
            match (named("indx"), named("outcount"), named("array_of_indices"), named("flag")) {
                (Some(indx), _, _, flag) => {
                    format!("Done::One({indx}, {})", flag.unwrap_or_else(|| "0".into()))
                }
                (_, Some(outcount), Some(indices), _) => {
                    format!("Done::Some({outcount}, {indices})")
                }
                (_, _, _, Some(flag)) => format!("Done::AllIf({flag})"),
                _ => "Done::All".to_owned(),
            };
        let received = statuses(self.operation).map(|(param, are_several)| {
            format!("    call.received({done}, {}, {are_several});\n", self.variable(param))
        });
        format!("{}    call.completed({done});\n", received.unwrap_or_default())
    }
}
