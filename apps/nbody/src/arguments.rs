//! Command line arguments of the program, besides the options of the library.

use crate::error::NbodyError;
use crate::start::{Shape, Start};
use option_table::{ArgumentError, OptionTable, one_of, positive};
use std::path::PathBuf;

/// Text of `--help`.
pub const USAGE: &str = TABLE.help;

const TABLE: OptionTable = OptionTable {
    help: "\
Bodies that attract each other, by a master and its workers.

usage: nbody [options]              on a thread per core
       mpirun -n 8 nbody [options]  on ranks of Open MPI or MPICH

  --start disk|plummer|two-galaxies|FILE.xyz  what to begin with [two-galaxies]
  --bodies N            bodies to make [1000]
  --seed S              another seed makes other ones [1]
  --dimensions 2|3      in the plane or in space [2]
  --steps N             steps, one iteration each [1000]
  --dt T                time of a step [0.005]
  --softening E         length below which attraction no longer grows [0.05]
  --max-drift X         exit code 3 when the energy changes by a larger share
  --output FILE.xyz     frames as extended XYZ, for OVITO, ASE, VMD, and `--start`
  --picture FILE.svg|FILE.png  the last frame with trails
  --animation FILE.png  the frames as animated PNG, for browsers
  --frames N            frames of the run in these files [100]
  --timeline FILE.csv   workers and times of each iteration
  --wait-us-per-body U  a body takes its worker U microseconds, mostly asleep
  --load FILE           with it: how much slower which worker is when
  -h, --help            print this

Exit codes: 0 fine, 1 the run failed, 2 an option or a file is wrong,
3 the energy changed by more than --max-drift.
",
    former: &[],
};

/// Parsed arguments.
#[derive(Clone, Debug, PartialEq)]
pub struct Arguments {
    /// Initial bodies.
    pub start: Start,
    /// Number of bodies to generate.
    pub n_bodies: u32,
    /// Seed of the random numbers.
    pub seed: u64,
    /// Number of dimensions, 2 or 3.
    pub dimensions: u8,
    /// Number of steps, one iteration each.
    pub n_steps: u64,
    /// Length of a time step.
    pub dt: f64,
    /// Length below which attraction no longer grows.
    pub softening: f64,
    /// Largest allowed relative change of the energy.
    pub drift_max: Option<f64>,
    /// File for frames as extended XYZ.
    pub output: Option<PathBuf>,
    /// File for a picture of the last frame.
    pub picture: Option<PathBuf>,
    /// File for an animation of all frames.
    pub animation: Option<PathBuf>,
    /// Number of frames in these files.
    pub n_frames: u64,
    /// File for the workers and times of each iteration.
    pub timeline: Option<PathBuf>,
    /// Time of a body on its worker, in microseconds.
    pub wait_us: f64,
    /// File with the slowdown of workers by iteration.
    pub load: Option<PathBuf>,
    /// Whether only the usage is wanted.
    pub is_help: bool,
}

impl Default for Arguments {
    fn default() -> Self {
        Self {
            start: Start::Shape(Shape::TwoGalaxies),
            n_bodies: 1000,
            seed: 1,
            dimensions: 2,
            n_steps: 1000,
            dt: 0.005,
            softening: 0.05,
            drift_max: None,
            output: None,
            picture: None,
            animation: None,
            n_frames: 100,
            timeline: None,
            wait_us: 0.0,
            load: None,
            is_help: false,
        }
    }
}

impl Arguments {
    /// Parses the arguments that the library left over.
    ///
    /// # Errors
    /// If an argument is not valid.
    pub fn parse(arguments: impl IntoIterator<Item = String>) -> Result<Self, NbodyError> {
        let mut parsed = Self::default();
        let (others, problem) = TABLE.read(arguments, |option, value| parsed.set(option, value));
        let unknown = others.into_iter().next().map(|argument| ArgumentError::Unknown { argument });
        problem.or(unknown).map_or(Ok(parsed), |problem| Err(problem.into()))
    }

    /// Sets an option of the table; `None` if its value is not valid.
    fn set(&mut self, option: &str, value: &str) -> Option<()> {
        match option {
            "--start" => self.start = Start::named(value),
            "--bodies" => self.n_bodies = positive(value)?,
            "--seed" => self.seed = value.parse().ok()?,
            "--dimensions" => self.dimensions = one_of(value, &[("2", 2), ("3", 3)])?,
            "--steps" => self.n_steps = value.parse().ok()?,
            "--dt" => self.dt = finite(value).filter(|dt| *dt != 0.0)?,
            "--softening" => self.softening = size(value)?,
            "--max-drift" => self.drift_max = Some(size(value)?),
            "--output" => self.output = Some(file(value, &["xyz"])?),
            "--picture" => self.picture = Some(file(value, &["svg", "png"])?),
            "--animation" => self.animation = Some(file(value, &["png", "apng"])?),
            "--frames" => self.n_frames = positive(value)?,
            "--timeline" => self.timeline = Some(file(value, &["csv"])?),
            "--wait-us-per-body" => self.wait_us = size(value)?,
            "--load" => self.load = Some(value.into()),
            "--help" => self.is_help = true,
            _ => return None,
        }
        Some(())
    }
}

fn finite(text: &str) -> Option<f64> {
    text.parse().ok().filter(|number: &f64| number.is_finite())
}

fn size(text: &str) -> Option<f64> {
    finite(text).filter(|number| 0.0 <= *number)
}

fn file(text: &str, endings: &[&str]) -> Option<PathBuf> {
    let path = PathBuf::from(text);
    let is_known = path.extension()?.to_str().is_some_and(|ending| endings.contains(&ending));
    is_known.then_some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Arguments, NbodyError> {
        Arguments::parse(line.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn options_are_taken() {
        let parsed = parse("--bodies 7 --dimensions=3 --start plummer --picture a.svg --dt -0.5");
        let expected = Arguments {
            n_bodies: 7,
            dimensions: 3,
            start: Start::Shape(Shape::Plummer),
            picture: Some("a.svg".into()),
            dt: -0.5,
            ..Arguments::default()
        };
        assert_eq!(parsed.unwrap(), expected);
        assert_eq!(parse("--start a.xyz").unwrap().start, Start::File("a.xyz".into()));
    }

    #[track_caller]
    fn check_wrong(line: &str, expected: &str) {
        assert_eq!(parse(line).unwrap_err().to_string(), expected);
    }

    #[test]
    fn what_is_wrong_is_told() {
        check_wrong("--body 3", "`--body` is not an option; `--help` lists them");
        check_wrong("--bodies", "`--bodies` has no value; write `--bodies N`");
        check_wrong("--bodies 0", "`--bodies 0` is not understood; write `--bodies N`");
        check_wrong(
            "--dimensions 4",
            "`--dimensions 4` is not understood; write `--dimensions 2|3`",
        );
        check_wrong("--dt 0", "`--dt 0` is not understood; write `--dt T`");
        check_wrong("--dt nan", "`--dt nan` is not understood; write `--dt T`");
        check_wrong("--softening -1", "`--softening -1` is not understood; write `--softening E`");
        check_wrong(
            "--output a.csv",
            "`--output a.csv` is not understood; write `--output FILE.xyz`",
        );
    }
}
