import { ApiError, networkError, problemOf } from "./errors";

export interface RequestOptions {
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string | number | boolean | null | undefined>>;
  readonly signal?: AbortSignal | undefined;
}

let onSignedOut: () => void = () => undefined;

/** Called once for every answer that says that nobody is signed in. */
export function whenSignedOut(callback: () => void): void {
  onSignedOut = callback;
}

/**
 * One request to the server's browser door. Paths begin with `/bff/`.
 * Throws ApiError for every failure, and the signal's AbortError where the caller gave up.
 */
export async function send(
  method: "GET" | "POST" | "PATCH" | "PUT" | "DELETE",
  path: string,
  options: RequestOptions = {},
): Promise<Response> {
  const headers = new Headers(options.headers);
  if (!headers.has("accept")) headers.set("accept", "application/json");
  // A page of another origin cannot set this header without asking first.
  if (method !== "GET") headers.set("x-deskmate", "1");
  const init: RequestInit = { method, headers, credentials: "same-origin", signal: options.signal ?? null };
  if (options.body !== undefined) {
    headers.set("content-type", "application/json");
    init.body = JSON.stringify(options.body);
  }
  let response: Response;
  try {
    response = await fetch(withQuery(path, options.query), init);
  } catch (error) {
    if (options.signal?.aborted === true) throw error;
    throw networkError(error);
  }
  if (response.ok) return response;
  const error = await problemOf(response);
  if (error.code === "UNAUTHENTICATED") onSignedOut();
  throw error;
}

/** As `send`, and reads the answer's JSON. An answer without a body gives undefined. */
export async function call<T>(
  method: "GET" | "POST" | "PATCH" | "PUT" | "DELETE",
  path: string,
  options: RequestOptions = {},
): Promise<T> {
  const response = await send(method, path, options);
  if (response.status === 204) return undefined as T;
  try {
    return (await response.json()) as T;
  } catch (error) {
    if (options.signal?.aborted === true) throw error;
    throw new ApiError({
      code: "UNEXPECTED_ANSWER",
      message: "The server's answer is not JSON.",
      status: response.status,
      retryable: true,
      requestId: response.headers.get("x-request-id") ?? "",
      cause: error,
    });
  }
}

function withQuery(path: string, query: RequestOptions["query"]): string {
  if (query === undefined) return path;
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== null && value !== undefined) params.set(name, String(value));
  }
  const text = params.toString();
  return text === "" ? path : `${path}?${text}`;
}
