// Tests the frames that a gateway reads from a machine: by schema, and up to the largest size.
import * as fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import { heartbeatSchema } from "../../../shared/protocol/frames.ts";
import { DROP_IN_LIMITS, LIMITS } from "../../../shared/protocol/limits.ts";
import { isPlainHeartbeat, readFrame } from "../../../worker/gateway/sockets.ts";

const MAC = "A".repeat(22);
const BEAT = { type: "heartbeat", n: 1, at: 0, available: [1, null, 3, 4, 5, 6] };
const report = (body: string) => JSON.stringify({ type: "report", token: "jwt", body });

describe("a heartbeat", () => {
  it("is read with its text and its MAC", () => {
    const payload = JSON.stringify(BEAT);
    expect(readFrame(`${payload}\n${MAC}`)).toEqual({
      kind: "heartbeat",
      heartbeat: BEAT,
      payload,
      mac: MAC,
    });
  });

  it("with conditions of drop-ins as well", () => {
    const beat = { ...BEAT, remainingSeconds: { RaidDegraded: 60 } };
    expect(readFrame(`${JSON.stringify(beat)}\n${MAC}`)).toMatchObject({ heartbeat: beat });
  });

  test.each<[string, object | string]>([
    ["n of 0", { ...BEAT, n: 0 }],
    ["n that is no whole number", { ...BEAT, n: 1.5 }],
    ["n above what a number holds", { ...BEAT, n: Number.MAX_SAFE_INTEGER + 1 }],
    ["one signal less", { ...BEAT, available: [1, 2, 3, 4, 5] }],
    ["one signal more", { ...BEAT, available: [1, 2, 3, 4, 5, 6, 7] }],
    ["a time before 1970", { ...BEAT, at: -1 }],
    ["another field", { ...BEAT, more: 1 }],
    ["a field less", { type: "heartbeat", n: 1, at: 0 }],
    ["another type", { ...BEAT, type: "report" }],
    [
      "too many conditions",
      {
        ...BEAT,
        remainingSeconds: Object.fromEntries(
          Array.from({ length: DROP_IN_LIMITS.conditions + 1 }, (_, at) => [`C${at}`, 1]),
        ),
      },
    ],
    ["no object", "1"],
    ["null", "null"],
    ["no JSON", "{"],
  ])("%s → bad", (_, beat) => {
    const payload = typeof beat === "string" ? beat : JSON.stringify(beat);
    expect(readFrame(`${payload}\n${MAC}`)).toEqual({ kind: "bad" });
  });

  const MOST = Number.MAX_SAFE_INTEGER;
  test.each<[string, unknown, number | null]>([
    ["the largest count", MOST, MOST],
    ["one more", MOST + 1, MOST],
    ["2^63", 2 ** 63, MOST],
    ["less than nothing", -1, null],
    ["no whole number", 1.5, null],
    ["a text", "1", null],
  ])("an amount that is %s → limited or left out, and the heartbeat is taken", (_, amount, taken) => {
    const beat = { ...BEAT, available: [amount, 2, 3, 4, 5, 6] };
    const payload = JSON.stringify(beat);
    const heartbeat = { ...BEAT, available: [taken, 2, 3, 4, 5, 6] };
    expect(readFrame(`${payload}\n${MAC}`)).toEqual({ kind: "heartbeat", heartbeat, payload, mac: MAC });
  });

  it("a MAC of another length → bad", () => {
    expect(readFrame(`${JSON.stringify(BEAT)}\n${MAC}A`)).toEqual({ kind: "bad" });
  });

  it("every frame that is accepted without the schema is accepted by the schema, unchanged", () => {
    const amount = fc.oneof(
      fc.integer({ min: -1 }),
      fc.constant(null),
      fc.double(),
      fc.maxSafeNat(),
      fc.string(),
    );
    const field = fc.oneof(amount, fc.constantFrom("heartbeat", 0, 1));
    const beat = fc.record(
      {
        type: fc.oneof({ weight: 5, arbitrary: fc.constant("heartbeat") }, field),
        n: fc.oneof({ weight: 5, arbitrary: fc.integer({ min: 1 }) }, field),
        at: fc.oneof({ weight: 5, arbitrary: fc.maxSafeNat() }, field),
        available: fc.oneof(
          fc.array(fc.maxSafeNat(), { minLength: 6, maxLength: 6 }),
          fc.array(amount, { minLength: 5, maxLength: 7 }),
        ),
        more: amount,
      },
      { requiredKeys: ["type", "n", "at", "available"] },
    );
    let plain = 0;
    fc.assert(
      fc.property(beat, (value) => {
        const parsed = heartbeatSchema.safeParse(value);
        if (isPlainHeartbeat(value)) {
          plain++;
          expect(parsed.data).toEqual(value);
        } else expect(parsed.success).toBe(false);
      }),
      { numRuns: 2000 },
    );
    expect(plain).toBeGreaterThan(100);
  });
});

describe("a report", () => {
  it("is read unchanged", () => {
    expect(readFrame(report('{"a":"\\n"}'))).toEqual({
      kind: "report",
      report: { type: "report", token: "jwt", body: '{"a":"\\n"}' },
    });
  });

  const most = LIMITS.bodyBytes - report("").length;
  test.each([
    ["a frame at the limit", report("x".repeat(most)), "report"],
    ["just over", report("x".repeat(most + 1)), "bad"],
    ["at the limit, of characters of two bytes", report("é".repeat(Math.floor(most / 2))), "report"],
    ["just over, of such", report("é".repeat(Math.floor(most / 2) + 1)), "bad"],
    [
      "a token at the limit",
      JSON.stringify({ type: "report", token: "x".repeat(LIMITS.proofLength), body: "" }),
      "report",
    ],
    [
      "a longer token",
      JSON.stringify({ type: "report", token: "x".repeat(LIMITS.proofLength + 1), body: "" }),
      "bad",
    ],
  ])("%s → %s", (_, frame, kind) => {
    expect(readFrame(frame).kind).toBe(kind);
  });
});

it("a binary frame → bad", () => {
  expect(readFrame(new ArrayBuffer(8))).toEqual({ kind: "bad" });
});
