// Tests that a name has one key: which machine waits for the name, takes it over or loses it. No late request
// restores an old key.
import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { signEnrolment } from "../../node-shim/worker-link/sign.ts";
import { type MachineKey, makeMachineKey } from "../../node-shim/identity/identity.ts";
import type { ListedToken, PendingMachine } from "../../shared/protocol/operator-answers.ts";
import { registry } from "../../worker/env.ts";
import { issueKid } from "../../worker/identity/issued.ts";
import { parseMacKeys } from "../../worker/identity/mac-keys.ts";
import { PinnedKeys } from "../../worker/machine/pinned-keys.ts";
import { recordsOf } from "../worker/support/kept-records.ts";
import { challengeFor, enrolmentPath, toSign } from "../worker/support/enrolling.ts";
import {
  enrolled,
  enrolling,
  facts,
  HEALTHY,
  kube,
  mintToken,
  operator,
  shimOf,
} from "../worker/support/machine.ts";
import { shift } from "../worker/support/clock.ts";

const WAITS = { reason: "name-pinned", status: 409 };
const REFUSED = { reason: "token-refused", status: 401 };
const HOUR_MS = 3_600_000;
const ENROLLED = { kid: expect.any(String) };

type Reporter = Parameters<typeof shimOf>[0];
const report = (machine: Reporter, startId?: string) =>
  shimOf(machine, startId)(facts(machine.name), HEALTHY);
const statusOf = async (machine: Reporter) => {
  const outcome = await report(machine);
  if (outcome.ok) return "ok";
  return outcome.error.reason === "refused" ? outcome.error.problem.status : outcome.error.reason;
};

async function pendingFor(name: string): Promise<PendingMachine[]> {
  const { body } = await operator<{ pending: PendingMachine[] }>("GET", "/v1/pending");
  return body.pending.filter((machine) => machine.name === name);
}

async function tokenOf(id: string): Promise<ListedToken | undefined> {
  const { body } = await operator<{ tokens: ListedToken[] }>("GET", "/v1/tokens");
  return body.tokens.find((token) => token.id === id);
}

const decide = async (name: string, verdict: "approve" | "reject", { thumbprint }: MachineKey) =>
  (await operator("POST", `/v1/nodes/${name}/${verdict}`, { thumbprint })).status;

/** Returns a machine that reports, and another machine that waits for the same name. */
async function contested(name: string) {
  const first = await enrolled(name);
  expect(await statusOf(first)).toBe("ok");
  const joinToken = await mintToken({ names: name });
  const key = await makeMachineKey();
  const ask = () => enrolling(name, { joinToken, key, machineID: "m-2", systemUUID: "s-2" });
  expect(await ask()).toEqual(WAITS);
  return { first, key, ask, joinToken };
}

