"""What an author of packages tests with: checks behind `deskmate capability`, and a harness."""

from app.testkit.checks import CheckReport, PackageRow, check_packages, list_packages
from app.testkit.harness import ALICE, BOB, PackageHarness, harness_fixture, open_harness, user
from app.testkit.laws import bad_arguments, refuses_bad_arguments, same_key_gives_one_effect
from app.testkit.stand_ins import AuditList, HeldConfirmations, OpenAuthority

__all__ = [
    "ALICE",
    "BOB",
    "AuditList",
    "CheckReport",
    "HeldConfirmations",
    "OpenAuthority",
    "PackageHarness",
    "PackageRow",
    "bad_arguments",
    "check_packages",
    "harness_fixture",
    "list_packages",
    "open_harness",
    "refuses_bad_arguments",
    "same_key_gives_one_effect",
    "user",
]
