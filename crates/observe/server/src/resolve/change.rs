//! Resolution of a tuning point's change.

use super::ResolveError;
use super::sites::{Modules, Sites, look_up};
use app_description::{Change, Ranks, TuningPoint};
use symbols::Program;
use tuner::plan::{PlannedChange, PlannedPoint};
use wire::control::Replacement;

/// Returns a tuning point of `ranks` with its names resolved.
pub(super) fn planned(
    point: &TuningPoint,
    ranks: Ranks,
    program: &Program,
    sites: &mut Sites,
    modules: &mut Modules,
) -> Result<PlannedPoint, ResolveError> {
    let part = || format!("tuning point `{}`", point.name);
    let site = sites.add(look_up(part, program.function(&point.sync_function))?, modules);
    sites.site(site).is_sync = true;
    let change = match &point.change {
        Change::Variable(name) => {
            let variable = look_up(part, program.variable(name))?;
            let at = modules.location(&variable.module, &variable.build_id, variable.address);
            PlannedChange::Set { at }
        }
        Change::Call(name) => {
            let function = look_up(part, program.function(name))?;
            let returns = function.returns.as_ref().and_then(|returned| returned.kind);
            PlannedChange::Call { function: modules.location_of(function), returns }
        }
        Change::Load(path) => PlannedChange::Load { path: path.clone() },
        Change::Replace { function, by } => {
            let replaced = sites.add(look_up(part, program.function(function))?, modules);
            let by = if Change::library_of(by).is_some() {
                Replacement::Exported(by.clone())
            } else {
                let by = look_up(part, program.function(by))?;
                Replacement::Function(modules.location_of(by))
            };
            PlannedChange::Replace { site: replaced, by }
        }
    };
    let unknown = || ResolveError::UnknownType { point: point.name.clone() };
    let kind = point.kind.ok_or_else(unknown)?;
    Ok(PlannedPoint { sync: (site, point.sync_place), kind, change, ranks })
}
