//! Master/worker program of the simulation.

use crate::arguments::Arguments;
use crate::body::Body;
use crate::conservation::Conservation;
use crate::error::NbodyError;
use crate::gravity::{Advanced, Law, advance, drift};
use crate::load::{self, Slowdowns};
use crate::picture;
use crate::view::Frame;
use crate::xyz;
use master_worker::{
    BoxError, Iteration, IterationReport, MessageError, Plain, Program, from_bytes, to_bytes,
};
use serde::{Deserialize, Serialize};
use std::ops::Range;
use std::sync::Arc;
use std::thread;
use std::time::Instant;

/// State of a simulation.
#[derive(Clone, Debug)]
pub struct Simulation {
    arguments: Arguments,
    law: Law,
    load: Slowdowns,
    rank: u32,
    state: State,
    step: u64,
    energies: Vec<f64>,
    /// Workers and times of each iteration, as CSV text.
    timeline: String,
    began: Option<Instant>,
    /// First error; the master reports it when the run is over.
    problem: Option<Arc<NbodyError>>,
}

/// Content of a checkpoint.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct State {
    /// Description of the run that the state belongs to.
    run: String,
    bodies: Vec<Body>,
    conservation: Conservation,
    frames: Vec<Frame>,
    /// Size of the file of frames, in bytes.
    output_bytes: u64,
}

impl Simulation {
    /// Creates the simulation; the master reports errors in the arguments after the run.
    #[must_use]
    pub fn new(arguments: Result<Arguments, NbodyError>) -> Self {
        let (arguments, mut problem) = match arguments {
            Ok(arguments) => (arguments, None),
            Err(error) => (Arguments::default(), Some(Arc::new(error))),
        };
        let load = arguments.load.as_deref().map_or(Ok(Slowdowns::default()), Slowdowns::read);
        let load = load.unwrap_or_else(|error| {
            problem = Some(Arc::new(error.into()));
            Slowdowns::default()
        });
        let law = Law { softening: arguments.softening, dt: arguments.dt };
        let (rank, state, step, began) = (0, State::default(), 0, None);
        let (energies, timeline) =
            (Vec::new(), "iteration,workers,duration_s,compute_s,chunks\n".to_owned());
        Self { arguments, law, load, rank, state, step, energies, timeline, began, problem }
    }

    /// Present bodies.
    #[must_use]
    pub fn bodies(&self) -> &[Body] {
        &self.state.bodies
    }

    /// Conserved quantities.
    #[must_use]
    pub fn conservation(&self) -> &Conservation {
        &self.state.conservation
    }

    /// Time since the first iteration began, in seconds.
    #[must_use]
    pub fn elapsed_s(&self) -> f64 {
        self.began.map_or(0.0, |began| began.elapsed().as_secs_f64())
    }

