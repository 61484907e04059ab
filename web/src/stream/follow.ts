import { backoffMs } from "./backoff.ts";
import { LineDecoder, StreamFault } from "./decoder.ts";
import { isEventLine, isSequenced, type EventLine, type Sequenced } from "./events.ts";

export type Connection = "connecting" | "live" | "waiting" | "offline";

/** Why a stream could not be opened. Anything else that `open` throws counts as a lost connection. */
export class OpenRefused extends Error {
  readonly retryable: boolean;
  readonly retryAfterMs: number | null;

  constructor(message: string, retryable: boolean, retryAfterMs: number | null, options?: ErrorOptions) {
    super(message, options);
    this.name = "OpenRefused";
    this.retryable = retryable;
    this.retryAfterMs = retryAfterMs;
  }
}

/** Online and in sight, as the browser tells it. */
export interface Presence {
  online(): boolean;
  /** Calls back when the machine comes online or the page comes into sight. */
  onReturn(callback: () => void): () => void;
}

export interface FollowPorts {
  /** The lines after `after`. Raises OpenRefused. */
  open(after: number, signal: AbortSignal): Promise<ReadableStream<Uint8Array>>;
  readonly presence: Presence;
  now(): number;
  random(): number;
  /** Ends early when `signal` is aborted; never throws. */
  sleep(ms: number, signal: AbortSignal): Promise<void>;
}

export interface FollowOptions {
  readonly after: number;
  readonly signal: AbortSignal;
  readonly ports: FollowPorts;
  /** New lines, in order, each exactly once over all connections. */
  readonly onLines: (lines: readonly EventLine[]) => void;
  readonly onConnection: (connection: Connection) => void;
}

/** The server sends at least a blank line every 10 s; three in a row did not come. */
export const SILENCE_MS = 35_000;
/** A page that comes back into sight after so long a silence does not trust its connection. */
export const STALE_MS = 12_000;

/**
 * Follows a run to its `done`, over as many connections as it takes.
 *
 * Each new connection asks for the lines after the last one that was applied; a line that is already
 * known is dropped, and a gap ends the connection. Returns "done", or "aborted" when the signal ended
 * it. Raises OpenRefused where the server said that trying again does not help.
 */
export async function follow(options: FollowOptions): Promise<"done" | "aborted"> {
  const { ports, signal, onConnection } = options;
  let last = options.after;
  let failures = 0;
  while (!signal.aborted) {
    onConnection("connecting");
    const attempt = new Attempt(last, options);
    let wait: number | null = null;
    try {
      await attempt.run();
    } catch (error) {
      if (error instanceof OpenRefused) {
        if (!error.retryable) throw error;
        wait = error.retryAfterMs;
      }
    }
    if (attempt.done) return "done";
    if (aborted(signal)) break;
    failures = attempt.last > last ? 1 : failures + 1;
    last = attempt.last;
    const offline = !ports.presence.online();
    onConnection(offline ? "offline" : "waiting");
    await pause(offline ? 60_000 : (wait ?? backoffMs(failures, () => ports.random())), options);
  }
  return "aborted";
}

/** Read through a function, because the compiler believes that a value it has read stays. */
function aborted(signal: AbortSignal): boolean {
  return signal.aborted;
}

/** Waits, but not on when the machine comes back online or the page into sight. */
async function pause(ms: number, { ports, signal }: FollowOptions): Promise<void> {
  const woken = new AbortController();
  const wake = (): void => woken.abort();
  const forget = ports.presence.onReturn(wake);
  signal.addEventListener("abort", wake);
  if (!signal.aborted) await ports.sleep(ms, woken.signal);
  forget();
  signal.removeEventListener("abort", wake);
}

/** One connection. */
class Attempt {
  last: number;
  done = false;
  readonly #options: FollowOptions;
  readonly #cut = new AbortController();
  #heardAt: number;

  constructor(after: number, options: FollowOptions) {
    this.last = after;
    this.#options = options;
    this.#heardAt = options.ports.now();
  }

  async run(): Promise<void> {
    const { ports, signal } = this.#options;
    const cut = (): void => this.#cut.abort();
    signal.addEventListener("abort", cut);
    const forget = ports.presence.onReturn(() => {
      if (ports.now() - this.#heardAt > STALE_MS) cut();
    });
    const watch = new AbortController();
    void this.#watch(watch.signal);
    try {
      await this.#read();
    } finally {
      watch.abort();
      forget();
      signal.removeEventListener("abort", cut);
      this.#cut.abort();
    }
  }

  async #watch(ended: AbortSignal): Promise<void> {
    const { ports } = this.#options;
    while (!ended.aborted) {
      await ports.sleep(SILENCE_MS / 4, ended);
      if (!aborted(ended) && ports.now() - this.#heardAt > SILENCE_MS) this.#cut.abort();
    }
  }

  async #read(): Promise<void> {
    const { ports, onConnection } = this.#options;
    const stream = await ports.open(this.last, this.#cut.signal);
    const reader = stream.getReader();
    const cut = (): void => void reader.cancel().catch(() => undefined);
    this.#cut.signal.addEventListener("abort", cut);
    const decoder = new LineDecoder();
    onConnection("live");
    try {
      while (!this.done && !this.#cut.signal.aborted) {
        const { value, done } = await reader.read();
        if (done) return;
        this.#heardAt = ports.now();
        this.#apply(decoder.push(value));
      }
    } finally {
      this.#cut.signal.removeEventListener("abort", cut);
      cut();
    }
  }

  #apply(values: readonly unknown[]): void {
    const fresh: EventLine[] = [];
    for (const value of values) {
      const line = sequenced(value);
      if (line.seq <= this.last) continue;
      if (line.seq !== this.last + 1) {
        this.#give(fresh);
        throw new StreamFault(`Line ${String(line.seq)} came after ${String(this.last)}.`);
      }
      this.last = line.seq;
      if (!isEventLine(line)) continue;
      fresh.push(line);
      if (line.type === "done") {
        this.done = true;
        break;
      }
    }
    this.#give(fresh);
  }

  #give(lines: readonly EventLine[]): void {
    if (lines.length > 0) this.#options.onLines(lines);
  }
}

function sequenced(value: unknown): Sequenced {
  if (!isSequenced(value)) throw new StreamFault("A line of the stream has no type or no number.");
  return value;
}
