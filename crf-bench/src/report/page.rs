use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::Report;
use super::terminal::{rows, word};
use crate::claim::Outcome;

const STYLE: &str = "
:root{color-scheme:light dark;--paper:#fff;--ink:#222;--soft:#666;--rule:#ddd;--good:#00724f;--bad:#b3261e}
@media (prefers-color-scheme:dark){:root{--paper:#161616;--ink:#ddd;--soft:#999;--rule:#3a3a3a;--good:#2fc89a;\
--bad:#ff8a80}}
body{background:var(--paper);color:var(--ink);font:16px/1.5 system-ui,sans-serif;max-width:56rem;margin:2rem auto;\
padding:0 1rem}
svg{max-width:100%;height:auto}
table{border-collapse:collapse}
th,td{padding:.2rem .8rem;border-bottom:1px solid var(--rule);text-align:left;font-variant-numeric:tabular-nums}
pre{overflow-x:auto;border:1px solid var(--rule);padding:1rem;font-size:.85rem}
.soft{color:var(--soft)}.holds{color:var(--good)}.fails{color:var(--bad);font-weight:bold}
";

/// The report as one page that needs no other file.
pub fn page(report: &Report<'_>, figure: &Markup, config: &str) -> Markup {
    let experiment = &report.plan.experiment;
    let (head, rows) = rows(report);
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { (experiment.title) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                h1 { (experiment.title) }
                @if let Some(paper) = &experiment.paper { p.soft { (paper) } }
                figure {
                    (figure)
                    @if let Some(caption) = &experiment.figure.caption { figcaption { (caption) } }
                }
                @if !experiment.claims.is_empty() {
                    h2 { "Claims" }
                    (claims(report))
                }
                h2 { "Results" }
                p.soft {
                    "Means of " (experiment.trials) " trials with Student's 95% intervals; "
                    (format!("{:.1}", report.results.seconds)) " seconds in all."
                }
                table {
                    thead { tr { @for name in &head { th { (name) } } } }
                    tbody { @for row in &rows { tr { @for cell in row { td { (cell) } } } } }
                }
                h2 { "Config" }
                pre { (config) }
            }
        }
    }
}

fn claims(report: &Report<'_>) -> Markup {
    let claims = report.plan.experiment.claims.iter().zip(&report.verdicts);
    html! {
        table {
            @for (statement, verdict) in claims {
                @let class = match verdict.outcome {
                    Outcome::Holds => "holds",
                    Outcome::Fails => "fails",
                    Outcome::Skipped => "soft",
                };
                tr {
                    td class=(class) { (word(verdict.outcome)) }
                    td { (statement.text) br; span.soft { (verdict.evidence) } }
                }
            }
        }
    }
}
