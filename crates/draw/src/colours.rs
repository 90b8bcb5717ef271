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
    /// Of series: after those of messages, others that are as far from all as can be, can be read
    /// as text, and have the same hue on both backgrounds.
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
        "#0067a6", "#b64a00", "#00735a", "#96478a", "#3f6fd1", "#7d6400", "#4b0968", "#272b1a",
        "#86111b", "#002ac0", "#c71ad8", "#5b4d5c", "#305301", "#1e3976", "#4f0227", "#cb0e8c",
        "#637883", "#5a311a", "#751a65", "#bc1f4b", "#6e28f6", "#2b4147", "#a419b1", "#2e1f46",
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
        "#62b6f0", "#f2915a", "#45cda2", "#e2a2d0", "#8fb2ff", "#d8c04a", "#ae59db", "#838a6f",
        "#e64246", "#457cfd", "#f168fe", "#f9e3fb", "#cdfda8", "#6e86b7", "#bb7e90", "#f239ab",
        "#aacad9", "#fec2a4", "#da74c4", "#fe7b90", "#9b8bfb", "#83a5ae", "#df32ef", "#d9c6fe",
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
fill:none;stroke-linecap:round}.xo{stroke-width:5px;fill:none;stroke-linecap:round}\
.grid{stroke-width:1px}.wl{stroke-width:1.6px;stroke-dasharray:5 3}\
.edge{stroke-width:1.3px;fill:none}.tree{stroke-width:2.6px;fill:none}.none{fill:none}\
.th{fill:none;stroke-width:4.5px;stroke-opacity:.33}.er{stroke-width:1.2px;fill:none}\
.li{fill:none;stroke-width:.9px;stroke-opacity:.75}.bd{stroke:none;fill-opacity:.13}\
.mk{stroke-width:.8px}.mh{stroke-width:1.5px}\
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
             fill-opacity:.16}}.xo{{stroke:{paper}}}\
             .x,.wl{{stroke:{wrong}}}.wt{{fill:{wrong}}}.wx2{{fill:{wrong}}}\
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
                ".q{place}{{fill:{colour}}}.mk.q{place}{{stroke:{paper}}}\
                 .mh.qo{place}{{fill:{paper}}}.l.qt{place}\
                 {{fill:{colour}}}.qo{place}{{stroke:{colour};fill:none}}"
            )
        };
        self.series.iter().take(series).enumerate().map(rule).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Red, green and blue, as they add up.
    fn light(colour: &str) -> [f64; 3] {
        [1, 3, 5].map(|at| {
            let part = u8::from_str_radix(&colour[at..at + 2], 16).expect("a colour");
            let part = f64::from(part) / 255.0;
            if part <= 0.040_45 { part / 12.92 } else { ((part + 0.055) / 1.055).powf(2.4) }
        })
    }

    fn times(rows: [[f64; 3]; 3], by: [f64; 3]) -> [f64; 3] {
        rows.map(|row| row.iter().zip(by).map(|(a, b)| a * b).sum())
    }

    /// Lightness and two axes of colour, in which equal distances look equal (Oklab, 2020).
    fn seen(colour: &str) -> [f64; 3] {
        const CONES: [[f64; 3]; 3] = [
            [0.412_221, 0.536_333, 0.051_446],
            [0.211_903, 0.680_700, 0.107_397],
            [0.088_302, 0.281_719, 0.629_979],
        ];
        const AXES: [[f64; 3]; 3] = [
            [0.210_454, 0.793_618, -0.004_072],
            [1.977_998, -2.428_592, 0.450_594],
            [0.025_904, 0.782_772, -0.808_676],
        ];
        times(AXES, times(CONES, light(colour)).map(f64::cbrt))
    }

    fn contrast(one: &str, other: &str) -> f64 {
        let bright = |colour| {
            let [red, green, blue] = light(colour);
            0.2126 * red + 0.7152 * green + 0.0722 * blue + 0.05
        };
        let (one, other) = (bright(one), bright(other));
        one.max(other) / one.min(other)
    }

    #[test]
    fn no_two_series_look_alike_on_any_background_and_all_can_be_read_as_text() {
        for (Colours { series, paper, .. }, kinds) in [(LIGHT, 0.08), (DARK, 0.05)] {
            for (place, one) in series.iter().enumerate() {
                assert!(contrast(one, paper) >= 4.5, "{one} on {paper}");
                for other in &series[..place] {
                    let far = |(a, b): (f64, f64)| (a - b) * (a - b);
                    let far: f64 = seen(one).into_iter().zip(seen(other)).map(far).sum();
                    // Those of messages are fewer, and have names beside them.
                    let least = if place < KINDS { kinds } else { 0.085 };
                    assert!(far.sqrt() > least, "{one} and {other}: {}", far.sqrt());
                }
            }
        }
    }

    #[test]
    fn a_series_has_one_hue_on_both_backgrounds() {
        for (light, dark) in LIGHT.series.iter().zip(DARK.series) {
            let [one, other] = [seen(light), seen(dark)].map(|[_, a, b]| b.atan2(a).to_degrees());
            let apart = (one - other).rem_euclid(360.0);
            assert!(apart.min(360.0 - apart) < 10.0, "{light} and {dark}: {one} and {other}");
        }
    }
}
