//! Command line arguments of the program, besides the options of the library.

use crate::CgError;
use crate::generate::{MODELS, Model};
use crate::solver::Settings;
use malleable::Options;
use option_table::{ArgumentError, OptionTable};
use std::path::PathBuf;

/// Text of `--help`.
pub const USAGE: &str = TABLE.help;

const TABLE: OptionTable = OptionTable {
    help: "\
Solves sparse, symmetric, positive definite linear systems by conjugate gradients.

usage: cg [options] MATRIX.mtx[.gz]                 alone
       mpirun -n 8 cg [options] MATRIX.mtx[.gz]     on ranks of Open MPI or MPICH
       cg generate MODEL -o MATRIX.mtx[.gz]         write a matrix

  --generate audikw_1|tetrahedra:AxBxC|laplace3d:N  make the matrix instead of reading it
  --seed S             another seed makes another matrix [1]
  --right-hand-side FILE  a number to a line; without it, what a solution of ones leads to
  --iterations N       at most so many [1000]
  --tolerance T        solved when the residual is shorter than this share of the
                       right-hand side; 0 for all iterations [1e-8]
  --reproducible       the same bits on any number of ranks
  -o, --output FILE    write the solution, or with `generate` the matrix
  --json               the line at the end as JSON
  --wait-us-per-row U  a row takes its rank at least U microseconds, mostly asleep
  -h, --help           print this

Exit codes: 0 fine, 1 the run failed, 2 an option or a file is wrong,
3 not solved within the iterations.
",
    former: &[],
};

/// Source of the matrix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// A Matrix Market file.
    File(PathBuf),
    /// A generated matrix.
    Model(Model),
}

/// Parsed arguments.
#[derive(Clone, Debug, PartialEq)]
pub struct Arguments {
    /// Source of the matrix; `None` with `--help`.
    pub source: Option<Source>,
    /// Seed of a generated matrix.
    pub seed: u64,
    /// File with the right-hand side.
    pub right_side: Option<PathBuf>,
    /// Settings of the solver.
    pub settings: Settings,
    /// File for the solution, or for the generated matrix.
    pub output: Option<PathBuf>,
    /// Whether the report is JSON instead of a line of text.
    pub is_json: bool,
    /// Whether the matrix is only written, not solved.
    pub is_only_written: bool,
    /// Whether only the usage is wanted.
    pub is_help: bool,
}

impl Default for Arguments {
    fn default() -> Self {
        Self {
            source: None,
            seed: 1,
            right_side: None,
            settings: Settings::default(),
            output: None,
            is_json: false,
            is_only_written: false,
            is_help: false,
        }
    }
}

impl Arguments {
    /// Reads the arguments of the process, without those of the library `malleable`, which also uses the number of
    /// iterations.
    ///
    /// # Errors
    /// As for [`parse`](Self::parse).
    pub fn from_args() -> Result<Self, CgError> {
        let (options, rest) = Options::from_args_and_rest();
        let mut arguments = Self::parse(rest)?;
        if let Some(n_iterations) = options.n_iterations() {
            arguments.settings.n_iterations_max = n_iterations;
        }
        Ok(arguments)
    }

    /// Parses the arguments that the library left over.
    ///
    /// # Errors
    /// If an argument is not valid, or it is not clear which matrix is meant.
    pub fn parse(arguments: impl IntoIterator<Item = String>) -> Result<Self, CgError> {
        let (mut parsed, mut sources) = (Self::default(), Vec::new());
        let mut arguments = arguments.into_iter().peekable();
        if arguments.next_if(|first| first == "generate").is_some() {
            parsed.is_only_written = true;
            let (option, expected) = ("generate".to_owned(), MODELS);
            let model = arguments.next_if(|model| !model.starts_with('-'));
            let Some(value) = model else {
                return Err(ArgumentError::NoValue { option, expected }.into());
            };
            let model = value.parse();
            let wrong = |()| ArgumentError::Value { option, value, expected };
            sources.push(Source::Model(model.map_err(wrong)?));
        }
        let (others, problem) =
            TABLE.read(arguments, |option, value| parsed.set(option, value, &mut sources));
        let unknown = others.iter().find(|argument| argument.starts_with('-')).cloned();
        let unknown = unknown.map(|argument| ArgumentError::Unknown { argument });
        problem.or(unknown).map_or(Ok(()), Err)?;
        sources.extend(others.into_iter().map(|file| Source::File(file.into())));
        if parsed.is_help {
            return Ok(parsed);
        }
        if 1 < sources.len() {
            return Err(CgError::NoMatrix { found: "more than one" });
        }
        parsed.source = Some(sources.pop().ok_or(CgError::NoMatrix { found: "no" })?);
        if parsed.is_only_written && parsed.output.is_none() {
            let (option, expected) = ("--output".to_owned(), "FILE.mtx");
            return Err(ArgumentError::NoValue { option, expected }.into());
        }
        Ok(parsed)
    }

