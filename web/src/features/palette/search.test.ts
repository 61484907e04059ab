import { describe, expect, it } from "vitest";
import { fit, search } from "./search";

const ITEMS = [
  { id: "mistakes::add", names: ["File a mistake", "记一道错题", "mistakes add"] },
  { id: "mistakes::search", names: ["Search mistakes", "查找错题", "mistakes search"] },
  { id: "mistakes::remove", names: ["Remove an entry", "删除错题", "mistakes remove"] },
  { id: "memory::save", names: ["Remember", "记住一件事", "memory save"] },
  { id: "go:settings", names: ["Settings", "设置"] },
];
const found = (query: string): readonly string[] => search(query, ITEMS).map((item) => item.id);

describe("search", () => {
  it("offers everything in the order given until something is typed", () => {
    expect(found("  ")).toEqual(ITEMS.map((item) => item.id));
  });

  it.each([
    ["remem", "memory::save"],
    ["错题 删", "mistakes::remove"],
    ["查找", "mistakes::search"],
    ["ＳＥＴＴ", "go:settings"],
    ["fmist", "mistakes::add"],
    ["mistakes::remove".replace("::", " "), "mistakes::remove"],
    ["srch", "mistakes::search"],
  ])("finds for %j first %s", (query, id) => {
    expect(found(query)[0]).toBe(id);
  });

  it("needs every word, and finds nothing for letters in the wrong order", () => {
    expect(found("mistake 设置")).toEqual([]);
    expect(found("zzz")).toEqual([]);
    expect(found("sgnittes")).toEqual([]);
  });

  it("puts the beginning of a name before its middle, and that before scattered letters", () => {
    expect(fit("set", "settings")).toBeGreaterThan(fit("set", "reset"));
    expect(fit("mist", "file mistake")).toBeGreaterThan(fit("stak", "file mistake"));
    expect(fit("stak", "file mistake")).toBeGreaterThan(fit("fmt", "file mistake"));
  });
});
