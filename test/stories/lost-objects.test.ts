// Tests a machine whose object has lost its data: with the data of the registry and the machine, it continues
// without an operator.
import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { makeMachineKey } from "../../node-shim/identity/identity.ts";
import { rotate } from "../../node-shim/worker-link/requests.ts";
import type { Node } from "../../shared/kubernetes/types.ts";
import { currentMs } from "../../worker/clock.ts";
import { shift } from "../worker/support/clock.ts";
import { ORIGIN } from "../worker/support/constants.ts";
import {
  enrolled,
  type EnrolledMachine,
  facts,
  HEALTHY,
  kube,
  operator,
  send,
  shimOf,
  transport,
} from "../worker/support/machine.ts";

type Machine = Omit<EnrolledMachine, "ticket">;

const objectOf = (name: string) => env.NODES.getByName(name);

/** Deletes the storage and memory of a machine's object, as a restore into an empty deployment does. */
async function lose(name: string): Promise<void> {
  await runInDurableObject(objectOf(name), async (_, state) => {
    await state.storage.deleteAlarm();
    await state.storage.deleteAll();
    state.abort("lost");
  }).catch(() => undefined);
}

const statusOf = async (machine: Machine, startId?: string) => {
  const outcome = await shimOf(machine, startId)(facts(machine.name), HEALTHY);
  if (outcome.ok) return outcome.value.phase;
  return outcome.error.reason === "refused" ? outcome.error.problem.reason : outcome.error.reason;
};
const uidOf = async (name: string) => (await kube("GET", `/api/v1/nodes/${name}`)).metadata?.uid;

/** Returns the stored tables of the machine's object. */
const tablesOf = (name: string) =>
  runInDurableObject(
    objectOf(name),
    (_, { storage }) =>
      storage.sql.exec("SELECT name FROM sqlite_master WHERE type = 'table' AND name = 'records'").toArray()
        .length,
  );

async function rotated(machine: Machine): Promise<Machine> {
  const next = await makeMachineKey();
  const outcome = await rotate(transport, { ...machine, origin: ORIGIN }, next);
  if (!outcome.ok) throw new Error(JSON.stringify(outcome));
  return { name: machine.name, key: next, kid: outcome.value.kid };
}

describe("a machine whose object lost its data", () => {
  it("→ keeps its key: the same Node, with taints and first registration", async () => {
    const name = "lost-once";
    const machine = await enrolled(name);
    expect(await statusOf(machine)).toBe("registered");
    const before = await kube("GET", `/api/v1/nodes/${name}`);
    await lose(name);
    expect(await statusOf(machine)).toBe("registered");
    const after = await kube("GET", `/api/v1/nodes/${name}`);
    const kept = ({ metadata, spec }: Node) => [
      metadata?.uid,
      metadata?.creationTimestamp,
      metadata?.labels,
      spec?.taints,
    ];
    expect(kept(after)).toEqual(kept(before));
    const { body } = await operator<{ entries: { text: string }[] }>("GET", `/v1/nodes/${name}/history`);
    expect(body.entries.map(({ text }) => text)).toContain(
      "what was known of this machine was lost: it goes on by the registry's pin",
    );
  });

  it("after a rotation, or during one → either valid key is accepted", async () => {
    const machine = await enrolled("lost-rotated");
    expect(await statusOf(machine)).toBe("registered");
    const second = await rotated(machine);
    expect(await statusOf(second, "start-2")).toBe("registered");
    await lose(machine.name);
    expect(await statusOf(second, "start-2")).toBe("registered");
    const third = await rotated(second);
    const uid = await uidOf(machine.name);
    await lose(machine.name);
    expect(await statusOf(second, "start-2")).toBe("registered");
    await lose(machine.name);
    expect(await statusOf(third, "start-3")).toBe("registered");
    expect([await statusOf(machine), await uidOf(machine.name)]).toEqual(["unauthenticated", uid]);
    await lose(machine.name);
    expect(await statusOf(second, "start-4")).toBe("unauthenticated");
  });

  it("that was revoked, or forgotten → is refused, and nothing is stored", async () => {
    const revoked = await enrolled("lost-revoked");
    expect(await statusOf(revoked)).toBe("registered");
    expect((await operator("POST", "/v1/nodes/lost-revoked/revoke")).status).toBe(204);
    await lose("lost-revoked");
    expect(await statusOf(revoked)).toBe("unauthenticated");
    const forgotten = await enrolled("lost-forgotten");
    expect((await operator("DELETE", "/v1/nodes/lost-forgotten")).status).toBe(204);
    expect(await statusOf(forgotten)).toBe("unauthenticated");
    expect([await tablesOf("lost-revoked"), await tablesOf("lost-forgotten")]).toEqual([0, 0]);
  });

  it("whose kid is sent without its key → is refused, nothing is stored, and the machine still reports", async () => {
    const machine = await enrolled("lost-stolen");
    expect(await statusOf(machine)).toBe("registered");
    await lose(machine.name);
    expect(await statusOf({ ...machine, key: await makeMachineKey() })).toBe("unauthenticated");
    expect(await tablesOf(machine.name)).toBe(0);
    expect(await statusOf(machine)).toBe("registered");
  });

  it("in maintenance → the maintenance stays, and ends by itself", async () => {
    const name = "lost-maintained";
    const machine = await enrolled(name);
    expect(await statusOf(machine)).toBe("registered");
    const until = new Date(currentMs() + 3_600_000).toISOString();
    await operator("PATCH", `/v1/nodes/${name}`, { maintenance: { stage: "begin", until } });
    await runDurableObjectAlarm(objectOf(name));
    await lose(name);
    expect(await statusOf(machine)).toBe("registered");
    const isInMaintenance = async () =>
      (await kube("GET", `/api/v1/nodes/${name}`)).status?.conditions?.find(
        ({ type }) => type === "MaintenanceInProgress",
      )?.status;
    expect(await isInMaintenance()).toBe("True");
    shift(3_601_000);
    await runDurableObjectAlarm(objectOf(name));
    expect(await isInMaintenance()).toBe("False");
  });

  it("leaves as usual", async () => {
    const machine = await enrolled("lost-leaves");
    expect(await statusOf(machine)).toBe("registered");
    await lose(machine.name);
    expect(await statusOf(machine)).toBe("registered");
    expect((await operator("DELETE", `/v1/nodes/${machine.name}`)).status).toBe(204);
    expect((await send(`/v1/nodes/${machine.name}/report`, { method: "POST" })).status).toBe(401);
    expect(await kube<{ code?: number }>("GET", `/api/v1/nodes/${machine.name}`)).toMatchObject({
      code: 404,
    });
  });
});
