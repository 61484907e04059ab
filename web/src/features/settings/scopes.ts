/** What a token may be allowed to do with one kind of thing. */
export type Level = "none" | "read" | "write";

export interface ScopeGroup {
  /** `sessions`, `runs`, a package's namespace, … */
  readonly name: string;
  readonly canRead: boolean;
  readonly canWrite: boolean;
}

export interface Grouped {
  readonly groups: readonly ScopeGroup[];
  /** Scopes of any other shape, such as `memory:global`; each is given or not. */
  readonly single: readonly string[];
}

/** Core things first, in the order of their use; packages after them by name. */
const CORE = ["sessions", "runs", "files", "jobs"];

export function grouped(scopes: readonly string[]): Grouped {
  const levels = new Map<string, { canRead: boolean; canWrite: boolean }>();
  const single: string[] = [];
  for (const scope of scopes) {
    const [name, level, ...rest] = scope.split(":");
    if (name === undefined || rest.length > 0 || (level !== "read" && level !== "write")) {
      if (scope !== "*") single.push(scope);
      continue;
    }
    const found = levels.get(name) ?? { canRead: false, canWrite: false };
    if (level === "read") found.canRead = true;
    else found.canWrite = true;
    levels.set(name, found);
  }
  const rank = (name: string): number => (CORE.includes(name) ? CORE.indexOf(name) : CORE.length);
  const groups = [...levels]
    .map(([name, found]) => ({ name, ...found }))
    .sort((a, b) => rank(a.name) - rank(b.name) || a.name.localeCompare(b.name));
  return { groups, single };
}

/** The scopes of a choice; `write` stands for both, since it implies `read`. */
export function chosenScopes(
  levels: Readonly<Record<string, Level>>,
  single: ReadonlySet<string>,
): readonly string[] {
  const named = Object.entries(levels).flatMap(([name, level]) =>
    level === "none" ? [] : [`${name}:${level}`],
  );
  return [...named, ...single].sort();
}

/** What the terminal client needs: conversations, answers, files, and every package. */
export function forChat({ groups }: Grouped): Readonly<Record<string, Level>> {
  return Object.fromEntries(groups.map((group) => [group.name, group.canWrite ? "write" : "read"]));
}
