"""The page under test, and a browser to look at it with."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from selenium import webdriver
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service

ROOT = Path(__file__).resolve().parents[2]
TRACES = sorted((ROOT / "fixtures" / "traces").glob("*.swtch"))
FAAS = ROOT / "fixtures" / "faas"
PROFILES = sorted((ROOT / "fixtures" / "profiles").glob("*.json"))
FLAGS = [
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def swtch_binary() -> Path:
    return Path(os.environ.get("SWTCH_BIN", ROOT / "target" / "release" / "swtch")).resolve()


def render(files: list[Path], page: Path, *options: str | Path) -> Path:
    """Writes the report of Profiles or Traces with the swtch binary."""
    binary = swtch_binary()
    if not binary.exists():
        pytest.fail(f"{binary} is missing: build it, or name another in SWTCH_BIN")
    command = [binary, "report", *files, *options, "-o", page]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, f"swtch report failed: {done.stderr}"
    return page


@pytest.fixture(scope="session")
def profiles() -> dict[str, dict]:
    """The golden profiles by the name they have on the page."""
    assert PROFILES, "fixtures/profiles holds no profile"
    return {path.stem: json.loads(path.read_text()) for path in PROFILES}


@pytest.fixture(scope="session")
def report_html(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of all golden profiles."""
    return render(PROFILES, tmp_path_factory.mktemp("report") / "report.html")


@pytest.fixture(scope="session", params=[path.stem for path in PROFILES])
def single_report(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[str, Path]:
    """The page of one golden profile, and its name."""
    source = next(path for path in PROFILES if path.stem == request.param)
    return request.param, render([source], tmp_path_factory.mktemp("single") / "report.html")


@pytest.fixture(scope="session")
def trace_pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The page of each recorded Trace by its name, that of all under `all`, and one with spans under `spans`."""
    assert TRACES, "fixtures/traces holds no Trace"
    directory = tmp_path_factory.mktemp("traces")
    # Its path is shown; one that is long and has no place to break must not widen the page.
    profile = directory / ("a_checkout_in_a_directory_with_a_long_name_" * 3) / "vm.json"
    profile.parent.mkdir()
    shutil.copy(ROOT / "fixtures" / "profiles" / "vm.json", profile)
    priced = ["--profile", profile]
    pages = {path.stem: render([path], directory / f"{path.stem}.html", *priced) for path in TRACES}
    spans = ["--spans", ROOT / "fixtures" / "spans" / "machine.jsonl", "--slowest", "5%"]
    machine = [path for path in TRACES if path.stem == "machine"]
    pages["spans"] = render(machine, directory / "spans.html", *priced, *spans)
    return pages | {"all": render(TRACES, directory / "all.html", *priced)}


class Browser:
    """Chromium, with what the tests ask of it in one word."""

    def __init__(self, driver: webdriver.Chrome) -> None:
        self.driver = driver

    def open(
        self, page: Path, width: int = 1100, height: int = 900, *, phone: bool = False
    ) -> webdriver.Chrome:
        """Shows the page in a window of exactly this size."""
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": phone}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        self.driver.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", {"enabled": phone})
        self.driver.get(page.as_uri())
        return self.driver

    def media(self, medium: str = "", scheme: str = "light") -> None:
        """Pretends to be paper, or a dark desktop."""
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": medium, "features": features})

    def scripts(self, *, on: bool) -> None:
        self.driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": not on})


@pytest.fixture(scope="session")
def _driver(tmp_path_factory: pytest.TempPathFactory):
    chromium, chromedriver = shutil.which("chromium"), shutil.which("chromedriver")
    if not chromium or not chromedriver:
        pytest.skip("chromium or chromedriver is missing: apt-get install chromium chromium-driver")
    options = Options()
    options.binary_location = chromium
    for flag in [*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('chromium')}"]:
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(chromedriver))
    yield driver
    driver.quit()


@pytest.fixture
def browser(_driver) -> Browser:
    """The browser as every test expects it: light, on a screen, scripts on, logs empty."""
    browser = Browser(_driver)
    browser.scripts(on=True)
    browser.media()
    _driver.get("about:blank")
    _driver.get_log("browser")
    _driver.get_log("performance")
    return browser


@pytest.fixture(scope="session")
def study_pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The page of each study by its name, and that of all under `all`."""
    studies = sorted(path.parent for path in (ROOT / "fixtures" / "studies").glob("*/study.json"))
    assert len(studies) > 1, "fixtures/studies holds no two studies"
    directory = tmp_path_factory.mktemp("studies")
    pages = {path.name: render([path], directory / f"{path.name}.html") for path in studies}
    return pages | {"all": render(studies, directory / "all.html")}


@pytest.fixture(scope="session")
def faas_pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The page of a study of tiers, that of five languages, that of one, and one of everything."""
    directory = tmp_path_factory.mktemp("faas")
    languages = [FAAS / f"{language}.json" for language in ("python", "node", "go", "java", "rust")]
    files = {
        "gcf": [FAAS / "gcf"],
        "languages": languages,
        "one": languages[:1],
        "all": [FAAS / "gcf", *languages],
    }
    return {name: render(paths, directory / f"{name}.html") for name, paths in files.items()}
