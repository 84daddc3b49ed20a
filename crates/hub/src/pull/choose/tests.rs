use super::*;

const GB: u64 = 1_000_000_000;

fn file(path: &str, bytes: u64) -> RemoteFile {
    RemoteFile { path: path.into(), bytes, sha256: None }
}

/// A model as repositories have it: many sizes, and what is no model.
fn repository() -> Vec<RemoteFile> {
    vec![
        file("README.md", 1),
        file("mmproj-Tiny-F16.gguf", GB),
        file("Tiny-imatrix.gguf", GB),
        file("Tiny-8B-Q2_K.gguf", 3 * GB),
        file("Tiny-8B-Q4_K_M.gguf", 5 * GB),
        file("Tiny-8B-Q6_K.gguf", 7 * GB),
        file("Tiny-8B-Q8_0.gguf", 9 * GB),
        file("Tiny-8B-UD-Q4_K_XL.gguf", 5 * GB),
        file("F16/Tiny-8B-F16-00002-of-00002.gguf", 8 * GB),
        file("F16/Tiny-8B-F16-00001-of-00002.gguf", 8 * GB),
        file("Tiny-8B-BF16-00001-of-00003.gguf", 8 * GB),
    ]
}

#[test]
fn files_are_grouped_by_what_they_are() {
    let variants = list_variants(&repository());
    let shown: Vec<String> = variants
        .iter()
        .map(|it| format!("{} {} {}", it.label, it.files.len(), it.is_whole()))
        .collect();
    let want = [
        "F16 2 true",
        "BF16 1 false",
        "Q2_K 1 true",
        "Q4_K_M 1 true",
        "Q6_K 1 true",
        "Q8_0 1 true",
        "UD-Q4_K_XL 1 true",
    ];
    assert_eq!(shown, want);
    assert_eq!(variants[0].bytes(), 16 * GB);
    assert!(variants[0].files[0].path.ends_with("00001-of-00002.gguf"));
}

#[test]
fn the_best_that_fits_is_taken() {
    #[track_caller]
    fn check(free: Option<u64>, want: &str) {
        let (variant, why) = pick_fitting(&list_variants(&repository()), free).unwrap();
        assert_eq!(why, want);
        assert!(why.starts_with(&variant.label));
    }
    check(Some(64 * GB), "Q8_0, the best that fits 64 GB of free memory");
    check(Some(9 * GB), "Q6_K, the best that fits 9.0 GB of free memory");
    check(Some(7 * GB), "Q4_K_M, the best that fits 7.0 GB of free memory");
    check(Some(5 * GB), "Q2_K, the best that fits 5.0 GB of free memory");
    check(Some(GB), "Q2_K, the smallest there is");
    check(None, "Q4_K_M, as free memory is not known here");
}

#[test]
fn what_has_no_known_quantisation_is_taken_by_size() {
    let two = [file("a.gguf", 2 * GB), file("b.gguf", 20 * GB)];
    let (variant, _) = pick_fitting(&list_variants(&two), Some(8 * GB)).unwrap();
    assert_eq!(variant.label, "a");
    let one = [file("a.gguf", 2 * GB)];
    let (_, why) = pick_fitting(&list_variants(&one), Some(1)).unwrap();
    assert_eq!(why, "a, the only one there is");
}

#[test]
fn what_is_named_is_taken_or_told_of() {
    let variants = list_variants(&repository());
    assert_eq!(pick_label(&variants, "q6_k").unwrap().bytes(), 7 * GB);
    assert_eq!(pick_label(&variants, "ud-q4_k_xl").unwrap().bytes(), 5 * GB);
    assert_eq!(pick_path(&variants, "F16/Tiny-8B-F16-00002-of-00002.gguf").unwrap().files.len(), 2);
    #[track_caller]
    fn check<T: std::fmt::Debug>(result: Result<T>, want: &str) {
        let message = result.unwrap_err().message;
        assert!(message.contains(want), "{message}");
    }
    check(pick_label(&variants, "Q5_K_M"), "no file of Q5_K_M; there are F16, BF16, Q2_K");
    check(pick_label(&variants, "BF16"), "BF16-00001-of-00003.gguf is split, and not all");
    check(pick_path(&variants, "x.gguf"), "no model file x.gguf");
    check(pick_path(&[], "x.gguf"), "no GGUF files at all");
    check(pick_fitting(&[], None), "there is no GGUF file");
    let twice = [file("small-Q4_K_M.gguf", GB), file("large-Q4_K_M.gguf", 9 * GB)];
    check(pick_label(&list_variants(&twice), "Q4_K_M"), "several files of Q4_K_M");
    check(pick_fitting(&list_variants(&twice), Some(4 * GB)), "large-Q4_K_M.gguf, small-Q4_K_M");
}

#[test]
fn quantisations_are_found_in_names() {
    #[track_caller]
    fn check(name: &str, want: Option<&str>) {
        assert_eq!(quantisation(name).as_deref(), want, "{name}");
    }
    check("qwen2.5-0.5b-instruct-q4_k_m", Some("Q4_K_M"));
    check("tiny.Q8_0", Some("Q8_0"));
    check("Tiny-IQ3_XXS", Some("IQ3_XXS"));
    check("gpt-oss-20b-MXFP4", Some("MXFP4"));
    check("Tiny-TQ1_0", Some("TQ1_0"));
    check("QwQ-32B", None);
    check("Q-7B", None);
    check("Qwen3-4B", None);
}

#[test]
fn a_model_that_is_there_whole_and_in_parts_is_taken_whole() {
    let parts = (1..=2).map(|at| file(&format!("Tiny-Q8_0-0000{at}-of-00002.gguf"), GB));
    let lone = file("Tiny-Q8_0-00001-of-00003.gguf", GB);
    let files: Vec<RemoteFile> = parts.chain([lone, file("Tiny-Q8_0.gguf", 2 * GB)]).collect();
    let variants = list_variants(&files);
    assert_eq!(variants.len(), 3);
    assert_eq!(pick_label(&variants, "Q8_0").unwrap().files.len(), 1);
    assert_eq!(pick_fitting(&variants, None).unwrap().0.files.len(), 1);
    assert_eq!(pick_path(&variants, "Tiny-Q8_0-00002-of-00002.gguf").unwrap().files.len(), 2);
}
