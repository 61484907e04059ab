from app.testkit import BOB, PackageHarness, refuses_bad_arguments, same_key_gives_one_effect


async def test_a_saved_fact_is_found_by_its_owner_only(package: PackageHarness) -> None:
    saved = await package.ok("memory::save", {"content": "在准备中考", "tags": ["goal"]})
    assert await package.ok("memory::search", {"query": "中考"}) == {"facts": [saved]}
    assert await package.ok("memory::search", {}, by=BOB) == {"facts": []}


async def test_removing_is_the_users_alone(package: PackageHarness) -> None:
    saved = await package.ok("memory::save", {"content": "likes geometry"})
    run = package.run()
    assert "memory_remove" not in {spec.wire_name for spec in package.gate.visible_tools(run)}
    asked = await package.ask("memory_remove", {"id": saved["id"]}, run=run)
    assert asked.error is not None
    assert asked.error["code"] == "TOOL_FORBIDDEN"
    assert await package.ok("memory::remove", {"id": saved["id"]}, confirmed=True)
    assert await package.ok("memory::search", {}) == {"facts": []}


async def test_a_foreign_fact_cannot_be_removed(package: PackageHarness) -> None:
    saved = await package.ok("memory::save", {"content": "likes geometry"})
    assert await package.refused("memory::remove", {"id": saved["id"]}, by=BOB, confirmed=True) == "NOT_FOUND"


async def test_the_same_key_saves_once(package: PackageHarness) -> None:
    await same_key_gives_one_effect(package, "memory::save", {"content": "likes geometry"})


async def test_bad_arguments_are_refused(package: PackageHarness) -> None:
    assert await refuses_bad_arguments(package, "memory::save", {"content": "x"}) > 5
