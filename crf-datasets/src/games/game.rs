use crf_core::{DatasetBuilder, Label, Result, Rng, Value};

use crate::games::plane::Vector;

/// Game that is simulated frame by frame.
pub(crate) trait Game {
    /// Observed locations of the objects, in the order of their channels.
    fn seen(&self) -> &[Vector];

    /// Runs all behaviours on the observed locations; returns the label of the frame.
    fn decide(&mut self, rng: &mut Rng) -> Label;

    /// Moves all objects to the next frame.
    fn advance(&mut self, rng: &mut Rng);
}

/// Appends `length` frames of a game as a sequence.
pub(crate) fn record(
    mut game: impl Game,
    length: usize,
    rng: &mut Rng,
    out: &mut DatasetBuilder,
) -> Result<()> {
    let mut values = Vec::with_capacity(2 * game.seen().len());
    for _ in 0..length {
        values.clear();
        values.extend(game.seen().iter().flat_map(|location| [location.x, location.y]).map(Value::Real));
        let label = game.decide(rng);
        out.push(&values, Some(label))?;
        game.advance(rng);
    }
    out.end_chain()
}

/// Number of frames in a time span, at `rate` frames per second.
pub(crate) fn frames(seconds: f64, rate: f64) -> usize {
    (seconds * rate).round() as usize
}
