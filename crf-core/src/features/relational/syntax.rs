use std::fmt;

use super::objects::Bindings;
use crate::features::prototypes::Over;

/// A name in a text, and the column where it stands.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Word {
    pub(super) text: String,
    pub(super) column: usize,
}

/// A rule: label patterns, an expression, and what its variables range over.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Rule {
    pub(super) relation: Option<String>,
    pub(super) before: Option<String>,
    pub(super) now: Option<String>,
    pub(super) expression: Expression,
    pub(super) variables: Vec<(Word, Domain)>,
}

/// A function that rules may call: `dist(i, j) = length(pos(i) - pos(j))`.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Definition {
    pub(super) name: String,
    pub(super) parameters: Vec<String>,
    pub(super) body: Expression,
    pub(super) text: String,
}

/// What a variable ranges over.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Domain {
    Class(Word),
    Numbers(Vec<f64>),
}

/// A term, a test, or a conjunction of these; tests are worth 0 or 1.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Expression {
    Number(f64),
    /// A variable, an object, or a channel that belongs to no object.
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
    /// The value at another position: `x[-1]` is the one before.
    Shift(Box<Expression>, Offset),
    /// Taken together over positions: `all(x>1, -5..+0)`.
    Window(Over, Box<Expression>, Offset, Offset),
    /// Taken together over objects: `min(dist(robot1, j) for j in robot)`.
    Among(Among, Box<Expression>, Word, Word, Option<Box<Expression>>),
}

impl Expression {
    /// Calls `f` with the expressions of which this one is made.
    pub(super) fn for_each_part<'a>(&'a self, mut f: impl FnMut(&'a Expression)) {
        match self {
            Expression::Number(_) | Expression::Name(_) | Expression::Field(..) => {}
            Expression::Vector(parts) | Expression::Call(_, parts) => parts.iter().for_each(f),
            Expression::Not(of)
            | Expression::Negate(of)
            | Expression::Power(of, _)
            | Expression::Shift(of, _)
            | Expression::Window(_, of, _, _) => f(of),
            Expression::Binary(left, _, right) => {
                f(left);
                f(right);
            }
            Expression::Among(_, of, _, _, by) => {
                f(of);
                by.iter().for_each(|by| f(by));
            }
        }
    }
}

/// A number of positions, perhaps a variable's.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Offset {
    pub(super) negative: bool,
    pub(super) size: Box<Expression>,
}

/// How the values of several objects become one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Among {
    Any,
    All,
    Mean,
    Min,
    Max,
    /// The value of the object for which another expression is least.
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

    fn name(self) -> &'static str {
        Among::NAMES.iter().find(|entry| entry.1 == self).expect("all are listed").0
    }
}

/// What stands between two expressions.
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
    /// Spellings in the order in which they are tried; of each operator the printed one comes first.
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

    /// How tightly it binds.
    pub(super) fn level(self) -> u8 {
        match self {
            Operator::And => 1,
            Operator::Plus | Operator::Minus => 3,
            Operator::Times | Operator::Over => 4,
            _ => 2,
        }
    }
}

/// The levels of what is no binary expression.
const PREFIX: u8 = 5;
const POSTFIX: u8 = 6;
const ATOM: u8 = 7;

/// An expression with the values of its variables in their places: the name of a function, and itself a rule.
pub(super) struct Printed<'a> {
    pub(super) expression: &'a Expression,
    pub(super) bindings: &'a Bindings,
}

impl<'a> Printed<'a> {
    fn of(&self, expression: &'a Expression) -> Self {
        Printed { expression, bindings: self.bindings }
    }

    fn level(&self) -> u8 {
        match self.expression {
            Expression::Binary(_, operator, _) => operator.level(),
            Expression::Not(_) | Expression::Negate(_) => PREFIX,
            Expression::Power(..) | Expression::Shift(..) => POSTFIX,
            Expression::Number(value) if *value < 0.0 => PREFIX,
            Expression::Name(word) if self.bindings.number(&word.text).is_some_and(|value| value < 0.0) => {
                PREFIX
            }
            _ => ATOM,
        }
    }

    /// The expression, in parentheses if it binds less tightly than its place asks for.
    fn write(&self, expression: &'a Expression, level: u8, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let inner = self.of(expression);
        if inner.level() < level { write!(f, "({inner})") } else { write!(f, "{inner}") }
    }

    fn list(&self, items: &'a [Expression], f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, item) in items.iter().enumerate() {
            write!(f, "{}{}", if n == 0 { "" } else { ", " }, self.of(item))?;
        }
        Ok(())
    }

    fn offset(&self, offset: &'a Offset, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", if offset.negative { '-' } else { '+' }, self.of(&offset.size))
    }
}

impl fmt::Display for Printed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.expression {
            Expression::Number(value) => write!(f, "{value}"),
            Expression::Name(word) => self.bindings.write(&word.text, f),
            Expression::Field(object, field) => {
                self.bindings.write(&object.text, f)?;
                write!(f, ".{}", Quoted(field))
            }
            Expression::Vector(parts) => {
                write!(f, "(")?;
                self.list(parts, f)?;
                write!(f, ")")
            }
            Expression::Call(name, arguments) => {
                write!(f, "{}(", name.text)?;
                self.list(arguments, f)?;
                write!(f, ")")
            }
            Expression::Not(of) => {
                write!(f, "¬")?;
                self.write(of, PREFIX, f)
            }
            Expression::Negate(of) => {
                write!(f, "-")?;
                self.write(of, POSTFIX, f)
            }
            Expression::Binary(left, operator, right) => {
                let spelling = Operator::SPELLINGS.iter().find(|entry| entry.1 == *operator);
                let spelling = spelling.expect("all are listed").0;
                let space = match operator {
                    Operator::And | Operator::Plus | Operator::Minus => " ",
                    _ => "",
                };
                // Comparisons do not follow each other; the others are read from the left.
                let level = operator.level();
                self.write(left, if level == 2 { 3 } else { level }, f)?;
                write!(f, "{space}{spelling}{space}")?;
                self.write(right, level + 1, f)
            }
            Expression::Power(of, degree) => {
                self.write(of, POSTFIX, f)?;
                if *degree == 2 { write!(f, "²") } else { write!(f, "^{degree}") }
            }
            Expression::Shift(of, offset) => {
                self.write(of, POSTFIX, f)?;
                write!(f, "[")?;
                self.offset(offset, f)?;
                write!(f, "]")
            }
            Expression::Window(over, of, from, to) => {
                write!(f, "{}({}, ", over.name(), self.of(of))?;
                self.offset(from, f)?;
                write!(f, "..")?;
                self.offset(to, f)?;
                write!(f, ")")
            }
            Expression::Among(among, of, variable, class, by) => {
                write!(f, "{}({} for {} in {}", among.name(), self.of(of), variable.text, class.text)?;
                if let Some(by) = by {
                    write!(f, " by {}", self.of(by))?;
                }
                write!(f, ")")
            }
        }
    }
}

/// A name as a rule has it: between back ticks unless it is a plain word.
pub(super) struct Quoted<'a>(pub(super) &'a str);

/// Words that mean something else than a name.
pub(super) const RESERVED: [&str; 6] = ["and", "by", "for", "in", "not", "step"];

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut letters = self.0.chars();
        let plain = letters.next().is_some_and(starts_word) && letters.all(continues_word);
        if plain && !RESERVED.contains(&self.0) {
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
