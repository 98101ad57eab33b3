//! `sintonia predict`: predicts points that were not measured, from models.
//!
//! # Not here
//! Totals of models (`fitting::total`); finding models (`sintonia fit`).

mod best;
mod context;
mod engine;
mod list;
mod options;
mod plot;
mod table;
mod unfolded;

use crate::text::is_wanted;
use crate::{input, values};
use anyhow::{anyhow, ensure};
use context::PredictionContext;
use fitting::ModelFile;
pub use options::Options;
use std::process::ExitCode;
use user_io::exit::BadOption;
use user_io::result_file;
use user_io::terminal::Terminal;

/// Predicts and shows it.
pub fn run(options: &Options, terminal: Terminal) -> anyhow::Result<ExitCode> {
    if options.graph.is_wanted() {
        return unfolded::predict(options);
    }
    if options.engine.is_wanted() {
        engine::check_alone(options)?;
        return engine::predict(&options.models, &options.engine, &options.output);
    }
    let names: Vec<&str> = options.set.iter().map(|values| values.name.as_str()).collect();
    let file = input::models(&options.models, &names)?;
    let context = PredictionContext::new(options, &file)?;
    check_names(options, &file)?;
    let points = values::points(&options.set)?;
    // Where this program chooses the values among which the best is looked for, only the best is shown.
    let asked = if best::is_free(&options.best, &options.set) { &[][..] } else { &points[..] };
    let rows = asked.iter().map(|point| context.row(point)).collect::<anyhow::Result<Vec<_>>>()?;
    let best = best::best(&context, &options.set)?;
    if let Some(path) = &options.output.csv {
        result_file::write(path, &list::as_csv(&context, &rows))?;
    }
    if let Some(path) = &options.output.plot {
        ensure!(
            !rows.is_empty(),
            anyhow!("`--plot` needs values of all parameters: add `--set`").context(BadOption)
        );
        result_file::write(path, &plot::picture(&context, &rows))?;
    }
    let text = if options.output.json {
        format!("{:#}\n", list::as_json(&context, &rows, &best))
    } else {
        table::table(&context, &rows, &best, terminal.stdout_style().width)
    };
    user_io::print::result(&text)
}

/// Checks that every parameter of the models has a value, and no other name has one.
fn check_names(options: &Options, file: &ModelFile) -> anyhow::Result<()> {
    let known = file.parameters();
    let best = options.best.parameter();
    let named = || options.set.iter().map(|values| values.name.as_str()).chain(best);
    for name in named() {
        ensure!(
            known.contains(&name),
            anyhow!("the models have no parameter `{name}`; they have {}", known.join(", "))
                .context(BadOption)
        );
    }
    let is_region = |model: &fitting::FittedModel| is_wanted(&options.region, &model.region);
    ensure!(
        file.models.iter().any(is_region),
        anyhow!("no region matches `{}`", options.region.join("`, `")).context(BadOption)
    );
    for name in known {
        ensure!(
            named().any(|other| other == name),
            anyhow!("`{name}` has no value: add `--set {name}=VALUE`").context(BadOption)
        );
    }
    Ok(())
}
