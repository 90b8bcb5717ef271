//! A page of HTML that needs nothing else: no network, no scripts, no fonts.
//!
//! Style sheets of pictures hold for the whole page, so the page has no class that they have.

use std::fmt::Write as _;

/// A page that is being written.
pub(crate) struct Page {
    title: String,
    body: String,
    figures: usize,
    tables: usize,
}

/// A cell of a table.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cell {
    /// What is in it.
    pub(crate) text: String,
    /// What stands below, smaller.
    pub(crate) note: String,
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self { text, note: String::new() }
    }
}

const STYLE: &str = "\
:root{color-scheme:light dark;--ink:#1f2730;--muted:#5d6772;--line:#dfe3e8;--paper:#fff;\
--soft:#f5f7f9;\
--good:#00735a;--bad:#c3151c}\
@media (prefers-color-scheme:dark){:root{--ink:#e7ebf0;--muted:#9ca7b3;--line:#2c3641;\
--paper:#10151b;\
--soft:#182029;--good:#45cda2;--bad:#ff6f6b}}\
*{box-sizing:border-box}body{margin:0 auto;max-width:1280px;padding:24px 20px 60px;\
background:var(--paper);\
color:var(--ink);font:16px/1.55 system-ui,'Segoe UI',Roboto,'Helvetica Neue',Arial,sans-serif}\
h1{font-size:1.9rem;line-height:1.2;margin:.3em 0}h2{font-size:1.35rem;margin:2.2em 0 .5em;\
border-bottom:1px solid var(--line);padding-bottom:.25em}h3{font-size:1.05rem;margin:1.8em 0 .3em}\
p{max-width:44em}.wide{overflow-x:auto;-webkit-overflow-scrolling:touch;\
margin:.6em 0}\
.wide>svg{display:block;height:auto;max-width:100%;min-width:560px}\
small{display:block;color:var(--muted);white-space:nowrap}figure{margin:1em 0}\
figcaption,caption{font-size:.9rem;color:var(--muted);text-align:left;max-width:44em;\
padding:.2em 0}dl{font-size:.86rem;display:grid;grid-template-columns:max-content 1fr;\
gap:.1em 1em;margin:.5em 0}dt{font-weight:600;color:var(--muted)}dd{margin:0;max-width:52em}\
table{border-collapse:collapse;font-size:.86rem;font-variant-numeric:tabular-nums}\
th,td{padding:.28em .55em;text-align:right;white-space:nowrap;border-bottom:1px solid var(--line)}\
th{font-weight:600;color:var(--muted)}th:first-child,td:first-child{text-align:left;\
position:sticky;\
left:0;background:var(--paper)}td.left{text-align:left;white-space:normal}\
pre,code{font:13px/1.5 ui-monospace,'SF Mono',Menlo,Consolas,monospace}\
pre{background:var(--soft);padding:.6em .8em;border-radius:6px;overflow-x:auto;margin:.4em 0}\
.good{color:var(--good);font-weight:600}.bad{color:var(--bad);font-weight:600}\
nav a{margin-right:1.1em}\
a{color:inherit}\
@media (max-width:700px){body{padding:14px 12px 40px;font-size:15px}h1{font-size:1.5rem}\
dl{display:block}table,tbody,caption{display:block}tr{display:block;padding:.4em 0;\
border-bottom:1px solid var(--line)}tr.head{display:none}\
td,td.left{display:flex;justify-content:space-between;gap:1em;border:0;padding:.1em 0;\
white-space:normal;text-align:right}td:first-child{position:static;font-weight:600}\
td:not(:first-child)::before{content:attr(data-name);color:var(--muted);text-align:left}\
small{white-space:normal}}\
@media print{:root{color-scheme:light;--ink:#000;--muted:#444;--line:#bbb;--paper:#fff;\
--soft:#f3f3f3}\
body{max-width:none;padding:0;font-size:10.5pt}nav{display:none}h2{break-after:avoid}\
h3{break-after:avoid}\
.wide{overflow:visible;break-inside:avoid}.wide>svg{min-width:0}\
table{font-size:8pt;break-inside:auto}\
tr{break-inside:avoid}th:first-child,td:first-child{position:static}pre{white-space:pre-wrap}}";

impl Page {
    pub(crate) fn new(title: &str) -> Self {
        let body = format!("<h1>{}</h1>\n", escaped(title));
        Self { title: title.to_owned(), body, figures: 0, tables: 0 }
    }

    /// A heading of a part, by which it can be reached.
    pub(crate) fn part(&mut self, id: &str, title: &str) {
        let _ = writeln!(self.body, "<h2 id=\"{id}\">{}</h2>", escaped(title));
    }

    pub(crate) fn heading(&mut self, title: &str) {
        let _ = writeln!(self.body, "<h3>{}</h3>", escaped(title));
    }

    pub(crate) fn links(&mut self, parts: &[(&str, &str)]) {
        let link = |(id, title): &(&str, &str)| format!("<a href=\"#{id}\">{}</a>", escaped(title));
        let links: Vec<String> = parts.iter().map(link).collect();
        let _ = writeln!(self.body, "<nav>{}</nav>", links.join("\n"));
    }

