//! Plots, and the page to hand out.

use crate::support;

use std::fs;

use support::{Folder, run};

#[test]
fn a_sweep_is_plotted_with_what_the_theory_says() {
    let folder = Folder::new("plot");
    let (csv, svg, other) = (folder.path("s.csv"), folder.path("s.svg"), folder.path("t.svg"));
    let sweep = ["sweep", "--nodes", "3,7,13", "--algorithms", "lamport,maekawa", "--seeds", "2"];
    let rest = ["--entries", "60", "--csv", &csv, "--plot", &svg];
    let (code, _, aside) = run(&[&sweep[..], &rest].concat());
    assert_eq!(code, 0, "{aside}");
    let plot = fs::read_to_string(&svg).expect("a plot");
    for word in ["Messages per entry against nodes", ">lamport<", ">maekawa<", "class=\"th qo"] {
        assert!(plot.contains(word), "{word}");
    }
    let (code, _, aside) = run(&["plot", &csv, "--y", "throughput", "-o", &other]);
    assert_eq!(code, 0, "{aside}");
    let throughput = fs::read_to_string(&other).expect("a plot");
    assert!(throughput.contains("Throughput against nodes"), "{throughput}");
    assert!(throughput.contains("throughput, entries per T"), "{throughput}");
    let refused = |args: &[&str], why: &str| {
        let (code, _, aside) = run(args);
        assert_eq!(code, 2, "{args:?}: {aside}");
        assert!(aside.contains(why), "{args:?}: {aside}");
    };
    refused(&["plot", &csv, "--y", "througput", "-o", &svg], "did you mean 'throughput'?");
    refused(&["plot", &csv, "--ylim", "5..2", "-o", &svg], "it ends at 2, which is not above 5");
    refused(&["plot", &csv, "--ylim", "5", "-o", &svg], "'5' is not a range");
    refused(
        &["plot", &csv, "--where", "nodes=4", "-o", &svg],
        "leaves no points: nodes is 3, 7, 13",
    );
    refused(&["plot", &csv, "--log", "y", "--ylim", "0..9", "-o", &svg], "nothing at or below 0");
    refused(&["plot", &csv], "--output <FILE>");
    refused(&["plot", &csv, "-o", "x.bmp"], "a plot is .svg, .pdf or .png");
    refused(
        &[&sweep[..], &["--csv", "-", "--plot", "x.bmp"]].concat(),
        "a plot is .svg, .pdf or .png",
    );
}

#[test]
fn a_part_of_a_sweep_is_plotted_for_a_paper() {
    let folder = Folder::new("plot-part");
    let (csv, svg, pdf) = (folder.path("s.csv"), folder.path("s.svg"), folder.path("s.pdf"));
    let names = "lamport,maekawa,raymond";
    let sweep = ["sweep", "--nodes", "3,7", "--algorithms", names, "--load", "light,heavy"];
    let (code, _, aside) = run(&[&sweep[..], &["--entries", "60", "--csv", &csv]].concat());
    assert_eq!(code, 0, "{aside}");
    let of = ["--where", "algorithm!=raymond", "--where", "nodes>=3", "--title", "Two <locks>"];
    let (code, _, aside) = run(&[&["plot", &csv, "-o", &svg], &of[..]].concat());
    assert_eq!(code, 0, "{aside}");
    let plot = fs::read_to_string(&svg).expect("a plot");
    let says = [">Two &lt;locks&gt;<", ">maekawa, load light<", ">measured, load heavy<"];
    for word in says {
        assert!(plot.contains(word), "{word}");
    }
    assert!(!plot.contains("raymond"), "{plot}");
    // An algorithm keeps its colour, and a load of which there is no point is not in the legend.
    let (code, _, aside) =
        run(&["plot", &csv, "-o", &svg, "--where", "algorithm=raymond", "--y", "sync_delay_mean"]);
    assert_eq!(code, 0, "{aside}");
    let one = fs::read_to_string(&svg).expect("a plot");
    assert!(one.contains("mk q2\"") && !one.contains("mk q0\""), "{one}");
    assert!(one.contains("measured, load heavy") && !one.contains("measured, load light"), "{one}");
    // Two algorithms, two colours; two loads, two markers in each of them.
    for colour in ["0", "1"] {
        let marks = plot.matches(&format!("class=\"mk q{colour}\"><circle")).count();
        let others = plot.matches(&format!("class=\"mk q{colour}\"><rect")).count();
        assert_eq!((marks, others), (2, 2), "{plot}");
    }
    assert!(!plot.contains("mk q2"), "{plot}");
    let (code, _, aside) = run(&["plot", &csv, "-o", &pdf]);
    assert_eq!(code, 0, "{aside}");
    assert!(fs::read(&pdf).expect("a plot").starts_with(b"%PDF-1.4"));
    let (code, out, aside) = run(&["plot", &csv, "--columns"]);
    assert_eq!(code, 0, "{aside}");
    assert!(out.contains("nodes") && out.contains("--x, --where  3, 7\n"), "{out}");
    assert!(out.contains("fairness") && out.contains("--y"), "{out}");
}

