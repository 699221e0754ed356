// Tests the keys of one machine: which pin its node object follows, which machine is enrolled, and which key signed
// a request.
import { describe, expect, it } from "vitest";
import { makeMachineKey } from "../../../node-shim/identity/identity.ts";
import { sha256Base64url, signReport } from "../../../node-shim/worker-link/sign.ts";
import { KEY_REVOKED, UNAUTHENTICATED } from "../../../worker/machine/answers.ts";
import { PinnedKeys } from "../../../worker/machine/pinned-keys.ts";
import type { GrantedPin } from "../../../worker/registry/pins.ts";
import type { NodeRecordStore } from "../../../worker/storage/records.ts";
import { ORIGIN } from "../support/constants.ts";

const pinOf = (generation: number, more: Partial<GrantedPin> = {}): GrantedPin => ({
  name: "edge-1",
  thumbprint: "a",
  nextThumbprint: null,
  generation,
  token: "t1",
  machine: { key: "x of a", machineID: "m-1", systemUUID: "s-1", address: "" },
  pinnedAtMs: 0,
  reportedAtMs: null,
  revokedAtMs: null,
  grant: { withoutFactsOnlyTaint: false },
  ...more,
});

function keysOf(before: Record<string, unknown> = {}) {
  const kept = new Map<string, unknown>(Object.entries(before));
  const records = {
    get: (key: string) => kept.get(key),
    put: (key: string, value: unknown) => void kept.set(key, value),
    remove: (key: string) => void kept.delete(key),
  } as unknown as NodeRecordStore;
  return { keys: new PinnedKeys(records), kept };
}

describe("a pin", () => {
  it.each([
    ["of a machine's first", {}, 0, true],
    ["newer than the one that it follows", { enrolment: { generation: 3 } }, 4, true],
    ["the same again", { enrolment: { generation: 3 } }, 3, false],
    ["older than the one that it follows", { enrolment: { generation: 3 } }, 2, false],
    ["beside an enrolment from before there were pins", { enrolment: {} }, 0, false],
    ["after an enrolment from before there were pins", { enrolment: {} }, 1, true],
    ["that is out of date", { outdated: 5 }, 5, false],
    ["after those that are out of date", { outdated: 5 }, 6, true],
  ])("%s ", (_, before, generation, follows) => {
    const { keys, kept } = keysOf(before);
    expect(keys.follow(pinOf(generation), "new", 7)).toBe(follows);
    const enrolment = { id: "new", thumbprint: "a", key: "x of a", generation, pinnedAtMs: 7 };
    if (follows) expect(kept.get("enrolment")).toMatchObject(enrolment);
    else expect(Object.fromEntries(kept)).toEqual(before);
  });

  it.each([
    [
      "of another key, newer than the one that it follows",
      { enrolment: { generation: 3, thumbprint: "b" } },
      true,
    ],
    ["of the key that has it", { enrolment: { generation: 3, thumbprint: "a" } }, false],
    [
      "of another key, older than the one that it follows",
      { enrolment: { generation: 5, thumbprint: "b" } },
      false,
    ],
    ["of another key, out of date", { enrolment: { generation: 3, thumbprint: "b" }, outdated: 4 }, false],
  ])("%s: would the name be another key's?", (_, before, isOthers) => {
    const { keys, kept } = keysOf(before);
    expect(keys.isOthers(pinOf(4))).toBe(isOthers);
    expect(Object.fromEntries(kept)).toEqual(before);
  });

  it("that is followed → nothing of the earlier machine counts for the next", () => {
    const before = [
      "isLeaving",
      "facts",
      "leftOut",
      "clearings",
      "isSkewed",
      "skewMs",
      "nextKey",
      "formerKey",
    ];
    const { keys, kept } = keysOf({
      ...Object.fromEntries(before.map((key) => [key, 0])),
      outdated: 1,
      process: { startId: "s", registrations: { left: 0, atMs: 0 } },
    });
    keys.follow(pinOf(4), "new", 7);
    expect([...kept.keys()]).toEqual(["outdated", "process", "enrolment"]);
    expect(kept.get("process")).toEqual({ startId: "s" });
  });

  it("that is followed before any report → no record of one", () => {
    const { keys, kept } = keysOf();
    keys.follow(pinOf(4), "new", 7);
    expect([...kept.keys()]).toEqual(["enrolment"]);
  });
});

describe("outdated pins", () => {
  it.each([
    ["the machine's among them", { enrolment: { generation: 3 } }, 4, true],
    ["its own is the next", { enrolment: { generation: 4 } }, 4, false],
    ["nobody is enrolled", {}, 4, false],
    ["the machine's has no generation", { enrolment: {} }, 1, true],
  ])("%s", (_, before, generation, outdated) => {
    const { keys, kept } = keysOf(before);
    expect(keys.outdate(generation)).toBe(outdated);
    expect(kept.get("outdated")).toBe(generation);
  });

  it("never become fewer", () => {
    const { keys, kept } = keysOf({ outdated: 9 });
    keys.outdate(4);
    expect(kept.get("outdated")).toBe(9);
  });
});

