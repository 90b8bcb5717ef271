//! Colours and type.
//!
//! Colours of messages are after Masataka Okabe and Kei Ito's palette, which people with colour
//! blindness can tell apart, darkened for white paper and lightened for dark screens. States of
//! nodes are drawn in ink, so that they stand apart from messages in print, too; and violations
//! have a shape as well as a colour.

/// For which background a picture is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Theme {
    /// As the reader prefers.
    #[default]
    Auto,
    /// White.
    Light,
    /// Dark.
    Dark,
}

/// So many kinds of messages have a colour of their own; all others share one.
pub(crate) const KINDS: usize = 6;

/// So many series of a plot have a colour of their own.
pub(crate) const SERIES: usize = 24;

struct Colours {
    paper: &'static str,
    ink: &'static str,
    muted: &'static str,
    lane: &'static str,
    grid: &'static str,
    band: &'static str,
    node: &'static str,
    kinds: [&'static str; KINDS + 1],
    token: &'static str,
    wrong: &'static str,
    /// Of series: after those of messages, others that are as far from all as can be, and can be
    /// read as text.
    series: [&'static str; SERIES],
}

const LIGHT: Colours = Colours {
    paper: "#ffffff",
    ink: "#1f2730",
    muted: "#5d6772",
    lane: "#a5adb6",
    grid: "#e8ebee",
    band: "#b6892a",
    node: "#33404d",
    kinds: ["#0067a6", "#b64a00", "#00735a", "#96478a", "#3f6fd1", "#7d6400", "#68727d"],
    token: "#d97b00",
    wrong: "#c3151c",
    series: [
        "#0067a6", "#b64a00", "#00735a", "#96478a", "#3f6fd1", "#7d6400", "#661111", "#440088",
        "#ff44bb", "#44aa00", "#aa55ff", "#004400", "#bb8888", "#ff2244", "#7711cc", "#0022cc",
        "#4499aa", "#004466", "#770066", "#aa8800", "#9988dd", "#774444", "#cc0066", "#cc22bb",
    ],
};

const DARK: Colours = Colours {
    paper: "#10151b",
    ink: "#e7ebf0",
    muted: "#9ca7b3",
    lane: "#566270",
    grid: "#222a33",
    band: "#d8ae4c",
    node: "#cfd7e0",
    kinds: ["#62b6f0", "#f2915a", "#45cda2", "#e2a2d0", "#8fb2ff", "#d8c04a", "#a3adb8"],
    token: "#ffb02e",
    wrong: "#ff6f6b",
    series: [
        "#62b6f0", "#f2915a", "#45cda2", "#e2a2d0", "#8fb2ff", "#d8c04a", "#aa33dd", "#777700",
        "#dd0055", "#0066ff", "#77ff44", "#886688", "#77ffff", "#ff55dd", "#00aa00", "#009999",
        "#bb5500", "#8877ff", "#ffccbb", "#999966", "#ee6688", "#eeee33", "#77cc11", "#bb66bb",
    ],
};

/// Common system fonts stand at the end: letters are no wider than theirs.
pub(crate) const FONTS: &str =
    "Inter,'Segoe UI','Helvetica Neue',Roboto,Arial,'DejaVu Sans',sans-serif";

/// The style sheet of a picture, with colours for so many series.
pub(crate) fn sheet(theme: Theme, series: usize) -> String {
    let rules = |of: &Colours| of.rules() + &of.series_rules(series);
    let mut text = format!("<style>text{{font-family:{FONTS}}}{FIXED}");
    match theme {
        Theme::Light => text += &rules(&LIGHT),
        Theme::Dark => text += &rules(&DARK),
        Theme::Auto => {
            text += &rules(&LIGHT);
            text += &format!("@media (prefers-color-scheme:dark){{{}}}", rules(&DARK));
        }
    }
    text + "</style>\n"
}

/// Styles that do not depend on the background.
const FIXED: &str = "\
.h{font-size:16px;font-weight:600}.t{font-size:12px}.s{font-size:10.5px}.l{font-size:10.5px;\
paint-order:stroke;stroke-width:3.5px;stroke-linejoin:round}.n{font-size:13px;font-weight:600}\
.b{font-weight:600}.e{text-anchor:end}.c{text-anchor:middle}.a{stroke-width:1.3px}\
.f{stroke-width:.8px}.tok{stroke-width:2.6px}.tok.thin{stroke-width:1.3px}\
.way{stroke-width:2.8px}.dash{stroke-dasharray:4 3}.lane{stroke-width:1.2px}\
.down{stroke-width:1.2px;stroke-dasharray:1.5 4}.wait{stroke-width:1.4px}\
.wait.thin{stroke-width:.6px;fill-opacity:0}.x{stroke-width:2.2px;\
fill:none;stroke-linecap:round}.xo{stroke-width:5px;fill:none;stroke-linecap:round}.grid{stroke-width:1px}.wl{stroke-width:1.6px;stroke-dasharray:5 3}\
.edge{stroke-width:1.3px;fill:none}.tree{stroke-width:2.6px;fill:none}.none{fill:none}\
.th{fill:none;stroke-width:4.5px;stroke-opacity:.33}.er{stroke-width:1.2px;fill:none}\
.li{fill:none;stroke-width:.9px;stroke-opacity:.75}.bd{stroke:none;fill-opacity:.13}\
.mk{stroke-width:.8px}\
.mono{font-family:ui-monospace,'Cascadia Mono','SF Mono',Menlo,Consolas,'DejaVu Sans Mono',Inter,\
monospace}";

impl Colours {
    fn rules(&self) -> String {
        let Self { paper, ink, muted, lane, grid, band, node, kinds, token, wrong, .. } = self;
        let mut text = format!(
            ".paper{{fill:{paper}}}.back{{fill:{paper};fill-opacity:.86}}.h,.n,.t,.l,\
.s{{fill:{ink}}}.l{{stroke:{paper}}}\
             .m,.m.s,.m.t{{fill:{muted}}}.lane,.down{{stroke:{lane}}}.grid{{stroke:{grid}}}\
             .wait{{stroke:{node};fill:{paper}}}.in{{fill:{node}}}.pt{{fill:{node}}}\
             .still{{fill:{band};fill-opacity:.45}}.band{{fill:{band};fill-opacity:.13}}\
             .bt{{fill:{band}}}.era0{{fill:{node};fill-opacity:.07}}.era1{{fill:{one};\
             fill-opacity:.16}}.xo{{stroke:{paper}}}.x,.wl{{stroke:{wrong}}}.wt{{fill:{wrong}}}.wx2{{fill:{wrong}}}\
             .wx{{fill:{wrong}}}\
             .tok{{stroke:{token};fill:{token}}}.tt{{fill:{token}}}.tick{{stroke:{muted}}}\
             .ring{{stroke:{node};fill:{paper};stroke-width:1.6px}}.box{{stroke:{grid};fill:none}}\
             .edge{{stroke:{lane}}}.tree{{stroke:{node}}}.knot{{fill:{paper};stroke:{node};\
             stroke-width:1.6px}}.one{{fill:{one};stroke:{one}}}.two{{fill:{two};stroke:{two}}}\
             .onw{{fill:{paper}}}.both{{fill:{token};stroke:{token}}}.ax{{stroke:{lane}}}",
            one = kinds[0],
            two = kinds[1],
        );
        for (place, colour) in kinds.iter().enumerate() {
            text += &format!(
                ".k{place}{{stroke:{colour};fill:{colour}}}.kt{place}{{fill:{colour}}}\
                 .ko{place}{{stroke:{colour};fill:none}}"
            );
        }
        text
    }

    /// The colours of so many series: a sign, a text, an outline.
    fn series_rules(&self, series: usize) -> String {
        let paper = self.paper;
        let rule = |(place, colour): (usize, &&str)| {
            format!(
                ".q{place}{{fill:{colour}}}.mk.q{place}{{stroke:{paper}}}.l.qt{place}\
                 {{fill:{colour}}}.qo{place}{{stroke:{colour};fill:none}}"
            )
        };
        self.series.iter().take(series).enumerate().map(rule).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_series_look_alike_on_any_background() {
        for Colours { series, .. } in [LIGHT, DARK] {
            let parts = |colour: &str| {
                [1, 3, 5].map(|at| i32::from_str_radix(&colour[at..at + 2], 16).expect("a colour"))
            };
            for (place, one) in series.iter().enumerate() {
                for other in &series[..place] {
                    let (a, b) = (parts(one), parts(other));
                    let far: i32 = a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum();
                    assert!(far > 40 * 40, "{one} and {other}");
                }
            }
        }
    }
}
