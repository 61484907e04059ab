import { describe, expect, it } from "vitest";
import { turnsOf, type Item } from "./items.ts";
import { Lines } from "./lines.testing.ts";
import { reduce } from "./reduce.ts";
import { newRunView } from "./view.ts";

const at = "2026-01-31T08:00:00.000Z";
const none = new Map<string, never>();
const item = (fields: Partial<Item> & Pick<Item, "type">): Item => ({
  id: `item_${Math.random().toString(36).slice(2)}`,
  run_id: "run_1",
  status: "completed",
  at,
  ...fields,
});
const said = item({ type: "user", parts: [{ type: "text", text: "hi" }] });
const call = {
  id: "c1",
  name: "demo::hello",
  arguments: { name: "A" },
  result: { text: "Hello" },
  error: null,
  duration_ms: 3,
  status: "succeeded",
};

describe("turnsOf", () => {
  it("shows a reloaded run as its stream showed it", () => {
    const detail = {
      arguments: { name: "A" },
      result: { text: "Hello" },
      duration_ms: 3,
      error: null,
      degraded: null,
    };
    const live = reduce(
      newRunView("run_1"),
      new Lines()
        .text("Hm.", "reasoning")
        .text("Look: ")
        .activity({ id: "c1", status: "started", detail: { arguments: { name: "A" } } })
        .activity({ id: "c1", status: "succeeded", detail })
        .text("Done.")
        .done().all,
    );
    const items = [
      said,
      item({
        type: "assistant",
        parts: [
          { type: "reasoning", text: "Hm." },
          { type: "text", text: "Look: " },
        ],
      }),
      item({ type: "tool", call }),
      item({ type: "assistant", parts: [{ type: "text", text: "Done." }] }),
    ];
    const [turn] = turnsOf(items, none, none);
    const untitled = live.parts.map((part) => (part.kind === "tool" ? { ...part, title: "" } : part));
    expect(turn?.run.parts).toEqual(untitled);
    expect(turn?.run.status).toBe("completed");
    expect(turn?.user).toBe(said);
  });

  it("goes on with a live run from where its items end", () => {
    const lines = new Lines().text("One. ").text("Two. ").done();
    const [, second, third] = lines.all;
    const begun = newRunView("run_1", [{ kind: "text", text: "One. ", cut: false }], 1);
    const live = reduce(
      begun,
      [second, third].filter((line) => line !== undefined),
    );
    const [turn] = turnsOf([said], new Map([["run_1", live]]), none);
    expect(turn?.run.parts).toEqual([{ kind: "text", text: "One. Two. ", cut: false }]);
  });

  it("takes a run's end from the runs, and from the notes where there is none", () => {
    const error = { code: "PROVIDER_ERROR", message: "m", retryable: true };
    const cut = item({ type: "assistant", status: "incomplete", parts: [{ type: "text", text: "hal" }] });
    const [told] = turnsOf([said, cut], none, new Map([["run_1", { status: "failed", error }]]));
    expect(told?.run).toMatchObject({
      status: "failed",
      error,
      parts: [{ kind: "text", text: "hal", cut: true }],
    });
    const note = item({
      type: "note",
      parts: [{ type: "text", text: "cancelled" }],
      facts: { cut: "cancelled" },
    });
    expect(turnsOf([said, note], none, none)[0]?.run.status).toBe("cancelled");
  });

  it("keeps the notes of the record beside what the stream said, once", () => {
    const live = reduce(newRunView("run_1"), new Lines().text("x").done().all);
    const note = item({ type: "note", parts: [{ type: "text", text: "at its limit" }] });
    const [turn] = turnsOf([said, note], new Map([["run_1", live]]), none);
    expect(turn?.run.parts.map((part) => part.kind)).toEqual(["text", "note"]);
  });

  it("keeps turns in the order of the record", () => {
    const other = item({ type: "note", run_id: "run_2", parts: [], facts: { source: "job" } });
    expect(turnsOf([said, other], none, none).map((turn) => turn.runId)).toEqual(["run_1", "run_2"]);
  });
});
