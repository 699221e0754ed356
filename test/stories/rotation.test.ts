// Tests the rotation of a machine's key: both keys sign, a request may be repeated, and the old key stays valid
// until the new key has reported.
import { evictDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { rotate } from "../../node-shim/worker-link/requests.ts";
import { type Transport } from "../../node-shim/worker-link/exchange.ts";
import { type MachineKey, makeMachineKey } from "../../node-shim/identity/identity.ts";
import { ORIGIN } from "../worker/support/constants.ts";
import {
  enrolled,
  enrolling,
  facts,
  HEALTHY,
  mintToken,
  operator,
  shimOf,
  transport,
} from "../worker/support/machine.ts";

interface Machine {
  name: string;
  key: MachineKey;
  kid: string;
}

const statusOf = async (machine: Machine, startId?: string) => {
  const outcome = await shimOf(machine, startId)(facts(machine.name), HEALTHY);
  if (outcome.ok) return "ok";
  return outcome.error.reason === "refused" ? outcome.error.problem.status : outcome.error.reason;
};
const rotating = async (machine: Machine, next: MachineKey, through: Transport = transport) => {
  const outcome = await rotate(through, { ...machine, origin: ORIGIN }, next);
  return outcome.ok ? { name: machine.name, key: next, kid: outcome.value.kid } : outcome;
};

async function rotated(name: string) {
  const machine = await enrolled(name);
  expect(await statusOf(machine)).toBe("ok");
  const next = await rotating(machine, await makeMachineKey());
  if ("error" in next) throw new Error(JSON.stringify(next));
  return { machine, next };
}

const UNAUTHENTICATED = {
  ok: false,
  error: { reason: "refused", problem: { status: 401, reason: "unauthenticated" } },
};
const REVOKED = { ok: false, error: { reason: "refused", problem: { status: 403, reason: "key-revoked" } } };

describe("a rotation", () => {
  it("→ both keys report until the next one has reported; then the old one is revoked", async () => {
    const { machine, next } = await rotated("rotate-both");
    expect(await statusOf(machine)).toBe("ok");
    await evictDurableObject(env.NODES.getByName("rotate-both"));
    expect(await statusOf(machine)).toBe("ok");
    expect(await statusOf(next, "start-2")).toBe("ok");
    await evictDurableObject(env.NODES.getByName("rotate-both"));
    expect(await statusOf(machine)).toBe(403);
    expect(await statusOf(next, "start-2")).toBe("ok");
    const joinToken = await mintToken({ names: "rotate-both", uses: 2 });
    expect(await enrolling("rotate-both", { joinToken, key: machine.key })).toMatchObject({
      reason: "token-refused",
    });
    expect(await enrolling("rotate-both", { joinToken, key: next.key })).toEqual({ kid: next.kid });
  });

  it("whose answer was lost → the same next key gets the same answer", async () => {
    const { machine, next } = await rotated("rotate-again");
    expect(await rotating(machine, next.key)).toEqual(next);
    await statusOf(next, "start-2");
    expect(await rotating(machine, next.key)).toMatchObject(REVOKED);
  });

  it("to another next key, before the first has reported → the first is no longer valid", async () => {
    const { machine, next } = await rotated("rotate-changed");
    const other = await rotating(machine, await makeMachineKey());
    if ("error" in other) throw new Error("not rotated");
    expect(await statusOf(next)).toBe(401);
    expect(await statusOf(other, "start-2")).toBe("ok");
  });

  it("then a revocation → all its keys are refused", async () => {
    const { machine, next } = await rotated("rotate-revoked");
    expect((await operator("POST", "/v1/nodes/rotate-revoked/revoke")).status).toBe(204);
    expect([await statusOf(machine), await statusOf(next)]).toEqual([403, 403]);
    const joinToken = await mintToken({ names: "rotate-revoked", uses: 5 });
    for (const { key } of [machine, next]) {
      expect(await enrolling("rotate-revoked", { joinToken, key })).toMatchObject({
        reason: "token-refused",
      });
    }
  });

  it("after a rotation, by the next key before its first report → 401; after it → accepted", async () => {
    const { next } = await rotated("rotate-twice");
    expect(await rotating(next, await makeMachineKey())).toMatchObject(UNAUTHENTICATED);
    await statusOf(next, "start-2");
    const third = await rotating(next, await makeMachineKey());
    if ("error" in third) throw new Error("not rotated");
    expect(await statusOf(third, "start-3")).toBe("ok");
  });
});

describe("a rotation that is not signed by both keys → 401, and the key stays", () => {
  /** In the second case the JWT has the digest of another body than the body of the request. */
  it.each<[string, (machine: Machine) => Promise<unknown>]>([
    ["by the same key twice", (machine) => rotating(machine, machine.key)],
    [
      "with a body that was exchanged on the way",
      async (machine) => {
        let stolen = "";
        const thief = await makeMachineKey();
        await rotating(machine, thief, async (request) => {
          stolen = request.body;
          return { status: 500, body: "{}" };
        });
        return rotating(machine, await makeMachineKey(), (request) =>
          transport({ ...request, body: stolen }),
        );
      },
    ],
    [
      "with a proof for another machine's key",
      async (machine) => {
        const other = await enrolled(`${machine.name}-2`);
        let proof = "";
        await rotating({ ...other, name: machine.name }, await makeMachineKey(), async (request) => {
          proof = request.body;
          return { status: 500, body: "{}" };
        });
        const next = { ...(await makeMachineKey()) };
        return rotating(machine, next, (request) => transport({ ...request, body: proof }));
      },
    ],
    [
      "by another machine's key",
      async (machine) => rotating({ ...machine, key: await makeMachineKey() }, await makeMachineKey()),
    ],
    [
      "signed as a report",
      async (machine) =>
        rotating(machine, await makeMachineKey(), (request) =>
          transport({ ...request, path: `/v1/nodes/${machine.name}/leave` }),
        ),
    ],
  ])("%s", async (situation, attempt) => {
    const machine = await enrolled(`rotate-${situation.replaceAll(" ", "-").replaceAll("'", "")}`);
    expect(await attempt(machine)).toMatchObject(UNAUTHENTICATED);
    expect(await statusOf(machine)).toBe("ok");
  });

  it("to a revoked key", async () => {
    const { machine, next } = await rotated("rotate-back");
    await statusOf(next, "start-2");
    expect(await rotating(next, machine.key)).toMatchObject(UNAUTHENTICATED);
  });

  it("recorded and replayed → 409 with a ticket, and nothing changes", async () => {
    const machine = await enrolled("rotate-replayed");
    await statusOf(machine);
    const seen: Parameters<Transport>[0][] = [];
    const next = await rotating(machine, await makeMachineKey(), (request) => {
      seen.push(request);
      return transport(request);
    });
    if ("error" in next) throw new Error("not rotated");
    const other = await rotating(machine, await makeMachineKey());
    if ("error" in other) throw new Error("not rotated");
    const replayed = await transport(seen.at(-1)!);
    expect(replayed.status).toBe(409);
    expect([await statusOf(next), await statusOf(other, "start-2")]).toEqual([401, "ok"]);
  });
});
