//! Options that say how models are fitted.

use anyhow::{Context, ensure};
use clap::{Args, ValueEnum};
use fitting::{
    Cache, KnownChanges, Method, N_TERMS_MAX, ParameterRole, SampleRule, Settings, Term,
};
use user_io::ensure_option;
use user_io::exit::BadOption;
use user_io::option_value::{positive, within};

/// Options for fitting models.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "How models are fitted")]
pub(crate) struct FittingOptions {
    /// Method that finds terms and coefficients
    #[arg(long, value_enum, default_value_t = MethodName::Chosen)]
    method: MethodName,
    /// Terms of `--method pseudo-inverse`, separated by commas
    #[arg(long, value_name = "TERM,TERM...", value_delimiter = ',')]
    terms: Vec<String>,
    /// Rule that makes one value of repetitions: `near-minimum[:SHARE]` drops values more than SHARE (0.3) above the
    /// smallest and takes the mean; or `mean`, `median`, `minimum`
    #[arg(long, value_name = "RULE", default_value = "near-minimum:0.3", value_parser = sample_rule)]
    samples: SampleRule,
    /// Most terms of a formula
    #[arg(long, value_name = "N", default_value_t = N_TERMS_MAX, value_parser = |text: &str| within(text, 1..=N_TERMS_MAX))]
    max_terms: usize,
    /// Most breakpoints, if a single formula does not fit
    #[arg(long, value_name = "N", default_value_t = 4)]
    max_breaks: usize,
    /// Share of measurements that should lie in an interval
    #[arg(long, value_name = "SHARE", default_value_t = 0.95, value_parser = share)]
    rate: f64,
    /// Role of a parameter, if its name does not tell: `processes`, `size` or `any`
    #[arg(long, value_name = "NAME=WHAT", value_parser = role)]
    role: Vec<(String, ParameterRole)>,
    /// Cache whose size matters: its name and size in bytes, a parameter, bytes of data per unit of the parameter, and
    /// the power with which the data grow; `L2:2097152:n:24:2` for three matrices of n times n doubles
    #[arg(long, value_name = "NAME:BYTES:PARAMETER:PER[:POWER]", value_parser = cache)]
    cache: Vec<Cache>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum MethodName {
    /// Terms chosen by their predictions, and weighted by relative error
    Chosen,
    /// Given terms, plain least squares with the pseudo-inverse
    PseudoInverse,
}

impl FittingOptions {
    /// Settings for measurements over these parameters.
    ///
    /// # Errors
    /// If a term cannot be read, or options do not go together.
    pub(crate) fn settings(&self, parameters: &[String]) -> anyhow::Result<Settings> {
        let method = self.method(parameters).context(BadOption)?;
        let of_caches = self.cache.iter().map(|cache| &cache.parameter);
        for name in self.role.iter().map(|(name, _)| name).chain(of_caches) {
            ensure_option!(
                parameters.contains(name),
                "there is no parameter `{name}`; there are {}",
                parameters.join(", ")
            );
        }
        Ok(Settings {
            samples: self.samples,
            method,
            n_terms_max: self.max_terms,
            n_breaks_max: self.max_breaks,
            rate: self.rate,
            roles: self.role.clone(),
            known: KnownChanges { caches: self.cache.clone(), ..KnownChanges::default() },
            ..Settings::default()
        })
    }

    fn method(&self, parameters: &[String]) -> anyhow::Result<Method> {
        if self.method == MethodName::Chosen {
            ensure!(self.terms.is_empty(), "`--terms` belong to `--method pseudo-inverse`");
            return Ok(Method::Chosen);
        }
        ensure!(
            !self.terms.is_empty(),
            "`--method pseudo-inverse` needs `--terms`, such as `1,n,n^2`"
        );
        let terms = self.terms.iter().map(|term| Term::parse(term, parameters));
        Ok(Method::PseudoInverse(terms.collect::<Result<_, _>>()?))
    }
}

pub(crate) fn sample_rule(text: &str) -> Result<SampleRule, String> {
    if let Some(share) = text.strip_prefix("near-minimum:") {
        let share = share.parse().ok().filter(|share: &f64| share.is_finite() && 0.0 <= *share);
        return share
            .map(SampleRule::NearMinimum)
            .ok_or_else(|| "write `near-minimum:0.3`".to_owned());
    }
    match text {
        "near-minimum" => Ok(SampleRule::default()),
        "mean" => Ok(SampleRule::Mean),
        "median" => Ok(SampleRule::Median),
        "minimum" => Ok(SampleRule::Minimum),
        _ => Err("write `near-minimum:0.3`, `mean`, `median` or `minimum`".to_owned()),
    }
}

fn share(text: &str) -> Result<f64, String> {
    let share = text.parse().ok().filter(|share: &f64| 0.0 < *share && *share < 1.0);
    share.ok_or_else(|| "write a number between 0 and 1".to_owned())
}

fn role(text: &str) -> Result<(String, ParameterRole), String> {
    let (name, what) = text.split_once('=').unwrap_or((text, ""));
    let role = match what {
        "processes" => ParameterRole::Processes,
        "size" => ParameterRole::Size,
        "any" => ParameterRole::Any,
        _ => return Err("write NAME=processes, NAME=size or NAME=any".to_owned()),
    };
    Ok((name.to_owned(), role))
}

fn cache(text: &str) -> Result<Cache, String> {
    let form = || "write NAME:BYTES:PARAMETER:PER, such as L2:2097152:n:24:2".to_owned();
    let number = |text| positive(text).map_err(|_| form());
    let parts: Vec<&str> = text.split(':').collect();
    let (name, bytes, parameter, per, power) = match parts[..] {
        [name, bytes, parameter, per] => (name, bytes, parameter, per, "1"),
        [name, bytes, parameter, per, power] => (name, bytes, parameter, per, power),
        _ => return Err(form()),
    };
    Ok(Cache {
        name: name.to_owned(),
        size_bytes: number(bytes)?,
        parameter: parameter.to_owned(),
        bytes_per_unit: number(per)?,
        power: number(power)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_read_as_people_write_them() {
        assert_eq!(sample_rule("near-minimum"), Ok(SampleRule::NearMinimum(0.3)));
        assert_eq!(sample_rule("near-minimum:0.5"), Ok(SampleRule::NearMinimum(0.5)));
        assert_eq!(sample_rule("median"), Ok(SampleRule::Median));
        assert!(sample_rule("mean:2").is_err() && sample_rule("near-minimum:x").is_err());
        assert_eq!(role("w=processes"), Ok(("w".to_owned(), ParameterRole::Processes)));
        assert!(role("w").is_err() && role("w=x").is_err());
        let l2 = cache("L2:2097152:n:24:2").unwrap();
        assert_eq!((l2.parameter.as_str(), l2.power), ("n", 2.0));
        assert!(cache("L2:x:n:24").is_err() && cache("L2").is_err());
        assert!(share("1").is_err() && share("0.9") == Ok(0.9));
    }
}
