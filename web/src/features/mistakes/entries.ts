import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";
import { readCommand } from "~/api/commands";

/** One entry of the notebook, as `mistakes::search` gives it. */
export interface Entry {
  readonly id: string;
  readonly question: string;
  readonly answer: string;
  readonly correct_answer: string;
  readonly cause: string;
  readonly subject: string;
  readonly tags: readonly string[];
  readonly source_file_id: string | null;
  readonly archived_at: string | null;
  readonly created_at: string;
  readonly updated_at: string;
  readonly version: number;
}

export interface EntryPage {
  readonly entries: readonly Entry[];
  readonly next: string | null;
}

/** What is looked for; it stands in the page's address. */
export interface Filter {
  readonly q?: string;
  readonly subject?: string;
  readonly tag?: string;
  readonly archived?: true;
}

/** The filter in an address; what is none of it is dropped. */
export function filterIn(search: Readonly<Record<string, unknown>>): Filter {
  const text = (name: string): string => {
    const value = search[name];
    return typeof value === "string" || typeof value === "number" ? String(value) : "";
  };
  const [q, subject, tag] = [text("q"), text("subject"), text("tag")];
  return {
    ...(q === "" ? {} : { q }),
    ...(subject === "" ? {} : { subject }),
    ...(tag === "" ? {} : { tag }),
    ...(search["archived"] === true ? { archived: true } : {}),
  };
}

export function isFiltered(filter: Filter): boolean {
  return filter.q !== undefined || filter.subject !== undefined || filter.tag !== undefined;
}

export function entriesQuery(filter: Filter) {
  return infiniteQueryOptions({
    queryKey: ["mistakes", "list", filter],
    queryFn: ({ pageParam, signal }) =>
      readCommand<EntryPage>(
        "mistakes::search",
        {
          query: filter.q ?? "",
          subject: filter.subject ?? "",
          tag: filter.tag ?? "",
          archived: filter.archived ?? false,
          limit: 20,
          cursor: pageParam,
        },
        signal,
      ),
    initialPageParam: "",
    getNextPageParam: (page) => page.next,
  });
}

/** Subjects and tags of the newest entries, to choose from. */
export function facetsQuery(archived: boolean) {
  return queryOptions({
    queryKey: ["mistakes", "facets", archived],
    queryFn: async ({ signal }) =>
      facetsOf((await readCommand<EntryPage>("mistakes::search", { archived, limit: 50 }, signal)).entries),
  });
}

export interface Facets {
  readonly subjects: readonly string[];
  readonly tags: readonly string[];
}

/** The most used first. */
export function facetsOf(entries: readonly Entry[]): Facets {
  return {
    subjects: byUse(entries.map((entry) => entry.subject).filter((subject) => subject !== "")),
    tags: byUse(entries.flatMap((entry) => entry.tags)),
  };
}

function byUse(words: readonly string[]): readonly string[] {
  const counts = new Map<string, number>();
  for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1);
  return [...counts].sort(([a, m], [b, n]) => n - m || a.localeCompare(b)).map(([word]) => word);
}

/** The beginning of a question, on one line, for labels. */
export function excerpt(text: string, most = 60): string {
  const line = Array.from(text.replace(/\s+/g, " ").trim());
  return line.length <= most ? line.join("") : `${line.slice(0, most - 1).join("")}…`;
}

/** The entry as it is now, in the notebook or in the archive; null where it is gone. */
export function newestQuery(entry: Entry) {
  return queryOptions({
    queryKey: ["mistakes", "newest", entry.id],
    queryFn: async ({ signal }): Promise<Entry | null> => {
      for (const archived of [false, true]) {
        // Pages list entries by falling id and begin below their cursor: this one begins with the entry.
        const params = { archived, limit: 1, cursor: `${entry.id}~` };
        const [found] = (await readCommand<EntryPage>("mistakes::search", params, signal)).entries;
        if (found?.id === entry.id) return found;
      }
      return null;
    },
    staleTime: 0,
  });
}
