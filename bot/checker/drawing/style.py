"""The colours and letters of an SVG, in light and in dark."""

from bot.checker.drawing.values import Look

LIGHT: dict[Look, tuple[str, str]] = {  # fill, stroke
    Look.START: ("#eceef1", "#5f6368"),
    Look.END: ("#f7f8f9", "#9aa0a6"),
    Look.FLOW: ("#f1e7fd", "#8430ce"),
    Look.ASKS: ("#dbe8fd", "#1a66d6"),
    Look.SAYS: ("#d9f2e0", "#188038"),
    Look.WAITS: ("#fdefc8", "#b06000"),
    Look.CALLS: ("#fde3d3", "#b3470f"),
    Look.WORKS: ("#ffffff", "#80868b"),
}
DARK: dict[Look, tuple[str, str]] = {
    Look.START: ("#33373c", "#9aa0a6"),
    Look.END: ("#26292d", "#80868b"),
    Look.FLOW: ("#382a4d", "#c58af9"),
    Look.ASKS: ("#1f3350", "#8ab4f8"),
    Look.SAYS: ("#1d3a29", "#81c995"),
    Look.WAITS: ("#443717", "#fdd663"),
    Look.CALLS: ("#47291a", "#fcad70"),
    Look.WORKS: ("#202327", "#9aa0a6"),
}
_FONT = 'font-family:system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif'


def _colours(boxes: dict[Look, tuple[str, str]], page: str, ink: str, faint: str, found: str) -> str:
    rules = [f".{look.name.lower()}{{fill:{fill};stroke:{stroke}}}" for look, (fill, stroke) in boxes.items()]
    rules += [f".page{{fill:{page}}}", f"text{{fill:{ink}}}", f".text,.about,.key,.label{{fill:{faint}}}"]
    rules += [
        f".line{{stroke:{faint}}}",
        f".tip{{fill:{faint}}}",
        f".found{{stroke:{found}}}",
        f".flag{{fill:{found}}}",
    ]
    return "".join(rules)


STYLE = (
    f"text{{{_FONT};font-size:12px}}"
    ".title,.text,.flag,.label{text-anchor:middle}"
    ".title{font-size:14px;font-weight:600}.head{font-size:26px;font-weight:600}.label{font-size:11px}"
    ".flag{font-weight:600}.box{stroke-width:1.5}.flow{stroke-width:2.5}.works{stroke-dasharray:5 3}"
    ".found{stroke-width:3.5;stroke-dasharray:none}"
    ".line{fill:none;stroke-width:1.4}.dashed{stroke-dasharray:6 4}.dotted{stroke-dasharray:2 4}"
    ".line:hover{stroke-width:3}.box:target{stroke-width:5}"
    + _colours(LIGHT, "#ffffff", "#202124", "#4d5156", "#c5221f")
    + f"@media(prefers-color-scheme:dark){{{_colours(DARK, '#17191c', '#e8eaed', '#bdc1c6', '#ff8a80')}}}"
)
"""CSS without anything that older readers of SVG do not know, such as variables."""
