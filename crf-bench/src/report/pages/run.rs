//! The page of one run.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::claims::claim::Outcome;
use crate::report::record::{Record, Sheet};
use crate::report::significance::Comparison;
use crate::report::words::{QUICK, used_all_iterations, word};
use crate::support::text::plural;

const STYLE: &str = "
:root{color-scheme:light dark;--paper:#fff;--ink:#222;--soft:#666;--rule:#ddd;--good:#00724f;--bad:#b3261e;--link:#0b57a4}
@media (prefers-color-scheme:dark){:root{--paper:#161616;--ink:#ddd;--soft:#999;--rule:#3a3a3a;--good:#2fc89a;\
--bad:#ff8a80;--link:#8ab8ff}}
body{background:var(--paper);color:var(--ink);font:16px/1.5 system-ui,sans-serif;max-width:56rem;margin:2rem auto;\
padding:0 1rem}
a{color:var(--link)}a:focus-visible,summary:focus-visible{outline:2px solid var(--link)}
svg{max-width:100%;height:auto}
figure{margin:1rem 0}
.wide{overflow-x:auto}
table{border-collapse:collapse}
th,td{padding:.2rem .8rem;border-bottom:1px solid var(--rule);text-align:left;font-variant-numeric:tabular-nums;\
vertical-align:top}
pre{overflow-x:auto;border:1px solid var(--rule);padding:1rem;font-size:.85rem}
.number{text-align:right}.note{border-left:4px solid var(--soft);padding-left:.8rem}
.soft{color:var(--soft)}.holds{color:var(--good)}.fails{color:var(--bad);font-weight:bold}
@media print{body{max-width:none;margin:0}a{color:inherit;text-decoration:none}pre{white-space:pre-wrap}\
figure,tr{break-inside:avoid}h2,h3{break-after:avoid}.wide{overflow:visible}\
details::details-content{content-visibility:visible;block-size:auto}}
";

/// A whole page; `up` is the link to the index, if there is one.
pub(crate) fn frame(title: &str, up: Option<&str>, content: Markup) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                // Pages load nothing, not even an icon.
                link rel="icon" href="data:,";
                title { (title) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                @if let Some(up) = up { nav { a href=(up) { "All experiments" } } }
                main { h1 { (title) } (content) }
            }
        }
    }
}

/// The page of a run, with its figure, its config, and links to the files beside it.
pub fn page(record: &Record, figure: &str, config: &str, up: Option<&str>) -> Markup {
    let content = html! {
        @if let Some(paper) = &record.paper { p.soft { (paper) } }
        @if record.quick { p.note { strong { "A quick run" } ", " (QUICK) "." } }
        @if !record.options.is_empty() {
            p.note { "The file was overridden by " @for option in &record.options { code { (option) } " " } }
        }
        @if let Some(published) = &record.published { p { strong { "In the paper: " } (published) } }
        figure {
            (PreEscaped(figure))
            @if let Some(caption) = &record.caption { figcaption { strong { "Here: " } (caption) } }
        }
        @if !record.claims.is_empty() {
            h2 { "Claims" }
            (claims(record))
        }
        h2 { "Results" }
        p.soft {
            @if record.trials == 1 { "A single trial, without intervals." }
            @else { "Means of " (record.trials) " trials with Student's 95% intervals." }
        }
        (table(&record.results))
        @if !record.comparisons.is_empty() { (comparisons(record)) }
        h2 { "Files" }
        ul {
            @for (name, what) in FILES { li { a href=(name) download { (name) } ": " (what) } }
        }
        h2 { "How it was run" }
        p {
            "Seed " (record.seed) ", " (plural(record.trials as usize, "trial")) ", "
            (format!("{:.1}", record.seconds)) " seconds of work; " (record.hardware.to_string())
            "; toolkit " (record.program) "."
        }
        @if !record.limited.is_empty() {
            p { (used_all_iterations(&record.limited).join("; ")) "." }
        }
        p.soft { "Mean seconds of a cell, which is one method at one point in one trial; all methods share the data of a trial." }
        (table(&record.times))
        h2 { "Config" }
        p.soft { "The file with all defaults spelled out; it runs to the same results." }
        pre tabindex="0" { (config) }
    };
    frame(&record.title, up, content)
}

/// The files beside the page of a run.
pub(crate) const FILES: [(&str, &str); 5] = [
    ("results.csv", "means and intervals"),
    ("results.jsonl", "results of every cell"),
    ("timings.jsonl", "times of every cell"),
    ("config.toml", "the experiment with all defaults"),
    ("figure.svg", "the figure"),
];

/// A table that may be wider than the page.
pub(crate) fn table(sheet: &Sheet) -> Markup {
    html! {
        div.wide {
            table {
                thead { tr { @for name in &sheet.head { th scope="col" { (name) } } } }
                tbody { @for row in &sheet.rows { tr { @for cell in row { td { (cell) } } } } }
            }
        }
    }
}

/// The claims of a run with their numbers.
pub(crate) fn claims(record: &Record) -> Markup {
    html! {
        table {
            @for claim in &record.claims {
                tr {
                    td class=(class(claim.outcome, record.quick)) { (word(claim.outcome, record.quick)) }
                    td { (claim.text) br; span.soft { (claim.evidence) } }
                }
            }
        }
    }
}

fn class(outcome: Outcome, quick: bool) -> &'static str {
    match outcome {
        _ if quick => "soft",
        Outcome::Holds => "holds",
        Outcome::Fails => "fails",
        Outcome::Skipped => "soft",
    }
}

fn comparisons(record: &Record) -> Markup {
    let probability = |p: f64| if p < 1e-4 { "< 0.0001".to_owned() } else { format!("{p:.4}") };
    let head =
        ["point", "metric", "method", "minus method", "difference", "p", "p, corrected"].map(str::to_owned);
    let rows = record.comparisons.iter().map(|comparison| {
        let Comparison { point, metric, methods: [a, b], difference, p, p_all } = comparison;
        let p = [*p, *p_all].map(probability);
        [point, metric, a, b, difference, &p[0], &p[1]].map(String::clone).to_vec()
    });
    let sheet = Sheet { head: head.to_vec(), rows: rows.collect() };
    html! {
        details {
            summary { "Differences of methods, with tests of significance" }
            p.soft {
                "Student's paired test over trials, in which all methods see the same data. The last column has Holm's "
                "correction for " (plural(record.comparisons.len(), "comparison")) "."
            }
            (table(&sheet))
        }
    }
}
