//! `sintonia functions`: lists what can be measured in a program, and where its names lie in the source.
//!
//! # Not here
//! Variables: `sintonia run --app` explains a name that is not found.

use anyhow::Context;
use clap::Args;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::process::ExitCode;
use symbols::{Function, Parameter, Passing, Program};
use user_io::terminal::Terminal;

/// Widest column of the table; a few long names do not widen it further.
const N_COLUMNS_MAX: usize = 48;

const EXAMPLES: &str = "\
Examples:
  sintonia functions ./program
  sintonia functions ./program --filter exchange
  sintonia functions ./program --description > program.toml
  sintonia functions ./program --json | jq -r '.[] | select(.inlined == []) | .name'

A function that is also inlined can have probes; calls at the places where it is inlined do not pass them.
Compile with `-g` for source lines, inlined copies and parameters.";

/// List the functions of a program that can be measured
///
/// Shows the address, size and source line of each function, and whether probes can be put into it. Nothing is started.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Options {
    /// Program to read
    program: PathBuf,
    /// List only functions with this text in their name or source file
    #[arg(long, value_name = "TEXT")]
    filter: Option<String>,
    /// Print the functions as JSON, with parameters
    #[arg(long, conflicts_with = "description")]
    json: bool,
    /// Print the description of the application that the program carries, as a base for your own
    #[arg(long)]
    description: bool,
}

/// Lists the functions of a program.
pub(crate) fn run(options: &Options, _: Terminal) -> anyhow::Result<ExitCode> {
    let program = Program::open(&options.program)?;
    if options.description {
        return print_description(&program);
    }
    warnings(&program).iter().for_each(|warning| eprintln!("sintonia: {warning}"));
    let is_wanted = |function: &&Function| {
        options.filter.as_deref().is_none_or(|text| contains(function, text))
    };
    let found: Vec<&Function> = program.functions().iter().filter(is_wanted).collect();
    let text = if options.json {
        let found: Vec<Value> = found.iter().map(|function| as_json(function)).collect();
        format!("{:#}\n", Value::from(found))
    } else {
        table(&found)
    };
    if found.is_empty() {
        eprintln!("sintonia: `{}` has no such function", options.program.display());
    }
    user_io::print::result(&text)?;
    if let Some((file, _)) = program.description() {
        eprintln!(
            "sintonia: `{}` carries a description of the application: `sintonia run --tunlet NAME` needs no other, \
             and `--description` prints it",
            file.display()
        );
    }
    Ok(ExitCode::SUCCESS)
}

/// Prints the description that the program carries.
fn print_description(program: &Program) -> anyhow::Result<ExitCode> {
    let path = program.path().display();
    let (_, text) = program.description().with_context(|| {
        format!("`{path}` carries no description of an application; only programs of the master-worker library do")
    })?;
    user_io::print::result(&text)
}

fn warnings(program: &Program) -> Vec<String> {
    let mut warnings = Vec::new();
    if program.is_static() {
        warnings
            .push("is linked statically: nothing can be loaded into it, and it cannot be measured");
    }
    if program.is_stripped() && !program.has_debug_info() {
        warnings.push(
            "is stripped: only functions that it exports are known; compile it with `-g` and do not strip it, or put \
             its debug file beside it",
        );
    } else if !program.has_debug_info() {
        warnings.push(
            "has no debug information: compile it with `-g` to see source lines and what is inlined",
        );
    }
    let name = program.path().display();
    let mut warnings: Vec<String> =
        warnings.into_iter().map(|warning| format!("`{name}` {warning}")).collect();
    let is_stripped = program.is_stripped() && !program.has_debug_info();
    if let Some(library) = program.library_of_code().filter(|_| is_stripped) {
        let file = library.file_name().unwrap_or_default().display();
        warnings.push(format!(
            "`{name}` is linked with `{file}`, which calls more functions of MPI: if the code is there, `sintonia \
             functions {}` lists it, and `--probe '{file}:PATTERN'` measures it",
            library.display()
        ));
    }
    warnings
}

