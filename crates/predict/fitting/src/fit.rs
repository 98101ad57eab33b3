//! Fits models to measurements.
//!
//! For each region: one value per point ([`crate::SampleRule`]), the formula (`search`, `score`), pieces
//! where one formula is not enough (`pieces`), the other forms it is averaged with (`ensemble`), and warnings.

mod foretold;
mod pieces;
mod pinv;

use crate::{
    design::{Design, distinct_values},
    ensemble,
    measurements::{MeasuredPoint, Measurements, Series},
    model::{FORMAT, FittedModel, KnownChanges, Range, Warning},
    samples::SampleRule,
    solve::N_TERMS_MAX,
    term::Term,
    vocabulary::ParameterRole,
};
use foretold::{Foretelling, Region};
use pieces::{Sample, fit_pieces, is_constant, points, problem};

/// Limits on parameters, and on points of one region: beyond them time and memory grow out of bounds.
const N_PARAMETERS_MAX: usize = 16;
const N_POINTS_MAX: usize = 20_000;
/// Largest accepted absolute value; its cube is still a finite number.
const LARGEST: f64 = 1e100;
/// Fewer points than this cause a warning.
const N_POINTS_FEW: usize = 5;
/// Fewer values of a parameter than this cause a warning.
const N_VALUES_FEW: usize = 4;
/// A larger share of dropped repetitions than this causes a warning.
const DROPPED_MUCH: f64 = 0.25;
/// A larger error at the largest values than this causes a warning.
const ERROR_LARGE: f64 = 0.2;

/// Method by which a formula is found.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Method {
    /// Terms are chosen automatically and fitted by relative error.
    #[default]
    Chosen,
    /// These terms are fitted by plain least squares with the pseudo-inverse, as in the source (Laine
    /// 2003).
    PseudoInverse(Vec<Term>),
}

/// Settings of a fit; the defaults need no knowledge of the program.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Rule that makes one value of the repetitions.
    pub samples: SampleRule,
    /// Method by which a formula is found.
    pub method: Method,
    /// Largest number of terms in a formula, at most [`N_TERMS_MAX`].
    pub n_terms_max: usize,
    /// Largest number of breakpoints.
    pub n_breaks_max: usize,
    /// Share of measurements that the interval should contain, from 0 to 1.
    pub rate: f64,
    /// Number of draws for the interval.
    pub n_draws: usize,
    /// Seed of the draws.
    pub seed: u64,
    /// Roles of parameters whose names do not reveal them.
    pub roles: Vec<(String, ParameterRole)>,
    /// What the machine is known to change.
    pub known: KnownChanges,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            samples: SampleRule::default(),
            method: Method::Chosen,
            n_terms_max: N_TERMS_MAX,
            n_breaks_max: 4,
            rate: 0.95,
            n_draws: 24,
            seed: 1,
            roles: Vec::new(),
            known: KnownChanges::default(),
        }
    }
}

/// Reason why a region cannot be modeled.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum FitError {
    /// The region has no finite value.
    #[error("`{0}` has no valid measurement")]
    NoPoints(String),
    /// A point has more or fewer coordinates than there are parameters.
    #[error("a point of `{region}` has {n_given} coordinates for {n_parameters} parameters")]
    WrongPoint {
        /// The region.
        region: String,
        /// Number of coordinates of the point.
        n_given: usize,
        /// Number of parameters.
        n_parameters: usize,
    },
    /// The region has too many parameters.
    #[error("`{0}` has {1} parameters, and {N_PARAMETERS_MAX} is the most: name those that matter")]
    TooManyParameters(String, usize),
    /// The region has too many points.
    #[error("`{0}` has {1} points, and {N_POINTS_MAX} is the most: give fewer")]
    TooManyPoints(String, usize),
    /// Numbers whose powers are not representable.
    #[error(
        "`{0}` has numbers that are too large or too small to calculate with: give them in another unit"
    )]
    OutOfScale(String),
    /// There are too few points for the given terms.
    #[error("`{region}` has {n_points} points for {n_terms} terms: measure more")]
    TooManyTerms {
        /// The region.
        region: String,
        /// Number of points.
        n_points: usize,
        /// Number of given terms.
        n_terms: usize,
    },
}

/// Returns the models of all regions, in their order.
pub fn fit(measured: &Measurements, settings: &Settings) -> Vec<Result<FittedModel, FitError>> {
    let mut fitter = Fitter::new(&measured.parameters, settings);
    measured.series.iter().map(|series| fitter.fit(series)).collect()
}

/// Fits regions one after another and reuses the design that they share.
#[derive(Debug)]
pub struct Fitter<'a> {
    parameters: &'a [String],
    settings: &'a Settings,
    roles: Vec<ParameterRole>,
    design: Option<Design>,
    foretelling: Option<Foretelling>,
}

impl<'a> Fitter<'a> {
    /// Creates a fitter over these parameters.
    pub fn new(parameters: &'a [String], settings: &'a Settings) -> Self {
        let role_of = |name: &String| {
            let said = settings.roles.iter().find(|(other, _)| other == name);
            said.map_or_else(|| ParameterRole::of_name(name), |(_, role)| *role)
        };
        let roles = parameters.iter().map(role_of).collect();
        Self { parameters, settings, roles, design: None, foretelling: None }
    }