    /// Hash that differs when any bit of a body does (FNV-1a).
    #[must_use]
    pub fn fingerprint(&self) -> u64 {
        let mix = |sum: u64, byte: &u8| (sum ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        bytemuck::cast_slice(self.bodies()).iter().fold(0xcbf2_9ce4_8422_2325, mix)
    }

    /// Writes the pictures and the timeline of a finished run.
    ///
    /// # Errors
    /// If the run, or writing a file, failed.
    pub fn finish(&mut self) -> Result<(), Arc<NbodyError>> {
        self.problem.take().map_or(Ok(()), Err)?;
        self.write().map_err(Arc::new)
    }

    fn write(&self) -> Result<(), NbodyError> {
        let frames = &self.state.frames;
        if let Some(path) = &self.arguments.picture {
            picture::picture(path, frames)?;
        }
        if let Some(path) = &self.arguments.animation {
            picture::animation(path, frames)?;
        }
        if let Some(path) = &self.arguments.timeline {
            std::fs::write(path, &self.timeline).map_err(NbodyError::write(path))?;
        }
        Ok(())
    }

    /// Description of the run, which a checkpoint must match.
    fn run(&self) -> String {
        let Arguments { start, n_bodies, seed, dimensions, dt, softening, .. } = &self.arguments;
        format!(
            "{start:?}, {n_bodies} bodies, seed {seed}, {dimensions} dimensions, dt {dt}, softening {softening}"
        )
    }

    fn begin(&mut self) -> Result<(), NbodyError> {
        self.began = Some(Instant::now());
        if self.state.run.is_empty() {
            let Arguments { start, n_bodies, dimensions, seed, .. } = &self.arguments;
            let bodies = start.bodies(*n_bodies, *dimensions, *seed)?;
            let conservation = Conservation::begin(&bodies);
            self.state = State { run: self.run(), bodies, conservation, ..State::default() };
            self.frame(0)?;
        }
        Ok(())
    }

    /// Records a frame after `n_steps`, if one is due.
    fn frame(&mut self, n_steps: u64) -> Result<(), NbodyError> {
        let Arguments { n_frames, dt, output, picture, animation, dimensions, .. } =
            &self.arguments;
        let every = (self.arguments.n_steps / n_frames).max(1);
        if !n_steps.is_multiple_of(every) && n_steps != self.arguments.n_steps {
            return Ok(());
        }
        let (state, time) = (&mut self.state, n_steps as f64 * dt);
        if let Some(path) = output {
            state.output_bytes = xyz::write(path, state.output_bytes, &state.bodies, time)?;
        }
        if picture.is_some() || animation.is_some() {
            state.frames.push(Frame::of(&state.bodies, *dimensions, time));
        }
        Ok(())
    }

    fn note(&mut self, result: Result<(), NbodyError>) {
        if let Err(error) = result {
            self.problem = Some(Arc::new(error));
        }
    }

    fn end_step(&mut self, report: &IterationReport) -> Result<(), NbodyError> {
        let energy = self.energies.iter().sum();
        self.state.conservation.step(energy, &self.state.bodies);
        let (workers, n_chunks) = (report.workers.len(), report.n_chunks);
        let (duration_s, compute_s) = (report.duration_s, report.compute_s());
        let line = format!("{},{workers},{duration_s:.6},{compute_s:.6},{n_chunks}\n", self.step);
        self.timeline.push_str(&line);
        self.frame(self.step + 1)
    }
}

impl Program for Simulation {
    /// All bodies, after drifting.
    type Shared = Plain<Body>;
    /// The number of the step.
    type Input = u64;
    type Output = Plain<Advanced>;

    fn enter(&mut self, rank: u32) {
        self.rank = rank;
    }

    fn next(&mut self, step: u64) -> Option<Iteration<Plain<Body>>> {
        if self.began.is_none() && self.problem.is_none() {
            let begun = self.begin();
            self.note(begun);
        }
        if self.problem.is_some() || self.arguments.n_steps <= step {
            return None;
        }
        self.step = step;
        drift(&mut self.state.bodies, self.law);
        self.energies.clear();
        self.energies.resize(self.state.bodies.len(), 0.0);
        let n_bodies = self.state.bodies.len() as u64;
        Some(Iteration::new(n_bodies, Plain::from(&self.state.bodies[..])))
    }

    fn input(&self, _bodies: Range<u64>) -> u64 {
        self.step
    }

    fn work(&self, bodies: &Plain<Body>, range: Range<u64>, step: u64) -> Plain<Advanced> {
        let began = Instant::now();
        let advanced = advance(bodies, places(&range), self.law).collect();
        let factor = self.load.factor(step, self.rank);
        let shall_take = load::time(self.arguments.wait_us, range.end - range.start, factor);
        thread::sleep(shall_take.saturating_sub(began.elapsed()));
        advanced
    }

    fn recover(&mut self, range: Range<u64>, advanced: Plain<Advanced>) {
        for (at, Advanced { body, energy }) in places(&range).zip(&*advanced) {
            self.state.bodies[at] = *body;
            self.energies[at] = *energy;
        }
    }

    fn end_iteration(&mut self, report: &IterationReport) {
        let ended = self.end_step(report);
        self.note(ended);
    }

    fn save(&self) -> Result<Option<Vec<u8>>, MessageError> {
        to_bytes(&self.state).map(Some)
    }

    fn restore(&mut self, saved: &[u8]) -> Result<(), BoxError> {
        let state: State = from_bytes(saved)?;
        let wished = self.run();
        if state.run != wished {
            return Err(NbodyError::OtherRun { saved: state.run, wished }.into());
        }
        self.state = state;
        Ok(())
    }
}

/// Indices in the list of bodies.
#[expect(clippy::cast_possible_truncation, reason = "there are no more bodies than places")]
fn places(range: &Range<u64>) -> Range<usize> {
    range.start as usize..range.end as usize
}
