//! Games of robots with arbitrary valid settings.
use crf_core::{Seed, Source};
use crf_datasets::{Motion, Sensing, Size, Soccer, Tag, TargetScheme};
use crf_testing::cases;
use proptest::prelude::*;

const SCHEMES: [TargetScheme; 2] = [TargetScheme::Hourglass, TargetScheme::Unconstrained];

proptest! {
    #![proptest_config(cases(64))]

    #[test]
    fn games_of_any_settings_stay_on_the_field(
        robots in 2_usize..12,
        (length, width) in (1.0..6000.0, 1.0..6000.0),
        (rate, pause, dwell) in (1.0..200.0, prop_oneof![Just(1e300), 0.0..3.0], 0.0..2.0),
        (speed, acceleration, diameter) in (1.0..1e5, 1.0..1e5, 1.0..500.0),
        (slip, is_seen) in (0.0..2.0, any::<bool>()),
        seed in 0_u64..1000,
    ) {
        let motion = Motion { speed, acceleration, diameter, slip, ..Motion::default() };
        let sensing = is_seen.then(Sensing::default);
        let half = 0.5 * f64::min(length, width);
        let size = Size { sequences: 1, length: 300 };
        let (field, train, test) = ([length, width], size, size);
        let tag = Tag {
            robots, field, rate, pause, dwell, motion, sensing, train, test,
            scheme: SCHEMES[robots % 2], margin: 0.1 * half, clearance: 0.89 * half, inset: half,
            ..Tag::default()
        };
        let players = robots.clamp(3, 11);
        let goal = 0.3 * width;
        let soccer = Soccer { players, field, goal, rate, motion, sensing, train, test, ..Soccer::default() };
        let sources: [&dyn Source; 2] = [&tag, &soccer];
        for source in sources {
            let data = source.load(&Seed::new(seed)).unwrap().train;
            let x = data.sequence(0);
            for channel in 0..data.schema().channels().len() {
                let most = 0.5 * field[channel % 2];
                prop_assert!(is_seen || x.real(channel).iter().all(|at| at.abs() <= most));
            }
        }
    }
}
