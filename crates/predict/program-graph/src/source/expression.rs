//! Converts C expressions to [`Expr`].
//!
//! # Not here
//! Meaning of names and calls in their context (`walker`): the reader asks for it, piece by piece.

use super::syntax_node::{Parsed, SourceLanguage, SyntaxNode};
use crate::expr::{Expr, Operator};
use expression::c_integer;
use std::collections::BTreeMap;

/// Callback for the meaning of a piece, where its context determines it.
pub(super) type Meaning<'a, 't> = dyn FnMut(SyntaxNode<'t>, usize) -> Option<Expr> + 'a;

/// Largest nesting depth of expressions; deeper ones stay as written.
pub(super) const DEPTH_MAX: usize = 120;
/// Largest number of characters in an expression's text; longer ones are cut.
const TEXT_MAX: usize = 60;

/// Reads an expression.
pub(super) fn read<'t>(piece: SyntaxNode<'t>, depth: usize, meaning: &mut Meaning<'_, 't>) -> Expr {
    if DEPTH_MAX < depth {
        return as_written(piece);
    }
    if let Some(meant) = meaning(piece, depth) {
        return meant;
    }
    let mut inner = |piece: SyntaxNode<'t>| read(piece, depth + 1, meaning);
    match piece.kind() {
        "number_literal" => c_integer(piece.text()).map_or_else(|| as_written(piece), Expr::Number),
        "true" | "false" => Expr::Number(i64::from(piece.kind() == "true")),
        "parenthesized_expression" | "argument" => {
            piece.children().first().map_or_else(|| as_written(piece), |child| inner(*child))
        }
        "comma_expression" => {
            let values: Vec<Expr> = piece.children().into_iter().map(&mut inner).collect();
            values.into_iter().next_back().unwrap_or_else(|| as_written(piece))
        }
        "cast_expression" => piece.field("value").map_or_else(|| as_written(piece), inner),
        "unary_expression" => {
            let sign = piece.field("operator").map_or("", SyntaxNode::text);
            let Some(argument) = piece.field("argument").map(inner) else {
                return as_written(piece);
            };
            match sign {
                "-" => Expr::Number(0).minus(argument),
                "+" => argument,
                "!" | "not" => Expr::Not(Box::new(argument)),
                _ => as_written(piece),
            }
        }
        "binary_expression" => binary(piece, &mut inner),
        "conditional_expression" => {
            let mut part = |name| piece.field(name).map(&mut inner).map(Box::new);
            let (condition, one, other) =
                (part("condition"), part("consequence"), part("alternative"));
            match (condition, one, other) {
                (Some(condition), Some(one), Some(other)) => Expr::Choice(condition, one, other),
                _ => as_written(piece),
            }
        }
        "sizeof_expression" => size_of(piece),
        "condition_clause" => match piece.field("value") {
            Some(value) => inner(value),
            None => piece.children().last().map_or_else(|| as_written(piece), |it| inner(*it)),
        },
        _ => {
            // An unknown construct: its parts are read for their effects.
            piece.children().into_iter().for_each(|child| drop(inner(child)));
            as_written(piece)
        }
    }
}

fn binary<'t>(piece: SyntaxNode<'t>, inner: &mut impl FnMut(SyntaxNode<'t>) -> Expr) -> Expr {
    let (Some(left), Some(right)) = (piece.field("left"), piece.field("right")) else {
        return as_written(piece);
    };
    let (left, right) = (inner(left), inner(right));
    let sign = match piece.field("operator").map_or("", SyntaxNode::text) {
        "and" => "&&",
        "or" => "||",
        sign => sign,
    };
    match Operator::of(sign) {
        Some(operator) => left.join(operator, right),
        None => as_written(piece),
    }
}

/// Returns the text as written, in one line.
pub(super) fn as_written(piece: SyntaxNode<'_>) -> Expr {
    Expr::Varying(short(piece))
}

/// Returns the text in one line, cut if it is too long.
pub(super) fn short(piece: SyntaxNode<'_>) -> String {
    let words = piece.words();
    if words.chars().count() <= TEXT_MAX {
        return words;
    }
    words.chars().take(TEXT_MAX).chain(['…']).collect()
}

/// Reads `sizeof`: of a basic type it is a number, of a struct a name.
fn size_of(piece: SyntaxNode<'_>) -> Expr {
    let of = piece.children().into_iter().next();
    let words = of.map(short).unwrap_or_default();
    let words = words.trim_start_matches('(').trim_end_matches(')').trim();
    match bytes_of_type(words) {
        Some(n_bytes) => Expr::Number(n_bytes),
        None => Expr::Call("sizeof".into(), vec![Expr::Name(words.to_owned())]),
    }
}

/// Returns the size of a basic C type on 64-bit systems, in bytes.
fn bytes_of_type(words: &str) -> Option<i64> {
    const NAMES: [(i64, &str); 4] = [
        (1, "char,signed char,unsigned char,bool,int8_t,uint8_t"),
        (2, "short,unsigned short,int16_t,uint16_t"),
        (4, "int,unsigned,unsigned int,float,int32_t,uint32_t"),
        (8, "long,unsigned long,double,size_t,int64_t,uint64_t"),
    ];
    NAMES.iter().find(|row| row.1.split(',').any(|known| known == words)).map(|row| row.0)
}

/// Evaluates a C text as an integer, using known constants.
pub(super) fn constant(text: &str, constants: &BTreeMap<String, i64>) -> Option<i64> {
    if let Some(number) = c_integer(text.trim()) {
        return Some(number);
    }
    if text.is_empty() || TEXT_MAX < text.len() {
        return None;
    }
    let parsed = Parsed::of("", format!("int v = {text};"), SourceLanguage::C, 1)?;
    if parsed.tree.root_node().has_error() {
        return None;
    }
    let value = parsed.root().all().into_iter().find(|it| it.kind() == "init_declarator")?;
    let read = read(value.field("value")?, 0, &mut |piece, _| {
        (piece.kind() == "identifier").then(|| Expr::Name(piece.text().to_owned()))
    });
    read.whole(&|leaf| match leaf {
        Expr::Name(name) => constants.get(name).copied(),
        _ => None,
    })
}
