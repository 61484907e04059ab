/** Where `flush` is to be called next: the browser's next frame, or soon if there are no frames. */
export type Schedule = (flush: () => void) => () => void;

/**
 * Collects what comes between two frames, so that a page is drawn once a frame and not once a line.
 * `take` gets everything in order; `flush` hands over at once what waits.
 */
export class FrameBatch<T> {
  #waiting: T[] = [];
  #cancel: (() => void) | null = null;
  readonly #take: (batch: readonly T[]) => void;
  readonly #schedule: Schedule;

  constructor(take: (batch: readonly T[]) => void, schedule: Schedule) {
    this.#take = take;
    this.#schedule = schedule;
  }

  add(values: readonly T[]): void {
    for (const value of values) this.#waiting.push(value);
    this.#cancel ??= this.#schedule(() => this.flush());
  }

  flush(): void {
    this.#cancel?.();
    this.#cancel = null;
    const batch = this.#waiting;
    this.#waiting = [];
    if (batch.length > 0) this.#take(batch);
  }
}