describe("another machine that asks for a pinned name", () => {
  it("→ is pending, and the operator sees the data of both", async () => {
    const name = "wait-shown";
    const { first, key, ask } = await contested(name);
    await ask();
    expect(await pendingFor(name)).toEqual([
      {
        name,
        token: expect.any(String),
        thumbprint: key.thumbprint,
        address: "",
        machineID: "m-2",
        systemUUID: "s-2",
        askedAt: expect.any(String),
        expiresAt: expect.any(String),
        pinned: {
          thumbprint: first.key.thumbprint,
          machineID: "m-1",
          systemUUID: "s-1",
          address: "",
          pinnedAt: expect.any(String),
          hasReported: true,
        },
      },
    ]);
    expect(await statusOf(first)).toBe("ok");
  });

  it("approved → has the name at once, and the other one's key is revoked", async () => {
    const name = "wait-approved";
    const { first, key, ask } = await contested(name);
    expect(await decide(name, "approve", key)).toBe(204);
    expect(await statusOf(first)).toBe(401);
    const outcome = await ask();
    if (!("kid" in outcome)) throw new Error("not enrolled");
    expect(await report({ name, key, kid: outcome.kid }, "start-2")).toMatchObject({
      value: { phase: "registered" },
    });
    expect(await enrolling(name, { joinToken: await mintToken({ names: name }), key: first.key })).toEqual(
      REFUSED,
    );
    expect(await pendingFor(name)).toEqual([]);
    expect(await decide(name, "approve", key)).toBe(404);
  });

  it("rejected → is refused for ever, and the use of its token is free again", async () => {
    const name = "wait-rejected";
    const { first, key, ask, joinToken } = await contested(name);
    expect(await decide(name, "reject", key)).toBe(204);
    expect(await ask()).toEqual(REFUSED);
    expect(await statusOf(first)).toBe("ok");
    expect(await enrolling(name, { joinToken, key: await makeMachineKey() })).toEqual(WAITS);
  });

  it("keeps a use of its token: no other machine gets it meanwhile, also if the token expires", async () => {
    const name = "wait-reserved";
    await statusOf(await enrolled(name));
    const { body } = await operator<ListedToken & { token: string }>("POST", "/v1/tokens", {
      names: "wait-reserved*",
      expiresInSeconds: 60,
      uses: 1,
    });
    const [joinToken, key] = [body.token, await makeMachineKey()];
    expect(await enrolling(name, { joinToken, key })).toEqual(WAITS);
    expect(await tokenOf(body.id)).toMatchObject({ used: 0, reserved: 1, state: "used up" });
    expect(await enrolling(`${name}-2`, { joinToken, key: await makeMachineKey() })).toEqual(REFUSED);
    shift(60_000);
    expect(await enrolling(name, { joinToken, key })).toEqual(WAITS);
    expect(await decide(name, "approve", key)).toBe(204);
    expect(await enrolling(name, { joinToken, key })).toMatchObject(ENROLLED);
    expect(await tokenOf(body.id)).toMatchObject({ used: 1, reserved: 0 });
  });

  it("gets the name without an operator once it is free", async () => {
    const name = "wait-freed";
    const { ask } = await contested(name);
    expect((await operator("DELETE", `/v1/nodes/${name}`)).status).toBe(204);
    expect(await ask()).toMatchObject(ENROLLED);
    expect(await pendingFor(name)).toEqual([]);
  });

  it("one for each token, five for each name; the next → 409, and not stored", async () => {
    const name = "wait-five";
    await statusOf(await enrolled(name));
    const shared = await mintToken({ names: name, uses: 9 });
    const first = await makeMachineKey();
    expect(await enrolling(name, { joinToken: shared, key: first })).toEqual(WAITS);
    expect(await enrolling(name, { joinToken: shared, key: await makeMachineKey() })).toEqual(WAITS);
    expect(await pendingFor(name)).toMatchObject([{ thumbprint: first.thumbprint }]);
    for (let machine = 2; machine <= 6; machine++) {
      const joinToken = await mintToken({ names: name });
      expect(await enrolling(name, { joinToken, key: await makeMachineKey() })).toEqual(WAITS);
    }
    expect(await pendingFor(name)).toHaveLength(5);
  });

  it("is stored for 24 hours; after that a request starts again", async () => {
    const name = "wait-a-day";
    await statusOf(await enrolled(name));
    const [joinToken, key] = [
      await mintToken({ names: name, expiresInSeconds: 30 * 24 * 3600 }),
      await makeMachineKey(),
    ];
    await enrolling(name, { joinToken, key });
    shift(24 * HOUR_MS - 1);
    expect(await pendingFor(name)).toHaveLength(1);
    shift(1);
    expect(await pendingFor(name)).toEqual([]);
    expect(await decide(name, "approve", key)).toBe(404);
    expect(await enrolling(name, { joinToken, key })).toEqual(WAITS);
    expect(await pendingFor(name)).toHaveLength(1);
  });

  it.each([
    ["of no thumbprint", { thumbprint: "x" }],
    ["of nobody", {}],
  ])("a word %s → 400", async (_, body) => {
    expect((await operator("POST", "/v1/nodes/wait-nobody/approve", body)).status).toBe(400);
    expect((await operator("POST", "/v1/nodes/wait-nobody/reject", body)).status).toBe(400);
  });

  it("whose token is revoked → is no longer pending", async () => {
    const name = "wait-token-gone";
    const { ask } = await contested(name);
    const [waiting] = await pendingFor(name);
    await operator("DELETE", `/v1/tokens/${waiting?.token}`);
    expect(await pendingFor(name)).toEqual([]);
    expect(await ask()).toEqual(REFUSED);
  });
});

describe("a machine that has not reported yet", () => {
  it("keeps its name for 24 hours; then the next machine may take it, otherwise it keeps it", async () => {
    const [name, other] = ["never-reports", "never-asked-for"];
    const [silent, late] = [await enrolled(name), await enrolled(other)];
    shift(24 * HOUR_MS - 1);
    const [joinToken, key] = [await mintToken({ names: name, uses: 5 }), await makeMachineKey()];
    expect(await enrolling(name, { joinToken, key })).toEqual(WAITS);
    shift(1);
    expect(await enrolling(name, { joinToken, key })).toMatchObject(ENROLLED);
    expect(await statusOf(silent)).toBe(401);
    expect(await statusOf(late)).toBe("ok");
    shift(24 * HOUR_MS);
    const third = await makeMachineKey();
    expect(await enrolling(other, { joinToken: await mintToken({ names: other }), key: third })).toEqual(
      WAITS,
    );
  });

  it("after a report, off for a year → returns without an operator", async () => {
    const machine = await enrolled("off-for-a-year");
    expect(await statusOf(machine)).toBe("ok");
    shift(365 * 24 * HOUR_MS);
    await evictDurableObject(env.NODES.getByName("off-for-a-year"));
    expect(await statusOf(machine)).toBe("ok");
  });
});

