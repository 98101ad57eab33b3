//! Recursive-descent parser of expressions: one level of recursion for each level of operator precedence.

use super::{Binary, ExpressionError, Node, Unary};

/// Limit on nested parentheses and signs, beyond any expression that a person would write.
const DEPTH_MAX: usize = 64;

/// Operators from lowest to highest precedence; within a level, longer ones before their prefixes.
const LEVELS: &[&[(&str, Binary)]] = &[
    &[("||", Binary::Or), ("or", Binary::Or)],
    &[("&&", Binary::And), ("and", Binary::And)],
    &[
        ("<=", Binary::LessOrEqual),
        (">=", Binary::GreaterOrEqual),
        ("==", Binary::Equal),
        ("!=", Binary::NotEqual),
        ("=", Binary::Equal),
        ("<", Binary::Less),
        (">", Binary::Greater),
    ],
    &[("+", Binary::Plus), ("-", Binary::Minus)],
    &[("*", Binary::Times), ("/", Binary::Over), ("%", Binary::Modulo)],
];

const FUNCTIONS: &[(&str, Unary)] =
    &[("floor", Unary::Floor), ("ceil", Unary::Ceil), ("sqrt", Unary::Sqrt), ("log2", Unary::Log2)];

/// Returns whether a name is reserved and so cannot be a parameter.
pub(crate) fn is_taken(name: &str) -> bool {
    ["and", "or", "not"].contains(&name) || FUNCTIONS.iter().any(|(function, _)| *function == name)
}

/// Parses all of `text`.
pub(super) fn parse(text: &str) -> Result<Node, ExpressionError> {
    let mut parser = Parser { text, at: 0, depth: 0 };
    let node = parser.level(0)?;
    parser.skip_space();
    if parser.at < text.len() { Err(parser.missing("an operator")) } else { Ok(node) }
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
}

impl Parser<'_> {
    fn level(&mut self, level: usize) -> Result<Node, ExpressionError> {
        let Some(operators) = LEVELS.get(level) else { return self.signed() };
        let mut left = self.level(level + 1)?;
        while let Some((_, operator)) = operators.iter().find(|(word, _)| self.takes(word)) {
            let right = self.level(level + 1)?;
            left = Node::Two(*operator, Box::new(left), Box::new(right));
        }
        Ok(left)
    }

    fn signed(&mut self) -> Result<Node, ExpressionError> {
        self.deeper(|parser| {
            if parser.takes("-") {
                return Ok(Node::One(Unary::Minus, Box::new(parser.signed()?)));
            }
            if parser.takes("not") || parser.takes("!") {
                // `not` applies to a whole comparison.
                return Ok(Node::One(Unary::Not, Box::new(parser.level(2)?)));
            }
            let base = parser.operand()?;
            if parser.takes("^") {
                let exponent = parser.signed()?;
                return Ok(Node::Two(Binary::Power, Box::new(base), Box::new(exponent)));
            }
            Ok(base)
        })
    }

    fn operand(&mut self) -> Result<Node, ExpressionError> {
        if self.takes("(") {
            return self.closed();
        }
        if let Some((_, function)) = FUNCTIONS.iter().find(|(word, _)| self.takes(word)) {
            if !self.takes("(") {
                return Err(self.missing("`(`"));
            }
            return Ok(Node::One(*function, Box::new(self.closed()?)));
        }
        let name: String = self.rest().chars().take_while(|c| is_of_name(*c)).collect();
        if name.starts_with(|c: char| c.is_alphabetic() || c == '_') {
            self.at += name.len();
            return Ok(Node::Parameter(name));
        }
        self.number()
    }

    /// Parses the rest of a parenthesized expression.
    fn closed(&mut self) -> Result<Node, ExpressionError> {
        let inner = self.level(0)?;
        if self.takes(")") { Ok(inner) } else { Err(self.missing("`)`")) }
    }

    fn number(&mut self) -> Result<Node, ExpressionError> {
        let rest = self.rest();
        let n_plain = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let exponent = rest[n_plain..].strip_prefix(['e', 'E']).and_then(|after| {
            let digits = after.strip_prefix(['-', '+']).unwrap_or(after);
            let n_digits = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
            (0 < n_digits).then(|| 1 + after.len() - digits.len() + n_digits)
        });
        let n_bytes = n_plain + exponent.unwrap_or(0);
        match rest[..n_bytes].parse() {
            Ok(number) => {
                self.at += n_bytes;
                Ok(Node::Number(number))
            }
            Err(_) => Err(self.missing("a number or a parameter")),
        }
    }

    fn deeper(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<Node, ExpressionError>,
    ) -> Result<Node, ExpressionError> {
        if DEPTH_MAX <= self.depth {
            return Err(self.missing("an end"));
        }
        self.depth += 1;
        let node = read(self);
        self.depth -= 1;
        node
    }

    /// Returns whether `word` comes next, and skips it if so.
    fn takes(&mut self, word: &str) -> bool {
        self.skip_space();
        let Some(after) = self.rest().strip_prefix(word) else { return false };
        if word.starts_with(char::is_alphabetic) && after.starts_with(is_of_name) {
            return false;
        }
        self.at += word.len();
        true
    }

    fn skip_space(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start().len();
    }

    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn missing(&mut self, expected: &'static str) -> ExpressionError {
        self.skip_space();
        let at = self.text[..self.at].chars().count() + 1;
        ExpressionError::Malformed { text: self.text.to_owned(), expected, at }
    }
}

fn is_of_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}
