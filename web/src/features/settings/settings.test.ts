import { describe, expect, it } from "vitest";
import { chosenScopes, forChat, grouped } from "./scopes";
import { readAgent } from "./userAgent";

const SCOPES = [
  "mistakes:write",
  "runs:read",
  "sessions:write",
  "mistakes:read",
  "sessions:read",
  "memory:global",
  "*",
];

describe("scopes", () => {
  it("puts read and write of one thing together, core things first", () => {
    expect(grouped(SCOPES)).toEqual({
      groups: [
        { name: "sessions", canRead: true, canWrite: true },
        { name: "runs", canRead: true, canWrite: false },
        { name: "mistakes", canRead: true, canWrite: true },
      ],
      single: ["memory:global"],
    });
  });

  it("asks for write alone where that is chosen, and for nothing else", () => {
    expect(
      chosenScopes({ sessions: "write", runs: "none", mistakes: "read" }, new Set(["memory:global"])),
    ).toEqual(["memory:global", "mistakes:read", "sessions:write"]);
    expect(forChat(grouped(SCOPES))).toEqual({ sessions: "write", runs: "read", mistakes: "write" });
  });
});

describe("readAgent", () => {
  it.each([
    [
      "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/150.0.0.0 Safari/537.36",
      "Chrome",
      "Linux",
      "laptop",
    ],
    [
      "Mozilla/5.0 (Windows NT 10.0) AppleWebKit/537.36 Chrome/150.0 Safari/537.36 Edg/150.0",
      "Edge",
      "Windows",
      "laptop",
    ],
    [
      "Mozilla/5.0 (iPhone; CPU iPhone OS 19_0 like Mac OS X) AppleWebKit/605.1.15 Version/19.0 Mobile/15E148 Safari/604.1",
      "Safari",
      "iPhone",
      "phone",
    ],
    ["curl/8", "", "", "laptop"],
  ])("reads %s", (text, browser, system, icon) => {
    expect(readAgent(text)).toEqual({ browser, system, icon });
  });
});
