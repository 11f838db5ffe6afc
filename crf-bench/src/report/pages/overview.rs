//! The first page of the site: all claims, by paper.

use std::collections::BTreeMap;
use std::path::Path;

use maud::{Markup, html};

use super::run::claims;
use super::site::{Finished, RUNS};
use crate::claims::claim::Outcome;
use crate::report::words::QUICK;

/// The runs of one paper.
type Papers<'a> = BTreeMap<&'a str, Vec<&'a Finished>>;

/// The first page: all claims by paper, and links to all other pages. Quick runs are listed apart,
/// since they judge nothing.
pub(crate) fn overview(runs: &[Finished]) -> Markup {
    let (quick, full): (Vec<&Finished>, Vec<&Finished>) = runs.iter().partition(|run| run.record.quick);
    html! {
        p {
            "Runs: " (runs.len()) ". " a href="growth.html" { "Growth of time" } ", "
            a href="peers.html" { "comparison with other toolkits" } "."
        }
        @if !full.is_empty() { (part(&by_paper(&full), "")) }
        @if !quick.is_empty() {
            h2 #quick { "Quick runs" }
            p.note { "A quick run is " (QUICK) "." }
            (part(&by_paper(&quick), "quick-"))
        }
    }
}

fn by_paper<'a>(runs: &[&'a Finished]) -> Papers<'a> {
    let mut papers = Papers::new();
    for run in runs {
        let paper = run.record.paper.as_deref().map_or("Without a paper", name_of);
        papers.entry(paper).or_default().push(run);
    }
    papers
}

/// The authors and the year: `After Vail 2008, figure 2.3` is of the paper `Vail 2008`.
fn name_of(paper: &str) -> &str {
    let first = paper.split([';', ':']).next().unwrap_or(paper).trim_start_matches("After ");
    let is_year = |word: &&str| word.len() == 4 && word.bytes().all(|byte| byte.is_ascii_digit());
    match first.split([' ', ',']).find(is_year).and_then(|year| first.find(year)) {
        Some(at) => &first[..at + 4],
        None => first.split(',').next().unwrap_or(first),
    }
}

/// A table of papers with the numbers of their claims, then all claims; anchors begin with
/// `prefix`.
fn part(papers: &Papers<'_>, prefix: &str) -> Markup {
    let quick = !prefix.is_empty();
    let head =
        if quick { ["claims seen", "unseen", "skipped"] } else { ["claims that hold", "fail", "skipped"] };
    html! {
        (totals(papers, prefix, head))
        @for (i, (paper, runs)) in papers.iter().enumerate() {
            section id=(format!("{prefix}paper-{}", i + 1)) {
                @if quick { h3 { (paper) } } @else { h2 { (paper) } }
                @for Finished { name, record } in runs {
                    @let title = html! { a href=(link(name)) { (record.title) } " " span.soft { (name.display()) } };
                    @if quick { h4 { (title) } } @else { h3 { (title) } }
                    @if record.claims.is_empty() { p.soft { "No claims." } } @else { (claims(record)) }
                }
            }
        }
    }
}

fn totals(papers: &Papers<'_>, prefix: &str, head: [&str; 3]) -> Markup {
    let outcomes = [Outcome::Holds, Outcome::Fails, Outcome::Skipped];
    let count = |runs: &[&Finished]| {
        outcomes.map(|outcome| runs.iter().map(|run| run.record.count(outcome)).sum::<usize>())
    };
    let all: Vec<&Finished> = papers.values().flatten().copied().collect();
    let rows = papers.values().map(|runs| (runs.len(), count(runs)));
    let numbers = |runs: usize, counts: [usize; 3]| {
        html! {
            td.number { (runs) }
            @for (count, class) in counts.into_iter().zip(["holds", "fails", "soft"]) {
                td.number { span class=[(count > 0 && prefix.is_empty()).then_some(class)] { (count) } }
            }
        }
    };
    html! {
        div.wide {
            table {
                thead {
                    tr {
                        th scope="col" { "paper" }
                        th.number scope="col" { "runs" }
                        @for name in head { th.number scope="col" { (name) } }
                    }
                }
                tbody {
                    @for (i, (paper, (runs, counts))) in papers.keys().zip(rows).enumerate() {
                        tr {
                            th scope="row" { a href=(format!("#{prefix}paper-{}", i + 1)) { (paper) } }
                            (numbers(runs, counts))
                        }
                    }
                }
                tfoot { tr { th scope="row" { "all" } (numbers(all.len(), count(&all))) } }
            }
        }
    }
}

/// The link from the first page to the page of a run.
fn link(name: &Path) -> String {
    let steps = name.components().map(|step| encoded(&step.as_os_str().to_string_lossy()));
    let steps: Vec<String> = steps.collect();
    format!("{RUNS}/{}/index.html", steps.join("/"))
}

/// A step of a path, percent-encoded.
fn encoded(step: &str) -> String {
    let spelled = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    };
    step.bytes().map(spelled).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn papers_are_named_by_authors_and_year() {
        for (paper, name) in [
            ("After Vail 2008, figure 2.3, in small", "Vail 2008"),
            ("Dietterich, Hao and Ashenfelter 2008, hyphenation", "Dietterich, Hao and Ashenfelter 2008"),
            ("Sontag, lecture on structured prediction; Collins 2002, theorem 1", "Sontag"),
            ("Vail 2008, chapter 5: the M-estimator", "Vail 2008"),
            ("Nobody", "Nobody"),
        ] {
            assert_eq!(name_of(paper), name);
        }
    }
}
