/** Kinds of actions: the word before the dot. */
export const KINDS = [
  "tool",
  "command",
  "session",
  "login",
  "password",
  "token",
  "package",
  "confirmation",
  "user",
] as const;
export const WHOS = ["user", "model"] as const;
export const OUTCOMES = ["succeeded", "failed", "denied"] as const;

export interface Filter {
  readonly kind?: (typeof KINDS)[number] | undefined;
  readonly who?: (typeof WHOS)[number] | undefined;
  readonly outcome?: (typeof OUTCOMES)[number] | undefined;
}

/** The filter in an address; what is none of it is dropped. */
export function filterIn(search: Readonly<Record<string, unknown>>): Filter {
  const kind = KINDS.find((value) => value === search["kind"]);
  const who = WHOS.find((value) => value === search["who"]);
  const outcome = OUTCOMES.find((value) => value === search["outcome"]);
  return {
    ...(kind === undefined ? {} : { kind }),
    ...(who === undefined ? {} : { who }),
    ...(outcome === undefined ? {} : { outcome }),
  };
}

export function isFiltered(filter: Filter): boolean {
  return filter.kind !== undefined || filter.who !== undefined || filter.outcome !== undefined;
}
