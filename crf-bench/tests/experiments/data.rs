//! Data sets are fetched, verified, converted and put into place; whatever is wrong leaves nothing
//! behind.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::path::{Path, PathBuf};

use crate::command::crf;
use flate2::Compression;
use flate2::write::GzEncoder;
use sha2::{Digest as _, Sha256};

/// Serves the same bytes at every address but `/gone`, for as long as the test runs.
fn server(body: impl Into<Vec<u8>>) -> String {
    let body = body.into();
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = format!("http://{}", listener.local_addr().expect("an address"));
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut request = [0; 4096];
            let n = stream.read(&mut request).unwrap_or(0);
            let gone = request[..n].starts_with(b"GET /gone");
            let (status, body) = if gone { ("404 Not Found", &[][..]) } else { ("200 OK", &body[..]) };
            let head =
                format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", body.len());
            // A client that has seen enough is no fault.
            let _ = stream.write_all(&[head.as_bytes(), body].concat());
        }
    });
    address
}

/// A manifest with a set of one file, in a directory of its own.
fn place(name: &str, file: &str) -> (PathBuf, PathBuf) {
    let place = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("data-{name}"));
    let _ = std::fs::remove_dir_all(&place);
    std::fs::create_dir_all(place.join("data")).expect("a directory");
    let text = format!(
        "[[set]]\nname = \"words\"\ntitle = \"Words\"\ncitation = \"Nobody 2000\"\nlicence = \"CC0\"\n\
         origin = \"here\"\nfiles = [{file}]"
    );
    std::fs::write(place.join("manifest.toml"), text).expect("a file");
    (place.join("manifest.toml"), place.join("data"))
}

fn data(action: &[&str], manifest: &Path, into: &Path) -> Result<String, String> {
    let [manifest, into] = [manifest, into].map(|path| path.to_str().expect("UTF-8"));
    crf(&[&["data"], action, &["--manifest", manifest, "--into", into]].concat())
}

fn sha256(text: impl AsRef<[u8]>) -> String {
    Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn a_set_is_fetched_verified_and_converted() {
    let address = server("a\tO\r\n\r\n\r\nb\tB\r\n");
    let sum = sha256("a\tO\n\nb\tB\n");
    let file = format!(
        r#"{{ path = "words/train.gz", sha256 = "{sum}", from = "{address}/train", as = "columns" }}"#
    );
    let (manifest, into) = place("get", &file);
    assert_eq!(data(&["check"], &manifest, &into).as_deref(), Ok("missing    words/train.gz\n"));
    let said = data(&["get", "words"], &manifest, &into).expect("a set");
    assert_eq!(said, "words: 1 file fetched, all are right; cite Nobody 2000\n");
    assert_eq!(data(&["check", "words"], &manifest, &into).as_deref(), Ok("right      words/train.gz\n"));
    assert!(data(&["get", "words"], &manifest, &into).expect("a set").contains("0 files fetched"));
    std::fs::write(into.join("words/train.gz"), "something else").expect("a file");
    assert_eq!(data(&["check"], &manifest, &into).as_deref(), Ok("DIFFERENT  words/train.gz\n"));
    assert!(data(&["list"], &manifest, &into).expect("a list").contains("cite    Nobody 2000"));
}

#[test]
fn what_is_wrong_is_refused_and_leaves_nothing() {
    let address = server("not the words");
    let sum = sha256("the words");
    for (name, from, message) in [
        (
            "changed",
            format!("{address}/train"),
            format!("the download is not `words/train`: its SHA-256 is not {sum}"),
        ),
        ("gone", format!("{address}/gone"), format!("`curl {address}/gone` failed")),
        ("scheme", "file:///etc/hostname".to_owned(), "`curl file:///etc/hostname` failed".to_owned()),
    ] {
        let file = format!(r#"{{ path = "words/train", sha256 = "{sum}", from = "{from}" }}"#);
        let (manifest, into) = place(name, &file);
        let error = data(&["get", "words"], &manifest, &into).expect_err(name);
        assert!(error.ends_with(&message), "{error}");
        assert_eq!(std::fs::read_dir(into.join("words")).expect("a directory").count(), 0, "{name}");
    }
    let (manifest, into) = place("by-hand", &format!(r#"{{ path = "words/train", sha256 = "{sum}" }}"#));
    let error = data(&["get", "words"], &manifest, &into).expect_err("nothing to fetch");
    assert!(error.contains("made by hand from here: put `words/train` below"), "{error}");
    let error = data(&["get", "word"], &manifest, &into).expect_err("a typo");
    assert_eq!(error, "data: unknown data set `word`, did you mean `words`?");
    let (manifest, into) =
        place("outside", &format!(r#"{{ path = "../outside", sha256 = "{sum}", from = "{address}" }}"#));
    let error = data(&["get", "words"], &manifest, &into).expect_err("a way out");
    assert!(error.contains("expected a path below the directory of all data"), "{error}");
}

#[test]
fn a_download_that_unpacks_to_a_thousand_times_its_size_is_refused() {
    let mut bomb = GzEncoder::new(Vec::new(), Compression::best());
    let zeros = vec![0; 1 << 20];
    (0..64).for_each(|_| bomb.write_all(&zeros).expect("zeros"));
    let address = server(bomb.finish().expect("a bomb"));
    let file = format!(r#"{{ path = "words/train", sha256 = "{}", from = "{address}/b" }}"#, sha256(""));
    let (manifest, into) = place("bomb", &file);
    let error = data(&["get", "words"], &manifest, &into).expect_err("a bomb");
    assert!(error.contains("the download cannot be unpacked: unpacks to more than"), "{error}");
    assert_eq!(std::fs::read_dir(into.join("words")).expect("a directory").count(), 0);
}

#[test]
fn a_download_with_another_digest_is_not_unpacked() {
    // It begins like gzip and is none, so that unpacking would fail with another message.
    let address = server(*b"\x1f\x8bno gzip");
    let [sum, other] = [sha256("the words"), sha256("the archive")];
    let file = format!(
        r#"{{ path = "words/train", sha256 = "{sum}", download = "{other}", from = "{address}/a" }}"#
    );
    let (manifest, into) = place("archive", &file);
    let error = data(&["get", "words"], &manifest, &into).expect_err("another archive");
    let got = sha256(b"\x1f\x8bno gzip");
    assert!(error.ends_with(&format!("its SHA-256 is {got}, not {other}")), "{error}");
}

#[test]
fn an_experiment_without_its_data_names_the_command() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../experiments/ocr/chain.toml");
    let error = |directory: Option<&str>| {
        let mut crf = assert_cmd::Command::new(env!("CARGO_BIN_EXE_crf"));
        crf.args(["check", file.to_str().expect("UTF-8")]).env_remove("CRF_DATA");
        let crf = crf.envs(directory.map(|directory| ("CRF_DATA", directory))).assert().failure();
        String::from_utf8_lossy(&crf.get_output().stderr).into_owned()
    };
    let [known, unknown] = [Some("/nowhere"), None].map(error);
    assert!(known.ends_with("; get it by: cargo xtask data get ocr\n"), "{known}");
    assert!(unknown.ends_with("cargo xtask data get ocr --into data && export CRF_DATA=data\n"), "{unknown}");
}
