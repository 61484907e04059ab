/** The lines of a run's stream, version 1. The server's schema is the truth; a check compares the two. */
interface Line {
  readonly v: 1;
  /** Rises by one within the run, from 1, without gaps. */
  readonly seq: number;
  readonly run_id: string;
  readonly session_id: string;
  readonly at: string;
}

export interface TextLine extends Line {
  readonly type: "text";
  readonly channel: "answer" | "reasoning";
  readonly delta: string;
}

export type ActivityKind =
  "tool" | "skill" | "domain" | "context" | "memory" | "job" | "confirmation" | "run";
export type ActivityStatus =
  "started" | "progress" | "succeeded" | "failed" | "skipped" | "degraded" | "awaiting_confirmation";

export interface ActivityLine extends Line {
  readonly type: "activity";
  readonly kind: ActivityKind;
  readonly id: string;
  readonly name: string;
  readonly title: string;
  readonly status: ActivityStatus;
  readonly detail: Readonly<Record<string, unknown>>;
}

export interface ErrorLine extends Line {
  readonly type: "error";
  readonly code: string;
  readonly message: string;
  readonly retryable: boolean;
  readonly source: "agent" | "provider" | "tool" | "plugin" | "storage" | "host";
}

export interface Usage {
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly cached_input_tokens: number;
  /** Decimal text in the model's currency. */
  readonly cost: string;
}

export type DoneStatus = "completed" | "cancelled" | "failed";

export interface DoneLine extends Line {
  readonly type: "done";
  readonly status: DoneStatus;
  readonly usage: Usage;
  readonly steps: number;
}

export type EventLine = TextLine | ActivityLine | ErrorLine | DoneLine;

/** What every line of a run has; lines of kinds that this version does not know still count. */
export interface Sequenced {
  readonly type: string;
  readonly seq: number;
}

export function isSequenced(value: unknown): value is Sequenced {
  return (
    typeof value === "object" &&
    value !== null &&
    "type" in value &&
    typeof value.type === "string" &&
    "seq" in value &&
    typeof value.seq === "number"
  );
}

export function isEventLine(line: Sequenced): line is EventLine {
  return line.type === "text" || line.type === "activity" || line.type === "error" || line.type === "done";
}
