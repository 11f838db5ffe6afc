//! Invariants of every game of tag: bounds of motion, one seeker, hand-overs within reach, pauses.
use crf_core::{Dataset, Seed, Source};
use crf_datasets::{Motion, Sensing, Size, Tag, TargetScheme};

const SCHEMES: [TargetScheme; 2] = [TargetScheme::Hourglass, TargetScheme::Unconstrained];
/// Tolerance for the rounding of differences of locations.
const SLACK: f64 = 1e-6;

type Location = [f64; 2];

/// Recorded game.
struct Record {
    locations: Vec<Vec<Location>>, // [robots][frames]
    seekers: Vec<usize>,           // [frames]
}

impl Record {
    fn new(data: &Dataset) -> Self {
        let x = data.sequence(0);
        let robot = |k: usize| {
            let [x, y] = [2 * k, 2 * k + 1].map(|channel| x.real(channel));
            x.iter().zip(y).map(|(&x, &y)| [x, y]).collect()
        };
        Record {
            locations: (0..data.schema().labels().len()).map(robot).collect(),
            seekers: x.labels().iter().map(|label| label.unwrap() as usize).collect(),
        }
    }

    fn distance(&self, a: usize, b: usize, t: usize) -> f64 {
        norm(minus(self.locations[a][t], self.locations[b][t]))
    }

    /// True if a robot touches another one, or the edge of the field.
    ///
    /// Two robots that were pushed apart may be 20 mm further apart if a third one has then pushed
    /// one of them.
    fn is_touched(&self, robot: usize, t: usize) -> bool {
        let mut others = (0..self.locations.len()).filter(|&other| other != robot);
        let [x, y] = self.locations[robot][t];
        x.abs() == 2000.0 || y.abs() == 1750.0 || others.any(|other| self.distance(robot, other, t) < 220.0)
    }

    /// First frames of new seekers.
    fn hand_overs(&self) -> Vec<usize> {
        (1..self.seekers.len()).filter(|&t| self.seekers[t] != self.seekers[t - 1]).collect()
    }
}

fn minus(a: Location, b: Location) -> Location {
    [a[0] - b[0], a[1] - b[1]]
}

fn norm([x, y]: Location) -> f64 {
    x.hypot(y)
}

fn play(tag: &Tag, seed: u64) -> Record {
    Record::new(&tag.load(&Seed::new(seed)).unwrap().train)
}

/// Settings of twenty minutes with perfect motion and sensing.
fn simulation(scheme: TargetScheme) -> Tag {
    Tag { scheme, test: Size { sequences: 1, length: 1 }, ..Tag::default() }
}

/// The same settings with robots that slip and are tracked by cameras.
fn robots(scheme: TargetScheme) -> Tag {
    let motion = Motion { slip: 0.05, ..Motion::default() };
    Tag { motion, sensing: Some(Sensing::default()), ..simulation(scheme) }
}

/// Games of both schemes, with three seeds each.
fn games(settings: fn(TargetScheme) -> Tag) -> impl Iterator<Item = Record> {
    SCHEMES.into_iter().flat_map(move |scheme| (1..=3).map(move |seed| play(&settings(scheme), seed)))
}

#[test]
fn twenty_minutes_have_120_to_220_hand_overs() {
    for scheme in SCHEMES {
        let tag = simulation(scheme);
        let counts: Vec<usize> = (1..=10).map(|seed| play(&tag, seed).hand_overs().len()).collect();
        assert!(counts.iter().all(|count| (120..=220).contains(count)), "{scheme:?}: {counts:?}");
    }
}

#[test]
fn robots_stay_on_the_field_and_bodies_do_not_overlap() {
    for game in games(simulation) {
        for t in 0..game.seekers.len() {
            assert!(game.locations.iter().all(|way| way[t][0].abs() <= 2000.0 && way[t][1].abs() <= 1750.0));
            for (a, b) in [(0, 1), (0, 2), (1, 2)] {
                assert!(game.distance(a, b, t) >= 200.0, "{}", game.distance(a, b, t));
            }
        }
    }
}

#[test]
fn speeds_and_accelerations_are_within_their_bounds_but_for_pushes() {
    let (fastest, hardest) = (2000.0 / 60.0, 2000.0 / 3600.0);
    for game in games(simulation) {
        let (mut top_speed, mut top_acceleration, mut pushed) = (0.0_f64, 0.0_f64, 0);
        for (robot, way) in game.locations.iter().enumerate() {
            for t in 2..way.len() {
                if (t - 1..=t).any(|t| game.is_touched(robot, t)) {
                    pushed += 1;
                    continue;
                }
                let (now, before) = (minus(way[t], way[t - 1]), minus(way[t - 1], way[t - 2]));
                top_speed = top_speed.max(norm(now));
                top_acceleration = top_acceleration.max(norm(minus(now, before)));
            }
        }
        assert!((0.9 * fastest..fastest + SLACK).contains(&top_speed), "{top_speed}");
        assert!((0.9 * hardest..hardest + SLACK).contains(&top_acceleration), "{top_acceleration}");
        assert!(pushed < 3 * game.seekers.len() / 10, "{pushed} frames with a push");
    }
}

