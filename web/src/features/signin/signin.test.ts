import { describe, expect, it } from "vitest";
import { ApiError } from "~/api/errors";
import { waitOf } from "./useWait";
import { tokenIn } from "./setupToken";

describe("tokenIn", () => {
  it.each([
    ["#token=abc", "abc"],
    ["http://127.0.0.1:8000/setup#token=a-b_c", "a-b_c"],
    ["  abc ", "abc"],
    ["#other=1", ""],
    ["", ""],
  ])("finds in %j %j", (text, token) => {
    expect(tokenIn(text)).toBe(token);
  });
});

describe("waitOf", () => {
  const error = (status: number, retryAfterS: number | null): ApiError =>
    new ApiError({ code: "LIMIT_REACHED", message: "", status, retryable: true, retryAfterS });

  it("reads the seconds to wait of a refusal for too many tries, and of nothing else", () => {
    expect(waitOf(error(429, 27))).toBe(27);
    expect(waitOf(error(429, null))).toBe(10);
    expect(waitOf(error(503, 5))).toBe(0);
    expect(waitOf(new Error("x"))).toBe(0);
  });
});
