"""check.py DOM: checks that the tables of a page, as parsed by the browser, are accessible, and that it loads nothing."""

import sys
from html.parser import HTMLParser


class Page(HTMLParser):
    def __init__(self):
        super().__init__()
        self.tables, self.headings, self.titles, self.wrong = [], 0, 0, []

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        for name in ("src", "href", "action"):
            if name in attrs:
                self.wrong.append(f"<{tag} {name}={attrs[name]}> loads or links")
        if tag in ("script", "link", "img", "iframe"):
            self.wrong.append(f"<{tag}>")
        if tag == "html" and not attrs.get("lang"):
            self.wrong.append("the page has no language")
        if tag == "h1":
            self.headings += 1
        if tag == "title":
            self.titles += 1
        if tag == "table":
            self.tables.append({"caption": 0, "col": 0, "row": 0, "rows": 0})
        if tag == "caption":
            self.tables[-1]["caption"] += 1
        if tag == "tr":
            self.tables[-1]["rows"] += 1
        if tag == "th":
            if attrs.get("scope") not in ("col", "row"):
                self.wrong.append("a <th> without a scope")
            else:
                self.tables[-1][attrs["scope"]] += 1
        if tag == "svg" and not (attrs.get("role") == "img" and attrs.get("aria-label")):
            self.wrong.append("an image without a name")
        if tag == "b":
            self.wrong.append("a value is interpreted as markup")


page = Page()
page.feed(open(sys.argv[1], encoding="utf-8").read())
wrong = page.wrong
if page.headings != 1 or page.titles < 1:
    wrong.append(f"{page.headings} level-1 headings, {page.titles} titles")
if not page.tables:
    wrong.append("no tables")
for table in page.tables:
    if table["caption"] != 1 or table["col"] < 2 or table["row"] != table["rows"] - 1:
        wrong.append(f"a table without a caption, or with rows or columns without headers: {table}")
if wrong:
    sys.exit(f"{sys.argv[1]}: " + "; ".join(sorted(set(wrong))))
