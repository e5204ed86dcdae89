#!/usr/bin/env python3
"""Pages of plan and bench in headless Chromium: no complaint, no fetch, no text outside a drawing, nothing too wide.

  browser_test.py TILEWRIGHT
"""
import sys
import tempfile
import unittest

import browser
import page_cases

WIDTHS = (360, 1280)

# A page with every fault that is looked for.
FAULTY = """<!DOCTYPE html><html><body><div style="width:900px">wide</div><img src="http://127.0.0.1:9/x.png"/>
<figure><svg class="wide" viewBox="0 0 50 20" width="300" xmlns="http://www.w3.org/2000/svg"><text x="40" y="10">outside</text>
<text x="41" y="10">on it</text></svg></figure><div class="scroll"></div><script>console.error("a complaint")</script>
</body></html>"""


class InABrowser(unittest.TestCase):
    tool = ""
    path = ""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        cls.browser = browser.Browser(cls.path, cls.folder.name)
        cls.pages = page_cases.pages(cls.tool, cls.folder.name)
        cls.reports, cls.complaints = cls.browser.measure(cls.pages, WIDTHS)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def each(self):
        self.assertEqual(len(self.reports), len(self.pages) * len(WIDTHS))
        for report in self.reports:
            yield report, f"{report['name']} at {report['width']}"

    def test_nothing_complains(self):
        self.assertEqual(self.complaints, [])
        dom, complaints = self.browser.dump("plain", self.pages["sm120"])
        self.assertEqual(complaints, [])
        self.assertIn('<section id="roofline"', dom)

    def test_nothing_is_fetched_and_no_script_came_in(self):
        for report, where in self.each():
            self.assertEqual(report["fetched"], [], where)
            self.assertEqual(report["scripts"], 0, where)

    def test_one_drawing_of_each_chart_is_shown(self):
        for report, where in self.each():
            self.assertEqual(report["shown"], ["narrow" if report["width"] == 360 else "wide"] * report["figures"], where)

    def test_words_lie_inside_their_drawing_and_on_no_other(self):
        for report, where in self.each():
            self.assertEqual(report["text"], [], where)
            self.assertGreaterEqual(report["words"], 3 * report["figures"], where)

    def test_nothing_is_wider_than_the_screen_and_wide_tables_take_the_focus(self):
        for report, where in self.each():
            self.assertEqual(report["wide"], [], where)
            self.assertTrue(report["focusable"], where)

    def test_pictures_are_light_or_dark_as_the_reader_wishes(self):
        light = self.browser.screenshot("light", self.pages["sm120"], 1280, 1200)
        dark = self.browser.screenshot("dark", self.pages["bench"], 360, 900, dark=True)
        self.assertEqual(light[:2], (1280, 1200))
        self.assertGreater(min(light[2]), 240)
        self.assertLess(max(dark[2]), 40)
        for picture in (light, dark):
            self.assertGreater(picture[3], 50)

    def test_a_faulty_page_is_found_out(self):
        reports, complaints = self.browser.measure({"faulty": FAULTY}, [360])
        report = reports[0]
        self.assertTrue(any("a complaint" in line for line in complaints))
        self.assertEqual(report["fetched"], ["http://127.0.0.1:9/x.png"])
        self.assertEqual(report["text"], ["outside: outside", "outside: on it", "on another: on it"])
        self.assertIn("page: 908", report["wide"])
        self.assertFalse(report["focusable"])
        self.assertEqual(report["scripts"], 1)


if __name__ == "__main__":
    InABrowser.tool = sys.argv.pop(1)
    InABrowser.path = browser.find()
    if not InABrowser.path:
        print("skipped: no chromium")
        sys.exit(77)
    refusal = browser.why_not(InABrowser.path)
    if refusal:
        print(f"skipped: {InABrowser.path} does not run on this machine: {refusal}")
        sys.exit(77)
    unittest.main()
