#!/usr/bin/env python3
"""Pages of plan and bench: well-formed as XML and as HTML, complete, inert, and with the numbers of the JSON.

  pages_test.py TILEWRIGHT
"""
import html.parser
import json
import re
import sys
import tempfile
import unittest
import xml.etree.ElementTree as ElementTree

import page_cases

XHTML = "{http://www.w3.org/1999/xhtml}"
SVG = "{http://www.w3.org/2000/svg}"
VOID = {"meta", "link", "br", "img", "hr", "input"}


def shows(cell, us):
    """Whether a cell is a time as the text of plan writes it. The JSON has nanoseconds, from which a cell that was rounded
    from the full value may differ by as much."""
    digits = 0 if us >= 1000 else 1 if us >= 10 else 2
    return cell == f"{float(cell.replace(',', '')):,.{digits}f}" and \
        abs(float(cell.replace(",", "")) - us) <= 0.5 * 10 ** -digits + 0.00051


def all_show(cells, times):
    return len(cells) == len(times) and all(shows(cell, us) for cell, us in zip(cells, times))


def text_of(element):
    return "".join(element.itertext())


def rows_of(page, table_id):
    """Cells of a table as lists of text, spanning cells repeated in every row that they cover."""
    table = page.find(f".//{XHTML}table[@id='{table_id}']")
    assert table is not None, table_id
    rows, open_cells = [], {}
    for row in table.find(f"{XHTML}tbody"):
        cells = []
        for cell in row:
            while len(cells) in open_cells and open_cells[len(cells)][0] > 0:
                left, words = open_cells[len(cells)]
                open_cells[len(cells)] = (left - 1, words)
                cells.append(words)
            words = text_of(cell).replace(" (chosen)", "")
            open_cells[len(cells)] = (int(cell.get("rowspan", "1")) - 1, words)
            cells.append(words)
        rows.append(cells)
    return rows


class Balance(html.parser.HTMLParser):
    """Reads a page as HTML: every tag is closed by its own."""

    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.open, self.elements, self.text = [], 0, []

    def handle_starttag(self, tag, attrs):
        self.elements += 1
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.elements += 1

    def handle_endtag(self, tag):
        assert self.open and self.open[-1] == tag, (tag, self.open)
        self.open.pop()

    def handle_data(self, data):
        self.text.append(data)


