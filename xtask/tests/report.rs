//! The site of all runs: its links lead somewhere, what people wrote is text, and a browser shows
//! it without complaint.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

const NASTY: &str = "<script>alert(1)</script> & \\\"quotes\\\"";

fn experiment(title: &str) -> String {
    format!(
        r#"
title = "{title}"
paper = "Nobody 2000, figure 1"
trials = 3
seed = 5

[dataset]
type = "weather"

[sweep]
"dataset.noise" = [0.1, 0.3]

[methods."<b>CRF"]
features = ["intercept", "transition", {{ state = "value" }}]
learner = {{ type = "mle", l2 = 0.1 }}

[methods.HMM]
features = [{{ state = "value" }}]
learner = {{ type = "hmm", emission = "gaussian" }}

[figure]
published = "Something <i>else</i>."

[[claims]]
text = "<img src=x onerror=alert(2)> is a sentence"
at-most = {{ method = "HMM", metric = "error", value = 1.0 }}

[quick]
trials = 2
"#
    )
}

fn xtask(place: &Path, args: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_xtask")).args(args).current_dir(place).output();
    let output = output.expect("the program starts");
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// Three runs, some benchmarks and a comparison, and the site that is made of them.
fn site() -> PathBuf {
    let place = Path::new(env!("CARGO_TARGET_TMPDIR")).join("report");
    let _ = std::fs::remove_dir_all(&place);
    let write = |path: &str, text: String| {
        let path = place.join(path);
        std::fs::create_dir_all(path.parent().expect("a directory")).expect("a directory");
        std::fs::write(path, text).expect("a file");
    };
    write("nasty.toml", experiment(NASTY));
    write("plain.toml", experiment("Plain"));
    for length in [10, 100, 1000] {
        let directory = format!("criterion/viterbi/T{length}-L2/new");
        write(
            &format!("{directory}/benchmark.json"),
            json!({ "group_id": "viterbi", "value_str": format!("T{length}-L2") }).to_string(),
        );
        let interval =
            json!({ "lower_bound": 90.0 * f64::from(length), "upper_bound": 110.0 * f64::from(length) });
        let mean = json!({ "point_estimate": 100.0 * f64::from(length), "confidence_interval": interval });
        write(&format!("{directory}/estimates.json"), json!({ "mean": mean }).to_string());
    }
    let row =
        json!({ "name": "seconds <an> iteration", "ours": 0.1, "ours_2": 0.05, "theirs": 0.4, "ratio": 4.0 });
    let tables = json!([{ "title": "Chains", "rows": [row] }]);
    write(
        "results/peers/a.json",
        json!({ "model": "sparse", "iterations": 5, "rounds": 1, "tables": tables }).to_string(),
    );
    xtask(&place, &["experiment", "nasty.toml", "--out", "results/of a paper/100% <nasty>"]);
    xtask(&place, &["experiment", "plain.toml", "--out", "results/plain"]);
    xtask(&place, &["experiment", "plain.toml", "--out", "results/small", "--quick", "--set", "seed=6"]);
    // A run that is not finished has no page.
    xtask(&place, &["experiment", "plain.toml", "--out", "results/part", "--shard", "1/2"]);
    let said = xtask(&place, &["report", "--criterion", "criterion"]);
    assert_eq!(said, format!("3 runs in {}\n", Path::new("results/report/index.html").display()));
    place.join("results/report")
}

fn pages(directory: &Path, found: &mut Vec<PathBuf>) {
    for path in std::fs::read_dir(directory).expect("a directory").flatten().map(|entry| entry.path()) {
        if path.is_dir() {
            pages(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "html") {
            found.push(path);
        }
    }
}

/// An address in a page as a path: what is spelled by numbers, and what HTML escapes.
fn decoded(address: &str) -> String {
    let address = address.replace("&amp;", "&");
    let (mut bytes, mut rest) = (Vec::new(), address.as_bytes());
    while let [first, tail @ ..] = rest {
        let spelled =
            tail.get(..2).filter(|_| *first == b'%').and_then(|digits| std::str::from_utf8(digits).ok());
        match spelled.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &tail[2..];
            }
            None => {
                bytes.push(*first);
                rest = tail;
            }
        }
    }
    String::from_utf8(bytes).expect("UTF-8")
}

/// The browser of this machine, if it has one.
fn chromium() -> Option<&'static str> {
    let works = |name: &&str| {
        let version =
            Command::new(name).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
        version.is_ok_and(|status| status.success())
    };
    ["chromium", "chromium-browser", "google-chrome"].into_iter().find(works)
}

