use std::collections::HashMap;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::data::dataset::{Dataset, Sequence};
use crate::data::schema::{ChannelKind, Schema};
use crate::error::{Error, Result, require_consistent};
use crate::features::prototypes::Over;
use crate::numeric::moments::Moments;

/// Evaluation plan: steps that read earlier steps only, equal terms once.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Plan {
    steps: Vec<Step>,
}

/// Step of a plan; its operands are indices of earlier steps.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) enum Step {
    Channel(u32),
    /// Constant by its bits, so that steps can be compared.
    Number(u64),
    /// Value at an offset, or at the nearest end of the sequence.
    Shift(u32, i32),
    Window(Over, u32, u32, u32), // positions before, positions after
    Add(u32, u32),
    Subtract(u32, u32),
    Multiply(u32, u32),
    /// Quotient; zero where the divisor is zero: a robot that does not move has no direction.
    Divide(u32, u32),
    Power(u32, u32),
    Root(u32),
    Less(u32, u32),
    AtMost(u32, u32),
    Equal(u32, u32),
    Unequal(u32, u32),
    Min(Vec<u32>),
    Max(Vec<u32>),
    /// Value of `of` where `by` is least; the first of equals.
    Nearest {
        by: Vec<u32>,
        of: Vec<u32>,
    },
    /// Normalised value: minus the mean and times the factor of the training data.
    Norm(u32, Scale),
}

/// Mean and factor of a normalisation, by their bits; the identity until the plan is fitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) struct Scale {
    mean: u64,
    factor: u64,
}

impl Scale {
    fn new((mean, factor): (f64, f64)) -> Self {
        Scale { mean: mean.to_bits(), factor: factor.to_bits() }
    }
}

impl Default for Scale {
    fn default() -> Self {
        Scale::new((0.0, 1.0))
    }
}

/// Compiled expression: the step of a number, or the steps of a vector.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Term {
    Scalar(u32),
    Vector(Vec<u32>),
}

impl Step {
    fn for_each_input(&self, mut f: impl FnMut(u32)) {
        match self {
            Step::Channel(_) | Step::Number(_) => {}
            Step::Shift(a, _)
            | Step::Window(_, a, _, _)
            | Step::Power(a, _)
            | Step::Root(a)
            | Step::Norm(a, _) => f(*a),
            Step::Add(a, b)
            | Step::Subtract(a, b)
            | Step::Multiply(a, b)
            | Step::Divide(a, b)
            | Step::Less(a, b)
            | Step::AtMost(a, b)
            | Step::Equal(a, b)
            | Step::Unequal(a, b) => {
                f(*a);
                f(*b);
            }
            Step::Min(all) | Step::Max(all) => all.iter().for_each(|&a| f(a)),
            Step::Nearest { by, of } => by.iter().chain(of).for_each(|&a| f(a)),
        }
    }

    /// Computes the values at `len` positions, the first of which is position `start` of the
    /// sequence.
    fn compute(&self, x: &Sequence<'_>, start: usize, len: usize, columns: &[Vec<f64>], out: &mut Vec<f64>) {
        let column = |a: u32| &columns[a as usize][..len];
        let pairs = |a: u32, b: u32| column(a).iter().zip(column(b));
        match *self {
            Step::Channel(c) => out.extend_from_slice(&x.real(c as usize)[start..start + len]),
            Step::Number(bits) => out.resize(len, f64::from_bits(bits)),
            Step::Shift(a, by) => {
                let values = column(a);
                let last = len as i64 - 1;
                out.extend((0..len as i64).map(|t| values[(t + i64::from(by)).clamp(0, last) as usize]));
            }
            Step::Window(over, a, before, after) => over.slide(column(a), before, after, out),
            Step::Add(a, b) => out.extend(pairs(a, b).map(|(a, b)| a + b)),
            Step::Subtract(a, b) => out.extend(pairs(a, b).map(|(a, b)| a - b)),
            Step::Multiply(a, b) => out.extend(pairs(a, b).map(|(a, b)| a * b)),
            Step::Divide(a, b) => out.extend(pairs(a, b).map(|(a, b)| if *b == 0.0 { 0.0 } else { a / b })),
            Step::Power(a, degree) => out.extend(column(a).iter().map(|a| a.powi(degree as i32))),
            Step::Root(a) => out.extend(column(a).iter().map(|a| a.sqrt())),
            Step::Norm(a, Scale { mean, factor }) => {
                let (mean, factor) = (f64::from_bits(mean), f64::from_bits(factor));
                out.extend(column(a).iter().map(|a| (a - mean) * factor));
            }
            Step::Less(a, b) => out.extend(pairs(a, b).map(|(a, b)| f64::from(a < b))),
            Step::AtMost(a, b) => out.extend(pairs(a, b).map(|(a, b)| f64::from(a <= b))),
            Step::Equal(a, b) => out.extend(pairs(a, b).map(|(a, b)| f64::from(a == b))),
            Step::Unequal(a, b) => out.extend(pairs(a, b).map(|(a, b)| f64::from(a != b))),
            Step::Min(ref all) => fold(all, column, f64::min, out),
            Step::Max(ref all) => fold(all, column, f64::max, out),
            Step::Nearest { ref by, ref of } => {
                out.extend_from_slice(column(of[0]));
                let mut least = column(by[0]).to_vec();
                for (&by, &of) in by.iter().zip(of).skip(1) {
                    let others = column(by).iter().zip(column(of));
                    for ((least, out), (by, of)) in least.iter_mut().zip(&mut *out).zip(others) {
                        if by < least {
                            (*least, *out) = (*by, *of);
                        }
                    }
                }
            }
        }
    }
}

