"""Pages as a browser reads them: HTML, its links, and what it is made of."""

from collections.abc import Iterator
from urllib.parse import parse_qsl, urlsplit

import html5lib

# Attributes that lead somewhere.
LINKS = {"href", "src", "action", "formaction", "poster", "data-live-url", "data", "cite", "srcset", "ping", "background"}
# What pages are made of. Anything else would have come in from somewhere.
ELEMENTS = set(
    "html head meta title link script body a header div span bdi nav ul ol li main section h1 h2 h3 p strong em small code pre kbd svg g path"
    " rect line circle text polyline polygon desc footer noscript table caption thead tbody tfoot tr th td colgroup col dl dt dd time form input select"
    " option optgroup button label fieldset legend textarea details summary meter progress figure figcaption br hr abbr ins del output datalist"
    " template samp b i use defs clippath lineargradient stop".split()
)


class Page:
    """The tree of a page, and what is wrong with it."""

    def __init__(self, text: str):
        parser = html5lib.HTMLParser(namespaceHTMLElements=False)
        self.text = text
        self.tree = parser.parse(text)
        self.mistakes = [(place, code, details) for place, code, details in parser.errors]

    def elements(self) -> Iterator:
        """Name without namespace, and attributes."""
        for element in self.tree.iter():
            if isinstance(element.tag, str):
                yield element.tag.rsplit("}", 1)[-1].lower(), element.attrib, element

    def links(self) -> set[tuple[str, str, str]]:
        """Element, attribute and where it leads."""
        found = set()
        for name, attributes, _ in self.elements():
            for attribute, value in attributes.items():
                if str(attribute).rsplit("}", 1)[-1] in LINKS:
                    found.add((name, attribute, value))
        return found

    def shape(self) -> list[tuple[str, tuple]]:
        """Elements in their order, with the names of their attributes."""
        return [(name, tuple(sorted(map(str, attributes)))) for name, attributes, _ in self.elements()]

    def words(self) -> str:
        """What can be read, without what scripts have."""
        return " ".join(" ".join(self.tree.itertext()).split())

    def texts(self) -> set[str]:
        """The text of each element, as it is, and what its title has where it is cut."""
        titles = {attributes["title"] for _, attributes, _ in self.elements() if "title" in attributes}
        return titles | {"".join(element.itertext()) for _, _, element in self.elements()}

    def is_plain(self) -> None:
        """Nothing in it comes of a name or a payload."""
        for name, attributes, _ in self.elements():
            assert name in ELEMENTS, name
            for attribute in attributes:
                assert not str(attribute).lower().startswith("on") and attribute != "style", (name, attribute)
            if name == "script":
                assert attributes.get("src", "").split("?")[0].endswith("/static/script.js"), attributes
        for name, attribute, value in self.links():
            assert is_own(value), (name, attribute, value)

    def forms(self) -> list[dict]:
        """Method, action and fields of each form."""
        found = []
        for name, attributes, element in self.elements():
            if name == "form":
                inputs = [each for each in element.iter("input") if each.get("name")]
                fields = [(each.get("name"), each.get("value") or "") for each in inputs]
                found.append({"method": attributes.get("method", "get"), "action": attributes.get("action"), "fields": fields})
        return found


def is_own(link: str) -> bool:
    """It leads to this dashboard, or to a place on the same page."""
    parts = urlsplit(link)
    return not parts.scheme and not parts.netloc and (link.startswith(("/", "#", "?")) and not link.startswith("//"))


def parameters(link: str) -> dict[str, str]:
    return dict(parse_qsl(urlsplit(link).query, keep_blank_values=True))
