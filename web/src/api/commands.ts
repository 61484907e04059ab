import { queryOptions } from "@tanstack/react-query";
import { call } from "./client";
import { ApiError } from "./errors";

/** The part of JSON Schema that the server's parameter models use. */
export interface JsonSchema {
  readonly type?: string | readonly string[];
  readonly title?: string;
  readonly description?: string;
  readonly default?: unknown;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly format?: string;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly pattern?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusiveMinimum?: number;
  readonly exclusiveMaximum?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly items?: JsonSchema;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly anyOf?: readonly JsonSchema[];
  readonly allOf?: readonly JsonSchema[];
  readonly $ref?: string;
  readonly $defs?: Readonly<Record<string, JsonSchema>>;
}

export interface Command {
  /** `namespace::name`. */
  readonly id: string;
  readonly kind: "tool" | "command";
  readonly title: string;
  readonly description: string;
  readonly icon: string;
  readonly group: string;
  readonly package: string;
  readonly effect: "read" | "create" | "update" | "delete" | "external";
  readonly destructive: boolean;
  readonly input_schema: JsonSchema;
}

export const commandsQuery = queryOptions({
  queryKey: ["commands"],
  queryFn: async ({ signal }) =>
    (await call<{ readonly commands: readonly Command[] }>("GET", "/bff/commands", { signal })).commands,
  staleTime: 30_000,
});

/** What came of it: the entry's result, or a question to the user that has to be answered first. */
export type CommandOutcome<R> =
  | { readonly kind: "result"; readonly result: R }
  | { readonly kind: "confirmation"; readonly confirmationId: string };

export interface CommandOptions {
  readonly sessionId?: string;
  readonly idempotencyKey?: string;
  readonly signal?: AbortSignal;
}

/** The one door through which pages act; the same definition serves the model. */
export async function runCommand<R>(
  entry: string,
  params: Readonly<Record<string, unknown>>,
  options: CommandOptions = {},
): Promise<CommandOutcome<R>> {
  const headers = options.idempotencyKey === undefined ? {} : { "idempotency-key": options.idempotencyKey };
  const body = options.sessionId === undefined ? { params } : { params, session_id: options.sessionId };
  try {
    const answer = await call<{ readonly result: R }>("POST", `/bff/commands/${encodeURIComponent(entry)}`, {
      body,
      headers,
      signal: options.signal,
    });
    return { kind: "result", result: answer.result };
  } catch (error) {
    const confirmationId = error instanceof ApiError ? error.problem?.["confirmation_id"] : undefined;
    if (
      error instanceof ApiError &&
      error.code === "CONFIRMATION_REQUIRED" &&
      typeof confirmationId === "string"
    )
      return { kind: "confirmation", confirmationId };
    throw error;
  }
}

/** For entries that never ask. Throws ApiError, also where one asks after all. */
export async function readCommand<R>(
  entry: string,
  params: Readonly<Record<string, unknown>>,
  signal?: AbortSignal,
): Promise<R> {
  const outcome = await runCommand<R>(entry, params, signal === undefined ? {} : { signal });
  if (outcome.kind === "result") return outcome.result;
  throw new ApiError({
    code: "CONFIRMATION_REQUIRED",
    message: `${entry} asks for a confirmation.`,
    status: 409,
    retryable: false,
  });
}
