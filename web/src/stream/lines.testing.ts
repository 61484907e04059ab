import type { ActivityLine, DoneStatus, EventLine } from "./events.ts";

/** Lines of one run for tests, numbered as they are made. */
export class Lines {
  readonly all: EventLine[] = [];

  get #head(): { v: 1; seq: number; run_id: string; session_id: string; at: string } {
    return {
      v: 1,
      seq: this.all.length + 1,
      run_id: "run_1",
      session_id: "session_1",
      at: "2026-01-31T08:00:00.000Z",
    };
  }

  text(delta: string, channel: "answer" | "reasoning" = "answer"): this {
    this.all.push({ ...this.#head, type: "text", channel, delta });
    return this;
  }

  activity(fields: Partial<ActivityLine> & Pick<ActivityLine, "id" | "status">): this {
    this.all.push({
      ...this.#head,
      type: "activity",
      kind: "tool",
      name: "demo::hello",
      title: "Hello",
      detail: {},
      ...fields,
    });
    return this;
  }

  error(code = "PROVIDER_ERROR"): this {
    this.all.push({
      ...this.#head,
      type: "error",
      code,
      message: "It failed.",
      retryable: true,
      source: "provider",
    });
    return this;
  }

  done(status: DoneStatus = "completed"): this {
    const usage = { input_tokens: 1, output_tokens: 2, cached_input_tokens: 0, cost: "0" };
    this.all.push({ ...this.#head, type: "done", status, usage, steps: 1 });
    return this;
  }

  bytes(after = 0): Uint8Array {
    return new TextEncoder().encode(
      this.all
        .slice(after)
        .map((line) => `${JSON.stringify(line)}\n`)
        .join(""),
    );
  }
}
