from pathlib import Path

from app.testkit import harness_fixture

package = harness_fixture(Path(__file__).parents[1])
