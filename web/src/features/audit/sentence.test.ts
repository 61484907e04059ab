import { describe, expect, it } from "vitest";
import type { AuditEntry } from "~/api/audit";
import { en } from "~/i18n/en";
import { zh } from "~/i18n/zh";
import { byDay, outcomeLook, sentence } from "./sentence";

const ENTRY: AuditEntry = {
  id: "aud_1",
  actor_id: "usr_1",
  at: "2026-03-01T12:00:00Z",
  caller_kind: "browser",
  initiator: "user",
  action: "tool.call",
  target: "mistakes::add",
  version: "1.0.0",
  outcome: "succeeded",
  error_code: null,
  run_id: null,
  session_id: null,
  call_id: null,
  token_id: null,
  arguments_digest: null,
  duration_ms: 3,
  usage: null,
};

describe("sentence", () => {
  it("says who did what in the reader's language", () => {
    expect(sentence(zh, "zh", ENTRY)).toBe("你执行了“记一道错题”");
    expect(sentence(en, "en", { ...ENTRY, initiator: "model" })).toBe("Deskmate used “mistakes::add”");
    expect(sentence(en, "en", { ...ENTRY, action: "token.create", target: "tok_1" })).toBe(
      "An access token was made",
    );
  });

  it("leaves nothing out that it has no sentence for", () => {
    expect(sentence(en, "en", { ...ENTRY, action: "new.thing", target: "x" })).toBe("new.thing · x");
  });

  it("has the same actions in both languages", () => {
    expect(Object.keys(zh.audit.actions).sort()).toEqual(Object.keys(en.audit.actions).sort());
  });
});

it("marks what failed and what was refused alike", () => {
  expect(["succeeded", "failed", "denied", "degraded"].map(outcomeLook)).toEqual([
    "good",
    "bad",
    "bad",
    "plain",
  ]);
});

it("keeps the order and puts what belongs to one day together", () => {
  const other = { ...ENTRY, id: "aud_0", at: "2026-02-27T12:00:00Z" };
  expect(byDay([ENTRY, ENTRY, other]).map((group) => group.entries.length)).toEqual([2, 1]);
});
