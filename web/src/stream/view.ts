import type { ActivityKind, ActivityStatus, DoneStatus, Usage } from "./events.ts";

export interface ToolError {
  readonly code: string;
  readonly message: string;
  readonly retryable: boolean;
}

export interface TextPart {
  readonly kind: "text" | "reasoning";
  readonly text: string;
  /** The turn ended in the middle of it. */
  readonly cut: boolean;
}

export interface ToolPart {
  readonly kind: "tool";
  readonly id: string;
  /** What it does: a tool's own work, or the loading of a domain or skill. */
  readonly activity: ActivityKind;
  readonly name: string;
  readonly title: string;
  readonly status: ActivityStatus;
  readonly arguments: unknown;
  readonly result: unknown;
  readonly error: ToolError | null;
  readonly durationMs: number | null;
  readonly degraded: string | null;
  /** What the last `progress` line said, where it said something. */
  readonly progress: string | null;
}

/** Something that happened beside the model's text: context compacted, memory saved, a job's end. */
export interface ActivityPart {
  readonly kind: "activity";
  readonly id: string;
  readonly activity: ActivityKind;
  readonly name: string;
  readonly title: string;
  readonly status: ActivityStatus;
  readonly detail: Readonly<Record<string, unknown>>;
}

/** A sentence of the host, from the record. */
export interface NotePart {
  readonly kind: "note";
  readonly text: string;
  readonly facts: Readonly<Record<string, unknown>>;
}

export type Part = TextPart | ToolPart | ActivityPart | NotePart;

export interface RunError {
  readonly code: string;
  readonly message: string;
  readonly retryable: boolean;
}

export type RunStatus = "running" | DoneStatus;

/** One run as the page shows it, from its stream, from its items, or from both. */
export interface RunView {
  readonly runId: string;
  /** The last line that went into this. */
  readonly seq: number;
  readonly status: RunStatus;
  readonly parts: readonly Part[];
  readonly error: RunError | null;
  readonly usage: Usage | null;
  readonly steps: number;
}

export function newRunView(runId: string, parts: readonly Part[] = [], seq = 0): RunView {
  return { runId, seq, status: "running", parts, error: null, usage: null, steps: 0 };
}

/** The confirmation that a call waits for, if it does. */
export function confirmationOf(part: ToolPart): string | null {
  return textMember(part.result, "confirmation_id");
}

/** The job that a call or an activity is about, if it is. */
export function jobOf(part: ToolPart | ActivityPart): string | null {
  return textMember(part.kind === "tool" ? part.result : part.detail, "job_id");
}

export function textMember(value: unknown, name: string): string | null {
  if (typeof value !== "object" || value === null) return null;
  const member = (value as Record<string, unknown>)[name];
  return typeof member === "string" ? member : null;
}
