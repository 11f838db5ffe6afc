//! What is known of potentials without reading them.
use crf_core::{
    Edge, EdgeTables, Graph, OwnedPotentials, Potentials, Schema, Shape, TableVersion, Tables, oracle,
};
use crf_testing::datasets::two_kinds;

#[test]
fn a_version_tells_what_the_tables_may_hold() {
    let knows = |version: TableVersion| (version.may_forbid(), version.may_be_bad());
    let finite = TableVersion::of(&[0.0, -1e300]);
    assert_eq!(knows(finite), (false, false));
    assert_eq!(knows(TableVersion::of(&[0.0, f64::NEG_INFINITY])), (true, false));
    assert_eq!(knows(TableVersion::of(&[f64::NAN, 0.0])), (false, true));
    assert_eq!(knows(TableVersion::of(&[f64::INFINITY, f64::NEG_INFINITY])), (true, true));
    assert_eq!(knows(finite.after(&[f64::NEG_INFINITY]).after(&[1.0])), (true, false));
    assert_ne!(finite, TableVersion::of(&[0.0, -1e300]));
    assert_ne!(finite, finite.after(&[]));
}

#[test]
fn a_bad_table_that_no_edge_uses_is_not_held_against_the_sequence() {
    let (values, starts) = ([0.0, 1.0, f64::NAN, 0.0], [0, 1, 2, 3, 4]);
    let check = |table: u32, node: f64| {
        let tables = Tables {
            values: &values,
            starts: &starts,
            of_edge: EdgeTables::Each(&[table]),
            relations: &[],
            version: TableVersion::of(&values),
        };
        let mut node = [node, 0.0];
        let p = Potentials::new(Shape::Chain { len: 2, labels: 1 }, &mut node, tables).unwrap();
        p.check_finite().map_err(|error| error.to_string())
    };
    assert_eq!(check(1, f64::NEG_INFINITY), Ok(()));
    assert_eq!(
        check(2, 0.0).unwrap_err(),
        "not a finite number: potential NaN on the edge into position 2; scale the features"
    );
    assert_eq!(
        check(0, f64::NAN).unwrap_err(),
        "not a finite number: potential NaN of position 1; scale the features"
    );
}

#[test]
fn a_table_for_edges_of_two_relations_is_refused() {
    let schema: Schema = two_kinds(vec![]);
    let graph = |relations: [u16; 2]| {
        let edge = |relation: u16| match relation {
            0 => Edge { u: 0, v: 1, relation },
            _ => Edge { u: 1, v: 0, relation },
        };
        Graph::new(&schema, vec![0, 1], relations.map(edge).to_vec()).unwrap()
    };
    let owned = |relations| OwnedPotentials::graph(graph(relations), vec![0.0; 5], &[[0.0; 6]], vec![]);
    assert!(owned([0, 0]).is_ok() && owned([1, 1]).is_ok());
    let error = owned([0, 1]).unwrap_err().to_string();
    assert_eq!(error, "edge 0 is of relation 0, table 0 is for another one");
}

#[test]
fn the_oracle_is_exact_for_large_potentials() {
    let table = [[1e15, 1e15 - 2.0, f64::NEG_INFINITY, 1e15 - 1.0].to_vec()];
    let owned = |by: f64, table: &[Vec<f64>]| {
        let graph = Graph::bare(vec![2, 2], [(0, 1)]).unwrap();
        OwnedPotentials::graph(graph, vec![by, by - 3.0, -by, 0.25 - by], table, vec![]).unwrap()
    };
    let small = [table[0].iter().map(|x| x - 1e15).collect()];
    let (mut large, mut small) = (owned(1e15, &table), owned(0.0, &small));
    let first = |p: &Potentials<'_>, n: usize| oracle::probability(p, |labels| labels[n] == 0);
    for n in 0..2 {
        assert_eq!(first(&large.view(), n), first(&small.view(), n));
    }
    let (large, small) = (oracle::log_z(&large.view()), oracle::log_z(&small.view()));
    assert!((large - 1e15 - small).abs() <= 0.25, "{large} and {small}");
}
