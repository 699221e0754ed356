// Tests an apiserver, or the network to it, that fails in different ways while a machine's state changes.
import { describe, expect, it } from "vitest";
import type { Fault, Wrong } from "../worker/support/fault.ts";
import { DOWN, expectSound, steady, UP, watched } from "./watched.ts";

const PATCH = "^PATCH /api/v1/nodes";
const LEASE = "^(PUT|POST) /apis/coordination";
const EVENT = "^(POST|PATCH) .*/events";

const status = (code: number, reason: string, more: object = {}): Wrong => ({
  kind: "status",
  code,
  reason,
  ...more,
});

describe("every request fails", () => {
  it.each<[string, Wrong, string]>([
    ["is never answered", { kind: "hangs" }, "apiserver unreachable"],
    ["takes effect and is not answered", { kind: "answer lost" }, "apiserver unreachable"],
    ["is truncated JSON", { kind: "truncated" }, "apiserver unreachable"],
    ["is 200 with a tunnel's error page", { kind: "html" }, "apiserver unreachable"],
    ["is 500", status(500, "InternalError"), "apiserver refuses"],
    [
      "is 429 that asks for more patience than there is",
      status(429, "TooManyRequests", { retryAfterSeconds: 60 }),
      "apiserver refuses",
    ],
    ["is 401", status(401, "Unauthorized"), "apiserver refuses"],
    ["is 403", status(403, "Forbidden"), "apiserver refuses"],
    ["is 410", status(410, "Expired"), "apiserver refuses"],
  ])(
    "%s → the phase says so, no renewal is known; then the Node is right within one report",
    async (situation, wrong, phase) => {
      const machine = await steady(`all-${situation.replaceAll(/[^a-z0-9]+/gi, "-")}`.toLowerCase());
      await machine.wrong(wrong);
      expect(await machine.report(DOWN)).toMatchObject({ ok: true, value: { phase } });
      expect(await machine.report(UP)).toMatchObject({ ok: true, value: { phase } });
      await expectSound(machine);
    },
  );
});

describe("the status alone fails", () => {
  it.each<[string, Wrong]>([
    ["hangs", { kind: "hangs" }],
    ["is refused for ever (422)", status(422, "Invalid")],
    ["is refused for ever (403)", status(403, "Forbidden")],
  ])("%s → the lease lives on", async (situation, wrong) => {
    const machine = await steady(`status-${situation.replaceAll(/[^a-z0-9]+/gi, "-")}x`.toLowerCase());
    await machine.wrong({ ...wrong, of: PATCH });
    for (const vitals of [DOWN, DOWN, UP]) {
      const before = await machine.lease();
      await machine.report(vitals);
      const { spec } = await machine.lease();
      expect((spec?.renewTime ?? "") > (before.spec?.renewTime ?? "")).toBe(true);
    }
    await expectSound(machine);
  });
});

describe("the lease alone fails", () => {
  it.each<[string, Wrong]>([
    ["hangs", { kind: "hangs" }],
    ["is refused (403)", status(403, "Forbidden")],
  ])("%s → the status is written all the same", async (situation, wrong) => {
    const machine = await steady(`lease-${situation.replaceAll(/[^a-z0-9]+/gi, "-")}x`.toLowerCase());
    await machine.wrong({ ...wrong, of: LEASE });
    await machine.report(DOWN);
    expect((await machine.node()).status?.conditions?.at(-1)?.status).toBe("False");
    await expectSound(machine);
  });
});

describe("a request that takes effect is answered after the deadline", () => {
  it.each<[string, string]>([
    ["the Node's creation", "^POST /api/v1/nodes"],
    ["the lease's creation", "^POST /apis/coordination"],
    ["the first event", EVENT],
  ])("%s → found with the next report", async (what, of) => {
    const machine = await watched(`late-first-${what.replaceAll(/[^a-z]+/gi, "-")}`.toLowerCase());
    await machine.wrong({ kind: "hangs after its effect", of });
    await machine.report();
    await machine.ring();
    await expectSound(machine);
  });

  it.each<[string, string]>([
    ["a renewal", LEASE],
    ["a patch", PATCH],
    ["an event", EVENT],
  ])("%s, and the state changes back → so it is written", async (what, of) => {
    const machine = await steady(`late-${what.replaceAll(/[^a-z]+/gi, "-")}`.toLowerCase());
    await machine.wrong({ kind: "hangs after its effect", of });
    await machine.report(DOWN);
    await machine.report(UP);
    await expectSound(machine);
  });
});

describe("a single request fails", () => {
  it.each<[string, Fault]>([
    ["409 on the lease", { ...status(409, "Conflict"), of: LEASE }],
    ["409 on the Node", { ...status(409, "Conflict"), of: PATCH }],
    ["410 on the Node", { ...status(410, "Expired"), of: PATCH }],
    ["500 on the Node", { ...status(500, "InternalError"), of: PATCH }],
    ["429 on the lease", { ...status(429, "TooManyRequests", { retryAfterSeconds: 1 }), of: LEASE }],
    ["429 on the Node", { ...status(429, "TooManyRequests", { retryAfterSeconds: 1 }), of: PATCH }],
    ["a lost answer of the lease", { kind: "answer lost", of: LEASE }],
    ["a lost answer of the Node", { kind: "answer lost", of: PATCH }],
    ["a lost answer of an event", { kind: "answer lost", of: EVENT }],
  ])("%s → overcome within the same report", async (situation, fault) => {
    const machine = await steady(`once-${situation.replaceAll(/[^a-z0-9]+/gi, "-")}`.toLowerCase());
    await machine.wrong({ ...fault, times: 1 });
    expect(await machine.report(DOWN)).toMatchObject({
      ok: true,
      value: { phase: "registered", ready: false },
    });
    await expectSound(machine);
  });
});
