//! A page of HTML that needs nothing else: no network, no scripts, no fonts.
//!
//! Style sheets of pictures hold for the whole page, so the page has no class that they have.

use std::fmt::Write as _;

/// A page that is being written.
pub(crate) struct Page {
    title: String,
    body: String,
}

const STYLE: &str = "\
:root{color-scheme:light dark;--ink:#1f2730;--muted:#5d6772;--line:#dfe3e8;--paper:#fff;\
--soft:#f5f7f9;\
--good:#00735a;--bad:#c3151c}\
@media (prefers-color-scheme:dark){:root{--ink:#e7ebf0;--muted:#9ca7b3;--line:#2c3641;\
--paper:#10151b;\
--soft:#182029;--good:#45cda2;--bad:#ff6f6b}}\
*{box-sizing:border-box}body{margin:0 auto;max-width:1080px;padding:24px 20px 60px;\
background:var(--paper);\
color:var(--ink);font:16px/1.55 system-ui,'Segoe UI',Roboto,'Helvetica Neue',Arial,sans-serif}\
h1{font-size:1.9rem;line-height:1.2;margin:.3em 0}h2{font-size:1.35rem;margin:2.2em 0 .5em;\
border-bottom:1px solid var(--line);padding-bottom:.25em}h3{font-size:1.05rem;margin:1.8em 0 .3em}\
p{max-width:44em}.wide{overflow-x:auto;-webkit-overflow-scrolling:touch;\
margin:.6em 0}\
.wide>svg{display:block;height:auto;max-width:100%;min-width:560px}\
table{border-collapse:collapse;font-size:.86rem;font-variant-numeric:tabular-nums}\
th,td{padding:.28em .7em;text-align:right;white-space:nowrap;border-bottom:1px solid var(--line)}\
th{font-weight:600;color:var(--muted)}th:first-child,td:first-child{text-align:left;\
position:sticky;\
left:0;background:var(--paper)}td.left{text-align:left;white-space:normal}\
pre,code{font:13px/1.5 ui-monospace,'SF Mono',Menlo,Consolas,monospace}\
pre{background:var(--soft);padding:.6em .8em;border-radius:6px;overflow-x:auto;margin:.4em 0}\
.good{color:var(--good);font-weight:600}.bad{color:var(--bad);font-weight:600}\
nav a{margin-right:1.1em}\
a{color:inherit}\
@media (max-width:600px){body{padding:14px 12px 40px;font-size:15px}h1{font-size:1.5rem}}\
@media print{:root{color-scheme:light;--ink:#000;--muted:#444;--line:#bbb;--paper:#fff;\
--soft:#f3f3f3}\
body{max-width:none;padding:0;font-size:10.5pt}nav{display:none}h2{break-after:avoid}\
h3{break-after:avoid}\
.wide{overflow:visible;break-inside:avoid}.wide>svg{min-width:0}\
table{font-size:8pt;break-inside:auto}\
tr{break-inside:avoid}th:first-child,td:first-child{position:static}pre{white-space:pre-wrap}}";

impl Page {
    pub(crate) fn new(title: &str) -> Self {
        Self { title: title.to_owned(), body: format!("<h1>{}</h1>\n", escaped(title)) }
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

    /// A picture, which is SVG.
    pub(crate) fn picture(&mut self, svg: &str) {
        let _ = writeln!(self.body, "<div class=\"wide\">{svg}</div>");
    }

    /// A table, the first row of which is its header; ticks and crosses are coloured.
    pub(crate) fn table(&mut self, rows: &[Vec<String>], is_text: &[usize]) {
        self.body += "<div class=\"wide\"><table>\n";
        for (number, row) in rows.iter().enumerate() {
            let tag = if number == 0 { "th" } else { "td" };
            let mut line = String::new();
            for (place, cell) in row.iter().enumerate() {
                let class = match (is_text.contains(&place), cell.as_str()) {
                    (_, "✓" | "verified") => " class=\"good\"",
                    (_, "✗" | "violated") => " class=\"bad\"",
                    (true, _) => " class=\"left\"",
                    (false, _) => "",
                };
                let _ = write!(line, "<{tag}{class}>{}</{tag}>", escaped(cell));
            }
            let _ = writeln!(self.body, "<tr>{line}</tr>");
        }
        self.body += "</table></div>\n";
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

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_means_something_to_html_is_escaped_and_nothing_comes_from_elsewhere() {
        let mut page = Page::new("a <b> & c");
        page.table(&[vec!["ALGORITHM".to_owned()], vec!["\"x\" < y".to_owned()]], &[]);
        page.command("vorrang run <x>");
        let html = page.finish();
        assert!(html.contains("<title>a &lt;b&gt; &amp; c</title>"), "{html}");
        assert!(html.contains("<td>&quot;x&quot; &lt; y</td>"), "{html}");
        for outside in ["http", "src=", "<script", "@import", "url("] {
            assert!(!html.contains(outside), "{outside}");
        }
    }
}