fn contains(function: &Function, text: &str) -> bool {
    let file = function.source.as_ref().is_some_and(|source| source.file.contains(text));
    file || function.symbol.contains(text) || function.signature().contains(text)
}

/// Says in a few words whether probes can be put into a function.
fn verdict(function: &Function) -> String {
    let holders = || {
        let names = function.inlined.iter().take(3).map(|inlined| inlined.function.as_str());
        let more = if 3 < function.inlined.len() { ", ..." } else { "" };
        names.collect::<Vec<_>>().join(", ") + more
    };
    match (function.probeable(), function.n_inlined()) {
        (Err(why), _) => format!("no: {why}"),
        (Ok(()), 1) => format!("yes, but inlined at 1 place: {}", holders()),
        (Ok(()), n) if 0 < n => format!("yes, but inlined at {n} places: {}", holders()),
        (Ok(()), _) if function.is_copy => {
            "yes, as a variant with other arguments that the compiler made".to_owned()
        }
        (Ok(()), _) => "yes".to_owned(),
    }
}

fn table(functions: &[&Function]) -> String {
    let mut rows = vec![["NAME", "ADDRESS", "BYTES", "SOURCE", "PROBE"].map(str::to_owned)];
    rows.extend(functions.iter().map(|function| row(function)));
    let width = |column: usize| {
        let widths = rows.iter().map(|row| row[column].chars().count());
        widths.filter(|width| *width <= N_COLUMNS_MAX).max().unwrap_or(N_COLUMNS_MAX)
    };
    let widths: Vec<usize> = (0..4).map(width).collect();
    let line = |[name, address, n_bytes, source, probe]: &[String; 5]| {
        format!(
            "{name:<0$}  {address:>1$}  {n_bytes:>2$}  {source:<3$}  {probe}\n",
            widths[0], widths[1], widths[2], widths[3]
        )
    };
    rows.iter().map(line).collect()
}

fn row(function: &Function) -> [String; 5] {
    let is_variant = function.is_copy || function.name.is_empty();
    let name = if is_variant { function.symbol.clone() } else { function.signature() };
    let source = function.source.as_ref().map(|source| {
        let file = source.file.rsplit('/').next().unwrap_or(&source.file);
        format!("{file}:{}", source.line)
    });
    [
        name,
        format!("{:#x}", function.address),
        function.n_bytes.to_string(),
        source.unwrap_or_else(|| "-".to_owned()),
        verdict(function),
    ]
}

fn as_json(function: &Function) -> Value {
    let inlined = function.inlined.iter();
    let inlined = inlined.map(|at| json!({ "function": at.function, "n_copies": at.n_copies }));
    let source = function.source.as_ref();
    let source = source.map(|source| json!({ "file": source.file, "line": source.line }));
    let parameters = function.parameters.as_ref();
    let parameters = parameters.map(|all| all.iter().map(parameter).collect::<Vec<_>>());
    let returns = function.returns.as_ref();
    json!({
        "name": function.name,
        "signature": function.signature(),
        "symbol": function.symbol,
        "address": function.address,
        "n_bytes": function.n_bytes,
        "n_bytes_to_next": function.n_bytes_to_next,
        "source": source,
        "inlined": inlined.collect::<Vec<_>>(),
        "parameters": parameters,
        "returns": returns.map(|returned| returned.type_name.clone()),
        "is_copy": function.is_copy,
        "probe": function.probeable().is_ok(),
        "why_not": function.probeable().err().map(|why| why.to_string()),
    })
}

fn parameter(parameter: &Parameter) -> Value {
    const INTEGER: [&str; 6] = ["rdi", "rsi", "rdx", "rcx", "r8", "r9"];
    let place = match parameter.passing {
        Passing::Integer(n) => INTEGER.get(usize::from(n)).map(|&name| name.to_owned()),
        Passing::Float(n) => Some(format!("xmm{n}")),
        Passing::Stack(n) => Some(format!("stack {n}")),
        Passing::Parts => None,
    };
    json!({
        "name": parameter.name,
        "type": parameter.type_name,
        "kind": parameter.kind.map(events::ValueType::name),
        "place": place,
        "is_by_reference": parameter.is_by_reference,
    })
}
