// Tests that one machine causes no fleet-wide state: a conflict about its Node is no refusal by the apiserver.
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { fleetIndex } from "../../worker/env.ts";
import { shift } from "../worker/support/clock.ts";
import {
  type EnrolledMachine,
  enrolled,
  facts,
  HEALTHY,
  indexIsUpdated,
  kube,
  operator,
  setFault,
  shimOf,
} from "../worker/support/machine.ts";

const CONFLICT = { kind: "status", code: 409, reason: "Conflict", of: "^PATCH /api/v1/nodes/" } as const;

const labelled = ({ name }: EnrolledMachine, rack: string) =>
  facts(name, { settings: { ...facts(name).settings, nodeLabels: { rack } } });

async function historyOf(name: string): Promise<string[]> {
  const { body } = await operator<{ entries: { kind: string; text: string }[] }>(
    "GET",
    `/v1/nodes/${name}/history?limit=1000`,
  );
  return body.entries.map(({ kind, text }) => `${kind}: ${text}`);
}

async function stateOf(name: string): Promise<string | undefined> {
  await indexIsUpdated(name);
  return (await fleetIndex(env).summary(name))?.state;
}

describe("the apiserver answers Conflict to each patch of a machine's Node", () => {
  it("with another label → the phase stays, in no history and no state of the fleet; the next report writes", async () => {
    const machine = await enrolled("one-conflict");
    const { name } = machine;
    const report = shimOf(machine);
    await report(labelled(machine, "a"), HEALTHY);
    const before = await historyOf(name);
    await setFault(name, CONFLICT);
    for (const rack of ["b", "c", "d"])
      expect(await report(labelled(machine, rack), HEALTHY)).toMatchObject({
        value: { phase: "registered", ready: true },
      });
    const since = (await historyOf(name)).slice(0, -before.length);
    expect(since.filter((line) => /^(apiserver|phase|state)/.test(line))).toEqual([]);
    expect(await stateOf(name)).toBe("ready");
    await setFault(name, "");
    await report(labelled(machine, "d"), HEALTHY);
    expect((await kube("GET", `/api/v1/nodes/${name}`)).metadata?.labels).toMatchObject({ rack: "d" });
  });

  it("at the registration of a process that starts again → no line, and the next report registers", async () => {
    const machine = await enrolled("one-restart");
    const { name } = machine;
    await shimOf(machine)(labelled(machine, "a"), HEALTHY);
    const before = await historyOf(name);
    await setFault(name, CONFLICT);
    shift(60_000);
    const restarted = shimOf(machine, "start-2");
    // The changed architecture is reconciled at the registration.
    const changed = {
      ...labelled(machine, "b"),
      platform: { os: "linux", architecture: "arm64" },
    };
    expect(await restarted(changed, HEALTHY)).toMatchObject({ value: { phase: "registered" } });
    await setFault(name, "");
    expect(await restarted(changed, HEALTHY)).toMatchObject({ value: { phase: "registered" } });
    const since = (await historyOf(name)).slice(0, -before.length);
    expect(since.filter((line) => /^(apiserver|phase|state)/.test(line))).toEqual([]);
    expect(await stateOf(name)).toBe("ready");
  });

  it("a new machine, whose Node another writer has made → is being registered, and is not cluster-unreachable", async () => {
    const machine = await enrolled("one-new");
    await setFault(machine.name, { ...CONFLICT, of: "^(POST|PATCH) /api/v1/nodes" });
    const report = shimOf(machine);
    expect(await report(facts(machine.name), HEALTHY)).toMatchObject({ value: { phase: "registering" } });
    expect(await stateOf(machine.name)).toBe("not-ready");
    await setFault(machine.name, "");
    expect(await report(facts(machine.name), HEALTHY)).toMatchObject({ value: { phase: "registered" } });
  });
});
