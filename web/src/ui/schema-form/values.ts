import type { FormField } from "./fields";

/** What stands in a control: text as typed (numbers, choices and JSON too), a switch, a list of words. */
export type FieldValue = string | boolean | readonly string[];
export type FormValues = Readonly<Record<string, FieldValue>>;

/** Why a value cannot be sent, without words, so that every language can say it. */
export type Fault =
  | { readonly kind: "required" | "notANumber" | "notWhole" | "notJson" | "wrongShape" }
  | {
      readonly kind: "tooLong" | "tooShort" | "tooSmall" | "tooLarge" | "tooMany" | "tooFew";
      readonly limit: number;
    }
  /** In the server's own words. */
  | { readonly kind: "said"; readonly text: string };
export type Faults = Readonly<Record<string, Fault>>;

/** What the controls show at first: what is given, else the default, else nothing. */
export function initialValues(
  fields: readonly FormField[],
  given: Readonly<Record<string, unknown>> = {},
): FormValues {
  return Object.fromEntries(
    fields.map((field) => [field.name, shown(field, given[field.name] ?? field.default)]),
  );
}

function shown(field: FormField, value: unknown): FieldValue {
  switch (field.control.kind) {
    case "switch":
      return value === true;
    case "words":
      return Array.isArray(value) ? value.filter((item): item is string => typeof item === "string") : [];
    case "choice":
      return value === undefined || value === null ? "" : JSON.stringify(value);
    case "number":
      return typeof value === "number" ? String(value) : "";
    case "json":
      return value === undefined || value === null ? "" : JSON.stringify(value, null, 2);
    case "text":
      return typeof value === "string" ? value : "";
  }
}

/** What to send, or what stands in the way. What was left empty is left out, so that defaults stay the server's. */
export function collect(
  fields: readonly FormField[],
  values: FormValues,
): { readonly params: Readonly<Record<string, unknown>>; readonly faults: Faults } {
  const params: Record<string, unknown> = {};
  const faults: Record<string, Fault> = {};
  for (const field of fields) {
    const read = readValue(field, values[field.name]);
    if (read.fault !== undefined) faults[field.name] = read.fault;
    else if (read.value !== undefined) params[field.name] = read.value;
  }
  return { params, faults };
}

type Read = { readonly value?: unknown; readonly fault?: Fault };

function readValue(field: FormField, value: FieldValue | undefined): Read {
  const { control } = field;
  if (control.kind === "switch") return { value: value === true };
  if (control.kind === "words") {
    const words = Array.isArray(value) ? (value as readonly string[]) : [];
    if (words.length === 0 && (field.isNullable || control.minItems === 0) && !field.isRequired) return {};
    if (words.length < control.minItems) return { fault: { kind: "tooFew", limit: control.minItems } };
    if (control.maxItems !== undefined && words.length > control.maxItems)
      return { fault: { kind: "tooMany", limit: control.maxItems } };
    const most = control.itemMaxLength;
    if (most !== undefined && words.some((word) => Array.from(word).length > most))
      return { fault: { kind: "tooLong", limit: most } };
    return { value: words };
  }

  const text = typeof value === "string" ? value.trim() : "";
  if (text === "") return field.isRequired ? { fault: { kind: "required" } } : {};
  switch (control.kind) {
    case "text": {
      // The server counts characters, not the halves of which some are made.
      const length = Array.from(text).length;
      if (length < control.minLength) return { fault: { kind: "tooShort", limit: control.minLength } };
      if (control.maxLength !== undefined && length > control.maxLength)
        return { fault: { kind: "tooLong", limit: control.maxLength } };
      return control.pattern === undefined || matches(control.pattern, text)
        ? { value: text }
        : { fault: { kind: "wrongShape" } };
    }
    case "number": {
      const number = Number(text);
      if (!Number.isFinite(number)) return { fault: { kind: "notANumber" } };
      if (control.isWhole && !Number.isInteger(number)) return { fault: { kind: "notWhole" } };
      if (control.minimum !== undefined && number < control.minimum)
        return { fault: { kind: "tooSmall", limit: control.minimum } };
      if (control.maximum !== undefined && number > control.maximum)
        return { fault: { kind: "tooLarge", limit: control.maximum } };
      return { value: number };
    }
    case "choice":
    case "json":
      try {
        return { value: JSON.parse(text) as unknown };
      } catch {
        return { fault: { kind: "notJson" } };
      }
  }
}

/** A pattern that this browser cannot read is the server's to check. */
function matches(pattern: string, text: string): boolean {
  try {
    return new RegExp(pattern, "u").test(text);
  } catch {
    return true;
  }
}