    pub(crate) fn paragraph(&mut self, text: &str) {
        let _ = writeln!(self.body, "<p>{}</p>", escaped(text));
    }

    /// The command that repeats the part above or below.
    pub(crate) fn command(&mut self, line: &str) {
        let _ = writeln!(self.body, "<pre>{}</pre>", escaped(line));
    }

    /// A picture, which is SVG, with its number and what it shows.
    pub(crate) fn picture(&mut self, svg: &str, caption: &str) {
        self.figures += 1;
        let (number, caption) = (self.figures, escaped(caption));
        let _ = writeln!(
            self.body,
            "<figure><div class=\"wide\">{svg}</div><figcaption>Figure {number}: {caption}\
             </figcaption></figure>"
        );
    }

    /// A table with its number and what it shows, the first row of which is its header; ticks and
    /// crosses are coloured. On a narrow screen every row becomes a card.
    pub(crate) fn table(&mut self, caption: &str, rows: &[Vec<Cell>], is_text: &[usize]) {
        self.tables += 1;
        let _ = writeln!(
            self.body,
            "<div class=\"wide\"><table>\n<caption>Table {}: {}</caption>",
            self.tables,
            escaped(caption)
        );
        for (number, row) in rows.iter().enumerate() {
            let mut line = String::new();
            for (place, cell) in row.iter().enumerate() {
                let name = rows[0].get(place).map_or("", |it| &it.text);
                line += &html(cell, number == 0, is_text.contains(&place), name);
            }
            let class = if number == 0 { " class=\"head\"" } else { "" };
            let _ = writeln!(self.body, "<tr{class}>{line}</tr>");
        }
        self.body += "</table></div>\n";
    }

    /// What words mean, a line each.
    pub(crate) fn words(&mut self, words: &[(String, String)]) {
        self.body += "<dl>\n";
        for (word, means) in words {
            let (word, means) = (escaped(word), escaped(means));
            let _ = writeln!(self.body, "<dt>{word}</dt><dd>{means}</dd>");
        }
        self.body += "</dl>\n";
    }

    pub(crate) fn finish(self) -> String {
        format!(
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta \
             name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n<title>{}</title>\n\
             <style>{STYLE}</style>\n</head>\n<body>\n{}</body>\n</html>\n",
            escaped(&self.title),
            self.body
        )
    }
}

/// A cell of a row, with the name of its column for narrow screens.
fn html(cell: &Cell, is_header: bool, is_text: bool, name: &str) -> String {
    let class = match (is_text, cell.text.as_str()) {
        (_, "✓" | "verified" | "fine" | "fine*") => " class=\"good\"",
        (_, "✗" | "violated" | "unsafe") => " class=\"bad\"",
        (true, _) => " class=\"left\"",
        (false, _) => "",
    };
    let text = escaped(&cell.text);
    if is_header {
        return format!("<th{class}>{text}</th>");
    }
    let note = match &*cell.note {
        "" => String::new(),
        note if note.contains('✗') => format!("<small class=\"bad\">{}</small>", escaped(note)),
        note => format!("<small>{}</small>", escaped(note)),
    };
    // One element, so that both stand together on a narrow screen.
    format!("<td{class} data-name=\"{}\"><span>{text}{note}</span></td>", escaped(name))
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_and_tables_are_numbered_and_a_note_that_objects_stands_out() {
        let mut page = Page::new("x");
        page.picture("<svg/>", "one");
        page.picture("<svg/>", "two < 3");
        let head = vec![Cell::from("A".to_owned())];
        let note = |note: &str| vec![Cell { text: "1".to_owned(), note: note.to_owned() }];
        page.table("costs", &[head, note("≈1 ✓"), note("2 ✗")], &[]);
        page.words(&[("A".to_owned(), "means".to_owned())]);
        let html = page.finish();
        for part in [
            "Figure 1: one</figcaption>",
            "Figure 2: two &lt; 3</figcaption>",
            "<caption>Table 1: costs</caption>",
            "<span>1<small>≈1 ✓</small></span>",
            "<small class=\"bad\">2 ✗</small>",
            "<dt>A</dt><dd>means</dd>",
        ] {
            assert!(html.contains(part), "{part}: {html}");
        }
    }

    #[test]
    fn what_means_something_to_html_is_escaped_and_nothing_comes_from_elsewhere() {
        let mut page = Page::new("a <b> & c");
        let cell = |text: &str| vec![Cell::from(text.to_owned())];
        page.table("all", &[cell("ALGORITHM"), cell("\"x\" < y")], &[]);
        page.command("vorrang run <x>");
        let html = page.finish();
        assert!(html.contains("<title>a &lt;b&gt; &amp; c</title>"), "{html}");
        let row = "<td data-name=\"ALGORITHM\"><span>&quot;x&quot; &lt; y</span></td>";
        assert!(html.contains(row), "{html}");
        for outside in ["http", "src=", "<script", "@import", "url("] {
            assert!(!html.contains(outside), "{outside}");
        }
    }
}
