//! Finds maps, their pointers to objects of the kernel, and kernel settings in a preprocessed source, and writes what the compiler has to say of them.
//!
//! A map's sizes are only in its type: `__uint(max_entries, 8)` declares a pointer to an array of 8. But libbpf reads them from BTF,
//! which native compilers do not write. So the text is searched for `} NAME SEC(".maps")`, and a table is added whose entries are
//! `sizeof` expressions of those types.

use std::fmt::Write;

/// What the table of the maps of a source is called, by the source's number in its object.
pub(super) fn table_name(number: usize) -> String {
    if number == 0 { "swtch_maps".to_owned() } else { format!("swtch_maps_{number}") }
}

/// The same of the pointers to objects of the kernel that maps hold.
pub(super) fn pointers_name(number: usize) -> String {
    table_name(number).replace("maps", "kptrs")
}

/// The same of the members of structs that user space sets.
pub(super) fn members_name(number: usize) -> String {
    table_name(number).replace("maps", "members")
}

/// The preprocessed source with tables of its maps and of the parts of variables that will be set, ready to be compiled; or the name of a map
/// that is not understood, and why.
pub(super) fn complete(text: &str, number: usize, set: &[String]) -> Result<String, (String, String)> {
    // The loader sets such variables before the scheduler starts, as libbpf does.
    let mut text =
        text.replace("const volatile ", "volatile ").replace("const extern volatile ", "extern volatile ");
    let (mut table, mut pointers) = (String::new(), String::new());
    let kptrs = kptrs(&text);
    for (at, _) in text.match_indices("SWTCH_SEC(\".maps\")") {
        let (name, body) = declaration(&text[..at])?;
        let has = |field: &str| body.contains(field);
        let size = |by_type: &str, by_number: &str| {
            if has(&format!("*{by_type};")) {
                format!("sizeof(*{name}.{by_type})")
            } else if has(&format!("(*{by_number})")) {
                format!("sizeof(*{name}.{by_number}) / sizeof(int)")
            } else {
                "0".to_owned()
            }
        };
        if !has("(*type)") {
            return Err((name.to_owned(), "its struct does not declare its type".to_owned()));
        }
        let entries = if has("(*max_entries)") {
            format!("sizeof(*{name}.max_entries) / sizeof(int)")
        } else {
            "0".to_owned()
        };
        let (key, value) = (size("key", "key_size"), size("value", "value_size"));
        let _ = writeln!(
            table,
            "\t{{ &{name}, sizeof(*{name}.type) / sizeof(int), {key}, {value}, {entries}, \"{name}\" }},"
        );
        for (tag, member) in kptrs.iter().filter(|(tag, _)| has(&format!("(struct {tag}) *value;"))) {
            let _ = writeln!(pointers, "\t{{ &{name}, __builtin_offsetof(struct {tag}, {member}) }},");
        }
    }
    let (settings, members) = (settings(&text), members(&text, set));
    text.push('\n');
    if !table.is_empty() {
        let _ = writeln!(text, "struct swtch_map {}[] = {{\n{table}\t{{ 0 }}\n}};", table_name(number));
    }
    if !pointers.is_empty() {
        let _ =
            writeln!(text, "struct swtch_kptr {}[] = {{\n{pointers}\t{{ 0 }}\n}};", pointers_name(number));
    }
    if !members.is_empty() {
        let _ =
            writeln!(text, "struct swtch_member {}[] = {{\n{members}\t{{ 0 }}\n}};", members_name(number));
    }
    text.push_str(&settings);
    Ok(text)
}

/// Entries for those parts of variables (`topo_config.nr_cpus`) whose variables the source declares.
fn members(text: &str, set: &[String]) -> String {
    let mut entries = String::new();
    let is_path = |path: &&String| path.chars().all(|c| !is_no_letter(c) || matches!(c, '.' | '[' | ']'));
    for path in set.iter().filter(is_path) {
        let variable = path.split(is_no_letter).next().unwrap_or_default();
        if declares(text, variable) {
            let _ = writeln!(entries, "\t{{ (void *)&{path}, sizeof({path}), \"{path}\" }},");
        }
    }
    entries
}