/// Opens all pages in frames of one page, and tells what is to be seen of each.
const PROBE: &str = r#"<!doctype html><meta charset="utf-8"><body><script>
const pages = PAGES, seen = [];
function look(i) {
  if (i == pages.length) {
    document.body.innerHTML = '';
    const out = document.createElement('pre');
    out.id = 'seen';
    out.textContent = JSON.stringify(seen).replaceAll('<', '\\u003c');
    document.body.append(out);
    return;
  }
  const frame = document.createElement('iframe');
  frame.width = 1000; frame.height = 800;
  frame.onload = () => {
    const page = frame.contentDocument, box = element => element.getBoundingClientRect();
    const mark = page.querySelector('.mark');
    if (mark) mark.focus();
    seen.push({
      page: pages[i],
      title: page.title,
      heading: box(page.querySelector('h1')).height,
      scripts: page.querySelectorAll('body script, [onerror], img').length,
      figures: [...page.querySelectorAll('svg')].map(svg => [box(svg).width, box(svg).height]),
      focused: mark ? page.activeElement === mark && getComputedStyle(mark.querySelector('.value')).visibility : null,
      named: [...page.querySelectorAll('.mark')].every(mark => mark.getAttribute('aria-label')),
      overflow: page.documentElement.scrollWidth,
    });
    look(i + 1);
  };
  frame.src = pages[i];
  document.body.append(frame);
}
look(0);
</script>"#;

#[test]
fn the_site_is_whole_and_a_browser_shows_it() {
    let site = site();
    let mut all = Vec::new();
    pages(&site, &mut all);
    all.sort();
    assert_eq!(all.len(), 6, "{all:?}");
    for page in &all {
        let text = std::fs::read_to_string(page).expect("a page");
        for word in ["<script", "<img", "<b>CRF", "<i>else", "<nasty>", "http://", "https://"] {
            let text = text.replace("xmlns=\"http://www.w3.org/2000/svg\"", "");
            assert!(!text.contains(word), "{word} in {}", page.display());
        }
        for address in text.split("href=\"").skip(1).filter_map(|rest| rest.split('"').next()) {
            let found = match address.strip_prefix('#') {
                Some(place) => text.contains(&format!("id=\"{place}\"")),
                None => page.parent().expect("a directory").join(decoded(address)).is_file(),
            };
            assert!(address == "data:," || found, "{address} in {}", page.display());
        }
    }
    let index = std::fs::read_to_string(site.join("index.html")).expect("the index");
    assert!(index.contains("Nobody 2000") && index.contains("Runs: 3"), "{index}");
    // Quick runs have seen what others judge.
    let (full, quick) = index.split_once("Quick runs").expect("quick runs stand by themselves");
    assert_eq!((full.matches(">holds<").count(), full.matches(">seen<").count()), (2, 0), "{full}");
    assert_eq!((quick.matches(">holds<").count(), quick.matches(">seen<").count()), (0, 1), "{quick}");
    let small = std::fs::read_to_string(site.join("runs/small/index.html")).expect("a page");
    assert!(small.contains("A quick run") && small.contains("<code>--set seed=6</code>"), "{small}");

    let Some(chromium) = chromium() else {
        eprintln!("no Chromium here: how the site looks was not checked");
        return;
    };
    let below: Vec<String> =
        all.iter().map(|page| page.strip_prefix(&site).expect("a page").display().to_string()).collect();
    let encoded: Vec<String> =
        below.iter().map(|page| page.replace('%', "%25").replace(' ', "%20")).collect();
    let probe = PROBE.replace("PAGES", &json!(encoded).to_string().replace('<', "\\u003c"));
    std::fs::write(site.join("probe.html"), probe).expect("a file");
    let output = Command::new(chromium)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"])
        .args(["--allow-file-access-from-files", "--virtual-time-budget=20000", "--enable-logging=stderr"])
        .arg(format!("--user-data-dir={}", site.join("profile").display()))
        .args(["--dump-dom", &format!("file://{}", site.join("probe.html").display())])
        .output()
        .expect("the browser starts");
    let (dom, log) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(!log.contains("CONSOLE"), "the browser complains: {log}");
    let seen = dom.split("<pre id=\"seen\">").nth(1).and_then(|rest| rest.split("</pre>").next());
    let seen = seen.unwrap_or_else(|| panic!("{dom}\n{log}")).replace("&gt;", ">").replace("&amp;", "&");
    let seen: Vec<Value> = serde_json::from_str(&seen).expect("JSON");
    assert_eq!(seen.len(), all.len());
    for page in &seen {
        assert!(
            page["heading"].as_f64() > Some(10.0) && page["scripts"] == 0 && page["named"] == true,
            "{page}"
        );
        assert!(page["overflow"].as_f64() <= Some(1000.0), "wider than the window: {page}");
        let name = page["page"].as_str().expect("a name");
        let figures = page["figures"].as_array().expect("a list");
        if name.starts_with("runs/") || name == "growth.html" {
            assert!(!figures.is_empty() && page["focused"] == "visible", "{page}");
        }
        assert!(
            figures.iter().all(|size| size[0].as_f64() > Some(100.0) && size[1].as_f64() > Some(100.0)),
            "{page}"
        );
    }
    let nasty = seen.iter().find(|page| page["page"].as_str().is_some_and(|name| name.contains("nasty")));
    assert_eq!(nasty.expect("its page")["title"], "<script>alert(1)</script> & \"quotes\"");
}
