// Tests which DNS names of a machine its Node gets, as the apiserver knows other Nodes, and what the machine asks for.
import { describe, expect, it } from "vitest";
import { statusResponse } from "../support/kube-in-between.ts";
import { HEALTHY } from "../support/facts.ts";
import { NAME, SteppingMachine } from "../support/stepping-machine.ts";

const OTHER = "edge-8.shop.example.com";
const FROM_CACHE = "GET Node?resourceVersion=0";
const HOUR_MS = 3_600_000;

/** Returns a machine that reports this host name. `nodes`: the other Nodes. */
function named(hostname: string, nodes: string[] = [OTHER]) {
  const machine = new SteppingMachine();
  machine.facts.settings = { ...machine.facts.settings, hostname };
  machine.apiserver.others = nodes;
  return machine;
}
const namesOf = ({ apiserver }: SteppingMachine) =>
  apiserver.node?.status?.addresses?.filter(({ type }) => type === "Hostname").map(({ address }) => address);

describe("a machine whose token does not limit addresses reports the host name", () => {
  it.each<[name: string, asked: number, names: string[]]>([
    [NAME, 0, [NAME]],
    ["edge-8", 0, []],
    ["db.internal", 1, ["db.internal"]],
    [OTHER, 1, []],
    [OTHER.toUpperCase(), 1, []],
    // No Node can have this name.
    ["a_b.internal", 0, ["a_b.internal"]],
  ])("%s → %i requests, and its Node has %j", async (name, asked, names) => {
    const machine = named(name);
    await machine.report();
    expect([machine.take().filter((each) => each === FROM_CACHE).length, namesOf(machine)]).toEqual([
      asked,
      names,
    ]);
    machine.records.writes = 0;
    machine.nowMs += 10_000;
    await machine.report();
    expect([machine.take(), machine.records.writes]).toEqual([["PUT lease"], 0]);
  });

  it("while the apiserver does not answer → not in its Node, until a later report has the answer", async () => {
    const machine = named("db.internal");
    machine.inBetween = (asked) => (asked === FROM_CACHE ? statusResponse(500, "Failed") : undefined);
    expect(await machine.report(HEALTHY)).toMatchObject({ message: expect.stringContaining("db.internal") });
    expect(namesOf(machine)).toEqual([]);
    machine.inBetween = undefined;
    machine.nowMs += 10_000;
    await machine.report();
    expect(namesOf(machine)).toEqual(["db.internal"]);
  });

  it("of a Node that is created later → the machine's Node has the name for at most an hour more", async () => {
    const machine = named(OTHER, []);
    await machine.report();
    expect(namesOf(machine)).toEqual([OTHER]);
    machine.apiserver.others = [OTHER];
    const asked: string[] = [];
    for (let report = 0; report < 360; report++) {
      machine.nowMs += 10_000;
      await machine.report();
      asked.push(...machine.take().filter((each) => each === FROM_CACHE));
    }
    expect(namesOf(machine)).toEqual([]);
    expect(asked.length).toBeLessThanOrEqual(1 + HOUR_MS / 300_000);
  });

  it("and at the check after an hour the apiserver does not answer → the name stays, and is checked in another hour", async () => {
    const machine = named("db.internal");
    await machine.report();
    machine.nowMs += HOUR_MS;
    machine.inBetween = (asked) => (asked === FROM_CACHE ? statusResponse(500, "Failed") : undefined);
    await machine.report();
    expect([machine.take().filter((each) => each === FROM_CACHE).length, namesOf(machine)]).toEqual([
      1,
      ["db.internal"],
    ]);
    machine.inBetween = undefined;
    machine.nowMs += HOUR_MS - 1;
    await machine.report();
    expect(machine.take()).not.toContain(FROM_CACHE);
    machine.nowMs += 1;
    await machine.report();
    expect(machine.take()).toContain(FROM_CACHE);
  });

  it("of a later Node, and a further name each half hour → the first name is checked all the same", async () => {
    const machine = named(NAME, []);
    const { settings } = machine.facts;
    const reports = async (count: number) => {
      const names = [OTHER, ...Array.from({ length: count }, (_, at) => `n${at}.internal`)];
      const addresses = names.map((address) => ({ type: "InternalDNS" as const, address }));
      const cloud = { providerID: "aws:///a/i", instanceType: "m", addresses };
      machine.facts = { ...machine.facts, settings: { ...settings, cloudProvider: "aws" }, cloud };
      await machine.report();
    };
    const has = () => machine.apiserver.node?.status?.addresses?.some(({ address }) => address === OTHER);
    await reports(0);
    expect(has()).toBe(true);
    machine.apiserver.others = [OTHER];
    for (let count = 1; count <= 3; count++) {
      machine.nowMs += HOUR_MS / 2;
      await reports(count);
    }
    expect(has()).toBe(false);
  });

  it("and the apiserver is slow → the time for names is no longer available for the registration", async () => {
    const machine = named("db.internal");
    machine.apiserver.node = { metadata: { name: NAME, uid: "other" } };
    machine.inBetween = async (asked, ask) => {
      machine.nowMs += asked === FROM_CACHE ? 1900 : 2500;
      return ask();
    };
    await machine.report();
    // Names and the POST of the Node took 4.4 s, more than a registration's 4 s.
    expect(machine.take()).toEqual([FROM_CACHE, "POST Node"]);
  });
});
