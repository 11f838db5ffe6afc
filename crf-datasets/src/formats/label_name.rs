use crate::text::lines::BYTE_ORDER_MARK;

/// What a label must be, for messages.
pub(crate) const LABEL: &str = "a label of one line without blanks around it";

/// True if a name can be a label: it is not empty, stands on one line and has no blanks around it.
///
/// Labels are printed one on a line, beside others after TABs, and an empty field is an unknown
/// label. What holds ends of lines or other control characters would break that, and what differs
/// in blanks or byte order marks only would be two labels that look the same.
pub(crate) fn is_label(name: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_graphic();
    let breaks = |c: char| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}' | BYTE_ORDER_MARK);
    !name.is_empty() && (name.bytes().all(is_plain) || (name.trim() == name && !name.contains(breaks)))
}