#[test]
fn hand_overs_happen_within_reach_only_and_to_the_nearest_robot() {
    for game in games(simulation).chain(games(robots)) {
        for t in game.hand_overs() {
            let (old, new) = (game.seekers[t - 1], game.seekers[t]);
            let third = 3 - old - new;
            let tagged_at = |t: usize| {
                let distance = game.distance(old, new, t);
                distance < 240.0 && distance < game.distance(old, third, t)
            };
            assert!(tagged_at(t) || tagged_at(t - 1), "frame {t}");
        }
    }
}

#[test]
fn hand_overs_show_in_the_first_or_in_the_second_frame_of_nearness() {
    for game in games(simulation) {
        let (mut first, mut second) = (0, 0);
        for t in game.hand_overs().into_iter().filter(|&t| t > 1) {
            let (old, new) = (game.seekers[t - 1], game.seekers[t]);
            match [t - 2, t - 1].map(|t| game.distance(old, new, t) < 240.0) {
                [_, false] => first += 1,
                [false, true] => second += 1,
                [true, true] => {}
            }
        }
        let all = game.hand_overs().len();
        assert!(
            first > all / 3 && second > all / 3 && first + second + 5 > all,
            "{first}, {second} of {all}"
        );
    }
}

#[test]
fn robots_play_like_the_simulation_but_never_seem_to_stand_still() {
    for game in games(robots) {
        let hand_overs = game.hand_overs();
        assert!((100..=220).contains(&hand_overs.len()), "{}", hand_overs.len());
        for t in hand_overs.into_iter().filter(|t| t + 300 < game.seekers.len()) {
            let pause = &game.locations[game.seekers[t]][t + 200..t + 300];
            let steps: Vec<f64> = pause.windows(2).map(|pair| norm(minus(pair[1], pair[0]))).collect();
            let mean = steps.iter().sum::<f64>() / steps.len() as f64;
            assert!((0.2..12.0).contains(&mean) && steps.iter().all(|step| *step > 0.0), "{mean} mm a frame");
        }
    }
}

#[test]
fn a_tagged_robot_brakes_stands_still_and_moves_again_after_five_seconds() {
    for game in games(simulation) {
        let (hand_overs, mut still) = (game.hand_overs(), 0);
        for (&t, next) in hand_overs.iter().zip(hand_overs[1..].iter().chain([&usize::MAX])) {
            assert!(next - t > 300, "{t} {next}");
            let (robot, way) = (game.seekers[t], &game.locations[game.seekers[t]]);
            // A robot that is pushed brakes again, for a second at most.
            let untouched = |s: usize| !(s - 61..=s).any(|s| game.is_touched(robot, s));
            let pause = (t + 61..=t + 300).filter(|&s| s < way.len() && untouched(s));
            still += pause.inspect(|&s| assert_eq!(way[s], way[s - 1], "frame {s} after {t}")).count();
            if t + 301 < way.len() && untouched(t + 301) {
                assert_ne!(way[t + 301], way[t + 300], "frame {t}");
            }
        }
        let most = 240 * hand_overs.len();
        assert!(still > most / 2, "{still} of {most}");
    }
}

#[test]
fn settings_out_of_range_are_refused() {
    let refused = |tag: Tag, message: &str| assert_eq!(tag.check().unwrap_err().to_string(), message);
    let tag = Tag::default;
    refused(Tag { robots: 1, ..tag() }, "`robots` must be from 2 to 100, got 1");
    refused(Tag { field: [4000.0, 0.0], ..tag() }, "`field` must be a finite number above 0, got 0");
    refused(Tag { rate: f64::NAN, ..tag() }, "`rate` must be a finite number above 0, got NaN");
    refused(Tag { pause: -1.0, ..tag() }, "`pause` must be a finite number of at least 0, got -1");
    let want = "at most 1750 with `margin`, half of the field's shorter side";
    refused(Tag { clearance: 1700.0, ..tag() }, &format!("`clearance` must be {want}, got 1700"));
    let want = "at most 1750, half of the field's shorter side";
    refused(Tag { inset: 1800.0, ..tag() }, &format!("`inset` must be {want}, got 1800"));
    let motion = Motion { aside_at: 500.0, ..Motion::default() };
    let want = "`motion.aside_at` must be at least 0 and below `aside_from`, got 500";
    refused(Tag { motion, ..tag() }, want);
    let motion = Motion { slip: -0.1, ..Motion::default() };
    refused(Tag { motion, ..tag() }, "`motion.slip` must be a finite number of at least 0, got -0.1");
}
