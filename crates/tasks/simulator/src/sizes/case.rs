//! A malleable program in simulated time, and how it is drawn.

use random::Random;

/// Shape of the time of an iteration by the number of ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// A serial part and a parallel one (Amdahl 1967).
    Amdahl,
    /// The same and a cost for each rank: a best size in between.
    Bowl,
    /// Rows that are whole: steps.
    Steps,
    /// Collective calls that cost a logarithm.
    Logarithm,
    /// As many ranks as cores are fast, and each further one slows all.
    Cliff,
    /// Powers of two fit, and others take half as long again.
    Powers,
    /// Data that fit into caches: faster than the number of ranks.
    Caches,
    /// Each rank makes it slower.
    Rising,
    /// All sizes are alike.
    Flat,
}

impl Shape {
    /// All shapes.
    pub const ALL: [Self; 9] = [
        Self::Amdahl,
        Self::Bowl,
        Self::Steps,
        Self::Logarithm,
        Self::Cliff,
        Self::Powers,
        Self::Caches,
        Self::Rising,
        Self::Flat,
    ];

    fn at(self, size: u32, (max, serial, each, place): (f64, f64, f64, f64)) -> f64 {
        let p = f64::from(size);
        match self {
            Self::Amdahl => serial + (1.0 - serial) / p,
            Self::Bowl => serial / 2.0 + (1.0 - serial) / p + each * p,
            Self::Steps => {
                let rows = (max * (0.5 + 2.0 * place)).ceil();
                (rows / p).ceil() / rows
            }
            Self::Logarithm => 1.0 / p + each * p.log2(),
            Self::Cliff => {
                let cores = 1.0 + (max * place).floor();
                (1.0 + 0.1 * (p - cores).max(0.0)) / p.min(cores)
            }
            Self::Powers => (serial + 1.0 / p) * if size.is_power_of_two() { 1.0 } else { 1.5 },
            Self::Caches => (1.0 + 2.0 / (1.0 + p)) / p + each,
            Self::Rising => serial + 0.5 + each * p,
            Self::Flat => 1.0,
        }
    }
}

/// A load: when it comes and goes, how many times longer it makes an iteration, and the smallest size that it slows.
#[derive(Clone, Copy, Debug)]
pub(super) struct Load {
    from_s: f64,
    until_s: f64,
    times: f64,
    smallest: u32,
}

/// A program and its machine.
#[derive(Clone, Debug)]
pub struct SizesCase {
    /// Shape of its curve.
    pub curve: Shape,
    /// Smallest and largest size.
    pub range: (u32, u32),
    /// Size that it starts with.
    pub first: u32,
    /// Number of iterations.
    pub n_iterations: u64,
    /// Time of an iteration by size from 1 on, in seconds.
    seconds: Vec<f64>,
    /// Deviation of these times, as a share.
    noise: f64,
    /// How long processes need to start, and how long a change stops the program, in seconds.
    start_s: f64,
    pub(super) wait_s: f64,
    pub(super) load: Option<Load>,
    seed: u64,
}

impl SizesCase {
    /// Draws a case.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "sizes and numbers of iterations are small"
    )]
    #[expect(clippy::cast_sign_loss, reason = "none is negative")]
    pub fn drawn(seed: u64) -> Self {
        let mut random = Random::stream(seed, 0);
        let of = |low: f64, high: f64, random: &mut Random| low * (high / low).powf(random.share());
        let max = [4, 8, 8, 16, 16, 32, 64][random.below(7)];
        let min = if random.share() < 0.6 { 1 } else { max / 4 };
        let curve = Shape::ALL[random.below(Shape::ALL.len())];
        let alone_s = of(0.02, 2.0, &mut random);
        let (serial, each) = (0.2 * random.share(), of(5e-4, 0.05, &mut random));
        let numbers = (f64::from(max), serial, each, random.share());
        let seconds: Vec<f64> = (1..=max).map(|size| alone_s * curve.at(size, numbers)).collect();
        let between = min + (random.share() * f64::from(max - min)) as u32;
        let first = [min, min, between, max][random.below(4)];
        let total_s = match random.share() < 0.25 {
            true => of(3.0, 20.0, &mut random),
            false => of(20.0, 200.0, &mut random),
        };
        let best_s = seconds[min as usize - 1..].iter().copied().fold(f64::INFINITY, f64::min);
        let load = (random.share() < 0.4).then(|| {
            let from_s = 0.7 * total_s * random.share();
            let until_s = from_s + total_s * (0.1 + 0.4 * random.share());
            let smallest = 1 + (random.share() * f64::from(max)) as u32;
            let smallest = if random.share() < 0.5 { 1 } else { smallest };
            Load { from_s, until_s, times: of(1.3, 3.0, &mut random), smallest }
        });
        Self {
            curve,
            range: (min, max),
            first,
            n_iterations: ((total_s / best_s).round() as u64).max(5),
            seconds,
            noise: [0.01, 0.03, 0.1][random.below(3)],
            start_s: of(0.15, 1.5, &mut random),
            wait_s: of(0.003, 0.1, &mut random),
            load,
            seed,
        }
    }

    /// Time of an iteration at a size, without noise, that begins at `time_s`.
    fn iteration_s(&self, size: u32, time_s: f64) -> f64 {
        let seconds = self.seconds[size as usize - 1];
        let is_slow =
            |load: &Load| load.from_s <= time_s && time_s < load.until_s && load.smallest <= size;
        self.load.filter(is_slow).map_or(seconds, |load| seconds * load.times)
    }

    /// Time of the program at one size, in seconds.
    pub(super) fn fixed_s(&self, size: u32) -> f64 {
        (0..self.n_iterations).fold(0.0, |time_s, _| time_s + self.iteration_s(size, time_s))
    }
}

