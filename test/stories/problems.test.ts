// Tests the problems that a machine's detectors find: conditions and events in the cluster, within the join token's limits.
import { expect, it } from "vitest";
import type { Problems } from "../../shared/protocol/problems.ts";
import type { MintedToken } from "../../shared/protocol/operator-answers.ts";
import type { Event } from "../../shared/kubernetes/types.ts";
import { enrolling, facts, HEALTHY, kube, operator, shimOf } from "../worker/support/machine.ts";
import { makeMachineKey } from "../../node-shim/identity/identity.ts";

const DEADLOCK = {
  type: "KernelDeadlock",
  status: "True",
  reason: "DockerHung",
  message: "task docker:7 blocked for more than 120 seconds.",
  expiresInSeconds: 600,
} as const;
const OOM = { n: 1, type: "Warning", reason: "OOMKilling", message: "Killed process 7 (x)" } as const;
const HUNG = {
  n: 2,
  type: "Warning",
  reason: "DockerHung",
  condition: "KernelDeadlock",
  message: "now True",
} as const;

async function problemEventsOf(name: string): Promise<string[]> {
  const path = `/api/v1/namespaces/default/events?fieldSelector=involvedObject.name%3D${name}`;
  const { items } = await kube<{ items: Event[] }>("GET", path);
  const found = items.filter(({ reason }) => reason === OOM.reason || reason === HUNG.reason);
  return found.map(({ type, reason, message, count }) => `${type} ${reason} ${message} x${count}`).sort();
}

/** Enrols a machine with a token that allows these names. Returns a function that reports the problem and its events. */
async function machineThatMay(name: string, mayCondition: string[]) {
  const body = { names: name, uses: 1, expiresInSeconds: 60, mayAll: false, mayCondition };
  const { body: minted } = await operator<MintedToken>("POST", "/v1/tokens", body);
  const key = await makeMachineKey();
  const enrolled = await enrolling(name, { joinToken: minted.token, key });
  if (!("kid" in enrolled)) throw new Error(enrolled.reason);
  const report = shimOf({ name, key, kid: enrolled.kid });
  const vitals = { ...HEALTHY, remainingSeconds: { KernelDeadlock: 600 } };
  const dropIns = { resources: {}, labels: {}, conditions: [DEADLOCK], working: 1, failures: [] };
  return (events: Problems["events"]) =>
    report({ ...facts(name), dropIns, problems: { start: "a", events } }, vitals);
}

it("a problem and its events, reported twice → a condition, and each event once", async () => {
  const name = "problems-allowed";
  const send = await machineThatMay(name, ["Kernel*", "OOM*"]);
  await send([]);
  await send([OOM, HUNG]);
  await send([OOM, HUNG]);
  const { status } = await kube("GET", `/api/v1/nodes/${name}`);
  expect(status?.conditions).toContainEqual(
    expect.objectContaining({ type: "KernelDeadlock", status: "True", reason: "DockerHung" }),
  );
  expect(await problemEventsOf(name)).toEqual([
    "Warning DockerHung now True x1",
    "Warning OOMKilling Killed process 7 (x) x1",
  ]);
});

it("a token that allows no such names → neither, and the answer names both", async () => {
  const name = "problems-refused";
  const send = await machineThatMay(name, []);
  await send([]);
  const answer = await send([OOM, HUNG]);
  expect(answer.ok && answer.value.message).toBe(
    "left out of its Node: condition KernelDeadlock, event DockerHung, event OOMKilling",
  );
  const { status } = await kube("GET", `/api/v1/nodes/${name}`);
  expect(status?.conditions?.some(({ type }) => type === "KernelDeadlock")).toBe(false);
  expect(await problemEventsOf(name)).toEqual([]);
});