describe("a revocation", () => {
  it("→ 403 for the machine, its Node stays; a new key with a new token gets the name at once", async () => {
    const name = "revoked-one";
    const machine = await enrolled(name);
    expect(await statusOf(machine)).toBe("ok");
    expect((await operator("POST", `/v1/nodes/${name}/revoke`)).status).toBe(204);
    expect((await operator("POST", `/v1/nodes/${name}/revoke`)).status).toBe(204);
    await evictDurableObject(env.NODES.getByName(name));
    expect(await report(machine)).toMatchObject({
      error: { problem: { status: 403, reason: "key-revoked" } },
    });
    expect(await kube("GET", `/api/v1/nodes/${name}`)).toMatchObject({ metadata: { name } });
    const joinToken = await mintToken({ names: name, uses: 2 });
    expect(await enrolling(name, { joinToken, key: machine.key })).toEqual(REFUSED);
    const { body } = await operator<{ entries: { text: string }[] }>("GET", `/v1/nodes/${name}/history`);
    expect(body.entries.map(({ text }) => text)).toContain("an operator revoked this machine's keys");
    const key = await makeMachineKey();
    const outcome = await enrolling(name, { joinToken, key });
    if (!("kid" in outcome)) throw new Error("not enrolled");
    expect(await report({ name, key, kid: outcome.kid }, "start-2")).toMatchObject({
      value: { phase: "registered" },
    });
  });

  it("of an unknown name → 404", async () => {
    expect((await operator("POST", "/v1/nodes/revoked-nobody/revoke")).status).toBe(404);
  });

  it("before the machine's first report → refused all the same", async () => {
    const machine = await enrolled("revoked-early");
    expect((await operator("POST", "/v1/nodes/revoked-early/revoke")).status).toBe(204);
    expect(await statusOf(machine)).toBe(403);
  });
});

describe.each([
  ["removed", (name: string) => operator("DELETE", `/v1/nodes/${name}`)],
  ["revoked", (name: string) => operator("POST", `/v1/nodes/${name}/revoke`)],
])("an enrolment that was admitted before the name was %s", (word, end) => {
  it("→ its requests are refused afterwards", async () => {
    const name = `late-${word}`;
    const key = await makeMachineKey();
    const path = enrolmentPath(name);
    const joinToken = await mintToken({ names: name });
    const challengedAtMs = Date.now();
    const challenge = await challengeFor(name, key, { atMs: challengedAtMs });
    const { binding } = await signEnrolment(key, joinToken, await toSign(name, key, { challenge }));
    const machine = {
      key: key.publicJwk.x,
      thumbprint: key.thumbprint,
      machineID: "m",
      systemUUID: "s",
    };
    const fresh = { binding, challenge, challengedAtMs };
    const request = { name, method: "PUT", path, ...fresh, machine, address: "" };
    const admitted = await registry(env).admit(request);
    if (!admitted.ok) throw new Error("not admitted");
    expect((await end(name)).status).toBe(204);
    const enrolled = await env.NODES.getByName(name).enrol(admitted.value);
    const macKey = parseMacKeys(env.KID_MAC_KEYS)[0]!;
    const kid = await issueKid(macKey, name, key.thumbprint, enrolled?.id ?? "none");
    expect([401, 403]).toContain(await statusOf({ name, key, kid }));
    expect([401, 403]).toContain(await statusOf({ name, key, kid }));
    expect(await kube("GET", `/api/v1/nodes/${name}`)).toMatchObject({ code: 404 });
    expect(await enrolling(name, { joinToken, key })).toEqual(REFUSED);
  });
});

describe("a machine's object that follows the registry's pins", () => {
  const pin = (generation: number, thumbprint: string) => ({
    name: "follows",
    thumbprint,
    nextThumbprint: null,
    generation,
    token: "t",
    machine: { key: "k", machineID: "m", systemUUID: "s", address: "" },
    pinnedAtMs: 0,
    reportedAtMs: null,
    revokedAtMs: null,
    grant: { withoutFactsOnlyTaint: false },
  });
  const inKeys = <Result>(name: string, act: (keys: PinnedKeys) => Result) =>
    runInDurableObject(env.NODES.getByName(name), (_, { storage }) =>
      act(new PinnedKeys(recordsOf(storage.sql))),
    );

  it("uses the newest pin, in any order of arrival", async () => {
    const followed = await inKeys("follows-order", (keys) => {
      const taken = [pin(5, "b"), pin(4, "a"), pin(5, "b")].map((each) =>
        keys.follow(each, `id-${each.thumbprint}`, 0),
      );
      return [taken, keys.enrolled()];
    });
    expect(followed).toEqual([[true, false, false], { id: "id-b", thumbprints: ["b"] }]);
  });

  it("a pin from before a removal that arrives after it → ignored; a later one → used", async () => {
    const followed = await inKeys("follows-late", (keys) => [
      keys.outdate(6),
      keys.follow(pin(5, "b"), "old", 0),
      keys.enrolled(),
      keys.follow(pin(7, "c"), "new", 0),
      keys.enrolled(),
      keys.outdate(6),
    ]);
    expect(followed).toEqual([false, false, null, true, { id: "new", thumbprints: ["c"] }, false]);
  });
});