    /// Sets an option of the table; `None` if its value is not valid.
    fn set(&mut self, option: &str, value: &str, sources: &mut Vec<Source>) -> Option<()> {
        match option {
            "--generate" => sources.push(Source::Model(value.parse().ok()?)),
            "--seed" => self.seed = value.parse().ok()?,
            "--right-hand-side" => self.right_side = Some(value.into()),
            "--iterations" => self.settings.n_iterations_max = value.parse().ok()?,
            "--tolerance" => self.settings.tolerance = size(value)?,
            "--reproducible" => self.settings.is_reproducible = true,
            "--output" => self.output = Some(value.into()),
            "--json" => self.is_json = true,
            "--wait-us-per-row" => self.settings.wait_us_per_row = size(value)?,
            "--help" => self.is_help = true,
            _ => return None,
        }
        Some(())
    }
}

fn size(text: &str) -> Option<f64> {
    text.parse().ok().filter(|number: &f64| number.is_finite() && 0.0 <= *number)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Arguments, CgError> {
        Arguments::parse(line.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn options_are_taken() {
        let parsed = parse("a=b.mtx --iterations 7 --tolerance=0 --reproducible --json -o x.mtx");
        let settings = Settings {
            n_iterations_max: 7,
            tolerance: 0.0,
            is_reproducible: true,
            ..Settings::default()
        };
        let expected = Arguments {
            source: Some(Source::File("a=b.mtx".into())),
            settings,
            output: Some("x.mtx".into()),
            is_json: true,
            ..Arguments::default()
        };
        assert_eq!(parsed.unwrap(), expected);
        let written = parse("generate tetrahedra:2x3x4 --seed 5 --output a.mtx.gz").unwrap();
        assert_eq!(written.source, Some(Source::Model(Model::Tetrahedra([2, 3, 4]))));
        assert!(written.is_only_written && written.seed == 5);
        assert_eq!(
            parse("--generate audikw_1").unwrap().source,
            Some(Source::Model(Model::Audikw1))
        );
        assert!(parse("--help").unwrap().is_help);
    }

    #[track_caller]
    fn check_wrong(line: &str, expected: &str) {
        assert_eq!(parse(line).unwrap_err().to_string(), expected);
    }

    #[test]
    fn what_is_wrong_is_told() {
        let models = "audikw_1|tetrahedra:AxBxC|laplace3d:N";
        check_wrong("", &format!("there is no matrix; name one file, or `--generate {models}`"));
        check_wrong(
            "a.mtx --generate laplace3d:3",
            &format!("there is more than one matrix; name one file, or `--generate {models}`"),
        );
        check_wrong("--iteration 3", "`--iteration` is not an option; `--help` lists them");
        check_wrong("a.mtx --seed", "`--seed` has no value; write `--seed S`");
        check_wrong(
            "a.mtx --tolerance -1",
            "`--tolerance -1` is not understood; write `--tolerance T`",
        );
        check_wrong(
            "generate -o a",
            &format!("`generate` has no value; write `generate {models}`"),
        );
        check_wrong("generate audikw_1", "`--output` has no value; write `--output FILE.mtx`");
        for model in ["laplace3d", "laplace3d:0", "audikw_1:2", "tetrahedra:2x2", "audikw"] {
            let said =
                format!("`--generate {model}` is not understood; write `--generate {models}`");
            check_wrong(&format!("--generate {model}"), &said);
        }
    }
}
