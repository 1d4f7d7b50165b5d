"""The page of a comparison: what it holds, and that a person can click through it."""

from __future__ import annotations

import json
import re
import shutil
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from reward_envs.agents.webpage import write_page

REWARDS = ["task", "task + 0.1*count", "task + <b>odd</b>"]
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
FRAME = f"data:image/png;base64,{PIXEL}"


def table() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    rows = []
    for k, reward in enumerate(REWARDS):
        for seed in range(3):
            for steps in range(0, 5001, 1000):
                rate = min(1.0, k * steps / 5000 + 0.02 * float(rng.random()))
                rows += [
                    (reward, seed, steps, "eval/success_rate", rate),
                    (reward, seed, steps, "eval/task_return", rate),
                ]
                rows.append((reward, seed, steps, "train/episode_reward/task", rate))
                if k:
                    rows.append((reward, seed, steps, "train/episode_reward/count", 0.5 - rate))
    return pd.DataFrame(rows, columns=["reward", "seed", "steps", "metric", "value"])


def spec() -> dict[str, Any]:
    plan = {"env": "Somewhere-v0", "algo": "ppo", "steps": 5000}
    words = {"answer": "task + 0.1*count won.", "success": "success is a flag", "command": "reward-envs compare ..."}
    return {"rewards": REWARDS, "seeds": [0, 1, 2], "plan": plan, "versions": {"numpy": "2"}, **words}


def episodes() -> list[dict[str, Any]]:
    def one(reward: str, terms: list[str], values: list[list[float | None]]) -> dict[str, Any]:
        frames = [FRAME] * (len(values) + 1)
        return {
            "reward": reward,
            "terms": terms,
            "values": values,
            "task": [0.0, 1.0],
            "actions": ["2", "1"],
            "frames": frames,
            "end": "terminated",
        }

    return [
        one("task", ["task"], [[0.0], [1.0]]),
        one("task + 0.1*count", ["task", "count"], [[0.0, 0.1], [1.0, None]]),
        one("</script><b>", ["task"], [[0.0], [1.0]]),
    ]


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "report.html"
    write_page(table(), spec(), episodes(), path)
    return path


def test_the_page_holds_everything_and_fetches_nothing(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert page.stat().st_size < 6_000_000
    assert not re.search(r'(src|href)="(?!#|data:)[^"]', text), "a self-contained page names no other file"
    assert "<!--" not in text.replace("<!-- ", ""), "every part of the template is filled"
    assert text.count("<svg") == 4
    assert "task + &lt;b&gt;odd&lt;/b&gt;" in text
    HTMLParser().feed(text)


def test_the_table_says_what_came_out(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    body = text[text.index("<tbody>") : text.index("</tbody>")]
    cells = [re.sub("<[^>]+>", "", c) for c in re.findall("<td>(.*?)</td>", body)]
    assert cells[3:5] == ["0 of 3", "beyond 5k"]
    assert cells[8:10] == ["3 of 3", "5k"]


def test_numbers_of_the_episodes_come_back_from_the_page(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    data = re.search(r'id="data">(.*?)</script>', text, re.DOTALL)
    assert data is not None
    found = json.loads(data.group(1))
    assert [{k: v for k, v in e.items() if k != "colours"} for e in found] == episodes()
    assert all(len(e["colours"]) == len(e["terms"]) for e in found)


@pytest.fixture(scope="module")
def browser() -> Any:
    selenium = pytest.importorskip("selenium", reason="needs the test extra")
    if not shutil.which("chromedriver") or not (binary := shutil.which("chromium") or shutil.which("google-chrome")):
        pytest.skip("no chromium and chromedriver here: the page is not clicked through")
    from selenium import webdriver

    assert selenium.__name__
    options = webdriver.ChromeOptions()
    options.binary_location = binary
    for flag in ("headless", "no-sandbox", "disable-gpu", "disable-background-networking", "window-size=1200,1600"):
        options.add_argument(f"--{flag}")
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(shutil.which("chromedriver")))
    yield driver
    driver.quit()


@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_a_person_clicks_through_the_page(page: Path, browser: Any) -> None:
    browser.get(page.as_uri())

    def text(name: str) -> str:
        return str(browser.find_element("id", name).text)

    def press(name: str) -> None:
        browser.find_element("id", name).click()

    assert browser.find_element("tag name", "h1").text == "task + 0.1*count won."
    assert text("where") == "step 0 of 2"
    press("next")
    assert text("where") == "step 1 of 2"
    assert text("caption") == "action: 2"
    from selenium.webdriver.support.select import Select

    Select(browser.find_element("id", "which")).select_by_visible_text("task + 0.1*count")
    press("next")
    press("next")
    assert text("where") == "step 2 of 2 (terminated)"
    rows = [r.text for r in browser.find_elements("css selector", "#terms-now tbody tr")]
    assert rows == ["task 1.000 1.000", "count unknown 0.100"]
    press("back")
    assert text("where") == "step 1 of 2"
    assert len(browser.find_elements("css selector", "#timeline polyline")) == 2
    press("play")
    assert browser.find_element("id", "play").text == "Pause"
    from selenium.webdriver.support.ui import WebDriverWait

    WebDriverWait(browser, 20).until(lambda _: browser.find_element("id", "play").text == "Play")
    assert text("where") == "step 2 of 2 (terminated)"
    for link in browser.find_elements("css selector", "nav a"):
        target = link.get_attribute("href").rpartition("#")[2]
        link.click()
        assert browser.find_element("id", target).is_displayed()
    assert browser.get_log("browser") == []


def test_an_environment_that_cannot_draw_leaves_an_episode_without_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    from reward_envs.agents.episodes import _drawable
    from reward_envs.control.env import ControlEnv

    def fails(self: object) -> None:
        raise RuntimeError("MuJoCo cannot draw here")

    monkeypatch.setattr(ControlEnv, "render", fails)
    with pytest.warns(UserWarning, match="its episode has no pictures"):
        assert _drawable("reward_envs/PointReach-v0").render_mode is None
