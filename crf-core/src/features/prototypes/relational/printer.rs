use std::fmt;

use super::objects::Bindings;
use super::syntax::{Expression, Offset, Operator, Quoted};

/// Binding levels of expressions that are not binary.
const PREFIX: u8 = 5;
const POSTFIX: u8 = 6;
const ATOM: u8 = 7;

/// Printer of an expression with the values of its variables put in: the name of a function, and
/// itself a rule.
pub(super) struct Printed<'a> {
    pub(super) expression: &'a Expression,
    pub(super) bindings: &'a Bindings,
}

impl<'a> Printed<'a> {
    fn part(&self, expression: &'a Expression) -> Self {
        Printed { expression, bindings: self.bindings }
    }

    fn level(&self) -> u8 {
        match self.expression {
            Expression::Binary(_, operator, _) => operator.level(),
            Expression::Not(_) | Expression::Negate(_) => PREFIX,
            Expression::Power(..) | Expression::Shift(..) => POSTFIX,
            Expression::Number(value) if value.is_sign_negative() => PREFIX,
            Expression::Name(word) if self.bindings.number(&word.text).is_some_and(f64::is_sign_negative) => {
                PREFIX
            }
            _ => ATOM,
        }
    }

    /// Writes an expression, in parentheses if it binds less tightly than `level`.
    fn write(&self, expression: &'a Expression, level: u8, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let inner = self.part(expression);
        if inner.level() < level { write!(f, "({inner})") } else { write!(f, "{inner}") }
    }

    fn list(&self, items: &'a [Expression], f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, item) in items.iter().enumerate() {
            write!(f, "{}{}", if n == 0 { "" } else { ", " }, self.part(item))?;
        }
        Ok(())
    }

    fn offset(&self, offset: &'a Offset, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", if offset.negative { '-' } else { '+' }, self.part(&offset.size))
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
            Expression::Not(operand) => {
                write!(f, "¬")?;
                self.write(operand, PREFIX, f)
            }
            Expression::Negate(operand) => {
                write!(f, "-")?;
                self.write(operand, POSTFIX, f)
            }
            Expression::Binary(left, operator, right) => {
                let spelling = Operator::SPELLINGS.iter().find(|entry| entry.1 == *operator);
                let spelling = spelling.expect("all are listed").0;
                let space = match operator {
                    Operator::And | Operator::Plus | Operator::Minus => " ",
                    _ => "",
                };
                // Comparisons do not follow each other; other operators associate to the left.
                let level = operator.level();
                self.write(left, if level == 2 { 3 } else { level }, f)?;
                write!(f, "{space}{spelling}{space}")?;
                self.write(right, level + 1, f)
            }
            Expression::Power(operand, degree) => {
                self.write(operand, POSTFIX, f)?;
                if *degree == 2 { write!(f, "²") } else { write!(f, "^{degree}") }
            }
            Expression::Shift(operand, offset) => {
                self.write(operand, POSTFIX, f)?;
                write!(f, "[")?;
                self.offset(offset, f)?;
                write!(f, "]")
            }
            Expression::Window(over, operand, from, to) => {
                write!(f, "{}({}, ", over.name(), self.part(operand))?;
                self.offset(from, f)?;
                write!(f, "..")?;
                self.offset(to, f)?;
                write!(f, ")")
            }
            Expression::Among(among, operand, variable, class, by) => {
                write!(f, "{}({} for {} in {}", among.name(), self.part(operand), variable.text, class.text)?;
                if let Some(by) = by {
                    write!(f, " by {}", self.part(by))?;
                }
                write!(f, ")")
            }
        }
    }
}
