mod fuzz;
mod hl7;
mod model;
mod plain;
mod views;

use super::*;

/// An admission with all that is odd but right: escapes, zeros, repetitions, empty parts.
pub(super) const ADT: &str = "MSH|^~\\&|APP|FAC|||20250101||ADT^A01|1|P|2.5\r\
    PID|1||00123^^^MRN~456||DOE^JOHN^^^||||||12 \\T\\ Main\\.br\\St^^CITY||555~~556\r\
    NK1|1|DOE^JANE\r\
    OBX|1|ST|A&B^C||x\r\
    OBX|2|ST|D||\\X0D\\ y|||\r";

/// Messages that must go through every view and back.
pub(super) const MESSAGES: &[&str] = &[
    ADT,
    "MSH|^~\\&",
    "MSH|^~\\&|A\nPID|1\n\nZZZ|x\n",
    "MSH|^~\\&|A\r\nPID|1|||\r\n\r\nNK1\r\nodd line\r\n",
    "MSH#*!?%#A\rPID#1##X*Y!Z%W\r",
    "MSH|^~\\&#|A|B\rPID|1#|x\r",
    "MSH$%~\\&$Ä$€\rPID$1$ü%ö~~ß",
    "MSH|^~\\&|00123|2024-01-01|1.10|true|null|~|yes|0x1f\rPID|~|~~|^|&|^&^\r",
    "MSH|^\rPID|a^b~c&d\r",
    "MSH|\rPID|a^b~c&d\r",
    "MSH|^~\\&|\u{7f}\u{85}\u{2028}|\"\"|'|\\E\\|\\|a\tb| x \r\rPID| \r",
    "MSH|^~\\&|1|2|3|4|5|6|7|8|9|10|11\rOBX|a^b^c^d^e^f^g^h^i^j^k|&&c\r",
    "MSH|^~\\&|A\rMSH|^~\\&|B\r|x\r",
    "MSH|^~\\^1|A^&\rPID|a^b&c~d\r",
];

pub(super) fn patch(path: &str) -> Patch {
    Patch { path: path.into(), ..Patch::default() }
}

pub(super) fn set(path: &str, value: &str) -> Patch {
    Patch { value: Some(value.into()), ..patch(path) }
}

pub(super) fn remove(path: &str) -> Patch {
    Patch { remove: true, ..patch(path) }
}

pub(super) fn create(path: &str) -> Patch {
    Patch { create: true, ..patch(path) }
}

/// Applies one patch and gives the text, or why not.
pub(super) fn patched(form: Form, text: &str, patch: &Patch) -> Result<String, (i32, String)> {
    let mut document = Document::new(form, text);
    let report = document.patch(std::slice::from_ref(patch)).expect("one patch");
    match &report.errors[..] {
        [] => {
            assert_eq!((report.success, report.patches_applied), (true, 1));
            Ok(document.text)
        }
        [failure] => {
            assert_eq!((report.success, report.patches_applied, failure.index), (false, 0, 0));
            assert_eq!(document.text, text, "a patch that fails changes nothing");
            Err((failure.code, failure.message.clone()))
        }
        _ => panic!("two failures of one patch"),
    }
}
