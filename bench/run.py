"""`python -m bench.run`: the service, the bare proxy and the raw client on one stub model, alternating.

Exit code 1 where a run failed or a goal was missed by more than its least.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import tempfile
from collections.abc import AsyncGenerator
from pathlib import Path

from bench import scenarios
from bench.report import GOALS, Results, machine, ratio, spreads, table, verdict
from bench.scenarios import Plan
from bench.targets import Target, drive, run_proxy, run_service, run_stub
from tests.support.databases import KINDS, Kind

INTRODUCTION = """# What a run costs

Made by `make bench`. The service stands beside a bare proxy (the same two model calls and one tool step,
relayed byte for byte with httpx and uvicorn, nothing stored) and a raw client, all on the same stub model
server and the same machine, one uvicorn process each, in alternating blocks of one run of the bench. Figures
are medians over the blocks. Times to first text are what is added to the model's own.
"""


async def measure(options: argparse.Namespace, kinds: list[Kind], folder: Path) -> tuple[Results, Plan]:
    plan = read_plan(options)
    results = Results()
    async with run_stub(folder) as stub:
        model_url = f"http://127.0.0.1:{stub.port}/v1"
        async with start_all(folder, model_url, kinds) as targets:
            await warm_up(plan, targets)
            for scenario in (scenarios.throughput, scenarios.first_text, scenarios.crowd):
                if not wanted(options, scenario.__name__):
                    continue
                for at in range(options.rounds):
                    for target in (stub, *targets):
                        say(f"{scenario.__name__} {at + 1}/{options.rounds} {target.name}")
                        results.add(target.name, await scenario(plan, target))
        if wanted(options, "memory"):
            await measure_memory(plan, folder, model_url, kinds, results, options.rounds)
    return results, plan


async def measure_memory(
    plan: Plan, folder: Path, model_url: str, kinds: list[Kind], results: Results, rounds: int
) -> None:
    """Each block on processes of its own, one at a time."""
    for at in range(rounds):
        for kind in (None, *kinds):
            target_runs = run_service(folder, model_url, kind) if kind else run_proxy(folder, model_url)
            async with target_runs as target:
                say(f"memory {at + 1}/{rounds} {target.name}")
                results.add(target.name, await scenarios.memory(plan, target))


@contextlib.asynccontextmanager
async def start_all(folder: Path, model_url: str, kinds: list[Kind]) -> AsyncGenerator[list[Target]]:
    """The proxy and the services, all up for the whole bench; an idle one costs next to nothing."""
    async with contextlib.AsyncExitStack() as stack:
        targets = [await stack.enter_async_context(run_proxy(folder, model_url))]
        for kind in kinds:
            targets.append(await stack.enter_async_context(run_service(folder, model_url, kind)))
        yield targets


async def warm_up(plan: Plan, targets: list[Target]) -> None:
    """Imports, caches and connection pools, outside the measure."""
    for target in targets:
        load = plan.load(target, deltas=10, at_once=16, runs=64)
        plan.check(target, await drive(load, on_ready=lambda: None))


def read_plan(options: argparse.Namespace) -> Plan:
    plan = Plan(tool=options.tool, args=options.args, domain=options.domain)
    if not options.quick:
        return plan
    return Plan(
        tool=plan.tool,
        args=plan.args,
        domain=plan.domain,
        throughput_runs=96,
        first_text_runs=40,
        crowd_runs=50,
    )


def wanted(options: argparse.Namespace, name: str) -> bool:
    return not options.only or name in options.only


def say(text: str) -> None:
    print(f"  {text}", flush=True)


def find_misses(results: Results, kinds: list[Kind]) -> list[str]:
    misses: list[str] = []
    for goal in GOALS:
        for kind in kinds:
            reached = ratio(results, goal, kind)
            if reached is not None and verdict(goal, kind, reached) == "MISSED":
                misses.append(f"{goal.title} on {kind}: {reached:.2f}")
    return misses


def document(results: Results, plan: Plan, kinds: list[Kind]) -> str:
    names: list[str] = list(kinds)
    sections = [INTRODUCTION, f"Machine: {machine()}.\n", table(results, names), "\nFrom block to block:\n"]
    sections.append(spreads(results, names))
    sections += [
        f"\nThe load generator took {share:.0%} of a core against {name}: it may have been the limit."
        for name in ("proxy", *names)
        if (share := results.median(name, "generator_share") or 0) > 0.8
    ]
    if plan.faults:
        sections.append(f"\n{len(plan.faults)} runs FAILED, the first: {plan.faults[0]}")
    return "\n".join(sections) + "\n"


def parse() -> argparse.Namespace:
    defaults = Plan()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--database", choices=[*KINDS, "both", "none"], default="both")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="small blocks: is it all working?")
    parser.add_argument("--only", action="append", help="throughput, first_text, crowd or memory; may repeat")
    parser.add_argument("--tool", default=defaults.tool, help="wire name of the tool that the model asks for")
    parser.add_argument("--args", default=defaults.args, help="its arguments, JSON")
    parser.add_argument(
        "--domain", default=defaults.domain, help="domain that a warm-up run loads; may be empty"
    )
    parser.add_argument("--write", type=Path, help="also write the report to this Markdown file")
    return parser.parse_args()


def main() -> int:
    options = parse()
    chosen: dict[str, list[Kind]] = {"both": list(KINDS), "none": []}
    kinds = chosen.get(options.database) or [kind for kind in KINDS if kind == options.database]
    with tempfile.TemporaryDirectory(prefix="deskmate-bench-") as folder:
        results, plan = asyncio.run(measure(options, kinds, Path(folder)))
    report = document(results, plan, kinds)
    print(report)
    if options.write:
        options.write.write_text(report)
    misses = find_misses(results, kinds)
    for miss in misses:
        print(f"MISSED: {miss}")
    return 1 if misses or plan.faults else 0


if __name__ == "__main__":
    raise SystemExit(main())
