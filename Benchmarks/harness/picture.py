"""Draws what a scene measured as an SVG: medians and ranges on a log scale, standard library only."""

import math
from html import escape

from report import duration

row, left, right, top, bottom = 26, 250, 90, 64, 34
width = 860


def draw(path, title, subtitle, samples):
    """`samples` have a name, a median and quantiles in nanoseconds; ours are those whose name `is_ours` says."""
    low = 10 ** math.floor(math.log10(min(sample.quantile(0.05) for sample in samples)))
    high = 10 ** math.ceil(math.log10(max(sample.quantile(0.95) for sample in samples)))
    decades = round(math.log10(high / low))
    height = top + row * len(samples) + bottom

    def x(nanoseconds):
        return left + (width - left - right) * math.log10(nanoseconds / low) / decades

    text = lambda at, y, words, more="": f'<text x="{at:.1f}" y="{y:.1f}" {more}>{escape(words)}</text>'
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        'font-family="system-ui, sans-serif" font-size="13" fill="#24292f" role="img">',
        f"<title>{escape(title)}</title>", f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
        text(16, 26, title, 'font-size="17" font-weight="600"'), text(16, 46, subtitle, 'fill="#57606a"')]
    for decade in range(decades + 1):
        value = low * 10 ** decade
        lines.append(f'<line x1="{x(value):.1f}" y1="{top}" x2="{x(value):.1f}" y2="{height - bottom}" stroke="#d0d7de"/>')
        lines.append(text(x(value), height - bottom + 18, plain(value), 'text-anchor="middle" fill="#57606a"'))
    for number, sample in enumerate(sorted(samples, key=lambda sample: sample.p50)):
        y = top + row * (number + 0.5)
        colour = "#0969da" if is_ours(sample.name) else "#8c959f"
        weight = 'font-weight="600"' if is_ours(sample.name) else ""
        lines.append(text(left - 12, y + 4.5, sample.name, f'text-anchor="end" {weight}'))
        lines.append(f'<line x1="{x(sample.quantile(0.05)):.1f}" y1="{y}" x2="{x(sample.quantile(0.95)):.1f}" y2="{y}" stroke="{colour}" stroke-width="3" opacity="0.5"/>')
        lines.append(f'<circle cx="{x(sample.p50):.1f}" cy="{y}" r="5.5" fill="{colour}"/>')
        lines.append(text(x(sample.quantile(0.95)) + 11, y + 4.5, duration(sample.p50), weight))
    path.parent.mkdir(exist_ok=True)
    path.write_text("\n".join([*lines, "</svg>", ""]))


def is_ours(name):
    return name.startswith("cachefetch") or name in ours


ours = {"synchronous look", "sequence", "callback on a queue", "one value"}


def plain(nanoseconds):
    for limit, divisor, unit in ((1e6, 1e3, "µs"), (1e9, 1e6, "ms")):
        if nanoseconds < limit:
            return f"{nanoseconds / divisor:g} {unit}"
    return f"{nanoseconds / 1e9:g} s"