class Pages(unittest.TestCase):
    tool = ""

    @classmethod
    def setUpClass(cls):
        with tempfile.TemporaryDirectory() as folder:
            cls.pages = page_cases.pages(cls.tool, folder)
        cls.trees = {name: ElementTree.fromstring(page) for name, page in cls.pages.items()}
        cls.plans = {name: json.loads(page_cases.run(cls.tool, ["plan", *arguments, "--format", "json", "--all"]))
                     for name, arguments in page_cases.PLANS.items()}

    def each(self):
        for name, page in self.pages.items():
            yield name, page, self.trees[name]

    def test_html_and_xml_read_the_same_page(self):
        for _, page, tree in self.each():
            reader = Balance()
            reader.feed(page)
            reader.close()
            self.assertEqual(reader.open, [])
            self.assertEqual(reader.elements, sum(1 for _ in tree.iter()))
            self.assertEqual("".join("".join(reader.text).split()), "".join("".join(tree.itertext()).split()))

    def test_nothing_is_fetched_and_no_script_runs(self):
        for _, page, tree in self.each():
            self.assertNotRegex(re.sub(r' xmlns="http://www\.w3\.org/[^"]*"', "", page), r"https?://")
            self.assertNotRegex(page, r"url\(|@import|javascript:")
            policy = tree.find(f".//{XHTML}meta[@http-equiv='Content-Security-Policy']").get("content")
            self.assertTrue(policy.startswith("default-src 'none';"), policy)
            for element in tree.iter():
                self.assertNotIn(element.tag.split("}")[1], ("script", "img", "iframe", "object", "embed", "use", "image"))
                for attribute, value in element.attrib.items():
                    self.assertFalse(attribute.startswith("on"), attribute)
                    if attribute in ("href", "src"):
                        self.assertTrue(value.startswith("#") or value == "data:,", value)

    def test_a_hostile_model_name_is_text(self):
        page, tree = self.pages["bench"], self.trees["bench"]
        self.assertNotIn("<img", page)
        self.assertTrue(text_of(tree.find(f".//{XHTML}h1")).startswith(page_cases.HOSTILE_NAME))
        with tempfile.TemporaryDirectory() as folder:
            config = page_cases.hostile_config(folder)
            plan = page_cases.run(self.tool, ["plan", "--device", "h200", "--model", config, "--tokens", "8", "--format", "html"])
        self.assertIn(page_cases.HOSTILE_NAME, text_of(ElementTree.fromstring(plan).find(f".//{XHTML}h1")))
        self.assertNotIn("<img", plan)

    def test_ids_are_unique_and_what_refers_to_one_finds_it(self):
        for _, _, tree in self.each():
            ids = [element.get("id") for element in tree.iter() if element.get("id")]
            self.assertEqual(len(ids), len(set(ids)))
            for element in tree.iter():
                for target in (element.get("aria-labelledby") or "").split():
                    self.assertIn(target, ids)
                if (element.get("href") or "").startswith("#"):
                    self.assertIn(element.get("href")[1:], ids)

    def test_every_chart_is_named_described_and_followed_by_a_table(self):
        for name, _, tree in self.each():
            figures = tree.findall(f".//{XHTML}figure")
            self.assertTrue(figures or name == "no-kernels")
            for figure in figures:
                drawings = figure.findall(f"{SVG}svg")
                self.assertEqual([drawing.get("class") for drawing in drawings], ["wide", "narrow"])
                for drawing in drawings:
                    self.assertEqual(drawing.get("role"), "img")
                    self.assertTrue(drawing.find(f"{SVG}title").text and drawing.find(f"{SVG}desc").text)
            for section in tree.iter(f"{XHTML}section"):
                kinds = [child.tag for child in section]
                if f"{XHTML}figure" in kinds:
                    self.assertIn(f"{XHTML}div", kinds)

    def test_the_sections_of_a_plan(self):
        sections = [section.get("id") for section in self.trees["sm120"].iter(f"{XHTML}section")]
        self.assertEqual(sections, ["chosen", "why-not", "layer", "roofline", "times", "terms", "memory", "rejected"])
        self.assertIn("candidates", [section.get("id") for section in self.trees["sm90"].iter(f"{XHTML}section")])

    def test_chosen_schedules_are_those_of_the_json(self):
        for name, document in self.plans.items():
            rows = []
            for number in range(1, 9):
                if self.trees[name].find(f".//{XHTML}table[@id='chosen-{number}']") is not None:
                    rows += rows_of(self.trees[name], f"chosen-{number}")
            self.assertEqual(len(rows), len(document["plans"]), name)
            for plan in document["plans"]:
                chosen = plan["chosen"]
                self.assertTrue(any(
                    row[1] == f"{plan['tokens']:,}" and shows(row[4], plan["floor"]["us"]) and
                    (shows(row[3], chosen["predicted_us"]) if chosen and row[3] != "none" else row[3] == "none" and not chosen)
                    for row in rows), (name, plan["gemm"], plan["tokens"]))

    def test_times_of_every_tile_are_the_best_of_its_candidates(self):
        document, tree = self.plans["sm120"], self.trees["sm120"]
        for number, gemm in ((1, "gemm1"), (2, "gemm2")):
            rows = {row[0]: row[1:] for row in rows_of(tree, f"times-{number}")}
            plans = [plan for plan in document["plans"] if plan["gemm"] == gemm]
            for at, plan in enumerate(plans):
                best = {}
                for candidate in plan["candidates"]:
                    schedule = candidate["schedule"]
                    tile = "{tile_m}x{tile_n}x{tile_k}".format(**schedule)
                    best.setdefault(tile, candidate["predicted_us"])
                shown = {tile: cells[at] for tile, cells in rows.items() if tile != "floor" and cells[at] != "none"}
                self.assertEqual(shown.keys(), best.keys())
                self.assertTrue(all(shows(cell, best[tile]) for tile, cell in shown.items()), (gemm, plan["tokens"]))
                self.assertTrue(shows(rows["floor"][at], plan["floor"]["us"]))

    def test_terms_bytes_steps_and_rejections_are_those_of_the_json(self):
        document, tree = self.plans["sm120"], self.trees["sm120"]
        terms = rows_of(tree, "terms-numbers")
        self.assertEqual(len(terms), len(document["plans"]))
        for plan in document["plans"]:
            chosen = plan["chosen"]
            times = [chosen["predicted_us"]] + [chosen["terms"][name + "_us"] for name in (
                "dram", "sm", "mma", "decode", "smem", "l2", "latency", "overhead", "epilogue", "launch", "tail")]
            row = next(row for row in terms if row[:2] == [plan["gemm"], f"{plan['tokens']:,}"])
            self.assertTrue(all_show(row[2:14], times), (row, times))
        memory = [row for row in rows_of(tree, "memory-bytes") if len(row) == 4]
        for plan in document["plans"]:
            account = plan["chosen"]["shared_memory"]
            for buffer in account["buffers"]:
                self.assertIn((buffer["name"], f"{buffer['bytes']:,}"), {(row[0], row[2]) for row in memory})
            self.assertIn(("total", f"{account['total']:,}"), {(row[0], row[2]) for row in memory})
        for layer, row in zip(document["layers"], rows_of(tree, "layer-steps")):
            self.assertEqual(row[0], f"{layer['tokens']:,}")
            self.assertTrue(all_show(row[1:3], [layer["predicted_us"], layer["floor_us"]]), row)
            self.assertTrue(all_show(row[4::2], [step["us"] for step in layer["steps"]]), row)
        rejected = {(row[2], row[3], row[6]) for table in ("rejected-1", "rejected-2") for row in rows_of(tree, table) if len(row) == 7}
        for plan in document["plans"]:
            for rejection in plan["rejected"]:
                self.assertIn((f"{rejection['needs']:,}", f"{rejection['limit']:,}", rejection["message"]), rejected)

    def test_the_roofline_follows_from_the_json(self):
        document, tree = self.plans["sm120"], self.trees["sm120"]
        rows = {(row[0], row[1]): row for row in rows_of(tree, "roofline-numbers")}
        for plan in document["plans"]:
            row = rows[(plan["gemm"], f"{plan['tokens']:,}")]
            flops = plan["floor"]["flops"]
            self.assertAlmostEqual(float(row[4]) / (flops / (plan["weight_bytes"] + plan["floor"]["activation_bytes"])), 1, 2)
            self.assertAlmostEqual(float(row[5]) / (flops / plan["floor"]["us"] / 1e6), 1, 2)
            self.assertAlmostEqual(float(row[6]) / (flops / plan["chosen"]["predicted_us"] / 1e6), 1, 2)

    def test_a_bench_has_a_section_a_run_with_charts_and_times(self):
        tree = self.trees["bench"]
        sections = list(tree.iter(f"{XHTML}section"))
        self.assertEqual([text_of(section.find(f"{XHTML}h2")) for section in sections], ["w4a16, tp 1, ep 1", "w4a4, tp 1, ep 1"])
        for number, section in enumerate(sections, 1):
            self.assertEqual(len(section.findall(f"{XHTML}figure")), 2)
            for row in rows_of(tree, f"table-{number}"):
                self.assertEqual(row[0], page_cases.HOSTILE_NAME)
                low, middle, high, roofline, read, dot = (float(row[i]) for i in (8, 7, 9, 14, 15, 16))
                self.assertLessEqual(low, middle)
                self.assertLessEqual(middle, high)
                self.assertEqual(roofline, max(read, dot))
        self.assertEqual(sum(1 for e in tree.iter(f"{SVG}path") if e.get("class") == "spread"), 2 * 2 * 3)

    def test_a_layer_over_gpus_has_its_findings(self):
        answer = json.loads(page_cases.run(self.tool, ["plan", *page_cases.GPUS, "--format", "json"]))
        paragraphs = [text_of(p) for p in self.trees["gpus"].iter(f"{XHTML}p")]
        for layer in answer["bottlenecks"]:
            self.assertIn(layer["finding"], paragraphs)

    def test_the_same_question_has_the_same_page(self):
        arguments = ["plan", *page_cases.PLANS["sm120"], "--format", "html"]
        self.assertEqual(page_cases.run(self.tool, arguments), self.pages["sm120"])


def luminance(colour):
    linear = [v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4
              for v in (int(colour[i:i + 2], 16) / 255 for i in (1, 3, 5))]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(a, b):
    dark, light = sorted((luminance(a), luminance(b)))
    return (light + 0.05) / (dark + 0.05)


class Colours(unittest.TestCase):
    def test_text_and_lines_stand_out_in_light_and_in_dark(self):
        page = page_cases.run(Pages.tool, ["plan", *page_cases.PLANS["one"], "--format", "html"])
        themes = [dict(re.findall(r"--([a-z0-9]+): (#[0-9a-f]{6});", block)) for block in re.findall(r":root \{(.*?)\}", page, re.S)]
        self.assertEqual(len(themes), 2)
        for theme in themes:
            for text in ("ink", "soft", "accent"):
                for ground in ("paper", "panel"):
                    self.assertGreaterEqual(contrast(theme[text], theme[ground]), 4.5, (text, ground))
            for number in range(1, 9):
                self.assertGreaterEqual(contrast(theme["on"], theme[f"c{number}"]), 4.5, number)
                self.assertGreaterEqual(contrast(theme[f"c{number}"], theme["paper"]), 3, number)


if __name__ == "__main__":
    Pages.tool = sys.argv.pop(1)
    unittest.main()
