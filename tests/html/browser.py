"""Headless Chromium: what it measures of pages, what it complains of, and what they look like."""
import json
import os
import re
import shutil
import struct
import subprocess
import tempfile
import zlib

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome-headless-shell")

# Every page in a frame of every width, untouched, its policy included; the script outside looks in. (A window itself
# cannot be as narrow as a telephone.) Words in a drawing are measured in its own coordinates.
HARNESS = """<!DOCTYPE html><html><head><meta charset="utf-8"/></head><body><pre id="report"></pre><script>
const pages = %s, widths = %s, report = [];
function textOutside(svg) {
  const box = svg.viewBox.baseVal, out = [], seen = [];
  for (const text of svg.querySelectorAll("text")) {
    const b = text.getBBox();
    if (b.x < -0.5 || b.y < -0.5 || b.x + b.width > box.width + 0.5 || b.y + b.height > box.height + 0.5)
      out.push("outside: " + text.textContent);
    for (const s of seen)
      if (b.x + 1 < s.x + s.width && s.x + 1 < b.x + b.width && b.y + 2 < s.y + s.height && s.y + 2 < b.y + b.height)
        out.push("on another: " + text.textContent);
    seen.push(b);
  }
  return out;
}
function tooWide(doc) {
  const width = doc.documentElement.clientWidth, out = [];
  if (doc.documentElement.scrollWidth > width) out.push("page: " + doc.documentElement.scrollWidth);
  for (const e of doc.body.querySelectorAll("*"))
    if (!e.closest(".scroll table") && e.getBoundingClientRect().right > width + 0.5) out.push(e.tagName + " " + e.className);
  return out;
}
function look(name, width, frame) {
  const doc = frame.contentDocument, shown = [...doc.querySelectorAll("figure > svg")].filter(s => s.getBoundingClientRect().width > 0);
  report.push({
    name, width, figures: doc.querySelectorAll("figure").length, shown: shown.map(s => s.getAttribute("class")),
    words: shown.reduce((n, s) => n + s.querySelectorAll("text").length, 0),
    text: shown.flatMap(textOutside), wide: tooWide(doc),
    fetched: frame.contentWindow.performance.getEntriesByType("resource").map(e => e.name),
    scripts: doc.scripts.length, focusable: [...doc.querySelectorAll(".scroll")].every(e => e.tabIndex === 0),
  });
}
async function all() {
  for (const [name, page] of Object.entries(pages))
    for (const width of widths) {
      const frame = document.createElement("iframe");
      frame.style.cssText = "border:0;height:900px;width:" + width + "px";
      frame.srcdoc = page;
      document.body.append(frame);
      await new Promise(done => frame.onload = done);
      look(name, width, frame);
      frame.remove();
    }
  document.getElementById("report").textContent = JSON.stringify(report);
}
all();
</script></body></html>
"""


def find():
    """A browser's path, or None."""
    return next((path for path in map(shutil.which, NAMES) if path), None)


def why_not(path):
    """What keeps the browser from showing an empty page here (a container's limits, say); None where it does."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            dom, _ = Browser(path, folder).dump("empty", "<!DOCTYPE html><p>here</p>")
        except subprocess.CalledProcessError as error:
            return error.stderr.decode(errors="replace").strip().splitlines()[-1:] or f"exit code {error.returncode}"
        except (subprocess.TimeoutExpired, OSError) as error:
            return str(error)
    return None if "<p>here</p>" in dom else "it prints no page"


class Browser:
    def __init__(self, path, folder):
        self.path, self.folder = path, folder

    def _run(self, document, *options):
        answer = subprocess.run(
            [self.path, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
             "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-extensions",
             "--enable-logging=stderr", f"--user-data-dir={os.path.join(self.folder, 'profile')}", *options,
             "file://" + document],
            stdin=subprocess.DEVNULL, capture_output=True, check=True, timeout=60)
        complaints = [line for line in answer.stderr.decode(errors="replace").splitlines() if "CONSOLE" in line]
        return answer.stdout.decode(), complaints

    def _write(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def measure(self, pages, widths):
        """What each page is like at each width, and what the console said."""
        harness = HARNESS % (json.dumps(pages).replace("</", "<\\/"), json.dumps(widths))
        dom, complaints = self._run(self._write("harness.html", harness), "--virtual-time-budget=20000", "--dump-dom")
        report = re.search(r'<pre id="report">(.*?)</pre>', dom, re.S).group(1)
        return json.loads(report.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")), complaints

    def dump(self, name, page):
        """The page as the browser has it after loading, and what the console said."""
        return self._run(self._write(name + ".html", page), "--dump-dom")

    def screenshot(self, name, page, width, height, dark=False):
        """The picture of a page as (width, height, colour of its first pixel, number of its colours)."""
        self._write(name + ".html", page)
        frame = f'<body style="margin:0"><iframe src="{name}.html" style="border:0;width:{width}px;height:{height}px">'
        picture = os.path.join(self.folder, name + ".png")
        self._run(self._write(name + "-frame.html", "<!DOCTYPE html>" + frame), f"--screenshot={picture}",
                  f"--window-size={max(width, 520)},{height}", *(["--blink-settings=preferredColorScheme=0"] if dark else []))
        return read_png(picture)


def read_png(path):
    """Width, height, first pixel and distinct bytes of a PNG: enough to tell an empty picture from one of a page."""
    with open(path, "rb") as file:
        data = file.read()
    assert data[:8] == b"\x89PNG\r\n\x1a\n", path
    width, height = struct.unpack(">II", data[16:24])
    at, packed = 8, b""
    while at < len(data):
        length, kind = struct.unpack(">I4s", data[at:at + 8])
        if kind == b"IDAT":
            packed += data[at + 8:at + 8 + length]
        at += 12 + length
    pixels = zlib.decompress(packed)
    # The first pixel has no neighbours: whatever the filter, its bytes are its colour.
    return width, height, tuple(pixels[1:4]), len(set(pixels))
