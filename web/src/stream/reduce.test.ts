import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Lines } from "./lines.testing.ts";
import { reduce } from "./reduce.ts";
import { confirmationOf, jobOf, newRunView, type ToolPart } from "./view.ts";

const empty = newRunView("run_1");

describe("reduce", () => {
  it("joins adjoining text of one channel and keeps the order of things", () => {
    const lines = new Lines()
      .text("Let me ", "reasoning")
      .text("think.", "reasoning")
      .text("Look: ")
      .activity({ id: "c1", status: "started", detail: { arguments: { q: 1 } } })
      .activity({
        id: "c1",
        status: "succeeded",
        detail: { arguments: { q: 1 }, result: { ok: true }, duration_ms: 7 },
      })
      .text("Do")
      .text("ne.")
      .done();
    const view = reduce(empty, lines.all);
    expect(view.parts.map((part) => part.kind)).toEqual(["reasoning", "text", "tool", "text"]);
    expect(view.parts[0]).toMatchObject({ text: "Let me think." });
    expect(view.parts[2]).toMatchObject({
      status: "succeeded",
      result: { ok: true },
      durationMs: 7,
      arguments: { q: 1 },
    });
    expect(view.parts[3]).toMatchObject({ text: "Done.", cut: false });
    expect(view).toMatchObject({ status: "completed", seq: 8, steps: 1, error: null });
  });

  it("gives the same view in any batches, and for lines that come twice", () => {
    const lines = new Lines();
    for (let i = 0; i < 30; i += 1) {
      lines.text(`w${String(i)} `, i % 7 === 0 ? "reasoning" : "answer");
      if (i % 5 === 0)
        lines.activity({ id: `c${String(i % 3)}`, status: i % 2 === 0 ? "started" : "succeeded" });
    }
    lines.error().done("failed");
    const whole = reduce(empty, lines.all);
    fc.assert(
      fc.property(fc.array(fc.record({ size: fc.nat(9), back: fc.nat(4) })), (batches) => {
        let view = empty;
        let at = 0;
        for (const { size, back } of batches) {
          view = reduce(view, lines.all.slice(Math.max(0, at - back), at + size));
          at = Math.min(at + size, lines.all.length);
        }
        view = reduce(view, lines.all.slice(at));
        expect(view).toEqual(whole);
      }),
    );
  });

  it("keeps the identity of what did not change, so that it is not drawn again", () => {
    const before = reduce(empty, new Lines().text("a", "reasoning").text("b").all);
    const after = reduce(before, new Lines().text("a", "reasoning").text("b").text("c").all);
    expect(after.parts[0]).toBe(before.parts[0]);
    expect(reduce(after, new Lines().text("x").all)).toBe(after);
  });

  it("marks text that was cut off, and keeps the error", () => {
    const view = reduce(empty, new Lines().text("half a sen").error("RUN_INTERRUPTED").done("failed").all);
    expect(view.parts).toEqual([{ kind: "text", text: "half a sen", cut: true }]);
    expect(view.error).toEqual({ code: "RUN_INTERRUPTED", message: "It failed.", retryable: true });
    expect(reduce(empty, new Lines().text("stop").done("cancelled").all).parts[0]).toMatchObject({
      cut: true,
    });
  });

  it("finds the confirmation and the job that a call is about", () => {
    const waiting = { status: "awaiting_confirmation", confirmation_id: "cf_1" };
    const view = reduce(
      empty,
      new Lines()
        .activity({ id: "c1", status: "awaiting_confirmation", detail: { result: waiting } })
        .activity({ id: "c2", status: "succeeded", detail: { result: { job_id: "job_1" } } }).all,
    );
    expect(confirmationOf(view.parts[0] as ToolPart)).toBe("cf_1");
    expect(jobOf(view.parts[1] as ToolPart)).toBe("job_1");
  });

  it("reduces 10,000 deltas in one run in good time", () => {
    const lines = new Lines();
    for (let i = 0; i < 10_000; i += 1) lines.text(`word${String(i)} `);
    lines.done();
    const began = performance.now();
    let view = empty;
    for (let at = 0; at < lines.all.length; at += 20) view = reduce(view, lines.all.slice(at, at + 20));
    expect(performance.now() - began).toBeLessThan(500);
    expect(view.parts).toHaveLength(1);
  });
});
