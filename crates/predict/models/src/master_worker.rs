//! Time of an iteration of a master with `n` workers, and the number of workers that makes it best.
//!
//! The workers are identical and share the computing evenly. With `tl` the latency of a message, `l` the
//! cost of a byte, `V` all bytes of an iteration, of which the share `p` goes to the workers, `Vi` the
//! bytes sent to every worker when all get the same, `Vm` all bytes returned, and `Tc` the
//! computing time of all workers together, one iteration takes (equations in parentheses as in "Entorno de
//! desarrollo y sintonización de aplicaciones master worker", Workshop de Procesamiento Distribuido y Paralelo):
//!
//! | data, sends | time | best `n` |
//! |---|---|---|
//! | split, asynchronous, `tl <= l*p*V/n` | (1) `2*tl + (((n-1)*p + 1)*l*V + Tc)/n` | as many as the condition allows |
//! | split, asynchronous, otherwise | (2) `(n+1)*tl + (l*V + Tc)/n` | (4) `sqrt((l*V + Tc)/tl)` |
//! | split, synchronous | `n*tl + l*p*V + Tc/n + tl + l*(1-p)*V/n` | (3) `sqrt((l*(1-p)*V + Tc)/tl)` |
//! | the same to all, asynchronous, `tl <= l*Vi` | (5) `2*tl + n*l*Vi + (Tc + l*Vm)/n` | (8) `sqrt((l*Vm + Tc)/(l*Vi))` |
//! | the same to all, asynchronous, otherwise | (6) `(n+1)*tl + l*Vi + (Tc + l*Vm)/n` | (7) `sqrt((l*Vm + Tc)/tl)` |
//! | the same to all, synchronous | `n*(tl + l*Vi) + tl + (Tc + l*Vm)/n` | `sqrt((l*Vm + Tc)/(tl + l*Vi))` |
//!
//! (1) falls with `n` and meets (2) where `tl = l*p*V/n`; the last row is not in the source but follows
//! in the same way. The performance index `Pi(n) = n*Tt(n)^2 / Tc` weighs time against efficiency.
//!
//! # Invariants
//! - Times are in seconds and finite wherever the numbers given are finite and `n > 0`.
//! - The number that [`IterationModel::optimum`] returns is a zero of the derivative, or the point where (1) meets (2).
//!
//! # Not here
//! Measuring latency and cost per byte (`tunlets`); dealing tasks (`chunking`).

pub mod transfer;

/// Send mode: whether the master waits for each send to end before the next one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sends {
    /// The master waits.
    #[default]
    Synchronous,
    /// The master does not wait.
    Asynchronous,
}

/// Distribution of the master's data.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Data {
    /// Each worker gets its part.
    Split {
        /// Bytes sent and returned in an iteration, for all workers together.
        total_bytes: f64,
        /// Share of these bytes that goes to the workers, from 0 to 1.
        share_sent: f64,
    },
    /// Each worker gets all data, as for bodies that attract each other.
    Same {
        /// Bytes sent to each worker.
        each_bytes: f64,
        /// Bytes returned by all workers together.
        returned_bytes: f64,
    },
}

/// Quantity to minimize.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Objective {
    /// Time of an iteration.
    #[default]
    Time,
    /// Performance index, which weighs time against efficiency.
    Index,
}

/// Model of one iteration of a master and its workers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct IterationModel {
    /// Latency of a message, in seconds.
    pub latency_s: f64,
    /// Cost of a byte, in seconds.
    pub byte_s: f64,
    /// Computing time of all workers together, in seconds.
    pub compute_s: f64,
    /// Distribution of the data.
    pub data: Data,
    /// Send mode.
    pub sends: Sends,
}

impl IterationModel {
    /// Returns the time of the iteration with this number of workers, in seconds.
    pub fn time_s(&self, n_workers: f64) -> f64 {
        match self.data {
            Data::Split { total_bytes, share_sent } => {
                self.split_s(n_workers, self.byte_s * total_bytes, share_sent)
            }
            Data::Same { each_bytes, returned_bytes } => {
                let work_s = self.compute_s + self.byte_s * returned_bytes;
                self.same_s(n_workers, self.byte_s * each_bytes, work_s)
            }
        }
    }

