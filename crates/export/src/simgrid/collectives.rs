//! Which collective calls of a world all its ranks make, and what each rank brings to them.
//!
//! The n-th collective call of each rank belongs to the n-th of all others. A replay that lacked one of
//! them would never end, so those that do not fit together are left to be computation.

use crate::error::ExportError;
use crate::lanes::{Trace, operation, row};
use models::{Action, Flow, Interpreter};
use mpi_abi::Class;
use run_record::Event;
use std::collections::HashMap;

/// The collective calls of all ranks of a world on the whole world.
pub(super) struct Collectives {
    calls: Vec<Call>,
    /// Bytes of each rank, of calls in which ranks bring different amounts.
    shares: HashMap<usize, Vec<u64>>,
}

/// The n-th call of all ranks.
struct Call {
    stem: &'static str,
    root: Option<u32>,
    n_ranks: u32,
    same: bool,
    /// The largest share of a rank; MPI wants them equal where a replay takes one number.
    bytes: u64,
}

impl Collectives {
    pub(super) fn of(trace: &Trace, world: u32, n_ranks: u32) -> Result<Self, ExportError> {
        let mut collectives = Self { calls: Vec::new(), shares: HashMap::new() };
        let mut ranks: Vec<(Interpreter, usize)> = Vec::new();
        ranks.resize_with(n_ranks as usize, Default::default);
        trace.each(|event| {
            if event.world != world || event.thread != 0 {
                return;
            }
            let Some((interpreter, nth)) = ranks.get_mut(event.rank as usize) else { return };
            interpreter.read(&row(event), |action| {
                if let Some(flow) = of_world(action) {
                    collectives.join(event, *nth, flow, n_ranks);
                    *nth += 1;
                }
            });
        })?;
        for call in &mut collectives.calls {
            call.same &= call.n_ranks == n_ranks;
        }
        Ok(collectives)
    }

    /// Whether all ranks make this call together.
    pub(super) fn is_whole(&self, nth: usize) -> bool {
        self.calls.get(nth).is_some_and(|call| call.same)
    }

    /// What a rank brings to the call, or takes from it, where that is the same for all.
    pub(super) fn bytes(&self, nth: usize) -> u64 {
        self.calls.get(nth).map_or(0, |call| call.bytes)
    }

    /// What each rank brings to the call, or takes from it; only of calls in which this differs.
    pub(super) fn shares(&self, nth: usize) -> &[u64] {
        self.shares.get(&nth).map_or(&[], Vec::as_slice)
    }

    fn join(&mut self, event: &Event, nth: usize, flow: Flow, n_ranks: u32) {
        let stem = action_name(event);
        let root = match flow {
            Flow::All => None,
            Flow::FromRoot(root) | Flow::ToRoot(root) => Some(root),
        };
        if self.calls.len() <= nth {
            self.calls.push(Call { stem, root, n_ranks: 0, same: true, bytes: 0 });
        }
        let call = &mut self.calls[nth];
        call.n_ranks += 1;
        call.same &=
            call.stem == stem && call.root == root && root.is_none_or(|root| root < n_ranks);
        let whole = stem == "alltoall" || stem == "reducescatter";
        let is_sum = whole || (stem == "scatter" && root == Some(event.rank));
        let n_parts = if is_sum { u64::from(n_ranks) } else { 1 };
        call.bytes = call.bytes.max(event.bytes.div_ceil(n_parts));
        if differs(stem) {
            let shares = self.shares.entry(nth).or_insert_with(|| vec![0; n_ranks as usize]);
            shares[event.rank as usize] = event.bytes;
        }
    }
}

/// The flow of a blocking collective of the whole world.
pub(super) fn of_world(action: Action) -> Option<Flow> {
    match action {
        Action::Collective { communicator: 0, flow, request: 0 } => Some(flow),
        _ => None,
    }
}

/// Whether the ranks bring different amounts, of which a replay wants the list.
fn differs(action: &str) -> bool {
    matches!(action, "gatherv" | "scatterv" | "allgatherv" | "alltoallv")
}

/// The action by which a collective call is replayed.
pub(super) fn action_name(event: &Event) -> &'static str {
    let Some(operation) = operation(event).filter(|o| o.class == Class::Collective) else {
        return "barrier";
    };
    match operation.stem.as_str() {
        "Bcast" => "bcast",
        "Reduce" => "reduce",
        "Allreduce" => "allreduce",
        "Gather" => "gather",
        "Gatherv" => "gatherv",
        "Scatter" => "scatter",
        "Scatterv" => "scatterv",
        "Allgather" => "allgather",
        "Allgatherv" => "allgatherv",
        "Alltoall" => "alltoall",
        "Alltoallv" | "Alltoallw" => "alltoallv",
        "Reduce_scatter" | "Reduce_scatter_block" => "reducescatter",
        "Scan" => "scan",
        "Exscan" => "exscan",
        _ => "barrier",
    }
}
