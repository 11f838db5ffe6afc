use super::syntax::{
    Among, Definition, Domain, Expression, Offset, Operator, RESERVED, Rule, Word, continues_word,
    starts_word,
};
use crate::error::{Error, Result};
use crate::features::prototypes::Over;

/// Upper limit of the nesting of expressions, so that no text can exhaust the stack.
const MAX_DEPTH: usize = 64;

/// Upper limit of the numbers in a range.
const MAX_NUMBERS: f64 = 1e6;

/// Text that ends the label of a rule, unless the label is between back ticks.
pub(crate) const LABEL_ENDS: [&str; 3] = ["∧", " and ", " for "];

/// Parses a rule.
pub(super) fn rule(text: &str) -> Result<Rule> {
    let mut parser = Parser { text, offset: 0, depth: 0 };
    let relation = parser.relation();
    let (mut before, mut now) = (None, None);
    let mut follows = true; // true if an expression must follow
    while let Some((is_before, label)) = parser.label_pattern()? {
        let slot = if is_before { &mut before } else { &mut now };
        if slot.replace(label).is_some() {
            return Err(parser.expected("one pattern for `y` and one for `y'`"));
        }
        follows = parser.take("∧") || parser.take_word("and");
        if !follows {
            break;
        }
    }
    let expression = if follows { parser.expression(1)? } else { Expression::Number(1.0) };
    let variables = if parser.take_word("for") { parser.variables()? } else { Vec::new() };
    parser.end("an operator, `for`, or the end of the rule")?;
    Ok(Rule { relation, before, now, expression, variables })
}

/// Parses a definition.
pub(super) fn definition(text: &str) -> Result<Definition> {
    let mut parser = Parser { text, offset: 0, depth: 0 };
    let name = parser.word("the name of what is defined, as in `dist(i, j) = …`")?.text;
    parser.expect("(")?;
    let mut parameters = vec![parser.word("the name of a parameter")?.text];
    while parser.take(",") {
        parameters.push(parser.word("the name of a parameter")?.text);
    }
    parser.expect(")")?;
    parser.expect("=")?;
    let body = parser.expression(1)?;
    parser.end("an operator, or the end of the definition")?;
    Ok(Definition { name, parameters, body, text: text.to_owned() })
}

/// Adds the column of a text to an error.
pub(super) fn at_column(text: &str, column: usize, error: Error) -> Error {
    error.at(format!("column {column} of `{text}`"))
}

struct Parser<'a> {
    text: &'a str,
    offset: usize, // in bytes
    depth: usize,
}

