//! Settings of a launch as environment variables of the command.

use super::store::Store;
use crate::observation::Variables;
use learning::{Setting, Variable};
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};

/// Variable whose value is a list, divided by colons.
const TUNABLES: &str = "GLIBC_TUNABLES";
/// Beginning of the names of Open MPI's variables, before the names of parameters.
const OF_OPEN_MPI: &str = "OMPI_MCA_";

/// Returns whether the user has set nothing of a setting, in the environment or in the words of the command.
pub(super) fn is_free(setting: &Setting, command: &[OsString]) -> bool {
    let variable = |name: &str| std::env::var_os(name);
    setting.variables.iter().all(|it| is_variable_free(it, command, variable))
}

fn is_variable_free(
    variable: &Variable,
    command: &[OsString],
    before: impl Fn(&str) -> Option<OsString>,
) -> bool {
    let name = variable.name.as_str();
    let set = before(name).unwrap_or_default();
    let set = set.to_string_lossy();
    let is_unset = match name {
        TUNABLES => !names(&variable.value).any(|tunable| set.contains(tunable)),
        _ => set.is_empty(),
    };
    let parameter = name.strip_prefix(OF_OPEN_MPI).unwrap_or(name);
    is_unset && !command.iter().any(|word| word.to_string_lossy().contains(parameter))
}

/// Names of the tunables in a list.
fn names(list: &str) -> impl Iterator<Item = &str> {
    list.split(':').filter_map(|setting| setting.split('=').next())
}

/// Variables of these settings; one whose file cannot be written is left out.
pub(super) fn variables(settings: &mut Vec<Setting>, store: &Store, may_write: bool) -> Variables {
    let mut values: BTreeMap<String, OsString> = BTreeMap::new();
    settings.retain(|setting| {
        let valued: Option<Vec<(&String, OsString)>> = setting
            .variables
            .iter()
            .map(|it| Some((&it.name, value(it, &setting.name, store, may_write)?)))
            .collect();
        for (name, value) in valued.iter().flatten() {
            joined(values.entry((*name).clone()).or_default(), value);
        }
        valued.is_some()
    });
    if let Some(tunables) = values.get_mut(TUNABLES) {
        let ours = std::mem::replace(tunables, std::env::var_os(TUNABLES).unwrap_or_default());
        joined(tunables, &ours);
    }
    values.into_iter().collect()
}

fn value(variable: &Variable, setting: &str, store: &Store, may_write: bool) -> Option<OsString> {
    match variable.file.as_str() {
        "" => Some(variable.value.clone().into()),
        content => store.setting_file(setting, content, may_write).map(Into::into),
    }
}

fn joined(list: &mut OsString, value: &OsStr) {
    if !list.is_empty() {
        list.push(":");
    }
    list.push(value);
}

/// Variables of a setting, for people.
pub(crate) fn in_words(setting: &Setting) -> String {
    let words = |it: &Variable| match it.file.as_str() {
        "" => format!("{}={}", it.name, it.value),
        content => format!("{} with `{}`", it.name, content.trim()),
    };
    setting.variables.iter().map(words).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(variable: (&str, &str), set: &str, command: &str, is_free: bool) {
        let variable = Variable {
            name: variable.0.to_owned(),
            value: variable.1.to_owned(),
            file: String::new(),
        };
        let command: Vec<OsString> = command.split(' ').map(OsString::from).collect();
        let before = |name: &str| {
            set.split_once('=').filter(|(set, _)| *set == name).map(|(_, value)| value.into())
        };
        assert_eq!(is_variable_free(&variable, &command, before), is_free);
    }

    #[test]
    fn what_the_user_set_is_left_alone() {
        let eager = ("OMPI_MCA_btl_vader_eager_limit", "32768");
        check(eager, "", "mpirun ./p", true);
        check(eager, "OMPI_MCA_btl_vader_eager_limit=1", "mpirun ./p", false);
        check(eager, "", "mpirun --mca btl_vader_eager_limit 1 ./p", false);
        let tunable = ("GLIBC_TUNABLES", "glibc.malloc.hugetlb=1");
        check(tunable, "GLIBC_TUNABLES=glibc.malloc.check=1", "./p", true);
        check(tunable, "GLIBC_TUNABLES=glibc.malloc.hugetlb=2", "./p", false);
    }

    #[test]
    fn tunables_of_several_settings_are_one_variable() {
        let mut list = OsString::new();
        joined(&mut list, OsStr::new("a=1"));
        joined(&mut list, OsStr::new("b=2"));
        assert_eq!(list, "a=1:b=2");
    }
}
