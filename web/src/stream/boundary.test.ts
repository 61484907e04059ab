import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { expect, it } from "vitest";

const here = import.meta.dirname;
const IMPORT = /(?:import|export)\s[^;]*?from\s+"([^"]+)"|import\(\s*"([^"]+)"\s*\)|import\s+"([^"]+)"/g;

/** Every module that the core reaches, with the packages that it names. */
function reached(start: readonly string[]): { files: Set<string>; packages: Set<string> } {
  const files = new Set<string>();
  const packages = new Set<string>();
  const waiting = [...start];
  for (let file = waiting.pop(); file !== undefined; file = waiting.pop()) {
    if (files.has(file)) continue;
    files.add(file);
    for (const match of readFileSync(file, "utf8").matchAll(IMPORT)) {
      const name = match[1] ?? match[2] ?? match[3] ?? "";
      if (name.startsWith(".")) waiting.push(resolve(dirname(file), name));
      else packages.add(name);
    }
  }
  return { files, packages };
}

it("the stream core is plain TypeScript: no package, and nothing outside its own folder", () => {
  const core = readdirSync(here).filter((name) => /\.ts$/.test(name) && !/\.test(ing)?\.ts$/.test(name));
  expect(core.length).toBeGreaterThan(5);
  const { files, packages } = reached(core.map((name) => join(here, name)));
  expect([...packages]).toEqual([]);
  expect([...files].filter((file) => !file.startsWith(here))).toEqual([]);
});
