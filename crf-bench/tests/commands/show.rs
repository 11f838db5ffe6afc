//! Films of sources whose objects move, with the labels of a model.

use crate::workbench::{directory, refused, run};

const SMALL: &str = "{type=\"tag\",train={length=2000},test={length=300}}";

/// The ways of all that moves in a picture.
fn moves(svg: &str) -> impl Iterator<Item = &str> {
    svg.split(" values=\"").skip(1).filter_map(|text| text.split('"').next())
}

#[test]
fn tag_is_shown_with_true_and_predicted_seekers() {
    let place = directory("show-tag");
    let said = run(&place, &format!("show {SMALL} --frames 200 --export tag.csv"));
    assert!(said.contains("tag.svg") && !said.contains("accuracy"), "{said}");
    let film = |name: &str| std::fs::read_to_string(place.join(name)).expect("a picture");
    let svg = film("tag.svg");
    assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>"), "{svg}");
    // Three robots, a ring and a pointer for the truth: each moves for 200 frames.
    let ways: Vec<Vec<&str>> = moves(&svg).map(|places| places.split(';').collect()).collect();
    assert_eq!(ways.iter().map(Vec::len).collect::<Vec<_>>(), [200; 5]);
    assert!(svg.contains("dur=\"3.333s\""));
    assert!((0..200).all(|t| ways[..3].iter().any(|robot| robot[t] == ways[3][t])), "the ring is at a robot");

    run(&place, r#"train --format {type="csv",sequence="game"} --data tag.csv --model tag.crf"#);
    let said = run(&place, &format!("show {SMALL} --frames 200 --model tag.crf --out both.svg"));
    assert!(said.contains("accuracy in them"), "{said}");
    let both = film("both.svg");
    assert_eq!(moves(&both).count(), 7);
    assert!(both.contains("predicted") && !svg.contains("predicted"));
    // Equal settings draw equal games.
    assert_eq!(moves(&both).next(), moves(&svg).next());
}

#[test]
fn soccer_is_shown_with_roles() {
    let place = directory("show-soccer");
    run(&place, "show soccer --set source.test.length=100 --set source.train.length=1 --frames 5000");
    let svg = std::fs::read_to_string(place.join("soccer.svg")).expect("a picture");
    // Ten robots, the ball, and a pointer: no label names an object, so there is no ring.
    assert_eq!(moves(&svg).count(), 12);
    assert!(svg.contains(">supporter<") && svg.contains("<title>ball</title>"));
}

#[test]
fn what_cannot_be_shown_is_refused() {
    let place = directory("show-refused");
    refused(
        &place,
        "show redundant-observations",
        2,
        "show redundant-observations: the source has no objects to show: expected channels `NAME.x` and `NAME.y`",
    );
    refused(&place, &format!("show {SMALL} --from 300"), 2, "--from: expected a frame below 300, got 300");
    let message = "--set source.shceme=hourglass: unknown key `source.shceme`, did you mean `scheme`?";
    refused(&place, "show tag --set source.shceme=hourglass", 2, message);
    assert!(!place.join("tag.svg").exists());
}
