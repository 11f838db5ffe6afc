use std::fmt;

use crate::features::prototypes::Over;

/// Name in a text, with its column.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Word {
    pub(super) text: String,
    pub(super) column: usize,
}

/// Rule: label patterns, an expression, and the domains of its variables.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Rule {
    pub(super) relation: Option<String>,
    pub(super) before: Option<String>,
    pub(super) now: Option<String>,
    pub(super) expression: Expression,
    pub(super) variables: Vec<(Word, Domain)>,
}

/// Definition of a function that rules may call: `dist(i, j) = length(pos(i) - pos(j))`.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Definition {
    pub(super) name: String,
    pub(super) parameters: Vec<String>,
    pub(super) body: Expression,
    pub(super) text: String,
}

/// Domain of a variable.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Domain {
    Class(Word),
    Numbers(Vec<f64>),
}

/// Expression: a term, a test, or a conjunction of these. Tests have the values 0 and 1.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Expression {
    Number(f64),
    /// Variable, object, or channel that belongs to no object.
    Name(Word),
    /// `robot1.x`
    Field(Word, String),
    /// `(robot1.x, robot1.y)`
    Vector(Vec<Expression>),
    Call(Word, Vec<Expression>),
    /// One minus a test.
    Not(Box<Expression>),
    Negate(Box<Expression>),
    Binary(Box<Expression>, Operator, Box<Expression>),
    Power(Box<Expression>, u32),
    /// Value at another position: `x[-1]` is the previous one.
    Shift(Box<Expression>, Offset),
    /// Statistic over positions: `all(x>1, -5..+0)`.
    Window(Over, Box<Expression>, Offset, Offset),
    /// Statistic over objects: `min(dist(robot1, j) for j in robot)`.
    Among(Among, Box<Expression>, Word, Word, Option<Box<Expression>>),
}

impl Expression {
    /// Calls `f` with the operands of the expression.
    pub(super) fn for_each_part<'a>(&'a self, mut f: impl FnMut(&'a Expression)) {
        match self {
            Expression::Number(_) | Expression::Name(_) | Expression::Field(..) => {}
            Expression::Vector(parts) | Expression::Call(_, parts) => parts.iter().for_each(f),
            Expression::Not(operand)
            | Expression::Negate(operand)
            | Expression::Power(operand, _)
            | Expression::Shift(operand, _)
            | Expression::Window(_, operand, _, _) => f(operand),
            Expression::Binary(left, _, right) => {
                f(left);
                f(right);
            }
            Expression::Among(_, operand, _, _, by) => {
                f(operand);
                by.iter().for_each(|by| f(by));
            }
        }
    }
}

/// Offset in positions: a number or a variable.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Offset {
    pub(super) negative: bool,
    pub(super) size: Box<Expression>,
}

/// Statistic that combines the values of several objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Among {
    Any,
    All,
    Mean,
    Min,
    Max,
    /// Value of the object for which another expression is least.
    Nearest,
}

impl Among {
    pub(super) const NAMES: [(&'static str, Among); 6] = [
        ("any", Among::Any),
        ("all", Among::All),
        ("mean", Among::Mean),
        ("min", Among::Min),
        ("max", Among::Max),
        ("nearest", Among::Nearest),
    ];

    pub(super) fn name(self) -> &'static str {
        Among::NAMES.iter().find(|entry| entry.1 == self).expect("all are listed").0
    }
}

/// Binary operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operator {
    And,
    Less,
    Greater,
    AtMost,
    AtLeast,
    Equal,
    Unequal,
    Plus,
    Minus,
    Times,
    Over,
}

impl Operator {
    /// Spellings in the order in which they are tried; the first one of each operator is printed.
    pub(super) const SPELLINGS: [(&'static str, Operator); 16] = [
        ("∧", Operator::And),
        ("and", Operator::And),
        ("≤", Operator::AtMost),
        ("<=", Operator::AtMost),
        ("≥", Operator::AtLeast),
        (">=", Operator::AtLeast),
        ("≠", Operator::Unequal),
        ("!=", Operator::Unequal),
        ("<", Operator::Less),
        (">", Operator::Greater),
        ("=", Operator::Equal),
        ("+", Operator::Plus),
        ("-", Operator::Minus),
        ("·", Operator::Times),
        ("*", Operator::Times),
        ("/", Operator::Over),
    ];

    /// Binding level; higher levels bind more tightly.
    pub(super) fn level(self) -> u8 {
        match self {
            Operator::And => 1,
            Operator::Plus | Operator::Minus => 3,
            Operator::Times | Operator::Over => 4,
            _ => 2,
        }
    }
}

/// Name as a rule writes it: between back ticks unless it is a plain word.
pub(super) struct Quoted<'a>(pub(super) &'a str);

/// Reserved words, which are not names.
pub(super) const RESERVED: [&str; 6] = ["and", "by", "for", "in", "not", "step"];

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut letters = self.0.chars();
        let n_plain_functions = letters.next().is_some_and(starts_word) && letters.all(continues_word);
        if n_plain_functions && !RESERVED.contains(&self.0) {
            return f.write_str(self.0);
        }
        write!(f, "`{}`", self.0)
    }
}

pub(super) fn starts_word(c: char) -> bool {
    c.is_alphabetic() || c == '_'
}

pub(super) fn continues_word(c: char) -> bool {
    starts_word(c) || c.is_ascii_digit()
}