fn fold<'a>(
    all: &[u32],
    column: impl Fn(u32) -> &'a [f64],
    join: impl Fn(f64, f64) -> f64,
    out: &mut Vec<f64>,
) {
    out.extend_from_slice(column(all[0]));
    for &a in &all[1..] {
        out.iter_mut().zip(column(a)).for_each(|(out, a)| *out = join(*out, *a));
    }
}

/// Positions that are computed at once: their columns stay in the cache, and memory does not grow
/// with sequences.
pub(super) const CHUNK_LEN: usize = 1024;

impl Plan {
    /// Number of steps.
    pub(super) fn len(&self) -> usize {
        self.steps.len()
    }

    /// Value of a constant step.
    pub(super) fn constant(&self, step: u32) -> Option<f64> {
        match self.steps[step as usize] {
            Step::Number(bits) => Some(f64::from_bits(bits)),
            _ => None,
        }
    }

    /// Fits `norm` on training data: one pass for each level of `norm` within `norm`.
    pub(super) fn fit(&mut self, train: &Dataset) -> Result<()> {
        let mut depth: Vec<usize> = Vec::with_capacity(self.steps.len());
        for step in &self.steps {
            let mut deepest = 0;
            step.for_each_input(|a| deepest = deepest.max(depth[a as usize]));
            depth.push(deepest + usize::from(matches!(step, Step::Norm(..))));
        }
        for pass in 1..=depth.iter().copied().max().unwrap_or(0) {
            let mut moments: Vec<Option<Moments>> = vec![None; self.steps.len()];
            for (step, &depth) in self.steps.iter().zip(&depth) {
                if let Step::Norm(a, _) = *step
                    && depth == pass
                {
                    moments[a as usize] = Some(Moments::default());
                }
            }
            for i in 0..train.len() {
                let x = train.sequence(i);
                let mut columns = Columns::new(self, &x);
                for start in (0..x.len()).step_by(CHUNK_LEN) {
                    columns.compute(start..x.len().min(start + CHUNK_LEN), |step, values| {
                        let moments = moments[step].iter_mut();
                        moments.for_each(|moments| values.iter().for_each(|&value| moments.add(value)));
                    });
                }
            }
            for (step, &depth) in self.steps.iter_mut().zip(&depth) {
                if let Step::Norm(a, scale) = step
                    && depth == pass
                {
                    let fitted = moments[*a as usize].and_then(|moments| moments.scale());
                    let not_finite = || Error::NotFinite("mean or variance of what `norm` takes".into());
                    *scale = Scale::new(fitted.ok_or_else(not_finite)?);
                }
            }
        }
        Ok(())
    }

