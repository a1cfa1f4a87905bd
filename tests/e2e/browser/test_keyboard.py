"""By keyboard: whatever has the focus is seen to have it, and nothing lies over it."""

from __future__ import annotations

from typing import Any

import pytest
from e2e.browser.chromium import Browsers
from e2e.browser.seeded import SeededConsole

#: What has the focus, and why nobody would see that; `null`: nothing has it any more.
FOCUSED = """() => {
  const element = document.activeElement;
  if (!element || element === document.body) return null;
  const style = getComputedStyle(element), box = element.getBoundingClientRect();
  const y = box.top + Math.min(box.height / 2, innerHeight / 2);
  // A wide table scrolls no further than until some of it is seen.
  const over = [0.02, 0.1, 0.5, 0.9, 0.98].map((part) => document.elementFromPoint(box.left + box.width * part, y)).filter((top) => top);
  const faults = [];
  if (style.outlineStyle === "none" || parseFloat(style.outlineWidth) < 2) faults.push("has no outline");
  if (!over.length) faults.push("is out of sight");
  else if (!over.some((top) => element.contains(top))) faults.push(`is under ${over[0].outerHTML.slice(0, 80)}`);
  return {what: element.outerHTML.slice(0, 120), faults};
}"""


def walk(page: Any, key: str) -> list[str]:
    """What gets the focus, one after the other, until nothing does."""
    seen = []
    for _ in range(300):
        page.keyboard.press(key)
        focused = page.evaluate(FOCUSED)
        if focused is None:
            return seen
        assert focused["faults"] == [], focused
        seen.append(focused["what"])
    raise AssertionError("the walk does not end")


@pytest.mark.parametrize("width", [1440, 360])
@pytest.mark.parametrize("path", ["/drafts/{draft}/group?group=mixed", "/drafts/{draft}/model?group=a-official&model=gpt-5.1", "/new-key", "/people"])
def test_focus_is_seen(site: SeededConsole, chromium: Browsers, path: str, width: int) -> None:
    with chromium.visitor(site.url, width=width, state=site.session("admin")) as visitor:
        page = visitor.open(path.format_map(site.named))
        # Those of a closed part cannot be reached, and are not seen either.
        fields = page.locator("main :is(input:not([type=hidden]), select, button, a, textarea):visible").count()
        forth = walk(page, "Tab")
        assert len(forth) >= fields > 10
        # The other way the browser scrolls up, and what stays at the top must not lie over what has the focus.
        back = walk(page, "Shift+Tab")
        assert set(forth) <= set(back)
