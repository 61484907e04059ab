import type { JsonSchema } from "~/api/commands";

/** How one parameter is asked for. */
export type Control =
  | {
      readonly kind: "text";
      readonly isLong: boolean;
      readonly minLength: number;
      readonly maxLength: number | undefined;
      readonly pattern: string | undefined;
    }
  | {
      readonly kind: "number";
      readonly isWhole: boolean;
      readonly minimum: number | undefined;
      readonly maximum: number | undefined;
    }
  | { readonly kind: "switch" }
  | { readonly kind: "choice"; readonly options: readonly unknown[] }
  | {
      readonly kind: "words";
      readonly minItems: number;
      readonly maxItems: number | undefined;
      readonly itemMaxLength: number | undefined;
    }
  /** What has no control of its own is written as JSON. */
  | { readonly kind: "json" };

export interface FormField {
  readonly name: string;
  readonly title: string | undefined;
  readonly description: string | undefined;
  readonly isRequired: boolean;
  readonly isNullable: boolean;
  readonly default: unknown;
  readonly control: Control;
}

const LONG_TEXT = 300;

/** The parameters of an entry, in the order of its schema. */
export function fieldsOf(schema: JsonSchema): readonly FormField[] {
  const required = new Set(schema.required ?? []);
  return Object.entries(schema.properties ?? {}).map(([name, raw]) => {
    const { schema: property, isNullable } = resolved(raw, schema);
    return {
      name,
      title: raw.title ?? property.title,
      description: raw.description ?? property.description,
      isRequired: required.has(name),
      isNullable,
      default: raw.default ?? property.default,
      control: controlOf(property, schema, isNullable),
    };
  });
}

/** Follows `$ref`, a single `allOf`, and `X | null`. */
function resolved(raw: JsonSchema, root: JsonSchema): { schema: JsonSchema; isNullable: boolean } {
  let schema = raw;
  let isNullable = false;
  for (let depth = 0; depth < 8; depth++) {
    const [onlyPart, ...others] = schema.allOf ?? [];
    if (schema.$ref !== undefined) {
      const target = root.$defs?.[schema.$ref.replace("#/$defs/", "")];
      if (target === undefined) break;
      schema = target;
    } else if (onlyPart !== undefined && others.length === 0) {
      schema = onlyPart;
    } else if (schema.anyOf !== undefined) {
      const real = schema.anyOf.filter((part) => part.type !== "null");
      isNullable ||= real.length < schema.anyOf.length;
      const [only, ...rest] = real;
      if (only === undefined || rest.length > 0) break;
      schema = only;
    } else if (Array.isArray(schema.type)) {
      const types = (schema.type as readonly string[]).filter((type) => type !== "null");
      isNullable ||= types.length < schema.type.length;
      const [only, ...rest] = types;
      if (only === undefined || rest.length > 0) break;
      schema = { ...schema, type: only };
    } else {
      break;
    }
  }
  return { schema, isNullable };
}

function controlOf(schema: JsonSchema, root: JsonSchema, isNullable: boolean): Control {
  if (schema.enum !== undefined)
    return { kind: "choice", options: schema.enum.filter((value) => value !== null) };
  if (schema.const !== undefined) return { kind: "choice", options: [schema.const] };
  switch (schema.type) {
    case "string":
      return {
        kind: "text",
        isLong: (schema.maxLength ?? 0) > LONG_TEXT,
        minLength: schema.minLength ?? 0,
        maxLength: schema.maxLength,
        pattern: schema.pattern,
      };
    case "integer":
    case "number": {
      const isWhole = schema.type === "integer";
      const above =
        isWhole && schema.exclusiveMinimum !== undefined ? schema.exclusiveMinimum + 1 : undefined;
      const below =
        isWhole && schema.exclusiveMaximum !== undefined ? schema.exclusiveMaximum - 1 : undefined;
      return {
        kind: "number",
        isWhole,
        minimum: schema.minimum ?? above,
        maximum: schema.maximum ?? below,
      };
    }
    case "boolean":
      // Yes, no and not said are three answers, more than a switch has.
      return isNullable ? { kind: "choice", options: [true, false] } : { kind: "switch" };
    case "array": {
      const item = resolved(schema.items ?? {}, root).schema;
      if (item.type !== "string" || item.enum !== undefined) return { kind: "json" };
      return {
        kind: "words",
        minItems: schema.minItems ?? 0,
        maxItems: schema.maxItems,
        itemMaxLength: item.maxLength,
      };
    }
    default:
      return { kind: "json" };
  }
}