    /// Rejects steps that no planner makes, which read channels that are not real, later steps, or
    /// nothing.
    pub(super) fn check(&self, schema: &Schema) -> Result<()> {
        let is_real = |c: u32| {
            let channel = schema.channels().get(c as usize);
            channel.is_some_and(|channel| channel.kind == ChannelKind::Real)
        };
        let is_valid = |(n, step): (usize, &Step)| {
            let mut earlier = true;
            step.for_each_input(|a| earlier &= (a as usize) < n);
            earlier
                && match step {
                    Step::Channel(c) => is_real(*c),
                    Step::Min(all) | Step::Max(all) => !all.is_empty(),
                    Step::Nearest { by, of } => !of.is_empty() && by.len() == of.len(),
                    _ => true,
                }
        };
        require_consistent(self.steps.iter().enumerate().all(is_valid))
    }

    /// Last step that reads each step; the step itself if none does.
    fn last_uses(&self) -> Vec<u32> {
        let mut last: Vec<u32> = (0..self.steps.len() as u32).collect();
        for (n, step) in (0..).zip(&self.steps) {
            step.for_each_input(|a| last[a as usize] = n);
        }
        last
    }

    /// Reach: the numbers of positions before and after its own that any step depends on.
    pub(super) fn reach(&self) -> (usize, usize) {
        let mut reach: Vec<(usize, usize)> = Vec::with_capacity(self.steps.len());
        for step in &self.steps {
            let (mut before, mut after) = (0, 0);
            step.for_each_input(|a| {
                before = before.max(reach[a as usize].0);
                after = after.max(reach[a as usize].1);
            });
            match *step {
                Step::Shift(_, by) if by < 0 => before += by.unsigned_abs() as usize,
                Step::Shift(_, by) => after += by as usize,
                Step::Window(_, _, b, a) => {
                    before += b as usize;
                    after += a as usize;
                }
                _ => {}
            }
            reach.push((before, after));
        }
        reach.into_iter().fold((0, 0), |all, one| (all.0.max(one.0), all.1.max(one.1)))
    }
}

/// Values of a plan's steps on one sequence, as long as later steps read them.
pub(super) struct Columns<'a> {
    plan: &'a Plan,
    x: &'a Sequence<'a>,
    reach: (usize, usize),
    last: Vec<u32>,         // [steps]
    columns: Vec<Vec<f64>>, // [steps]
    free: Vec<Vec<f64>>,
}

impl<'a> Columns<'a> {
    pub(super) fn new(plan: &'a Plan, x: &'a Sequence<'a>) -> Self {
        let columns = vec![Vec::new(); plan.len()];
        Columns { plan, x, reach: plan.reach(), last: plan.last_uses(), columns, free: Vec::new() }
    }

    /// Calls `f` with each step in turn and its values on a chunk of the sequence.
    ///
    /// The chunk is computed with as many positions around it as shifts and windows can reach.
    pub(super) fn compute(&mut self, chunk: Range<usize>, mut f: impl FnMut(usize, &[f64])) {
        let Columns { plan, x, reach, last, columns, free } = self;
        let start = chunk.start.saturating_sub(reach.0);
        let len = x.len().min(chunk.end.saturating_add(reach.1)) - start;
        for (n, step) in plan.steps.iter().enumerate() {
            let mut out = free.pop().unwrap_or_default();
            step.compute(x, start, len, columns, &mut out);
            f(n, &out[chunk.start - start..chunk.end - start]);
            columns[n] = out;
            let mut release = |a: u32| {
                if last[a as usize] as usize <= n {
                    let mut column = std::mem::take(&mut columns[a as usize]);
                    if !column.is_empty() {
                        column.clear();
                        free.push(column);
                    }
                }
            };
            step.for_each_input(&mut release);
            release(n as u32);
        }
    }
}

/// Builder of a plan in which equal terms are one step (value numbering).
#[derive(Debug, Default)]
pub(super) struct Planner {
    plan: Plan,
    known: HashMap<Step, u32>,
}

impl Planner {
    pub(super) fn finish(self) -> Plan {
        self.plan
    }

    pub(super) fn constant(&self, step: u32) -> Option<f64> {
        self.plan.constant(step)
    }

    pub(super) fn number(&mut self, value: f64) -> u32 {
        self.step(Step::Number((value + 0.0).to_bits())) // minus zero is zero
    }