    fn split_s(&self, n_workers: f64, transfer_s: f64, share_sent: f64) -> f64 {
        let sent_s = share_sent * transfer_s;
        match self.sends {
            Sends::Synchronous => {
                let returned_s = transfer_s - sent_s;
                (n_workers + 1.0) * self.latency_s
                    + sent_s
                    + (self.compute_s + returned_s) / n_workers
            }
            Sends::Asynchronous if self.latency_s <= sent_s / n_workers => {
                let all_s = (n_workers - 1.0) * sent_s + transfer_s;
                2.0 * self.latency_s + (all_s + self.compute_s) / n_workers
            }
            Sends::Asynchronous => {
                (n_workers + 1.0) * self.latency_s + (transfer_s + self.compute_s) / n_workers
            }
        }
    }

    fn same_s(&self, n_workers: f64, each_s: f64, work_s: f64) -> f64 {
        let sends_s = match self.sends {
            Sends::Synchronous => n_workers * (self.latency_s + each_s) + self.latency_s,
            Sends::Asynchronous if self.latency_s <= each_s => {
                2.0 * self.latency_s + n_workers * each_s
            }
            Sends::Asynchronous => (n_workers + 1.0) * self.latency_s + each_s,
        };
        sends_s + work_s / n_workers
    }

    /// Returns the performance index with this number of workers, in seconds; infinite when there is no computing.
    pub fn index_s(&self, n_workers: f64) -> f64 {
        let time_s = self.time_s(n_workers);
        n_workers * time_s * time_s / self.compute_s
    }

    /// Returns the value of `objective` with this number of workers, in seconds.
    pub fn cost_s(&self, objective: Objective, n_workers: f64) -> f64 {
        match objective {
            Objective::Time => self.time_s(n_workers),
            Objective::Index => self.index_s(n_workers),
        }
    }

    /// Returns the number of workers with the shortest iteration, as a real number; infinite where
    /// every further worker helps.
    pub fn optimum(&self) -> f64 {
        self.optimum_and_equation().0
    }

