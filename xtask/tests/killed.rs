//! An experiment that is killed at any moment, again and again, ends with the bytes of one that was
//! left alone.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const EXPERIMENT: &str = r#"
title = "Killed again and again"
trials = 10
seed = 5

[dataset]
type = "redundant-observations"
train = { sequences = 1, length = 40 }
test = { sequences = 1, length = 20 }

[sweep]
"dataset.copies" = [1, 2, 3]

[methods.CRF]
features = ["intercept", "transition", { state = "value" }]
learner = { type = "mle", l2 = 0.1 }

[methods.HMM]
features = [{ state = "value" }]
learner = { type = "hmm", emission = "bernoulli" }
"#;

/// A directory with the experiment in it.
fn place(name: &str) -> PathBuf {
    let place = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&place);
    std::fs::create_dir_all(&place).expect("a directory");
    std::fs::write(place.join("exp.toml"), EXPERIMENT).expect("a file");
    place
}

fn start(place: &Path, out: &str) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_xtask"));
    command.args(["experiment", "exp.toml", "--out", out]).current_dir(place);
    command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("the program starts")
}

/// The names and contents of a run's files, without times.
fn bytes(run: &Path) -> Vec<(String, Vec<u8>)> {
    let mut files: Vec<(String, Vec<u8>)> = std::fs::read_dir(run)
        .expect("a run")
        .flatten()
        .map(|entry| {
            let name = entry.file_name().into_string().expect("UTF-8");
            let timeless =
                ["results.jsonl", "results.csv", "config.toml", "figure.svg"].contains(&name.as_str());
            let content = if timeless { std::fs::read(entry.path()).expect("a file") } else { Vec::new() };
            (name, content)
        })
        .collect();
    files.sort();
    files
}

/// Number of kills.
const KILLS: usize = 50;

#[test]
fn fifty_kills_change_no_byte() {
    let place = place("killed");
    let clock = Instant::now();
    assert!(start(&place, "whole").wait().expect("the program ends").success());
    // On a busy machine a run takes long, but waiting longer finds no other moments.
    let whole = clock.elapsed().min(Duration::from_millis(700));
    let (mut kills, mut runs, mut random) = (0, 0, 0x9e37_79b9_7f4a_7c15_u64);
    while kills < KILLS {
        let out = format!("run-{runs}");
        runs += 1;
        assert!(runs < 200, "only {kills} kills in 200 runs");
        // Until it ends by itself: no kill takes back what is finished, and after the last one it
        // is left alone.
        loop {
            let mut run = start(&place, &out);
            // A xorshift generator: the moment needs no quality, only variety.
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            if kills < KILLS {
                std::thread::sleep(whole.mul_f64((random % 1000) as f64 / 1000.0));
                // SIGKILL; a program that has ended cannot be killed, which is no fault.
                let _ = run.kill();
            }
            match run.wait().expect("the program ends").code() {
                Some(code) => {
                    assert_eq!(code, 0);
                    break;
                }
                None => kills += 1,
            }
        }
        assert_eq!(bytes(&place.join(&out)), bytes(&place.join("whole")), "{out}");
    }
}

#[test]
fn ctrl_c_drops_the_running_cells_and_keeps_the_others() {
    let place = place("interrupted");
    assert!(start(&place, "whole").wait().expect("the program ends").success());
    let size = |run: &str| std::fs::metadata(place.join(run).join("journal")).map_or(0, |file| file.len());
    let mut run = start(&place, "run");
    while size("run") < size("whole") / 4 {
        std::thread::sleep(Duration::from_millis(1));
    }
    let interrupt = Command::new("kill").args(["-INT", &run.id().to_string()]).status();
    assert!(interrupt.expect("`kill` starts").success());
    run.wait().expect("the program ends");
    let again = Command::new(env!("CARGO_BIN_EXE_xtask"))
        .args(["experiment", "exp.toml", "--out", "run"])
        .current_dir(&place)
        .output()
        .expect("the program starts");
    assert!(String::from_utf8_lossy(&again.stdout).starts_with("reuses "), "{again:?}");
    assert_eq!(bytes(&place.join("run")), bytes(&place.join("whole")));
}
