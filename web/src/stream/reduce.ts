import type { ActivityLine, EventLine, TextLine } from "./events.ts";
import type { ActivityPart, Part, RunView, TextPart, ToolError, ToolPart } from "./view.ts";

const TOOL_LIKE = new Set(["tool", "skill", "domain", "memory"]);

/**
 * The view after some more lines. Pure; what did not change keeps its identity, so that a page draws
 * only what did. Lines that are already in the view (by `seq`) change nothing. The lines are in order.
 */
export function reduce(view: RunView, lines: readonly EventLine[]): RunView {
  let next = view;
  let index = 0;
  while (index < lines.length) {
    const line = lines[index] as EventLine;
    if (line.seq <= next.seq) {
      index += 1;
      continue;
    }
    if (line.type === "text") {
      const end = endOfText(lines, index);
      next = addText(next, line, lines.slice(index, end) as TextLine[]);
      index = end;
      continue;
    }
    next = { ...step(next, line), seq: line.seq };
    index += 1;
  }
  return next;
}

/** The first line after `start` that does not go on with the same text. */
function endOfText(lines: readonly EventLine[], start: number): number {
  const first = lines[start] as TextLine;
  let end = start + 1;
  for (; end < lines.length; end += 1) {
    const line = lines[end] as EventLine;
    if (line.type !== "text" || line.channel !== first.channel) break;
  }
  return end;
}

function addText(view: RunView, first: TextLine, lines: readonly TextLine[]): RunView {
  const delta = lines.map((line) => line.delta).join("");
  const kind = first.channel === "answer" ? "text" : "reasoning";
  const last = view.parts.at(-1);
  const goesOn = last?.kind === kind && !last.cut;
  const part: TextPart = { kind, text: goesOn ? last.text + delta : delta, cut: false };
  const parts = goesOn ? view.parts.with(-1, part) : [...view.parts, part];
  return { ...view, parts, seq: lines.at(-1)?.seq ?? view.seq };
}

function step(view: RunView, line: Exclude<EventLine, TextLine>): RunView {
  switch (line.type) {
    case "activity":
      return { ...view, parts: upsert(view.parts, line) };
    case "error":
      return { ...view, error: { code: line.code, message: line.message, retryable: line.retryable } };
    case "done":
      return {
        ...view,
        status: line.status,
        usage: line.usage,
        steps: line.steps,
        parts: line.status === "completed" ? view.parts : cutLast(view.parts),
      };
  }
}

function cutLast(parts: readonly Part[]): readonly Part[] {
  const last = parts.at(-1);
  return last?.kind === "text" ? parts.with(-1, { ...last, cut: true }) : parts;
}

function upsert(parts: readonly Part[], line: ActivityLine): readonly Part[] {
  const at = parts.findLastIndex((part) => "id" in part && part.id === line.id);
  const before = at === -1 ? undefined : parts[at];
  // A handler's own activity (a memory saved) may carry the call's id: it stays the call's card.
  const part =
    before?.kind === "tool" || (before === undefined && TOOL_LIKE.has(line.kind))
      ? toolPart(line, before?.kind === "tool" ? before : null)
      : activityPart(line);
  return at === -1 ? [...parts, part] : parts.with(at, part);
}

function activityPart(line: ActivityLine): ActivityPart {
  const { id, kind, name, title, status, detail } = line;
  return { kind: "activity", id, activity: kind, name, title, status, detail };
}

function toolPart(line: ActivityLine, before: ToolPart | null): ToolPart {
  const { detail } = line;
  const open = line.status === "started" || line.status === "progress";
  return {
    kind: "tool",
    id: line.id,
    activity: line.kind,
    name: line.name,
    title: line.title,
    status: line.status === "progress" ? "started" : line.status,
    arguments: detail["arguments"] ?? before?.arguments ?? null,
    result: open ? (before?.result ?? null) : (detail["result"] ?? null),
    error: toolError(detail["error"]),
    durationMs: typeof detail["duration_ms"] === "number" ? detail["duration_ms"] : null,
    degraded: typeof detail["degraded"] === "string" ? detail["degraded"] : null,
    progress: progressText(detail) ?? (open ? (before?.progress ?? null) : null),
  };
}

function progressText(detail: Readonly<Record<string, unknown>>): string | null {
  const text = detail["message"] ?? detail["note"];
  return typeof text === "string" && text !== "" ? text : null;
}

/** `{code, message, retryable}` as the record and the stream carry it; null where there is none. */
export function toolError(value: unknown): ToolError | null {
  if (typeof value !== "object" || value === null) return null;
  const { code, message, retryable } = value as Record<string, unknown>;
  if (typeof code !== "string") return null;
  return { code, message: typeof message === "string" ? message : "", retryable: retryable === true };
}
