export interface BackoffRules {
  /** Milliseconds before the first new try, at most. */
  readonly firstMs: number;
  readonly mostMs: number;
}

export const RECONNECT: BackoffRules = { firstMs: 400, mostMs: 15_000 };

/**
 * Full jitter: anything up to a ceiling that doubles with each failure. After a server's restart its
 * clients so come back spread out. `failures` counts from 1; `random` gives [0, 1).
 */
export function backoffMs(failures: number, random: () => number, rules = RECONNECT): number {
  const ceiling = Math.min(rules.mostMs, rules.firstMs * 2 ** Math.min(failures - 1, 30));
  return Math.round(ceiling * (0.25 + 0.75 * random()));
}