/// Whether a name stands outside of all braces and parentheses.
fn declares(text: &str, name: &str) -> bool {
    let (mut depth, mut from) = (0, 0);
    text.match_indices(name).any(|(at, _)| {
        let passed = text[from..at].bytes();
        depth += passed
            .map(|c| i32::from(matches!(c, b'{' | b'(')) - i32::from(matches!(c, b'}' | b')')))
            .sum::<i32>();
        from = at;
        let is_word = text[..at].ends_with(is_no_letter) && text[at + name.len()..].starts_with(is_no_letter);
        depth == 0 && is_word
    })
}

/// The members of structs that point to objects of the kernel (`struct bpf_cpumask __kptr *mask;`), with their structs' tags.
fn kptrs(text: &str) -> Vec<(&str, &str)> {
    let of = |(at, marker): (usize, &str)| {
        let member = text[at + marker.len()..]
            .split(';')
            .next()?
            .trim_matches(|c: char| c == '*' || c.is_whitespace());
        let before = text[..opens(&text[..at])?].trim_end();
        let (rest, tag) = before.rsplit_once(char::is_whitespace)?;
        rest.trim_end().ends_with("struct").then_some((tag, member))
    };
    text.match_indices("SWTCH_KPTR").filter_map(of).collect()
}

/// The name at the end of a text `struct { ... } NAME` or `struct TAG NAME`, and what is between the braces of that struct.
fn declaration(before: &str) -> Result<(&str, &str), (String, String)> {
    // A map that several sources of an object declare is weak.
    let before = before.trim_end();
    let before = before.strip_suffix("__attribute__((weak))").unwrap_or(before).trim_end();
    let name_at = before.rfind(is_no_letter).map_or(0, |at| at + 1);
    let (rest, name) = before.split_at(name_at);
    let rest = rest.trim_end();
    let unknown = || (name.to_owned(), "its struct is not declared with it".to_owned());
    let inside = match rest.strip_suffix('}') {
        Some(inside) => inside,
        None => tagged(before, rest).ok_or_else(unknown)?,
    };
    let at = opens(inside).ok_or_else(unknown)?;
    Ok((name, &inside[at + 1..]))
}

/// The text up to the closing brace of a variable's struct, by the `struct TAG` with which the variable's declaration begins.
fn tagged<'a>(text: &'a str, variable: &str) -> Option<&'a str> {
    let (_, tag) =
        variable.rsplit_once(is_no_letter).filter(|(rest, _)| rest.trim_end().ends_with("struct"))?;
    let declared = format!("struct {tag} {{");
    let begin = text.find(&declared)? + declared.len();
    let mut depth = 1;
    let end = text[begin..].char_indices().find(|(_, c)| {
        depth += match c {
            '{' => 1,
            '}' => -1,
            _ => 0,
        };
        depth == 0
    });
    Some(&text[..begin + end?.0])
}

/// Where the brace is that the end of a text is inside of.
fn opens(text: &str) -> Option<usize> {
    let mut depth = 0;
    let found = text.char_indices().rev().find(|(_, c)| {
        depth += match c {
            '}' => 1,
            '{' => -1,
            _ => 0,
        };
        depth < 0
    });
    found.map(|(at, _)| at)
}

/// Whether it ends a name.
fn is_no_letter(c: char) -> bool {
    !c.is_alphanumeric() && c != '_'
}

