import { describe, expect, it } from "vitest";
import { preferredLanguage } from "./language";

describe("preferredLanguage", () => {
  it("follows the first language of the browser that there is", () => {
    expect(preferredLanguage(["fr-FR", "zh-Hans-CN", "en"], null)).toBe("zh");
    expect(preferredLanguage(["fr-FR", "en-GB", "zh"], null)).toBe("en");
    expect(preferredLanguage(["fr-FR"], null)).toBe("en");
  });

  it("obeys what the user chose, and nothing that is no language of ours", () => {
    expect(preferredLanguage(["zh-CN"], "en")).toBe("en");
    expect(preferredLanguage(["zh-CN"], "klingon")).toBe("zh");
  });
});