impl<'a> Parser<'a> {
    fn rest(&mut self) -> &'a str {
        let rest = &self.text[self.offset..];
        self.offset += rest.len() - rest.trim_start().len();
        &self.text[self.offset..]
    }

    fn column(&mut self) -> usize {
        self.rest();
        self.text[..self.offset].chars().count() + 1
    }

    fn expected(&mut self, want: &str) -> Error {
        let column = self.column();
        let got = match self.rest() {
            "" => "the end".to_owned(),
            rest => format!("`{}`", rest.chars().take(20).collect::<String>()),
        };
        at_column(self.text, column, Error::data(format!("expected {want}, got {got}")))
    }

    fn take(&mut self, token: &str) -> bool {
        let found = self.rest().starts_with(token);
        self.offset += if found { token.len() } else { 0 };
        found
    }

    fn expect(&mut self, token: &str) -> Result<()> {
        if self.take(token) { Ok(()) } else { Err(self.expected(&format!("`{token}`"))) }
    }

    fn end(&mut self, want: &str) -> Result<()> {
        if self.rest().is_empty() { Ok(()) } else { Err(self.expected(want)) }
    }

    /// Next plain word, without taking it.
    fn peek_word(&mut self) -> Option<&'a str> {
        let rest = self.rest();
        let end = rest.find(|c| !continues_word(c)).unwrap_or(rest.len());
        rest.starts_with(starts_word).then(|| &rest[..end])
    }

    fn take_word(&mut self, word: &str) -> bool {
        let found = self.peek_word() == Some(word);
        self.offset += if found { word.len() } else { 0 };
        found
    }

    /// Takes a name: a word that is not reserved, or anything between back ticks.
    fn word(&mut self, want: &str) -> Result<Word> {
        let column = self.column();
        let text = if let Some(quoted) = self.rest().strip_prefix('`') {
            let end = quoted.find('`').ok_or_else(|| self.expected("a name that ends with a back tick"))?;
            self.offset += end + 2;
            &quoted[..end]
        } else {
            let word = self.peek_word().filter(|word| !RESERVED.contains(word));
            let word = word.ok_or_else(|| self.expected(want))?;
            self.offset += word.len();
            word
        };
        Ok(Word { text: text.to_owned(), column })
    }

    /// Takes `skip:`, the name of a relation, which contains neither `=` nor a back tick.
    fn relation(&mut self) -> Option<String> {
        let (name, _) = self.rest().split_once(':').filter(|(name, _)| !name.contains(['=', '`']))?;
        self.offset += name.len() + 1;
        Some(name.trim().to_owned())
    }

    /// Takes `y=label` or `y'=label`: true for y', and the label.
    fn label_pattern(&mut self) -> Result<Option<(bool, String)>> {
        let start = self.offset;
        let is_y = self.take_word("y");
        let is_before = is_y && self.take("'");
        if !(is_y && self.take("=")) {
            self.offset = start;
            return Ok(None);
        }
        let rest = self.rest();
        if rest.starts_with('`') {
            return Ok(Some((is_before, self.word("a label")?.text)));
        }
        let ends = LABEL_ENDS.iter().filter_map(|end| rest.find(end));
        let end = ends.min().unwrap_or(rest.len());
        let label = rest[..end].trim();
        if label.is_empty() {
            return Err(self.expected("a label, or a variable that stands for one"));
        }
        self.offset += end;
        Ok(Some((is_before, label.to_owned())))
    }

    /// Takes an expression whose operators bind at least as tightly as `level`.
    fn expression(&mut self, level: u8) -> Result<Expression> {
        self.deeper()?;
        let mut left = self.prefixed()?;
        while let Some((spelling, operator)) = self.operator().filter(|found| found.1.level() >= level) {
            self.offset += spelling.len();
            let right = self.expression(operator.level() + 1)?;
            left = Expression::Binary(left.into(), operator, right.into());
            if operator.level() == 2
                && let Some((_, next)) = self.operator()
                && next.level() == 2
            {
                return Err(self.expected("no second comparison; join two with `∧`"));
            }
        }
        self.depth -= 1;
        Ok(left)
    }

    fn deeper(&mut self) -> Result<()> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(self.expected(&format!("at most {MAX_DEPTH} expressions within each other")));
        }
        Ok(())
    }

    fn operator(&mut self) -> Option<(&'static str, Operator)> {
        let rest = self.rest();
        let word = self.peek_word();
        let fits = |spelling: &str| match word {
            Some(word) => word == spelling,
            None => rest.starts_with(spelling),
        };
        Operator::SPELLINGS.iter().find(|entry| fits(entry.0)).copied()
    }

    fn prefixed(&mut self) -> Result<Expression> {
        let not = self.take("¬") || self.take_word("not");
        if !not && !self.take("-") {
            return self.postfixed();
        }
        self.deeper()?;
        let literal = self.rest().starts_with(|c: char| c.is_ascii_digit());
        let operand = self.prefixed()?;
        self.depth -= 1;
        Ok(match operand {
            operand if not => Expression::Not(operand.into()),
            Expression::Number(value) if literal => Expression::Number(-value),
            operand => Expression::Negate(operand.into()),
        })
    }

    fn postfixed(&mut self) -> Result<Expression> {
        let mut operand = self.atom()?;
        loop {
            if self.take("²") {
                operand = Expression::Power(operand.into(), 2);
            } else if self.take("^") {
                let degree = self.number()?;
                if degree.fract() != 0.0 || !(1.0..=64.0).contains(&degree) {
                    return Err(self.expected("a whole exponent from 1 to 64"));
                }
                operand = Expression::Power(operand.into(), degree as u32);
            } else if self.take("[") {
                let offset = self.window_offset()?;
                self.expect("]")?;
                operand = Expression::Shift(operand.into(), offset);
            } else {
                return Ok(operand);
            }
        }
    }

    fn atom(&mut self) -> Result<Expression> {
        if self.rest().starts_with(|c: char| c.is_ascii_digit()) {
            return Ok(Expression::Number(self.number()?));
        }
        if self.take("(") {
            let mut parts = vec![self.expression(1)?];
            while self.take(",") {
                parts.push(self.expression(1)?);
            }
            self.expect(")")?;
            return Ok(if parts.len() > 1 { Expression::Vector(parts) } else { parts.swap_remove(0) });
        }
        let word = self.word("a number, a name, or `(`")?;
        if !self.text[self.offset..].starts_with("..") && self.take(".") {
            return Ok(Expression::Field(word, self.word("the name of a field")?.text));
        }
        if self.take("(") { self.call(word) } else { Ok(Expression::Name(word)) }
    }

    /// Takes the rest of a call, behind the name and the parenthesis.
    fn call(&mut self, name: Word) -> Result<Expression> {
        let mut arguments = vec![self.expression(1)?];
        if self.take_word("for") {
            return self.among(name, arguments.swap_remove(0));
        }
        if let Some(over) = Over::ALL.into_iter().find(|over| over.name() == name.text) {
            self.expect(",")?;
            let from = self.window_offset()?;
            self.expect("..")?;
            let to = self.window_offset()?;
            self.expect(")")?;
            return Ok(Expression::Window(over, arguments.swap_remove(0).into(), from, to));
        }
        while self.take(",") {
            arguments.push(self.expression(1)?);
        }
        self.expect(")")?;
        Ok(Expression::Call(name, arguments))
    }

    fn among(&mut self, name: Word, operand: Expression) -> Result<Expression> {
        let names = Among::NAMES.iter().map(|entry| entry.0);
        let Some(&(_, among)) = Among::NAMES.iter().find(|entry| entry.0 == name.text) else {
            return Err(at_column(
                self.text,
                name.column,
                Error::unknown("way to take objects together", &name.text, names),
            ));
        };
        let variable = self.word("a variable")?;
        if !self.take_word("in") {
            return Err(self.expected("`in`"));
        }
        let class = self.word("a class of objects")?;
        let by = match among {
            Among::Nearest if self.take_word("by") => Some(self.expression(1)?.into()),
            Among::Nearest => return Err(self.expected("`by` and what is least for the nearest")),
            _ => None,
        };
        self.expect(")")?;
        Ok(Expression::Among(among, operand.into(), variable, class, by))
    }

    /// Takes an offset: `-1`, `+0`, or `-w` for a variable w.
    fn window_offset(&mut self) -> Result<Offset> {
        let negative = self.take("-");
        if !negative {
            self.take("+");
        }
        let size = if self.peek_word().is_some() {
            Expression::Name(self.word("a number of positions")?)
        } else {
            Expression::Number(self.number()?)
        };
        Ok(Offset { negative, size: size.into() })
    }

    /// Takes a number without a sign.
    fn number(&mut self) -> Result<f64> {
        let rest = self.rest();
        let digits = |from: usize| rest[from..].bytes().take_while(u8::is_ascii_digit).count();
        let mut end = digits(0);
        // Two full stops belong to a range.
        if rest[end..].starts_with('.') && end > 0 && digits(end + 1) > 0 {
            end += 1 + digits(end + 1);
        }
        if rest[end..].starts_with(['e', 'E']) {
            let sign = usize::from(rest[end + 1..].starts_with(['-', '+']));
            let exponent = digits(end + 1 + sign);
            end += if exponent > 0 { 1 + sign + exponent } else { 0 };
        }
        let value = rest[..end].parse().ok().filter(|value: &f64| value.is_finite());
        let value = value.ok_or_else(|| self.expected("a finite number"))?;
        self.offset += end;
        Ok(value)
    }

    fn signed(&mut self) -> Result<f64> {
        if self.take("-") { Ok(-self.number()?) } else { self.number() }
    }

    /// Takes variables: `i, j in robot, k in 200..1000 step 50`.
    fn variables(&mut self) -> Result<Vec<(Word, Domain)>> {
        let mut all: Vec<(Word, Domain)> = Vec::new();
        loop {
            let mut names = vec![self.word("a variable")?];
            while self.take(",") {
                names.push(self.word("a variable")?);
            }
            if !self.take_word("in") {
                return Err(self.expected("`in`"));
            }
            let domain = self.domain()?;
            for name in names {
                if all.iter().any(|(other, _)| other.text == name.text) {
                    let error = Error::data(format!("`{}` stands for two things", name.text));
                    return Err(at_column(self.text, name.column, error));
                }
                all.push((name, domain.clone()));
            }
            if !self.take(",") {
                return Ok(all);
            }
        }
    }

    fn domain(&mut self) -> Result<Domain> {
        if self.peek_word().is_some() || self.rest().starts_with('`') {
            return Ok(Domain::Class(self.word("a class of objects")?));
        }
        if self.take("[") {
            let mut numbers = vec![self.signed()?];
            while self.take(",") {
                numbers.push(self.signed()?);
            }
            self.expect("]")?;
            return Ok(Domain::Numbers(numbers));
        }
        let from = self.signed()?;
        self.expect("..")?;
        let to = self.signed()?;
        let step = if self.take_word("step") { self.signed()? } else { 1.0 };
        let steps = ((to - from) / step + 1e-9).floor();
        if !(0.0..MAX_NUMBERS).contains(&steps) {
            return Err(self.expected("a range with a step that leads from its first to its last number"));
        }
        // Twelve digits: 0.1 + 2 · 0.1 is meant to be 0.3.
        let round = |value: f64| format!("{value:.11e}").parse().unwrap_or(value);
        Ok(Domain::Numbers((0..=steps as u32).map(|n| round(from + f64::from(n) * step)).collect()))
    }
}
