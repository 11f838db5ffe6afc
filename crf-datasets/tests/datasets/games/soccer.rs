//! Invariants of every game of soccer: the field, the ball, and roles that can be recognised from
//! the game.
use crf_core::{Dataset, Seed, Sequence, Source};
use crf_datasets::{Motion, Size, Soccer};

const ROLES: [&str; 5] = ["attacker", "receiver", "supporter", "marker", "defender"];
const BLUE1: usize = 0;
const BALL: usize = 10;

fn games() -> impl Iterator<Item = Dataset> {
    let soccer = Soccer { test: Size { sequences: 1, length: 1 }, ..Soccer::default() };
    (1..=3).map(move |seed| soccer.load(&Seed::new(seed)).unwrap().train)
}

fn location(x: &Sequence<'_>, object: usize, t: usize) -> [f64; 2] {
    [x.real(2 * object)[t], x.real(2 * object + 1)[t]]
}

fn distance(a: [f64; 2], b: [f64; 2]) -> f64 {
    (a[0] - b[0]).hypot(a[1] - b[1])
}

/// Mean over all frames in which `blue1` has a role, for each role.
fn by_role(x: &Sequence<'_>, of: impl Fn(usize) -> f64) -> Vec<f64> {
    let mut sums = vec![(0.0, 0.0); ROLES.len()];
    for (t, label) in x.labels().iter().enumerate() {
        let (sum, count) = &mut sums[label.unwrap() as usize];
        (*sum, *count) = (*sum + of(t), *count + 1.0);
    }
    sums.into_iter().map(|(sum, count)| sum / count).collect()
}

#[test]
fn channels_and_labels_have_the_names_of_objects_and_roles() {
    let data = games().next().unwrap();
    let names: Vec<&str> = data.schema().channels().iter().map(|channel| channel.name.as_str()).collect();
    assert_eq!((names.len(), names[0], names[11], names[21]), (22, "blue1.x", "yellow1.y", "ball.y"));
    assert!(data.schema().labels().names().iter().eq(ROLES));
}

#[test]
fn everything_stays_on_the_field_and_bodies_do_not_overlap() {
    for data in games() {
        let x = data.sequence(0);
        for t in 0..x.len() {
            let locations: Vec<[f64; 2]> = (0..=BALL).map(|object| location(&x, object, t)).collect();
            assert!(locations.iter().all(|[x, y]| x.abs() <= 2450.0 && y.abs() <= 1700.0));
            let overlap = |a: usize| (0..a).any(|b| distance(locations[a], locations[b]) < 180.0);
            assert!(!(0..BALL).any(overlap), "frame {t}");
        }
    }
}

#[test]
fn the_ball_is_no_faster_than_a_kick_but_for_goals() {
    for data in games() {
        let x = data.sequence(0);
        let mut goals = 0;
        for t in 1..x.len() {
            let (before, now) = (location(&x, BALL, t - 1), location(&x, BALL, t));
            if distance(before, now) > 4000.0 / 60.0 + 1e-6 {
                assert!(before[0].abs() > 2300.0 && now == [0.0, 0.0], "{before:?} {now:?}");
                goals += 1;
            }
        }
        assert!((1..200).contains(&goals), "{goals} goals in ten minutes");
    }
}

#[test]
fn every_role_is_played_and_lasts() {
    for data in games() {
        let labels = data.labels();
        for (role, name) in (0..).zip(ROLES) {
            let share =
                labels.iter().filter(|label| **label == Some(role)).count() as f64 / labels.len() as f64;
            assert!((0.02..0.6).contains(&share), "{name}: {share}");
        }
        let changes = labels.windows(2).filter(|pair| pair[0] != pair[1]).count();
        assert!((150..3000).contains(&changes), "{changes} changes in ten minutes");
    }
}

#[test]
fn roles_can_be_told_from_play() {
    let mut ball_speeds = [0.0; ROLES.len()];
    for data in games() {
        let x = data.sequence(0);
        let to_ball = by_role(&x, |t| distance(location(&x, BLUE1, t), location(&x, BALL, t)));
        assert!(to_ball[1..].iter().all(|other| to_ball[0] < *other), "{to_ball:?}");
        let to_goal = by_role(&x, |t| distance(location(&x, BLUE1, t), [-2450.0, 0.0]));
        assert!(to_goal[..4].iter().all(|other| to_goal[4] < *other), "{to_goal:?}");
        let to_opponent = by_role(&x, |t| {
            let opponents =
                (5..9).map(|opponent| distance(location(&x, BLUE1, t), location(&x, opponent, t)));
            opponents.fold(f64::INFINITY, f64::min)
        });
        assert!(to_opponent[3] < to_opponent[4], "{to_opponent:?}");
        let ball_speed =
            by_role(&x, |t| distance(location(&x, BALL, t), location(&x, BALL, t.saturating_sub(1))));
        ball_speeds.iter_mut().zip(ball_speed).for_each(|(sum, speed)| *sum += speed);
    }
    // Of a single game, the speed of the ball says too little.
    let faster = |other: usize| ball_speeds[1] > ball_speeds[other];
    assert!([0, 2, 3, 4].into_iter().all(faster), "{ball_speeds:?}");
}

#[test]
fn settings_out_of_range_are_refused() {
    let refused =
        |soccer: Soccer, message: &str| assert_eq!(soccer.check().unwrap_err().to_string(), message);
    let soccer = Soccer::default;
    refused(Soccer { players: 2, ..soccer() }, "`players` must be from 3 to 11, got 2");
    refused(Soccer { goal: 3400.0, ..soccer() }, "`goal` must be below the width of the field, got 3400");
    refused(Soccer { friction: 0.0, ..soccer() }, "`friction` must be a finite number above 0, got 0");
    let motion = Motion { speed: f64::INFINITY, ..Motion::default() };
    refused(Soccer { motion, ..soccer() }, "`motion.speed` must be a finite number above 0, got inf");
}
