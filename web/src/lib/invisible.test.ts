import { describe, expect, it } from "vitest";
import { segments } from "./invisible";

describe("segments", () => {
  it("leaves ordinary text of any script, with its line ends, alone", () => {
    const text = "错题 mis_1\n\tÜber – “q” 한국어 😀";
    expect(segments(text)).toEqual([{ kind: "text", text }]);
    expect(segments("")).toEqual([]);
  });

  it.each([
    ["​", "U+200B"],
    ["‍", "U+200D"],
    ["⁠", "U+2060"],
    ["️", "U+FE0F"],
    ["\u{E0041}", "U+E0041"],
    ["‮", "U+202E"],
    ["\0", "U+0000"],
    ["\r", "U+000D"],
  ])("names what has no shape: %j", (hidden, code) => {
    expect(segments(`a${hidden}b`)).toEqual([
      { kind: "text", text: "a" },
      { kind: "hidden", code, count: 1 },
      { kind: "text", text: "b" },
    ]);
  });

  it("counts a run of one and the same, so that a thousand do not flood the page", () => {
    expect(segments("​".repeat(1000))).toEqual([{ kind: "hidden", code: "U+200B", count: 1000 }]);
  });
});