describe("a revocation", () => {
  it.each([
    ["of the machine's pin", { enrolment: { generation: 3 } }, true, true],
    ["again", { enrolment: { generation: 3, isRevoked: true } }, false, true],
    ["of those before the machine's", { enrolment: { generation: 4 } }, false, undefined],
    ["where nobody is enrolled", {}, false, undefined],
  ])("%s", (_, before, revokes, isRevoked) => {
    const { keys, kept } = keysOf(before);
    expect(keys.revoke(4)).toBe(revokes);
    expect((kept.get("enrolment") as { isRevoked?: true } | undefined)?.isRevoked).toBe(isRevoked);
  });
});

describe("enrolled", () => {
  const enrolment = { id: "id", thumbprint: "a", generation: 3 };

  it.each([
    ["a machine", { enrolment }, { id: "id", thumbprints: ["a"] }],
    [
      "a machine with a next key",
      { enrolment, nextKey: { thumbprint: "b" } },
      { id: "id", thumbprints: ["a", "b"] },
    ],
    ["a machine that is revoked", { enrolment: { ...enrolment, isRevoked: true } }, null],
    ["a machine that leaves", { enrolment, isLeaving: true }, null],
    ["nobody", {}, null],
  ])("%s", (_, before, enrolled) => {
    expect(keysOf(before).keys.enrolled()).toEqual(enrolled);
  });

  it.each([
    ["a pin and its key", { enrolment }, "3 a"],
    ["an enrolment from before there were pins", { enrolment: { thumbprint: "a" } }, "0 a"],
    ["nobody", {}, null],
  ])("by %s", (_, before, inUse) => {
    expect(keysOf(before).keys.pinInUse()).toBe(inUse);
  });
});

describe("a fresh request", () => {
  const before = {
    enrolment: { id: "id", thumbprint: "a", key: "x of a" },
    nextKey: { thumbprint: "b", key: "x of b" },
  };

  it("by the next key → it becomes the key, and the one before is stored as rotated out", () => {
    const { keys, kept } = keysOf(before);
    keys.promote("b");
    expect(Object.fromEntries(kept)).toEqual({
      enrolment: { id: "id", thumbprint: "b", key: "x of b" },
      formerKey: { thumbprint: "a", key: "x of a" },
    });
  });

  it.each([
    ["by the key in use", before, "a"],
    ["by another key", before, "c"],
    ["where nobody is enrolled any more", { nextKey: before.nextKey }, "b"],
  ])("%s → nothing changes", (_, records, thumbprint) => {
    const { keys, kept } = keysOf(records);
    keys.promote(thumbprint);
    expect(Object.fromEntries(kept)).toEqual(records);
  });
});

describe("a signed request", () => {
  const signedWith = async (
    before: (own: { key: string; thumbprint: string }) => Record<string, unknown>,
    id = "id",
  ) => {
    const machine = await makeMachineKey();
    const { thumbprint, publicJwk } = machine;
    const text = "{}";
    const kid = `a.${thumbprint}.${id}.mac`;
    const claims = { sub: "edge-1", aud: ORIGIN, body: sha256Base64url(text), ticket: "t", n: 1 };
    const token = await signReport(machine, kid, claims);
    const { keys } = keysOf(before({ key: publicJwk.x, thumbprint }));
    const body = new Uint8Array(new TextEncoder().encode(text));
    const request = { name: "edge-1", kid, token, body, address: "" };
    return { verified: await keys.verify(request, "report", [ORIGIN]), thumbprint };
  };
  const other = { id: "id", thumbprint: "other", key: "x of other" };

  it("by the present or the next key → its ticket, for that key", async () => {
    const inUse = await signedWith((own) => ({ enrolment: { id: "id", ...own } }));
    const next = await signedWith((own) => ({ enrolment: other, nextKey: own }));
    for (const { verified, thumbprint } of [inUse, next])
      expect(verified).toMatchObject({
        value: { by: thumbprint, origin: ORIGIN, use: { ticket: "t", n: 1 } },
      });
  });

  it("by a rotated-out or revoked key → key-revoked", async () => {
    const former = await signedWith((own) => ({ enrolment: other, formerKey: own }));
    const revoked = await signedWith((own) => ({ enrolment: { id: "id", ...own, isRevoked: true } }));
    expect([former.verified, revoked.verified]).toEqual([KEY_REVOKED, KEY_REVOKED]);
  });

  it("of another enrolment, by an unknown key, or without an enrolment → unauthenticated", async () => {
    const outcomes = [
      await signedWith((own) => ({ enrolment: { id: "id", ...own } }), "another"),
      await signedWith(() => ({ enrolment: other })),
      await signedWith((own) => ({ nextKey: own })),
      await signedWith(() => ({})),
    ];
    expect(outcomes.map(({ verified }) => verified)).toEqual(outcomes.map(() => UNAUTHENTICATED));
  });
});
