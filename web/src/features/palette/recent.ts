import { readStored, writeStored } from "~/lib/storage";

const KEEP = 5;

function key(userId: string): string {
  return `deskmate.recent.${userId}`;
}

/** Ids of what this user chose last, the newest first. */
export function recent(userId: string): readonly string[] {
  try {
    const kept: unknown = JSON.parse(readStored(key(userId)) ?? "[]");
    return Array.isArray(kept) ? kept.filter((id): id is string => typeof id === "string") : [];
  } catch {
    return []; // Written by hand or by another page.
  }
}

export function remember(userId: string, id: string): void {
  const next = [id, ...recent(userId).filter((other) => other !== id)].slice(0, KEEP);
  writeStored(key(userId), JSON.stringify(next));
}
