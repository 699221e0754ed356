// Tests that an earlier Worker can replace a later one, under newer machines and newer stored data. A recorded Worker
// lacks one migration, and keeps working because that migration allows Workers without it. A Worker that does not
// support the stored data refuses with its reason, and writes nothing. Under the later Worker all machines continue
// with the same Nodes.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { askForUpgrade } from "../../../node-shim/worker-link/requests.ts";
import { httpTransport } from "../../../node-shim/worker-link/http-transport.ts";
import { HOSTNAME_LABEL } from "../../../shared/kubernetes/labels.ts";
import { VERSION } from "../../../shared/version.ts";
import { nodesOf } from "../../lab/bench/local-fleet.ts";
import { eventually, temporaryFolder } from "../../e2e/local-cluster.ts";
import type { RunningShim } from "../../e2e/sockets/running-shim.ts";
import { type PlacedMachine, type SocketPlace, startSocketPlace } from "../../e2e/sockets/socket-place.ts";
import { unpackWorker } from "./recorded-state.ts";
import { dump, inEach } from "./stored-rows.ts";

const MACHINES = 12;
const names = Array.from({ length: MACHINES }, (_, index) => `sim-${index + 1}`);
/** The last outcome of a report or heartbeat of each machine, by its name. */
const outcomes = new Map<string, string>();

/** The file of an earlier Worker, whose fleet index has no rollouts. */
const OLDER = "0.1.0-5f27e1e.js.br";
const ROLLOUT = "9.1.0";
const GIVEN = { ok: true, value: { version: ROLLOUT } };
const NOT_KNOWN_THERE = {
  ok: false,
  error: { reason: "refused", problem: expect.objectContaining({ status: 404, reason: "not-found" }) },
};
const STORED_TABLES = /^(rollout|rule_sets$|rules_rollout$)/;
/** A label of a feature rule that matches each machine. */
const RULED_LABEL = "feature.node.kubernetes.io/site";
const RULES = `apiVersion: nfd.k8s-sigs.io/v1alpha1
kind: NodeFeatureRule
metadata: { name: site }
spec: { rules: [{ name: all, labels: { ${RULED_LABEL}: berlin } }] }`;

let place: SocketPlace;
let first: PlacedMachine;
const shims: RunningShim[] = [];
const folder = temporaryFolder();
const older = join(folder.path, "older.js");

async function started(index: number): Promise<PlacedMachine> {
  const machine = await place.machine({
    index,
    reported: ({ outcome }) => outcomes.set(`sim-${index}`, JSON.stringify(outcome)),
  });
  shims.push(machine.run());
  return machine;
}

beforeAll(async () => {
  unpackWorker(join(import.meta.dirname, "workers", OLDER), older);
  place = await startSocketPlace();
  first = await started(1);
  for (let index = 2; index <= MACHINES; index++) await started(index);
});
afterAll(async () => {
  await place.stop();
  folder.remove();
});

const uids = async () =>
  new Map((await nodesOf(place.admin)).map(({ metadata }) => [metadata?.name, metadata?.uid]));
/** Returns for each Node whether it has the hostname label, by which other programs count Nodes. */
const counted = async () =>
  (await nodesOf(place.admin)).map(({ metadata }) => metadata?.labels?.[HOSTNAME_LABEL] !== undefined);
/** Returns the names of the Nodes that have the rule's label. */
const ruled = async () =>
  (await nodesOf(place.admin))
    .filter(({ metadata }) => metadata?.labels?.[RULED_LABEL] === "berlin")
    .map(({ metadata }) => metadata?.name ?? "")
    .toSorted();
const said = async (...args: string[]) => {
  const { code, stdout } = await place.worker.rollcall(args);
  return [code, stdout] as const;
};
const allReady = async () => [...(await place.ready()).values()].every((ready) => ready === "True");

/** Asks the Worker whether the machine must upgrade, as `node-shim upgrade` does while the shim runs. */
async function ask({ enrolled }: PlacedMachine): Promise<unknown> {
  const { send, close } = httpTransport(enrolled.origin, 9000);
  return askForUpgrade(send, enrolled, VERSION).finally(close);
}

