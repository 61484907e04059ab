import { describe, expect, it } from "vitest";
import type { JsonSchema } from "~/api/commands";
import { ApiError } from "~/api/errors";
import { fieldsOf } from "./fields";
import { serverFaults } from "./serverFaults";
import { collect, initialValues } from "./values";

const SCHEMA: JsonSchema = {
  type: "object",
  required: ["question", "version", "mode"],
  properties: {
    question: { type: "string", minLength: 1, maxLength: 8000, title: "Question" },
    version: { type: "integer", minimum: 1, maximum: 9 },
    ratio: { type: "number", exclusiveMinimum: 0 },
    subject: { type: "string", maxLength: 4, default: "" },
    code: { type: "string", pattern: "^[a-z]+$" },
    archived: { type: "boolean", default: false },
    sure: { anyOf: [{ type: "boolean" }, { type: "null" }], default: null },
    tags: {
      anyOf: [{ type: "array", items: { type: "string", maxLength: 3 }, maxItems: 2 }, { type: "null" }],
      default: null,
    },
    mode: { $ref: "#/$defs/Mode" },
    place: { type: "object", properties: { x: { type: "number" } } },
  },
  $defs: { Mode: { enum: ["csv", "markdown"], type: "string", description: "Which file." } },
};
const FIELDS = fieldsOf(SCHEMA);
const VALID = { ...initialValues(FIELDS), question: " 2 + 2? ", version: "3", mode: '"csv"' };

describe("fieldsOf", () => {
  it("finds a control for every kind of parameter, in the schema's order", () => {
    expect(FIELDS.map((field) => [field.name, field.control.kind])).toEqual([
      ["question", "text"],
      ["version", "number"],
      ["ratio", "number"],
      ["subject", "text"],
      ["code", "text"],
      ["archived", "switch"],
      ["sure", "choice"],
      ["tags", "words"],
      ["mode", "choice"],
      ["place", "json"],
    ]);
  });

  it("reads what stands behind a reference and beside null", () => {
    const mode = FIELDS.find((field) => field.name === "mode");
    expect(mode).toMatchObject({
      isRequired: true,
      description: "Which file.",
      control: { options: ["csv", "markdown"] },
    });
    expect(FIELDS.find((field) => field.name === "tags")).toMatchObject({
      isNullable: true,
      control: { maxItems: 2, itemMaxLength: 3 },
    });
    expect(FIELDS.find((field) => field.name === "question")?.control).toMatchObject({ isLong: true });
  });
});

describe("collect", () => {
  it("sends what was filled in, typed, and leaves defaults to the server", () => {
    expect(collect(FIELDS, VALID)).toEqual({
      params: { question: "2 + 2?", version: 3, archived: false, mode: "csv" },
      faults: {},
    });
  });

  it("shows what is given and sends it back unchanged", () => {
    const given = {
      question: "q",
      version: 2,
      sure: false,
      tags: ["a", "b"],
      mode: "markdown",
      place: { x: 1 },
    };
    expect(collect(FIELDS, initialValues(FIELDS, given)).params).toEqual({ ...given, archived: false });
  });

  it.each([
    ["question", "  ", { kind: "required" }],
    ["mode", "", { kind: "required" }],
    ["version", "x", { kind: "notANumber" }],
    ["version", "1.5", { kind: "notWhole" }],
    ["version", "0", { kind: "tooSmall", limit: 1 }],
    ["version", "10", { kind: "tooLarge", limit: 9 }],
    ["subject", "abcde", { kind: "tooLong", limit: 4 }],
    ["code", "A1", { kind: "wrongShape" }],
    ["tags", ["a", "b", "c"], { kind: "tooMany", limit: 2 }],
    ["tags", ["abcd"], { kind: "tooLong", limit: 3 }],
    ["place", "{x", { kind: "notJson" }],
  ] as const)("refuses %s = %j", (name, value, fault) => {
    const { params, faults } = collect(FIELDS, { ...VALID, [name]: value });
    expect(faults).toEqual({ [name]: fault });
    expect(params).not.toHaveProperty(name);
  });

  it("counts characters as the server does", () => {
    expect(collect(FIELDS, { ...VALID, subject: "😀😀😀😀" }).faults).toEqual({});
  });
});

describe("serverFaults", () => {
  const refusal = (errors: unknown): ApiError =>
    new ApiError({
      code: "INVALID_PARAMS",
      message: "Wrong.",
      status: 422,
      retryable: false,
      problem: {
        code: "INVALID_PARAMS",
        detail: "Wrong.",
        status: 422,
        retryable: false,
        request_id: "r",
        errors: errors as [],
      },
    });

  it("lays each message beside its field, the first of several", () => {
    const error = refusal([
      { field: "tags.0", message: "too long" },
      { field: "params.version", message: "too old" },
      { field: "tags.1", message: "also" },
      { field: "elsewhere", message: "lost" },
    ]);
    expect(serverFaults(error, FIELDS)).toEqual({
      tags: { kind: "said", text: "too long" },
      version: { kind: "said", text: "too old" },
    });
  });

  it("finds none in other errors", () => {
    expect(serverFaults(refusal("nonsense"), FIELDS)).toEqual({});
    expect(serverFaults(new Error("x"), FIELDS)).toEqual({});
  });
});
