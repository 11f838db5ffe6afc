//! Animations of moving objects.

use maud::{Markup, html};

use super::svg::colour;

/// An animation: objects that move over a field, with a label per frame.
#[derive(Debug)]
pub(crate) struct Film {
    /// The title.
    pub(crate) title: String,
    /// Frames per second.
    pub(crate) rate: usize,
    /// The moving objects.
    pub(crate) things: Vec<Thing>,
    /// The names of all labels.
    pub(crate) labels: Vec<String>,
    /// The true label of each frame, if known.
    pub(crate) truth: Vec<Option<String>>, // [frames]
    /// The predicted label of each frame, if there is a model.
    pub(crate) predicted: Option<Vec<String>>, // [frames]
}

/// A moving object.
#[derive(Debug)]
pub(crate) struct Thing {
    /// The name; without its digits it is the class, which has one colour.
    pub(crate) name: String,
    /// The position in each frame, in mm.
    pub(crate) way: Vec<(f64, f64)>, // [frames]
}

impl Thing {
    fn class(&self) -> &str {
        self.name.trim_end_matches(|c: char| c.is_ascii_digit())
    }
}

const RADIUS: f64 = 95.0;
const ROW: f64 = 220.0;

impl Film {
    /// The share of frames with a known label for which the model is right, if there is a model.
    pub(crate) fn accuracy(&self) -> Option<f64> {
        let known =
            self.truth.iter().zip(self.predicted.as_ref()?).filter_map(|(y, p)| Some((y.as_ref()?, p)));
        let right: Vec<bool> = known.map(|(truth, predicted)| truth == predicted).collect();
        Some(right.iter().filter(|right| **right).count() as f64 / right.len() as f64)
    }

    /// The film as an SVG document that repeats, without a script.
    pub(crate) fn svg(&self) -> Markup {
        let ways = || self.things.iter().flat_map(|thing| &thing.way);
        let half = |of: fn(&(f64, f64)) -> f64| ways().map(of).fold(500.0, |most: f64, x| most.max(x.abs()));
        let (x, y) = (half(|at| at.0) + 2.0 * RADIUS, half(|at| at.1) + 2.0 * RADIUS);
        let longest = self.labels.iter().map(|name| name.chars().count()).max().unwrap_or(0);
        let (width, height) = (2.0 * x + 700.0 + 100.0 * longest as f64, 2.0 * y);
        let truth: Vec<Option<&str>> = self.truth.iter().map(Option::as_deref).collect();
        let predicted = self.predicted.as_ref().map(|labels| labels.iter().map(|name| Some(name.as_str())));
        let predicted: Option<Vec<Option<&str>>> = predicted.map(Iterator::collect);
        let marks = [Some((&truth, "none", "true")), predicted.as_ref().map(|p| (p, "60 40", "predicted"))];
        html! {
            svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label=(self.title) font-family="system-ui,sans-serif"
                viewBox=(format!("{:.0} {:.0} {width:.0} {height:.0}", -x, -y))
                width="900" height=(format!("{:.0}", 900.0 * height / width)) {
                title { (self.title) }
                rect x=(format!("{:.0}", -x)) y=(format!("{:.0}", -y)) width=(format!("{width:.0}"))
                    height=(format!("{height:.0}")) fill="#fff" {}
                rect x=(format!("{:.0}", -x)) y=(format!("{:.0}", -y)) width=(format!("{:.0}", 2.0 * x))
                    height=(format!("{height:.0}")) fill="#eef3ee" {}
                @for thing in &self.things { (self.thing(thing)) }
                @for (k, (labels, dash, what)) in marks.into_iter().flatten().enumerate() {
                    g fill="none" stroke=(colour(k + 1)) stroke-width="30" stroke-dasharray=(dash) {
                        (self.ring(labels, RADIUS + 35.0 + 40.0 * k as f64))
                    }
                    g fill=(colour(k + 1)) font-size="130" transform=(format!("translate({:.0} 0)", x + 60.0)) {
                        text y=(format!("{:.0}", -y + 200.0 + 160.0 * k as f64)) { (if k == 0 { "●" } else { "○" }) " " (what) }
                        (self.pointer(labels, k, -y + 640.0))
                    }
                }
                g font-size="130" fill="#222" {
                    @for (row, name) in self.labels.iter().enumerate() {
                        text x=(format!("{:.0}", x + 360.0)) y=(format!("{:.0}", -y + 640.0 + ROW * row as f64)) { (name) }
                    }
                }
            }
        }
    }

    /// An object with the digits of its name, or a small one without digits if it is the only one
    /// of its class.
    fn thing(&self, thing: &Thing) -> Markup {
        let mut classes: Vec<&str> = self.things.iter().map(Thing::class).collect();
        let alone = classes.iter().filter(|class| **class == thing.class()).count() == 1;
        classes.dedup();
        let class = classes.iter().position(|class| *class == thing.class()).unwrap_or(0);
        // The first colour is for robots, the two after it are for rings.
        let fill = colour(if class == 0 { 0 } else { class + 2 });
        let shape = html! {
            title { (thing.name) }
            circle r=(if alone { 0.45 * RADIUS } else { RADIUS }) fill=(fill) {}
            @if !alone {
                text text-anchor="middle" y="40" font-size="120" fill="#fff" { (thing.name[thing.class().len()..]) }
            }
        };
        self.moving(&shape, thing.way.iter().copied())
    }

    /// A ring around the object that the label names, if labels name objects.
    fn ring(&self, labels: &[Option<&str>], radius: f64) -> Markup {
        let named =
            |label: &Option<&str>| self.things.iter().find(|thing| Some(thing.name.as_str()) == *label);
        if !labels.iter().any(|label| named(label).is_some()) {
            return html! {};
        }
        // A frame whose label names no object has the ring out of sight.
        let at = |(t, label)| named(label).map_or((-1e6, -1e6), |thing| thing.way[t]);
        self.moving(&html! { circle r=(radius) {} }, labels.iter().enumerate().map(at))
    }

    /// The mark beside the current label in the list of labels.
    fn pointer(&self, labels: &[Option<&str>], k: usize, top: f64) -> Markup {
        let row = |label: &Option<&str>| self.labels.iter().position(|name| Some(name.as_str()) == *label);
        let at = |label| {
            row(label).map_or((0.0, -1e6), |row| (90.0 * k as f64 + 60.0, -top + 45.0 - ROW * row as f64))
        };
        let fill = if k == 0 { colour(1) } else { "none" };
        let shape = html! { circle r="35" fill=(fill) stroke=(colour(k + 1)) stroke-width="15" {} };
        self.moving(&shape, labels.iter().map(at))
    }

    /// A moving shape, which stays at its first position in viewers without animation; y points
    /// upwards.
    fn moving(&self, shape: &Markup, way: impl Iterator<Item = (f64, f64)>) -> Markup {
        let places: Vec<String> = way.map(|(x, y)| format!("{x:.0} {:.0}", -y)).collect();
        let seconds = places.len() as f64 / self.rate as f64;
        html! {
            g transform=(format!("translate({})", places[0])) {
                animateTransform attributeName="transform" type="translate" calcMode="discrete"
                    repeatCount="indefinite" dur=(format!("{seconds:.3}s")) values=(places.join(";")) {}
                (shape)
            }
        }
    }
}