/** Returns an operator's view of a machine: its Node, its history and the audit log. */
async function found(name: string): Promise<string[]> {
  const headers = { authorization: `Bearer ${place.worker.adminSecret}` };
  const paths = [`/v1/nodes/${name}`, `/v1/nodes/${name}/history`, "/v1/audit?limit=1000"];
  return Promise.all(paths.map(async (path) => (await fetch(place.worker.url + path, { headers })).text()));
}

let stored: string[] = [];

it("a real earlier Worker, which supports the stored state → all machines keep reporting, with their Nodes", async () => {
  await place.renewed(names, Date.now());
  expect((await said("rollout", "set", ROLLOUT, "--percent", "100"))[0]).toBe(0);
  writeFileSync(join(folder.path, "rules.yaml"), RULES);
  expect((await said("rules", "apply", join(folder.path, "rules.yaml"), "--yes"))[0]).toBe(0);
  await eventually(async () => (await ruled()).length === MACHINES);
  // The fleet index gets the machine's summary a little later than the cluster gets its Node.
  await eventually(async () => JSON.stringify(await ask(first)) === JSON.stringify(GIVEN));
  const before = await uids();
  await place.worker.startOther(older, (objects) => (stored = dump(objects, STORED_TABLES)));
  expect(await ask(first)).toEqual(NOT_KNOWN_THERE);
  await place.renewed(names, Date.now());
  expect(await uids()).toEqual(before);
  await eventually(allReady);
  // The earlier Worker gives every Node the hostname label, so that other programs count it.
  await eventually(async () => (await counted()).every(Boolean));
  expect(await ruled()).toEqual(names.toSorted());
  expect(await said("ready")).toEqual([0, expect.stringMatching(/state.*index 15/)]);
});

it("shims newer than that Worker → one enrols and reports, and all open sockets", async () => {
  const { name } = (await started(MACHINES + 1)).enrolled;
  await place.renewed([name], Date.now());
  await eventually(async () => shims.every((shim) => shim.transport().via === "socket"));
  await eventually(async () => (await place.quietHeartbeats()) > 0);
  await eventually(async () => (await place.ready()).get(name) === "True");
  names.push(name);
});

it("a machine asks that Worker whether to upgrade → not found, and nothing changes", async () => {
  const machine = await place.machine({ index: MACHINES + 2 });
  const before = await found(machine.enrolled.name);
  expect(await ask(machine)).toEqual(NOT_KNOWN_THERE);
  expect(await found(machine.enrolled.name)).toEqual(before);
});

it("the later Worker again → all continue with the same Nodes, none of which is counted, with rollout and rules", async () => {
  const before = await uids();
  await place.worker.startAgain("deployed", (objects) =>
    expect(dump(objects, STORED_TABLES)).toEqual(stored),
  );
  await place.renewed(names, Date.now());
  expect(await uids()).toEqual(before);
  await eventually(async () => !(await counted()).some(Boolean));
  // The machine that joined under the earlier Worker follows the rules within a day.
  expect(await ruled()).toEqual(names.slice(0, MACHINES).toSorted());
  expect(await said("rollout", "show")).toEqual([0, expect.stringContaining(ROLLOUT)]);
  expect(await ask(first)).toEqual(GIVEN);
});

it("an earlier Worker that does not support the state → refuses, and loses nothing; under the later one all continue", async () => {
  const before = await uids();
  await place.worker.startAgain("deployed", (objects) => {
    expect(inEach(objects, "INSERT INTO migrations VALUES (1000)")).toBeGreaterThanOrEqual(MACHINES + 3);
    stored = dump(objects);
  });
  await eventually(async () =>
    names.every((name) => (outcomes.get(name) ?? "").includes('"reason":"newer-state"')),
  );
  expect(await said("ready")).toEqual([
    1,
    expect.stringMatching(/state.*newer-state: the stored state is of version \d+/),
  ]);
  await place.worker.startAgain("deployed", (objects) => {
    expect(dump(objects)).toEqual(stored);
    inEach(objects, "DELETE FROM migrations WHERE id = 1000");
  });
  await place.renewed(names, Date.now());
  expect(await uids()).toEqual(before);
  await eventually(allReady);
});
