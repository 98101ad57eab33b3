//! The method of Nelder and Mead in the unit cube, one position at a time.
//!
//! Reflection 1, expansion 2, contraction 1/2, shrinking 1/2 (Nelder and Mead 1965). Positions outside are
//! moved to the border. A small simplex is restarted once around the best position, in the opposite
//! orientation, since noise and borders make it collapse early.
//!
//! # Invariants
//! - Terminates when the restarted simplex is small.

const SIZE_FIRST: f64 = 0.25;
const SIZE_MIN: f64 = 0.02;
const N_RESTARTS: u32 = 1;

type Position = Vec<f64>;

/// Nelder-Mead search; see the module documentation.
#[derive(Debug)]
pub(super) struct Simplex {
    /// Corners with their costs; sorted by cost once all are known.
    corners: Vec<(Position, f64)>,
    grain: Vec<f64>,
    phase: Phase,
    asked: Position,
    n_restarts: u32,
    direction: f64,
}

#[derive(Debug)]
enum Phase {
    /// Measuring corner `corners.len()` of a new simplex around the first one.
    Corner,
    Reflect,
    Expand {
        reflected: Position,
        cost: f64,
    },
    Contract {
        limit: f64,
    },
    /// Measuring this corner after moving it toward the best one.
    Shrink(usize),
    End,
}

impl Simplex {
    /// Starts a search at `start`; `grain` is the smallest effective change along each axis.
    pub(super) fn new(start: &[f64], grain: &[f64]) -> Self {
        Self {
            corners: Vec::new(),
            grain: grain.to_vec(),
            phase: Phase::Corner,
            asked: start.to_vec(),
            n_restarts: 0,
            direction: 1.0,
        }
    }

    /// Returns the next position; `None` at the end.
    pub(super) fn ask(&self) -> Option<Position> {
        (!matches!(self.phase, Phase::End)).then(|| self.asked.clone())
    }

    /// Reports the cost of the proposed position.
    pub(super) fn tell(&mut self, cost: f64) {
        let asked = self.asked.clone();
        match std::mem::replace(&mut self.phase, Phase::End) {
            Phase::Corner => {
                self.corners.push((asked, cost));
                self.next_corner();
            }
            Phase::Reflect => self.reflected(asked, cost),
            Phase::Expand { cost: reflected_cost, .. } if cost < reflected_cost => {
                self.replace_worst(asked, cost);
            }
            Phase::Expand { reflected, cost } => self.replace_worst(reflected, cost),
            Phase::Contract { limit } if cost < limit => self.replace_worst(asked, cost),
            Phase::Contract { .. } => self.shrink(1),
            Phase::Shrink(corner) => {
                self.corners[corner] = (asked, cost);
                self.shrink(corner + 1);
            }
            Phase::End => {}
        }
    }

    fn n_dimensions(&self) -> usize {
        self.grain.len()
    }

    fn next_corner(&mut self) {
        let Some(axis) = self.corners.len().checked_sub(1).filter(|at| *at < self.n_dimensions())
        else {
            return self.go_on();
        };
        let mut position = self.corners[0].0.clone();
        let step = self.direction * SIZE_FIRST.max(self.grain[axis]);
        // Step away from a nearby border.
        let is_inside = (0.0..=1.0).contains(&(position[axis] + step));
        position[axis] = (position[axis] + if is_inside { step } else { -step }).clamp(0.0, 1.0);
        self.ask_for(position, Phase::Corner);
    }

    fn ask_for(&mut self, position: Position, phase: Phase) {
        self.asked = position;
        self.phase = phase;
    }

    /// Returns `centroid + factor * (centroid - worst)`; the centroid excludes the worst corner.
    fn beyond_centroid(&self, factor: f64) -> Position {
        let n = self.n_dimensions();
        let centroid = |axis: usize| {
            self.corners[..n].iter().map(|(position, _)| position[axis]).sum::<f64>() / n as f64
        };
        let worst = &self.corners[n].0;
        (0..n)
            .map(|axis| {
                let center = centroid(axis);
                (center + factor * (center - worst[axis])).clamp(0.0, 1.0)
            })
            .collect()
    }

    fn reflected(&mut self, position: Position, cost: f64) {
        let n = self.n_dimensions();
        let (best, second_worst, worst) =
            (self.corners[0].1, self.corners[n - 1].1, self.corners[n].1);
        if cost < best {
            let further = self.beyond_centroid(2.0);
            self.ask_for(further, Phase::Expand { reflected: position, cost });
        } else if cost < second_worst {
            self.replace_worst(position, cost);
        } else {
            let factor = if cost < worst { 0.5 } else { -0.5 };
            let nearer = self.beyond_centroid(factor);
            self.ask_for(nearer, Phase::Contract { limit: cost.min(worst) });
        }
    }

    fn replace_worst(&mut self, position: Position, cost: f64) {
        let n = self.n_dimensions();
        self.corners[n] = (position, cost);
        self.go_on();
    }

    fn shrink(&mut self, corner: usize) {
        let Some((position, _)) = self.corners.get(corner) else { return self.go_on() };
        let best = &self.corners[0].0;
        let nearer =
            position.iter().zip(best).map(|(at, best)| f64::midpoint(*at, *best)).collect();
        self.ask_for(nearer, Phase::Shrink(corner));
    }

    fn go_on(&mut self) {
        self.corners.sort_by(|a, b| a.1.total_cmp(&b.1));
        if !self.is_small() {
            let position = self.beyond_centroid(1.0);
            self.ask_for(position, Phase::Reflect);
        } else if self.n_restarts < N_RESTARTS {
            self.n_restarts += 1;
            self.direction = -self.direction;
            self.corners.truncate(1);
            self.next_corner();
        }
    }

    fn is_small(&self) -> bool {
        let best = &self.corners[0].0;
        self.corners.iter().all(|(position, _)| {
            let mut axes = position.iter().zip(best).zip(&self.grain);
            axes.all(|((at, best), grain)| (at - best).abs() <= SIZE_MIN.max(0.6 * grain))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(start: &[f64], lowest: &[f64], n_max: u32) {
        let cost = |position: &Position| -> f64 {
            let apart = position.iter().zip(lowest).enumerate();
            apart.map(|(axis, (at, low))| (axis + 1) as f64 * (at - low).powi(2)).sum()
        };
        let mut simplex = Simplex::new(start, &vec![0.0; start.len()]);
        let mut n_asked = 0;
        while let Some(position) = simplex.ask() {
            assert!(position.iter().all(|at| (0.0..=1.0).contains(at)));
            simplex.tell(cost(&position));
            n_asked += 1;
            assert!(n_asked <= n_max, "it does not end");
        }
        let best = &simplex.corners[0].0;
        assert!(cost(best) < 1e-3, "{best:?} after {n_asked}");
    }

    #[test]
    fn it_ends_at_the_lowest_place() {
        check(&[0.5, 0.5], &[0.3, 0.8], 100);
        check(&[0.0, 0.0], &[1.0, 1.0], 100);
        check(&[1.0, 1.0], &[0.0, 0.4], 100);
        check(&[0.1, 0.9, 0.5], &[0.6, 0.2, 0.4], 200);
    }
}
