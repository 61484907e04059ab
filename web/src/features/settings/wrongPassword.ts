import { ApiError } from "~/api/errors";

/** A wrong current password, as the server refuses it. */
export function isWrongPassword(error: unknown): boolean {
  return error instanceof ApiError && (error.code === "LOGIN_FAILED" || error.code === "WRONG_PASSWORD");
}
