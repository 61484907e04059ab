import { newRunView, textMember, type Part, type RunError, type RunView, type ToolPart } from "./view.ts";
import { toolError } from "./reduce.ts";
import type { ActivityKind, ActivityStatus, DoneStatus } from "./events.ts";

/** One entry of the record, as `/items` gives it. */
export interface Item {
  readonly id: string;
  readonly run_id: string;
  readonly type: "user" | "assistant" | "tool" | "note";
  readonly status: "completed" | "incomplete" | "failed" | "cancelled";
  readonly at: string;
  readonly parts?: readonly Readonly<Record<string, unknown>>[] | null;
  readonly call?: Readonly<Record<string, unknown>> | null;
  /** A note's: what it is about, such as `{source, source_id}` or `{cut}`. */
  readonly facts?: Readonly<Record<string, unknown>> | null;
}

/** How a run ended, as `/runs` gives it; the items alone do not tell. */
export interface RunEnd {
  readonly status: DoneStatus;
  readonly error: RunError | null;
}

export interface Turn {
  readonly runId: string;
  readonly at: string;
  /** What the user said; null where something else started the run. */
  readonly user: Item | null;
  readonly run: RunView;
}

const LOADERS: Readonly<Record<string, ActivityKind>> = {
  "catalog::load_domain": "domain",
  "catalog::load_skill": "skill",
};

/**
 * The record as turns, in its order. A run whose stream is (or was) followed here shows what the
 * stream said, with the notes that only the record has.
 */
export function turnsOf(
  items: readonly Item[],
  live: ReadonlyMap<string, RunView>,
  ends: ReadonlyMap<string, RunEnd>,
): readonly Turn[] {
  const byRun = new Map<string, Item[]>();
  for (const item of items) {
    const known = byRun.get(item.run_id);
    if (known === undefined) byRun.set(item.run_id, [item]);
    else known.push(item);
  }
  const turns: Turn[] = [];
  for (const [runId, own] of byRun) {
    const user = own.find((item) => item.type === "user") ?? null;
    const at = own[0]?.at ?? "";
    turns.push({ runId, at, user, run: runOf(runId, own, live.get(runId), ends.get(runId)) });
  }
  for (const [runId, run] of live) {
    if (!byRun.has(runId)) turns.push({ runId, at: "", user: null, run });
  }
  return turns;
}

function runOf(
  runId: string,
  own: readonly Item[],
  live: RunView | undefined,
  end: RunEnd | undefined,
): RunView {
  if (live !== undefined) {
    const kept = new Set(live.parts.flatMap((part) => (part.kind === "note" ? [part.text] : [])));
    const notes = partsOf(own.filter((item) => item.type === "note")).filter(
      (part) => part.kind === "note" && !kept.has(part.text),
    );
    return notes.length === 0 ? live : { ...live, parts: [...live.parts, ...notes] };
  }
  const parts = partsOf(own);
  return {
    ...newRunView(runId, parts),
    status: end?.status ?? statusOf(parts),
    error: end?.error ?? null,
  };
}

function statusOf(parts: readonly Part[]): DoneStatus {
  for (const part of parts) {
    if (part.kind === "note" && part.facts["cut"] === "cancelled") return "cancelled";
    if (part.kind === "note" && part.facts["cut"] === "failed") return "failed";
  }
  return "completed";
}

/** The parts that a run's items hold, in order. */
export function partsOf(own: readonly Item[]): readonly Part[] {
  return own.flatMap((item): readonly Part[] => {
    switch (item.type) {
      case "user":
        return [];
      case "assistant":
        return (item.parts ?? []).flatMap((part): readonly Part[] => {
          if (typeof part["text"] !== "string") return [];
          const kind = part["type"] === "reasoning" ? "reasoning" : "text";
          return [{ kind, text: part["text"], cut: item.status !== "completed" && kind === "text" }];
        });
      case "tool":
        return [callPart(item.call ?? {})];
      case "note": {
        const text = (item.parts ?? []).map((part) => textMember(part, "text") ?? "").join("\n");
        return [{ kind: "note", text, facts: item.facts ?? {} }];
      }
    }
  });
}

function callPart(call: Readonly<Record<string, unknown>>): ToolPart {
  const name = textMember(call, "name") ?? "";
  const loader = LOADERS[name];
  const wanted = (call["arguments"] as { name?: unknown } | null)?.name;
  const error = toolError(call["error"]);
  return {
    kind: "tool",
    id: textMember(call, "id") ?? "",
    activity: loader ?? "tool",
    name: loader !== undefined && typeof wanted === "string" ? wanted : name,
    title: typeof call["title"] === "string" ? call["title"] : "",
    status: (call["status"] as ActivityStatus | undefined) ?? (error === null ? "succeeded" : "failed"),
    arguments: call["arguments"] ?? null,
    result: call["result"] ?? null,
    error,
    durationMs: typeof call["duration_ms"] === "number" ? call["duration_ms"] : null,
    degraded: typeof call["degraded"] === "string" ? call["degraded"] : null,
    progress: null,
  };
}
