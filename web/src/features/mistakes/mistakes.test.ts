import { describe, expect, it } from "vitest";
import { fieldsOf } from "~/ui/schema-form/fields";
import { changesOf, differences, formFields, valuesOf } from "./changes";
import { excerpt, facetsOf, filterIn, type Entry } from "./entries";

const ENTRY: Entry = {
  id: "mis_1",
  question: "1/2 + 1/3?",
  answer: "2/5",
  correct_answer: "5/6",
  cause: "Added the denominators.",
  subject: "数学",
  tags: ["分数"],
  source_file_id: null,
  archived_at: null,
  created_at: "2026-01-01T00:00:00Z",
  updated_at: "2026-01-01T00:00:00Z",
  version: 3,
};
const nullable = (part: object) => ({ anyOf: [part, { type: "null" }], default: null });
const FIELDS = formFields(
  fieldsOf({
    type: "object",
    required: ["id", "version"],
    properties: {
      id: { type: "string" },
      version: { type: "integer" },
      tags: nullable({ type: "array", items: { type: "string" }, maxItems: 2 }),
      subject: nullable({ type: "string", maxLength: 8 }),
      cause: nullable({ type: "string" }),
      question: nullable({ type: "string", minLength: 1 }),
    },
  }),
);

describe("changesOf", () => {
  const before = valuesOf(FIELDS, ENTRY);

  it("asks for the parts of an entry in the notebook's order, and not for its id or version", () => {
    expect(FIELDS.map((field) => field.name)).toEqual(["question", "cause", "subject", "tags"]);
  });

  it("sends what was changed and nothing else, and sends what was emptied as empty", () => {
    expect(changesOf(FIELDS, before, before).params).toEqual({});
    expect(changesOf(FIELDS, before, { ...before, cause: "", tags: [], subject: "Maths" })).toEqual({
      params: { cause: "", tags: [], subject: "Maths" },
      faults: {},
    });
  });

  it("refuses what the schema refuses", () => {
    expect(changesOf(FIELDS, before, { ...before, subject: "far too long" }).faults).toEqual({
      subject: { kind: "tooLong", limit: 8 },
    });
  });

  it("names what two versions differ in", () => {
    expect(differences(FIELDS, ENTRY, { ...ENTRY, version: 4, cause: "x", answer: "y" })).toEqual(["cause"]);
  });
});

describe("filterIn", () => {
  it("takes the filter from an address and drops the rest", () => {
    expect(filterIn({ q: 12, subject: "", tag: "分数", archived: true, other: 1 })).toEqual({
      q: "12",
      tag: "分数",
      archived: true,
    });
    expect(filterIn({ q: { x: 1 }, archived: "yes" })).toEqual({});
  });
});

it("offers the subjects and tags in use, the most used first", () => {
  const other = { ...ENTRY, subject: "English", tags: ["b", "分数"] };
  expect(facetsOf([other, ENTRY, ENTRY, { ...ENTRY, subject: "" }])).toEqual({
    subjects: ["数学", "English"],
    tags: ["分数", "b"],
  });
});

it("shortens a question to one line without cutting a character in half", () => {
  expect(excerpt("a\n  b")).toBe("a b");
  expect(excerpt("😀".repeat(9), 5)).toBe("😀😀😀😀…");
});
