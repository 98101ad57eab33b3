//! Command line arguments of the program, besides the options of the library.

use crate::error::NbodyError;
use crate::start::{Shape, Start};
use std::path::PathBuf;
use std::str::FromStr;

/// Text of `--help`.
pub const USAGE: &str = "\
Bodies that attract each other, by a master and its workers.

usage: nbody [options]              on a thread per core
       mpirun -n 8 nbody [options]  on ranks of Open MPI or MPICH

  --start disk|plummer|two-galaxies|FILE.xyz  what to begin with [two-galaxies]
  --bodies N           bodies to make [1000]
  --seed S             another seed makes other ones [1]
  --dimensions 2|3     in the plane or in space [2]
  --steps N            steps, one iteration each [1000]
  --dt T               time of a step [0.005]
  --softening E        length below which attraction no longer grows [0.05]
  --max-drift X        exit code 3 when the energy changes by a larger share
  --output FILE.xyz    frames as extended XYZ, for OVITO, ASE, VMD, and `--start`
  --picture FILE       the last frame with trails, .svg or .png
  --animation FILE.png the frames as animated PNG, for browsers
  --frames N           frames of the run in these files [100]
  --timeline FILE.csv  workers and times of each iteration
  --wait-us-per-body U a body takes its worker U microseconds, mostly asleep
  --load FILE          with it: how much slower which worker is when

Options of the library:
  --workers N|all|auto --threads N --policy NAME --prefetch off|late|always
  --synchronous --master-works --progress --explain --patience SECONDS
  --checkpoint FILE --checkpoint-every N --resume --attempts N

Exit codes: 0 fine, 1 the run failed, 2 an option or a file is wrong,
3 the energy changed by more than --max-drift.
";

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
        let mut arguments = arguments.into_iter();
        while let Some(argument) = arguments.next() {
            parsed.take(&argument, &mut arguments)?;
        }
        Ok(parsed)
    }

    fn take(
        &mut self,
        argument: &str,
        rest: &mut impl Iterator<Item = String>,
    ) -> Result<(), NbodyError> {
        let (option, attached) = match argument.split_once('=') {
            Some((option, value)) => (option, Some(value.to_owned())),
            None => (argument, None),
        };
        let mut value = |expected| {
            let option = option.to_owned();
            let text = attached.clone().or_else(|| rest.next());
            let text = text.ok_or(NbodyError::NoValue { option: option.clone(), expected })?;
            Ok::<_, NbodyError>(Value { option, text, expected })
        };
        match option {
            "--start" => self.start = Start::named(&value("disk|plummer|two-galaxies|FILE")?.text),
            "--bodies" => self.n_bodies = value("N")?.number(|n| *n != 0)?,
            "--seed" => self.seed = value("S")?.number(|_| true)?,
            "--dimensions" => self.dimensions = value("2|3")?.number(|n| matches!(n, 2 | 3))?,
            "--steps" => self.n_steps = value("N")?.number(|_| true)?,
            "--dt" => self.dt = value("T")?.number(|dt| *dt != 0.0 && f64::is_finite(*dt))?,
            "--softening" => self.softening = value("E")?.number(is_size)?,
            "--max-drift" => self.drift_max = Some(value("X")?.number(is_size)?),
            "--output" => self.output = Some(value("FILE.xyz")?.file(&["xyz"])?),
            "--picture" => self.picture = Some(value("FILE.svg|FILE.png")?.file(&["svg", "png"])?),
            "--animation" => self.animation = Some(value("FILE.png")?.file(&["png", "apng"])?),
            "--frames" => self.n_frames = value("N")?.number(|n| *n != 0)?,
            "--timeline" => self.timeline = Some(value("FILE.csv")?.file(&["csv"])?),
            "--wait-us-per-body" => self.wait_us = value("U")?.number(is_size)?,
            "--load" => self.load = Some(value("FILE")?.text.into()),
            "--help" | "-h" => self.is_help = true,
            _ => return Err(NbodyError::Unknown { argument: argument.to_owned() }),
        }
        Ok(())
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as filters take it")]
fn is_size(number: &f64) -> bool {
    number.is_finite() && 0.0 <= *number
}

/// Value given for an option.
struct Value {
    option: String,
    text: String,
    expected: &'static str,
}

impl Value {
    fn number<N: FromStr>(self, is_usable: impl Fn(&N) -> bool) -> Result<N, NbodyError> {
        let number = self.text.parse().ok().filter(is_usable);
        number.ok_or_else(|| self.wrong())
    }

    fn file(self, endings: &[&str]) -> Result<PathBuf, NbodyError> {
        let path = PathBuf::from(&self.text);
        let ending = path.extension().and_then(|ending| ending.to_str());
        let is_known = ending.is_some_and(|ending| endings.contains(&ending));
        if is_known { Ok(path) } else { Err(self.wrong()) }
    }

    fn wrong(self) -> NbodyError {
        let Self { option, text: value, expected } = self;
        NbodyError::Value { option, value, expected }
    }
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

    #[test]
    fn every_option_is_listed() {
        let options = "start bodies seed dimensions steps dt softening max-drift output picture animation \
                       frames timeline wait-us-per-body load";
        for option in options.split_whitespace() {
            let option = format!("--{option}");
            assert!(USAGE.contains(&format!("  {option} ")), "{option}");
            assert!(matches!(parse(&option), Err(NbodyError::NoValue { .. })), "{option}");
        }
    }
}