    /// Returns the source's number of the equation from which [`Self::optimum`] comes.
    pub fn equation(&self) -> &'static str {
        self.optimum_and_equation().1
    }

    fn optimum_and_equation(&self) -> (f64, &'static str) {
        match (self.data, self.sends) {
            (Data::Split { total_bytes, share_sent }, Sends::Synchronous) => {
                let returned_s = self.byte_s * (1.0 - share_sent) * total_bytes;
                (((returned_s + self.compute_s) / self.latency_s).sqrt(), "eq. 3")
            }
            (Data::Split { total_bytes, share_sent }, Sends::Asynchronous) => {
                let transfer_s = self.byte_s * total_bytes;
                let meeting = share_sent * transfer_s / self.latency_s;
                let lowest = ((transfer_s + self.compute_s) / self.latency_s).sqrt();
                if meeting < lowest { (lowest, "eq. 4") } else { (meeting, "eq. 1") }
            }
            (Data::Same { each_bytes, returned_bytes }, sends) => {
                let each_s = self.byte_s * each_bytes;
                let work_s = self.byte_s * returned_bytes + self.compute_s;
                let (per_worker_s, name) = match sends {
                    Sends::Synchronous => (self.latency_s + each_s, "synchronous"),
                    Sends::Asynchronous if self.latency_s <= each_s => (each_s, "eq. 8"),
                    Sends::Asynchronous => (self.latency_s, "eq. 7"),
                };
                ((work_s / per_worker_s).sqrt(), name)
            }
        }
    }

    /// Returns the number of workers from 1 to `n_workers_max` with the smallest cost; the smaller one of two
    /// that are equally good.
    pub fn best(&self, objective: Objective, n_workers_max: u32) -> u32 {
        let cost_s = |n: u32| self.cost_s(objective, f64::from(n));
        let better = |best: u32, n: u32| if cost_s(n) < cost_s(best) { n } else { best };
        (2..=n_workers_max).fold(1, better)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SPLIT: Data = Data::Split { total_bytes: 1e6, share_sent: 0.5 };
    const SAME: Data = Data::Same { each_bytes: 1e4, returned_bytes: 2e4 };

    fn iteration(data: Data, sends: Sends, latency_s: f64) -> IterationModel {
        IterationModel { latency_s, byte_s: 1e-8, compute_s: 1.0, data, sends }
    }

    #[track_caller]
    fn check(tested: IterationModel, n_workers: f64, expected_s: f64, equation: &str) {
        assert!((tested.time_s(n_workers) - expected_s).abs() < 1e-12, "{tested:?}");
        assert_eq!(tested.equation(), equation);
    }

    #[test]
    fn the_time_is_the_one_of_the_equation_that_holds() {
        use Sends::{Asynchronous, Synchronous};
        let split_s = 1e6 * 1e-8;
        let sync = 5.0 * 1e-3 + 0.5 * split_s + (1.0 + 0.5 * split_s) / 4.0;
        check(iteration(SPLIT, Synchronous, 1e-3), 4.0, sync, "eq. 3");
        let first = 2e-3 + ((3.0 * 0.5 + 1.0) * split_s + 1.0) / 4.0;
        check(iteration(SPLIT, Asynchronous, 1e-3), 4.0, first, "eq. 4");
        let second = 5.0 * 2e-3 + (split_s + 1.0) / 4.0;
        check(iteration(SPLIT, Asynchronous, 2e-3), 4.0, second, "eq. 4");
        let fifth = 2e-5 + 4.0 * 1e-4 + (1.0 + 2e-4) / 4.0;
        check(iteration(SAME, Asynchronous, 1e-5), 4.0, fifth, "eq. 8");
        let sixth = 5.0 * 1e-3 + 1e-4 + (1.0 + 2e-4) / 4.0;
        check(iteration(SAME, Asynchronous, 1e-3), 4.0, sixth, "eq. 7");
    }

    #[test]
    fn the_index_asks_for_fewer_workers_than_the_time() {
        let tested = iteration(SPLIT, Sends::Asynchronous, 1e-3);
        assert_eq!(tested.best(Objective::Time, 100), 32);
        assert_eq!(tested.best(Objective::Index, 100), 18);
        assert_eq!(tested.best(Objective::Time, 7), 7);
    }

    fn any_iteration() -> impl Strategy<Value = IterationModel> {
        let split = (1.0..1e9, 0.0..=1.0)
            .prop_map(|(total_bytes, share_sent)| Data::Split { total_bytes, share_sent });
        let same = (1.0..1e7, 1.0..1e9)
            .prop_map(|(each_bytes, returned_bytes)| Data::Same { each_bytes, returned_bytes });
        let sends = prop_oneof![Just(Sends::Synchronous), Just(Sends::Asynchronous)];
        (1e-6..1e-2, 1e-11..1e-7, 1e-3..1e4, prop_oneof![split, same], sends).prop_map(
            |(latency_s, byte_s, compute_s, data, sends)| IterationModel {
                latency_s,
                byte_s,
                compute_s,
                data,
                sends,
            },
        )
    }

    proptest! {
        #[test]
        fn no_neighbor_of_the_optimum_is_faster(tested in any_iteration()) {
            let best = tested.optimum();
            for near in [0.9, 0.99, 1.01, 1.1] {
                let slower_s = tested.time_s(best * near) - tested.time_s(best);
                prop_assert!(-1e-9 * tested.time_s(best) <= slower_s);
            }
        }

        #[test]
        fn the_derivative_is_zero_at_the_optimum(tested in any_iteration()) {
            prop_assume!(tested.equation() != "eq. 1");
            let (best, step) = (tested.optimum(), 1e-4 * tested.optimum());
            let [before, at, after] =
                [best - step, best, best + step].map(|n| tested.time_s(n));
            // A zero of the derivative: over a small step, both sides differ by the square of the step only.
            prop_assert!(((after - before) / at).abs() < 1e-6);
        }

        #[test]
        fn the_best_whole_number_is_beside_the_optimum(tested in any_iteration()) {
            prop_assume!(tested.optimum() < 500.0);
            let best = f64::from(tested.best(Objective::Time, 1000));
            prop_assert!((best - tested.optimum().max(1.0)).abs() <= 1.0);
        }
    }
}
