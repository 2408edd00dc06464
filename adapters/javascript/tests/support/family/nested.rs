//! Sources that are nested deep, or go on for long.

/// The programs by name.
pub(crate) fn programs() -> Vec<(&'static str, String)> {
    vec![
        ("long chain of sums", format!("return {}1;", "1+".repeat(30_000))),
        ("long chain of members", format!("return data{};", ".a".repeat(30_000))),
        ("long chain of calls", format!("return data{};", "()".repeat(30_000))),
        ("long chain of texts", format!("return {}1;", "'a'+".repeat(15_000))),
        ("not not not", format!("return {}1;", "!".repeat(60_000))),
        ("arrows in arrows", format!("return {}1;", "a=>".repeat(20_000))),
        ("conditions in conditions", format!("return {}1;", "1?1:".repeat(15_000))),
        ("ifs in ifs", format!("{};", "if(1)".repeat(12_000))),
        ("else if", format!("{};", "if(1);else ".repeat(5_000))),
        ("blocks in blocks", format!("{}{}", "{".repeat(30_000), "}".repeat(30_000))),
        ("groups in groups", format!("{}1{}", "(".repeat(30_000), ")".repeat(30_000))),
        ("assignments", format!("let a;{}1;", "a=".repeat(30_000))),
        ("powers", format!("return {}1;", "1**".repeat(20_000))),
        ("new new new", format!("return {}Map;", "new ".repeat(15_000))),
        ("labels", format!("{};", "a:".repeat(30_000))),
        ("templates", format!("return {}{};", "`${".repeat(12_000), "}`".repeat(12_000))),
        ("functions", format!("{}{}", "(function(){".repeat(4_500), "})".repeat(4_500))),
        ("classes", format!("{}{}", "class A{a(){".repeat(4_300), "}}".repeat(4_300))),
        ("pattern in patterns", format!("return /{}a{}/;", "(".repeat(30_000), ")".repeat(30_000))),
        ("commas", format!("return ({}1);", "1,".repeat(30_000))),
        ("optional chain", format!("return data{};", "?.a".repeat(20_000))),
        ("awaits", format!("{}1;", "await ".repeat(10_000))),
        ("and and and", format!("return {}1;", "1&&".repeat(20_000))),
        (
            "equals of long texts",
            format!(
                "const a = 'x'.repeat(6e6), b = 'x'.repeat(6e6);let n=0;{}",
                "n+=a==b;".repeat(7_000)
            ),
        ),
    ]
}