/// Definitions of the kernel's settings that the source names (`extern unsigned CONFIG_HZ __kconfig`): zero until the loader sets them.
fn settings(text: &str) -> String {
    let mut definitions = String::new();
    for (at, _) in text.match_indices("SWTCH_KCONFIG") {
        let before = text[..at].trim_end();
        let before = before.trim_end_matches(|c: char| c == ']' || c == '[' || c.is_ascii_digit());
        let name_at = before.rfind(is_no_letter).map_or(0, |at| at + 1);
        let name = &before[name_at..];
        if !name.is_empty() {
            let _ = writeln!(definitions, "__typeof__({name}) {name};");
        }
    }
    definitions
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_of_the_maps_follows_the_source() {
        let source = "struct { int (*type)[2]; u32 *key; struct { int a; } *value; int (*max_entries)[8]; } one __attribute__((weak)) \
                      SWTCH_SEC(\".maps\");\nstruct { int (*type)[29]; int *key; long *value; } two SWTCH_SEC(\".maps\");\n\
                      extern unsigned CONFIG_HZ SWTCH_KCONFIG;\nconst volatile int x;";
        let text = complete(source, 0, &[]).unwrap();
        assert!(text.contains(
            "{ &one, sizeof(*one.type) / sizeof(int), sizeof(*one.key), sizeof(*one.value), sizeof(*one.max_entries) / sizeof(int), \"one\" },"
        ));
        assert!(text.contains(
            "{ &two, sizeof(*two.type) / sizeof(int), sizeof(*two.key), sizeof(*two.value), 0, \"two\" },"
        ));
        assert!(text.contains("__typeof__(CONFIG_HZ) CONFIG_HZ;"));
        assert!(text.contains("\nvolatile int x;"));
        assert!(!complete("int a;", 0, &[]).unwrap().contains("swtch_maps"));
    }

    #[test]
    fn the_struct_of_a_map_may_have_a_name() {
        let source = "struct cells { int (*type)[2]; struct { int a; } *value; };\nextern struct cells all;\nstruct cells all SWTCH_SEC(\".maps\");";
        let text = complete(source, 0, &[]).unwrap();
        assert!(
            text.contains("{ &all, sizeof(*all.type) / sizeof(int), 0, sizeof(*all.value), 0, \"all\" },")
        );
        let (name, why) = complete("struct cells all SWTCH_SEC(\".maps\");", 0, &[]).unwrap_err();
        assert_eq!((name.as_str(), why.as_str()), ("all", "its struct is not declared with it"));
    }

    #[test]
    fn pointers_to_the_kernels_objects_are_found_in_values() {
        let source = "struct mask { int a; union { int b; } u; struct bpf_cpumask SWTCH_KPTR *first; struct bpf_cpumask SWTCH_KPTR * second; };\n\
                      struct bpf_cpumask SWTCH_KPTR *all;\nstruct plain { int a; };\n\
                      struct { int (*type)[2]; __typeof__(struct mask) *value; } one SWTCH_SEC(\".maps\");\n\
                      struct { int (*type)[2]; __typeof__(struct plain) *value; } two SWTCH_SEC(\".maps\");";
        assert_eq!(kptrs(source), [("mask", "first"), ("mask", "second")]);
        let text = complete(source, 1, &[]).unwrap();
        assert!(text.contains(
            "struct swtch_kptr swtch_kptrs_1[] = {\n\t{ &one, __builtin_offsetof(struct mask, first) },\n"
        ));
        assert_eq!(text.matches("__builtin_offsetof").count(), 2);
    }

    #[test]
    fn parts_of_variables_are_listed_where_these_are_declared() {
        let source = "struct domain { u64 id; };\nextern struct domain domains[8];\nint use(struct domain *other) { return domains[0].id; }\n\
                      const volatile struct { u64 min_ns; } config = { .min_ns = 1 };";
        let set = ["config.min_ns", "domains[0].id", "other.id", "my_config.x", "config.min_ns; int x"]
            .map(str::to_owned);
        let text = complete(source, 0, &set).unwrap();
        assert!(text.contains(
            "struct swtch_member swtch_members[] = {\n\t{ (void *)&config.min_ns, sizeof(config.min_ns), \"config.min_ns\" },\n\
             \t{ (void *)&domains[0].id, sizeof(domains[0].id), \"domains[0].id\" },\n\t{ 0 }\n};"
        ), "{text}");
        assert!(!complete(source, 0, &set[2..]).unwrap().contains("swtch_members"));
    }

    #[test]
    fn a_map_without_a_type_is_named() {
        let (name, problem) = complete("struct { int x; } odd SWTCH_SEC(\".maps\");", 0, &[]).unwrap_err();
        assert_eq!((name.as_str(), problem.contains("type")), ("odd", true));
    }
}