    /// Fits the model of one region.
    ///
    /// # Errors
    /// When there is no point, a point has the wrong number of coordinates, a limit on parameters, points
    /// or numbers is exceeded, or there are too few points for the given terms.
    pub fn fit(&mut self, series: &Series) -> Result<FittedModel, FitError> {
        let region = || series.region.clone();
        let n_parameters = self.parameters.len();
        if let Some(wrong) = series.points.iter().find(|point| point.at.len() != n_parameters) {
            let n_given = wrong.at.len();
            return Err(FitError::WrongPoint { region: region(), n_given, n_parameters });
        }
        if N_PARAMETERS_MAX < n_parameters {
            return Err(FitError::TooManyParameters(region(), n_parameters));
        }
        if N_POINTS_MAX < series.points.len() {
            return Err(FitError::TooManyPoints(region(), series.points.len()));
        }
        let mut numbers =
            series.points.iter().flat_map(|point| point.at.iter().chain(&point.values));
        if numbers.any(|number| LARGEST < number.abs()) {
            return Err(FitError::OutOfScale(region()));
        }
        let samples = samples(&series.points, self.settings.samples);
        if samples.is_empty() {
            return Err(FitError::NoPoints(region()));
        }
        let mut model = self.empty(series, &samples);
        let held_out = self.fill(&mut model, &samples)?;
        model.text = model.write_text();
        model.warnings = warnings(&model, &samples, held_out);
        if model.is_finite() { Ok(model) } else { Err(FitError::OutOfScale(region())) }
    }

    fn empty(&self, series: &Series, samples: &[Sample<'_>]) -> FittedModel {
        let points = points(samples);
        let range = |idx: usize| {
            let distinct_values = distinct_values(&points, idx);
            let first_and_last = distinct_values.first().zip(distinct_values.last());
            first_and_last.map(|(low, high)| Range { low: *low, high: *high })
        };
        let smallest = samples.iter().map(|s| s.measured.value).fold(f64::INFINITY, f64::min);
        FittedModel {
            format: FORMAT,
            region: series.region.clone(),
            metric: series.metric.clone(),
            parameters: self.parameters.to_vec(),
            ranges: (0..self.parameters.len()).filter_map(range).collect(),
            rate: self.settings.rate,
            smallest: (0.0 < smallest).then_some(smallest),
            n_samples: samples.iter().map(|s| s.measured.n_kept + s.measured.n_dropped).sum(),
            n_dropped: samples.iter().map(|s| s.measured.n_dropped).sum(),
            known: self.settings.known.clone(),
            ..FittedModel::default()
        }
    }

    /// Adds the pieces; returns whether the largest values of a parameter could be held out.
    fn fill(&mut self, model: &mut FittedModel, samples: &[Sample<'_>]) -> Result<bool, FitError> {
        if let Method::PseudoInverse(terms) = &self.settings.method {
            let piece = pinv::fit(samples, terms).ok_or_else(|| FitError::TooManyTerms {
                region: model.region.clone(),
                n_points: samples.len(),
                n_terms: terms.len(),
            })?;
            model.held_out_error = piece.noise;
            model.pieces.push(piece);
            return Ok(false);
        }
        let points = points(samples);
        let design = match self.design.take() {
            Some(design) if design.is_over(&points) => design,
            _ => Design::new(&points, &self.roles, &[]),
        };
        let problem = problem(&design, samples);
        match self.foretelling(&points, samples) {
            Some(foretelling) => {
                // The interval is that of the average, which needs no draws of the formula.
                let settings = Settings { n_draws: 0, ..self.settings.clone() };
                let errors = fit_pieces(model, &problem, samples, &self.roles, &settings);
                let region = Region { problem: &problem, samples, single_errors: &errors };
                foretelling.average(model, &region, &settings);
                self.foretelling = Some(foretelling);
            }
            None => {
                fit_pieces(model, &problem, samples, &self.roles, self.settings);
            }
        }
        let held_out = !design.holds_singles;
        self.design = Some(design);
        Ok(held_out)
    }
}

impl Fitter<'_> {
    /// Returns what is needed to average forms; `None` where the formula stands alone.
    fn foretelling(&mut self, points: &[&[f64]], samples: &[Sample<'_>]) -> Option<Foretelling> {
        let values = samples.iter().map(|sample| sample.measured.value);
        if is_constant(samples) || !ensemble::is_possible(points, values) {
            return None;
        }
        let known = self.foretelling.take().filter(|known| known.is_over(points));
        let foretelling = known.unwrap_or_else(|| Foretelling::new(points, &self.roles));
        foretelling.holds_any().then_some(foretelling)
    }
}

/// Returns one value per point; a rule that drops repetitions is widened where the machine scatters more
/// than it allows.
fn samples(points: &[MeasuredPoint], rule: SampleRule) -> Vec<Sample<'_>> {
    let rule = rule.widened(points);
    let sample = |point: &'_ MeasuredPoint| rule.point_value(&point.values);
    let samples =
        points.iter().filter_map(|point| Some(Sample { at: &point.at, measured: sample(point)? }));
    samples.collect()
}

fn warnings(model: &FittedModel, samples: &[Sample<'_>], held_out: bool) -> Vec<Warning> {
    let mut warnings = Vec::new();
    if samples.len() < N_POINTS_FEW {
        warnings.push(Warning::TooFewPoints { n_points: samples.len() });
    }
    let points = points(samples);
    for (idx, parameter) in model.parameters.iter().enumerate() {
        let n_values = distinct_values(&points, idx).len();
        if n_values < N_VALUES_FEW {
            warnings.push(Warning::TooFewValues { parameter: parameter.clone(), n_values });
        }
    }
    if 1 < samples.len() && is_constant(samples) {
        warnings.push(Warning::ConstantData);
    }
    if !held_out {
        warnings.push(Warning::NotHeldOut);
    }
    let (n_dropped, n_samples) = (model.n_dropped, model.n_samples);
    if DROPPED_MUCH * (n_samples as f64) < n_dropped as f64 {
        warnings.push(Warning::ManyDropped { n_dropped, n_samples });
    }
    if ERROR_LARGE < model.held_out_error {
        warnings.push(Warning::LargeError { error: model.held_out_error });
    }
    warnings
}
