import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { backoffMs } from "./backoff.ts";
import type { EventLine } from "./events.ts";
import { follow, OpenRefused, STALE_MS, type Connection, type FollowPorts } from "./follow.ts";
import { Lines } from "./lines.testing.ts";

/** A server with a record: each connection gets the lines after `after`, some bytes at a time, then a cut. */
class Network implements FollowPorts {
  clock = 0;
  opened: number[] = [];
  isOnline = true;
  readonly returns = new Set<() => void>();
  readonly presence = {
    online: (): boolean => this.isOnline,
    onReturn: (callback: () => void): (() => void) => {
      this.returns.add(callback);
      return () => void this.returns.delete(callback);
    },
  };
  readonly #answer: (after: number, connection: number) => Uint8Array | OpenRefused | "silent";
  readonly #chunk: number;

  constructor(
    answer: (after: number, connection: number) => Uint8Array | OpenRefused | "silent",
    chunk = 50,
  ) {
    this.#answer = answer;
    this.#chunk = chunk;
  }

  open(after: number): Promise<ReadableStream<Uint8Array>> {
    this.opened.push(after);
    const answer = this.#answer(after, this.opened.length);
    if (answer instanceof OpenRefused) return Promise.reject(answer);
    const chunk = this.#chunk;
    let at = 0;
    return Promise.resolve(
      new ReadableStream<Uint8Array>({
        pull(controller) {
          if (answer === "silent") return new Promise(() => undefined);
          if (at >= answer.length) controller.error(new TypeError("network error"));
          else controller.enqueue(answer.slice(at, (at += chunk)));
          return undefined;
        },
      }),
    );
  }

  now = (): number => this.clock;
  random = (): number => 0.5;

  async sleep(ms: number, signal: AbortSignal): Promise<void> {
    await new Promise((resolve) => setTimeout(resolve));
    if (signal.aborted) return;
    this.clock += ms;
  }
}

interface Seen {
  readonly end: "done" | "aborted";
  readonly seqs: number[];
  readonly lines: EventLine[];
  readonly states: Connection[];
}

async function run(network: Network, after = 0): Promise<Seen> {
  const lines: EventLine[] = [];
  const states: Connection[] = [];
  const end = await follow({
    after,
    signal: new AbortController().signal,
    ports: network,
    onLines: (fresh) => lines.push(...fresh),
    onConnection: (state) => states.push(state),
  });
  return { end, lines, seqs: lines.map((line) => line.seq), states };
}

function numbered(count: number): Lines {
  const lines = new Lines();
  for (let i = 1; i <= count; i += 1) lines.text(`词${String(i)} `);
  return lines.done();
}

describe("follow", () => {
  it("gives every line exactly once, in order, wherever connections are cut (O1)", async () => {
    const lines = numbered(40);
    const all = lines.all.map((line) => line.seq);
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.nat(3_000), { maxLength: 6 }),
        fc.integer({ min: 1, max: 700 }),
        async (cuts, chunk) => {
          const network = new Network((after, connection) => {
            const whole = lines.bytes(after);
            const cut = cuts[connection - 1];
            return cut === undefined ? whole : whole.slice(0, cut);
          }, chunk);
          const seen = await run(network);
          expect(seen.seqs).toEqual(all);
          expect(seen.end).toBe("done");
        },
      ),
      { numRuns: 60 },
    );
  });

  it("fetches the missed tail and exactly one done of a run that ended meanwhile (O2, O3)", async () => {
    const lines = numbered(10);
    const network = new Network((after) => lines.bytes(after));
    const seen = await run(network, 6);
    expect(network.opened).toEqual([6]);
    expect(seen.seqs).toEqual([7, 8, 9, 10, 11]);
    expect(seen.lines.filter((line) => line.type === "done")).toHaveLength(1);
  });

  it("passes keep-alive lines over (O13)", async () => {
    const lines = numbered(2);
    const alive = new TextEncoder().encode("\n\n\n");
    const network = new Network(() => Uint8Array.of(...alive, ...lines.bytes(), ...alive));
    expect((await run(network)).seqs).toEqual([1, 2, 3]);
    expect(network.opened).toHaveLength(1);
  });

  it("asks again from the last line where a gap or nonsense comes", async () => {
    const lines = numbered(6);
    const gap = new TextEncoder().encode(
      `${JSON.stringify(lines.all[0])}\n${JSON.stringify(lines.all[3])}\n`,
    );
    const network = new Network((after, connection) =>
      connection === 1 ? gap : connection === 2 ? new TextEncoder().encode("<html>\n") : lines.bytes(after),
    );
    expect((await run(network)).seqs).toEqual([1, 2, 3, 4, 5, 6, 7]);
    expect(network.opened).toEqual([0, 1, 1]);
  });

  it("counts lines of a kind it does not know, without showing them", async () => {
    const lines = numbered(3);
    const strange = { ...lines.all[1], type: "weather" };
    const text = [lines.all[0], strange, ...lines.all.slice(2)]
      .map((line) => `${JSON.stringify(line)}\n`)
      .join("");
    expect((await run(new Network(() => new TextEncoder().encode(text)))).seqs).toEqual([1, 3, 4]);
  });

  it("gives a silent connection up and comes back", async () => {
    const lines = numbered(2);
    const network = new Network((after, connection) => (connection === 1 ? "silent" : lines.bytes(after)));
    expect((await run(network)).seqs).toEqual([1, 2, 3]);
    expect(network.opened).toEqual([0, 0]);
  });

  it("comes back at once when the page is seen again after a freeze", async () => {
    const lines = numbered(2);
    const network = new Network((after, connection) => (connection === 1 ? "silent" : lines.bytes(after)));
    network.sleep = async (): Promise<void> => {
      await new Promise((resolve) => setTimeout(resolve));
    };
    const seen = run(network);
    await new Promise((resolve) => setTimeout(resolve, 5));
    network.clock += STALE_MS + 1;
    for (const wake of network.returns) wake();
    expect((await seen).seqs).toEqual([1, 2, 3]);
  });

  it("says that it is offline and waits for the way back", async () => {
    const lines = numbered(1);
    const network = new Network((after, connection) =>
      connection === 1 ? new Uint8Array() : lines.bytes(after),
    );
    network.isOnline = false;
    const { states } = await run(network);
    expect(states).toEqual(["connecting", "live", "offline", "connecting", "live"]);
  });

  it("tries again what may be tried again, and raises what may not", async () => {
    const lines = numbered(1);
    const busy = new Network((_, connection) =>
      connection < 3 ? new OpenRefused("busy", true, 700) : lines.bytes(),
    );
    expect((await run(busy)).seqs).toEqual([1, 2]);
    expect(busy.clock).toBeGreaterThanOrEqual(1_400);
    await expect(run(new Network(() => new OpenRefused("gone", false, null)))).rejects.toThrow("gone");
  });
});

describe("backoffMs", () => {
  it("rises, stays below its ceiling, and is spread", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 5_000 }),
        fc.double({ min: 0, max: 0.999, noNaN: true }),
        (failures, random) => {
          const ms = backoffMs(failures, () => random);
          expect(ms).toBeGreaterThanOrEqual(100);
          expect(ms).toBeLessThanOrEqual(15_000);
        },
      ),
    );
    expect(backoffMs(4, () => 0.9)).toBeGreaterThan(backoffMs(1, () => 0.9));
  });
});
