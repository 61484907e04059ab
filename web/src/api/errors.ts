/** RFC 9457 problem details as the server sends them. */
export interface Problem {
  readonly code: string;
  readonly detail: string;
  readonly status: number;
  readonly retryable: boolean;
  readonly request_id: string;
  readonly errors?: readonly { readonly field: string; readonly message: string }[];
  readonly [member: string]: unknown;
}

/**
 * The one error that everything in `api/` throws. `status` 0 means that no answer came
 * (code NETWORK); code UNEXPECTED_ANSWER that an answer came which is none of ours.
 */
export class ApiError extends Error {
  readonly code: string;
  readonly status: number;
  readonly retryable: boolean;
  readonly requestId: string;
  /** Seconds to wait, where the server said so. */
  readonly retryAfterS: number | null;
  /** Everything else in the body, such as `errors` or `confirmation_id`. */
  readonly problem: Problem | null;

  constructor(fields: {
    code: string;
    message: string;
    status: number;
    retryable: boolean;
    requestId?: string;
    retryAfterS?: number | null;
    problem?: Problem | null;
    cause?: unknown;
  }) {
    super(fields.message, { cause: fields.cause });
    this.name = "ApiError";
    this.code = fields.code;
    this.status = fields.status;
    this.retryable = fields.retryable;
    this.requestId = fields.requestId ?? "";
    this.retryAfterS = fields.retryAfterS ?? null;
    this.problem = fields.problem ?? null;
  }
}

export function networkError(cause: unknown): ApiError {
  return new ApiError({
    code: "NETWORK",
    message: "The server could not be reached.",
    status: 0,
    retryable: true,
    cause,
  });
}

function isProblem(value: unknown): value is Problem {
  return typeof value === "object" && value !== null && "code" in value && typeof value.code === "string";
}

/** Reads an answer of 400 and above. */
export async function problemOf(response: Response): Promise<ApiError> {
  const body: unknown = await response.json().catch(() => null);
  const wait = Number(response.headers.get("retry-after"));
  const retryAfterS = Number.isFinite(wait) && wait > 0 ? wait : null;
  const requestId = response.headers.get("x-request-id") ?? "";
  if (!isProblem(body)) {
    return new ApiError({
      code: response.status >= 500 ? "INTERNAL_ERROR" : "UNEXPECTED_ANSWER",
      message: `The server answered ${String(response.status)} without saying why.`,
      status: response.status,
      retryable: response.status >= 500,
      requestId,
      retryAfterS,
    });
  }
  return new ApiError({
    code: body.code,
    message: body.detail,
    status: response.status,
    retryable: body.retryable,
    requestId: body.request_id,
    retryAfterS,
    problem: body,
  });
}
