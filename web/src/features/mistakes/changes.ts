import type { FormField } from "~/ui/schema-form/fields";
import { collect, initialValues, type Faults, type FormValues } from "~/ui/schema-form/values";
import type { Entry } from "./entries";

/** The parameters of `mistakes::update` that a person edits. */
const HIDDEN = new Set(["id", "version", "source_file_id"]);
const ORDER = ["question", "answer", "correct_answer", "cause", "subject", "tags"];

/** The fields of the form: those of the schema that a person fills in, in the order of a notebook. */
export function formFields(fields: readonly FormField[]): readonly FormField[] {
  const rank = (field: FormField): number =>
    ORDER.includes(field.name) ? ORDER.indexOf(field.name) : ORDER.length;
  return fields.filter((field) => !HIDDEN.has(field.name)).sort((a, b) => rank(a) - rank(b));
}

export function valuesOf(fields: readonly FormField[], entry: Entry): FormValues {
  return initialValues(fields, { ...entry });
}

/**
 * What the user changed since they opened the entry; the rest is not sent, so that it cannot undo what
 * happened elsewhere meanwhile. A text or list that was emptied is sent as empty.
 */
export function changesOf(
  fields: readonly FormField[],
  before: FormValues,
  after: FormValues,
): { readonly params: Readonly<Record<string, unknown>>; readonly faults: Faults } {
  const changed = fields.filter((field) => !same(before[field.name], after[field.name]));
  const { params, faults } = collect(changed, after);
  const emptied = changed.filter((field) => !(field.name in params) && !(field.name in faults));
  return {
    params: {
      ...params,
      ...Object.fromEntries(emptied.map((field) => [field.name, field.control.kind === "words" ? [] : ""])),
    },
    faults,
  };
}

function same(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

/** Names of the fields in which two versions of an entry differ. */
export function differences(fields: readonly FormField[], a: Entry, b: Entry): readonly string[] {
  const [left, right] = [valuesOf(fields, a), valuesOf(fields, b)];
  return fields.map((field) => field.name).filter((name) => !same(left[name], right[name]));
}
