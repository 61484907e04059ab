from app.testkit import PackageHarness, refuses_bad_arguments


async def test_says_hello_with_the_version_of_its_package(package: PackageHarness) -> None:
    result = await package.ok("demo::hello")
    assert result["package_version"] == "1.0.0"
    assert result["server_time"] == "2026-01-31T08:00:00Z"
    assert result["in_run"] is False


async def test_gives_model_and_user_the_same_answer(package: PackageHarness) -> None:
    asked = await package.ask("demo_hello", run=package.run())
    assert asked.result == {**await package.ok("demo::hello"), "in_run": True}


async def test_asks_the_host_before_it_answers(package: PackageHarness) -> None:
    package.authority.disabled.add("hello")
    assert await package.refused("demo::hello") == "PACKAGE_DISABLED"


async def test_takes_no_arguments(package: PackageHarness) -> None:
    assert await refuses_bad_arguments(package, "demo::hello", {}) == 2