/// Time between two looks, within which iterations are not told apart, in seconds.
const LOOK_S: f64 = 0.01;
const N_LOOK_MAX: u64 = 64;
/// How many times longer an iteration takes while processes start, the first one at a new size, and one in fifty.
const WHILE_STARTING: f64 = 1.1;
const AT_FIRST: f64 = 1.5;
const DISTURBED: f64 = 2.0;
const DISTURBED_SHARE: f64 = 0.02;
/// How long an order to shrink takes, and processes need to leave, in seconds.
const SHRINK_S: f64 = 0.03;
const LEAVE_S: f64 = 0.05;

/// A case while it runs.
#[derive(Debug)]
pub(super) struct SizesRun<'a> {
    case: &'a SizesCase,
    random: Random,
    pub(super) size: u32,
    pub(super) n_done: u64,
    pub(super) time_s: f64,
    pub(super) n_resizes: u32,
    /// Size ordered, when it will be there, and when it was ordered.
    ordered: Option<(u32, f64, f64)>,
    /// Time until which processes leave.
    busy_until_s: f64,
    is_first: bool,
}

impl<'a> SizesRun<'a> {
    pub(super) fn new(case: &'a SizesCase) -> Self {
        Self {
            case,
            random: Random::stream(case.seed, 1),
            size: case.first,
            n_done: 0,
            time_s: 0.0,
            n_resizes: 0,
            ordered: None,
            busy_until_s: 0.0,
            is_first: false,
        }
    }

    pub(super) fn is_done(&self) -> bool {
        self.case.n_iterations <= self.n_done
    }

    /// Orders another size.
    pub(super) fn order(&mut self, size: u32) {
        let after_s = if self.size < size { self.case.start_s } else { SHRINK_S };
        self.ordered = Some((size, self.time_s + after_s, self.time_s));
    }

    /// Takes the size that was ordered, if it is there; returns the sizes before and after, and the time since the order.
    pub(super) fn switch(&mut self) -> Option<(u32, u32, f64)> {
        let (to, _, at_s) = self.ordered.take_if(|(_, ready_s, _)| *ready_s <= self.time_s)?;
        self.time_s += self.case.wait_s;
        let from = std::mem::replace(&mut self.size, to);
        self.n_resizes += 1;
        self.busy_until_s = self.time_s + LEAVE_S;
        self.is_first = true;
        Some((from, to, self.time_s - at_s))
    }

    /// Computes until the next look; returns the time of an iteration and their number, if nothing disturbed them.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "at most 64")]
    pub(super) fn stretch(&mut self) -> Option<(f64, u32)> {
        let fast = (LOOK_S / self.case.seconds[self.size as usize - 1]).ceil() as u64;
        let n = fast.clamp(1, N_LOOK_MAX).min(self.case.n_iterations - self.n_done) as u32;
        let began_s = self.time_s;
        for _ in 0..n {
            let noise = (1.0 + self.case.noise * self.random.normal()).max(0.3);
            let disturbed = if self.random.share() < DISTURBED_SHARE { DISTURBED } else { 1.0 };
            let starting = if self.ordered.is_some() { WHILE_STARTING } else { 1.0 };
            let first = if std::mem::take(&mut self.is_first) { AT_FIRST } else { 1.0 };
            let seconds = self.case.iteration_s(self.size, self.time_s);
            self.time_s += seconds * noise * disturbed * starting * first;
        }
        self.n_done += u64::from(n);
        let is_calm = self.ordered.is_none() && self.busy_until_s <= began_s;
        is_calm.then(|| ((self.time_s - began_s) / f64::from(n), n))
    }
}
