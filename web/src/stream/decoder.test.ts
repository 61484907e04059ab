import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { LineDecoder, StreamFault } from "./decoder.ts";

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

/** Law: however a byte stream is cut, it decodes to the same values. */
describe("LineDecoder", () => {
  it("gives the same values wherever the bytes are cut", () => {
    const line = fc.record({ seq: fc.nat(), delta: fc.string({ unit: "binary" }) });
    fc.assert(
      fc.property(fc.array(fc.option(line, { freq: 4 })), fc.array(fc.nat(400)), (lines, cuts) => {
        const whole = bytes(
          lines.map((value) => (value === null ? "\n" : `${JSON.stringify(value)}\n`)).join(""),
        );
        const decoder = new LineDecoder();
        const got: unknown[] = [];
        let at = 0;
        for (const cut of [...cuts, whole.length]) {
          got.push(...decoder.push(whole.subarray(at, Math.min(at + cut, whole.length))));
          at = Math.min(at + cut, whole.length);
        }
        // JSON.parse makes of a lone surrogate's escape what it was; compare as JSON.
        expect(JSON.stringify(got)).toBe(JSON.stringify(lines.filter((value) => value !== null)));
      }),
    );
  });

  it("gives the same values byte by byte, with characters of every length", () => {
    const values = [{ delta: "é" }, { delta: "数学" }, { delta: "😀\u2028\r" }];
    const decoder = new LineDecoder();
    const got: unknown[] = [];
    for (const byte of bytes(values.map((value) => `${JSON.stringify(value)}\r\n\n`).join(""))) {
      got.push(...decoder.push(Uint8Array.of(byte)));
    }
    expect(got).toEqual(values);
  });

  it("passes keep-alives over and keeps back a line without its end", () => {
    const decoder = new LineDecoder();
    expect(decoder.push(bytes('\n\n{"seq":1}\n\n{"seq"'))).toEqual([{ seq: 1 }]);
    expect(decoder.push(bytes(":2}"))).toEqual([]);
    expect(decoder.push(bytes("\n"))).toEqual([{ seq: 2 }]);
  });

  it("takes a very long line in many pieces in good time", () => {
    const decoder = new LineDecoder();
    const piece = bytes("x".repeat(4_000));
    decoder.push(bytes('{"delta":"'));
    const began = performance.now();
    for (let i = 0; i < 1_500; i += 1) decoder.push(piece);
    const [value] = decoder.push(bytes('"}\n')) as [{ delta: string }];
    expect(value.delta.length).toBe(6_000_000);
    expect(performance.now() - began).toBeLessThan(2_000);
  });

  it("refuses what is no JSON, and a line without end", () => {
    expect(() => new LineDecoder().push(bytes("<html>\n"))).toThrow(StreamFault);
    const decoder = new LineDecoder();
    const piece = bytes("x".repeat(1_000_000));
    expect(() => {
      for (let i = 0; i < 20; i += 1) decoder.push(piece);
    }).toThrow(/has no end/);
  });
});