#[test]
fn a_report_has_all_on_one_page_and_asks_for_nothing_else() {
    let folder = Folder::new("report");
    let path = folder.path("report.html");
    let few = ["--seeds", "1", "--check", "5", "--survive", "3"];
    let args = [&["report", "--nodes", "4", "-o", &path][..], &few].concat();
    let names = ["--algorithms", "ricart-agrawala,central,maekawa-basic"];
    let (code, _, aside) = run(&[&args[..], &names].concat());
    assert_eq!(code, 0, "{aside}");
    let page = fs::read_to_string(&path).expect("a report");
    let says = [
        "id=\"comparison\"",
        "id=\"plots\"",
        "id=\"diagrams\"",
        "id=\"verification\"",
        "<td class=\"good\" data-name=\"OUTCOME\"><span>verified</span></td>",
        "<td class=\"bad\" data-name=\"OUTCOME\"><span>violated</span></td>",
        "id=\"faults\"",
        "data-name=\"LOSE\"><span>stuck</span></td>",
        "<caption>Table 3: the worst that a single fault does.</caption>",
        "<dt>unsafe</dt><dd>in some run a safety property was violated</dd>",
        "vorrang survive --algorithms ricart-agrawala,central,maekawa-basic --nodes 3 --seeds 1",
        // A column says what it is, and a figure is one column with its theory.
        "<dt>DELAY/T</dt><dd>synchronisation delay: from one exit to the next entry",
        "data-name=\"MESSAGES\"><span>6<small>6 ✓</small></span></td>",
        "Every node has a quorum, and any two quorums meet",
        "Figure 1: Messages per entry against nodes.",
        "Figure 8: the counterexample of maekawa-basic.",
        "vorrang compare --nodes 4",
        "vorrang draw run central",
    ];
    for word in says {
        assert!(page.contains(word), "{word} is missing");
    }
    // Every column says more than its own name.
    for line in page.split("<dt>").skip(1) {
        let (dt, rest) = line.split_once("</dt><dd>").expect("a meaning");
        let dd = rest.split("</dd>").next().expect("its end");
        assert!(dd.len() > 12 && !dd.starts_with(&format!("{dt}:")), "{dt}: {dd}");
    }
    assert!(page.contains("<dt>P50/T</dt><dd>half, or 99 in a hundred"), "{page}");
    assert!(page.contains("3 algorithms, each of them written once"), "{page}");
    assert!(page.contains("Left out of comparison and plots: maekawa-basic assumes"), "{page}");
    assert!(page.contains("Throughput against nodes."), "{page}");
    let has = |sign: &str| page.replace("✗ where the two disagree", "").contains(sign);
    assert_eq!(page.contains("✗ where the two disagree"), has("✗"));
    // Three runs, four plots, a counterexample.
    assert_eq!(page.matches("<svg ").count(), 8);
    let names_of_svg = page.matches("http://www.w3.org/2000/svg").count();
    assert_eq!(page.matches("http").count(), names_of_svg, "nothing comes from elsewhere");
    assert!(!page.contains("<script"));
}

#[test]
fn every_problem_has_a_report() {
    let folder = Folder::new("reports");
    for problem in ["election", "wave", "detection", "group"] {
        let path = folder.path(&format!("{problem}.html"));
        let args = ["report", "--problem", problem, "--nodes", "4", "--seeds", "1"];
        let rest = ["--check", "0", "--survive", "0", "-o", &path];
        let (code, _, aside) = run(&[&args[..], &rest].concat());
        assert_eq!(code, 0, "{problem}: {aside}");
        let page = fs::read_to_string(&path).expect("a report");
        assert!(
            page.contains("<table>")
                && !page.contains("id=\"faults\"")
                && page.matches("<svg ").count() >= 2,
            "{problem}"
        );
    }
}
