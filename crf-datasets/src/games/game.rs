use crf_core::{DatasetBuilder, Label, Result, Rng, Value};

use crate::games::plane::Vector;

/// A game that goes on frame by frame.
pub(crate) trait Game {
    /// Where the objects are seen, in the order of their channels.
    fn seen(&self) -> &[Vector];

    /// Runs all behaviours on what is seen; the label is what holds then.
    fn decide(&mut self, rng: &mut Rng) -> Label;

    /// Moves all objects to the next frame.
    fn advance(&mut self, rng: &mut Rng);
}

/// Adds so many frames of a game as a sequence.
pub(crate) fn record(
    mut game: impl Game,
    length: usize,
    rng: &mut Rng,
    out: &mut DatasetBuilder,
) -> Result<()> {
    let mut values = Vec::with_capacity(2 * game.seen().len());
    for _ in 0..length {
        values.clear();
        values.extend(game.seen().iter().flat_map(|at| [at.x, at.y]).map(Value::Real));
        let label = game.decide(rng);
        out.push(&values, Some(label))?;
        game.advance(rng);
    }
    out.end_chain()
}

/// So many seconds in frames.
pub(crate) fn frames(seconds: f64, rate: f64) -> usize {
    (seconds * rate).round() as usize
}
