//! The page for people at `/`.

use super::answer::{Answer, text};

const PAGE: &str = "<!doctype html>
<html lang=\"en\">
<meta charset=\"utf-8\">
<title>Vorrang</title>
<h1>Vorrang</h1>
<p>A member of a group.
Its <a href=\"/v1/members\">members</a>, its <a href=\"/v1/locks\">locks</a>,
its <a href=\"/metrics\">metrics</a>, and <a href=\"/v1/openapi.json\">what else can be asked</a>.
</html>
";

pub(super) fn page() -> Answer {
    text("text/html; charset=utf-8", PAGE)
}
