import { describe, expect, it } from "vitest";
import { strengthOf } from "./strength";

describe("strengthOf", () => {
  it.each([
    ["", "short"],
    ["abc1234", "short"],
    ["password1", "common"],
    ["aaaaaaaaaaaa", "weak"],
    ["12345678", "weak"],
    ["garden77", "weak"],
    ["garden77wall", "fair"],
    ["three blue lamps on a desk", "strong"],
    ["窗前明月光疑是地上霜", "fair"],
  ])("calls %j %s", (password, expected) => {
    expect(strengthOf(password)).toBe(expected);
  });

  it("never falls when characters are added that are no neighbours", () => {
    const order = ["short", "common", "weak", "fair", "good", "strong"];
    let last = 0;
    for (const length of [4, 8, 10, 12, 16, 24]) {
      const now = order.indexOf(strengthOf("kT9w-Lp3zB7q.Xc5mRj8vHd2".slice(0, length)));
      expect(now).toBeGreaterThanOrEqual(last);
      last = now;
    }
  });
});