    /// Index of a step that computes the same as `step`.
    pub(super) fn step(&mut self, step: Step) -> u32 {
        let step = self.normal_form(step);
        if let Some(&known) = self.known.get(&step) {
            return known;
        }
        let n = self.plan.steps.len() as u32;
        self.plan.steps.push(step.clone());
        self.known.insert(step, n);
        n
    }

    /// Normal form of steps that have the same value by the laws of arithmetic that rounding keeps.
    fn normal_form(&mut self, step: Step) -> Step {
        if let Some(value) = self.constant_value(&step) {
            return Step::Number((value + 0.0).to_bits());
        }
        let copy_of = |plan: &Plan, a: u32| plan.steps[a as usize].clone();
        match step {
            Step::Add(a, b) if a > b => Step::Add(b, a),
            Step::Multiply(a, b) if a == b => self.normal_form(Step::Power(a, 2)),
            Step::Multiply(a, b) if self.constant(b) == Some(1.0) => copy_of(&self.plan, a),
            Step::Multiply(a, b) if self.constant(a) == Some(1.0) => copy_of(&self.plan, b),
            Step::Multiply(a, b) if a > b => Step::Multiply(b, a),
            Step::Equal(a, b) if a > b => Step::Equal(b, a),
            Step::Unequal(a, b) if a > b => Step::Unequal(b, a),
            Step::Power(a, 1) | Step::Shift(a, 0) => copy_of(&self.plan, a),
            Step::Power(a, degree) if degree % 2 == 0 => match self.plan.steps[a as usize] {
                Step::Subtract(a, b) if a > b => Step::Power(self.step(Step::Subtract(b, a)), degree),
                _ => Step::Power(a, degree),
            },
            Step::Min(mut all) | Step::Max(mut all) if all.len() == 1 => {
                copy_of(&self.plan, all.swap_remove(0))
            }
            Step::Min(mut all) => {
                all.sort_unstable();
                Step::Min(all)
            }
            Step::Max(mut all) => {
                all.sort_unstable();
                Step::Max(all)
            }
            Step::Nearest { by, of } if by.len() == 1 => copy_of(&self.plan, of[0]),
            step => step,
        }
    }

    /// Value of a step whose inputs are all constant.
    fn constant_value(&self, step: &Step) -> Option<f64> {
        let number = |a: u32| self.constant(a);
        let test =
            |a: u32, b: u32, holds: fn(&f64, &f64) -> bool| Some(f64::from(holds(&number(a)?, &number(b)?)));
        match *step {
            Step::Add(a, b) => Some(number(a)? + number(b)?),
            Step::Subtract(a, b) => Some(number(a)? - number(b)?),
            Step::Multiply(a, b) => Some(number(a)? * number(b)?),
            Step::Divide(a, b) => Some(if number(b)? == 0.0 { 0.0 } else { number(a)? / number(b)? }),
            Step::Power(a, degree) => Some(number(a)?.powi(degree as i32)),
            Step::Root(a) => Some(number(a)?.sqrt()),
            Step::Shift(a, _) => number(a),
            Step::Norm(a, _) => number(a).map(|_| 0.0),
            Step::Less(a, b) => test(a, b, f64::lt),
            Step::AtMost(a, b) => test(a, b, f64::le),
            Step::Equal(a, b) => test(a, b, f64::eq),
            Step::Unequal(a, b) => test(a, b, f64::ne),
            _ => None,
        }
    }

    /// Negation of a test: the opposite comparison if there is one.
    pub(super) fn not(&mut self, a: u32) -> u32 {
        let opposite = match self.plan.steps[a as usize] {
            Step::Less(a, b) => Step::AtMost(b, a),
            Step::AtMost(a, b) => Step::Less(b, a),
            Step::Equal(a, b) => Step::Unequal(a, b),
            Step::Unequal(a, b) => Step::Equal(a, b),
            _ => Step::Equal(a, self.number(0.0)),
        };
        self.step(opposite)
    }

    /// Test of whether a value is not zero; a test stays as it is.
    pub(super) fn truth(&mut self, a: u32) -> u32 {
        match self.plan.steps[a as usize] {
            Step::Less(..) | Step::AtMost(..) | Step::Equal(..) | Step::Unequal(..) => a,
            _ => {
                let zero = self.number(0.0);
                self.step(Step::Unequal(a, zero))
            }
        }
    }
}
