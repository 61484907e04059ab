import { ApiError } from "~/api/errors";
import type { FormField } from "./fields";
import type { Fault, Faults } from "./values";

/**
 * Lays the server's `errors` ({field, message}) beside the fields they mean; `field` may be a path such
 * as `params.tags.0`. What fits no field stays out, and the error as a whole is shown over the form.
 */
export function serverFaults(error: unknown, fields: readonly FormField[]): Faults {
  const listed = error instanceof ApiError ? error.problem?.errors : undefined;
  if (!Array.isArray(listed)) return {};
  const names = new Set(fields.map((field) => field.name));
  const faults: Record<string, Fault> = {};
  for (const entry of listed as readonly { readonly field: unknown; readonly message: unknown }[]) {
    if (typeof entry.field !== "string" || typeof entry.message !== "string") continue;
    const name = entry.field.split(/[./[\]]/).find((part) => names.has(part));
    if (name !== undefined && !(name in faults)) faults[name] = { kind: "said", text: entry.message };
  }
  return faults;
}
