// Tests two versions of the Worker that run at once, as during a platform's deployment or with split traffic. Each
// request and each object runs in one version, and they call each other. The test puts both versions into one
// isolate.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { nodesOf } from "../../lab/bench/local-fleet.ts";
import { eventually, ROOT, temporaryFolder } from "../../e2e/local-cluster.ts";
import type { RunningShim } from "../../e2e/sockets/running-shim.ts";
import { type SocketPlace, startSocketPlace } from "../../e2e/sockets/socket-place.ts";
import { makeMachineKey } from "../../../node-shim/identity/identity.ts";
import { httpTransport } from "../../../node-shim/worker-link/http-transport.ts";
import { enrol } from "../../../node-shim/worker-link/requests.ts";
import { thisRun } from "../../e2e/run-record.ts";
import { inventedToken, withoutStamp } from "../../worker/support/invented-tokens.ts";
import { unpackWorker } from "./recorded-state.ts";

const CLASSES = ["NodeObject", "RegistryObject", "ClusterObject", "IndexObject", "GatewayObject"] as const;
type Part = (typeof CLASSES)[number] | "requests";

const names = Array.from({ length: 3 }, (_, index) => `sim-${index + 1}`);
let place: SocketPlace;
const folder = temporaryFolder();
const older = join(folder.path, "older.js");
const newer = join(ROOT, "worker/index.ts");

async function start(index: number): Promise<[name: string, shim: RunningShim]> {
  const machine = await place.machine({ index, intervalMs: 1000, leaseSeconds: 10 });
  return [machine.enrolled.name, machine.run()];
}

/**
 * Bundles a Worker in which the parts `ofOlder` run in the older version, and the rest in the newer one. Returns
 * the path of its entry.
 */
function splitWorker(ofOlder: readonly Part[]): string {
  const from = (part: Part) => JSON.stringify(ofOlder.includes(part) ? older : newer);
  const entry = join(folder.path, "split.js");
  const classes = CLASSES.map((name) => `export { ${name} } from ${from(name)};\n`);
  writeFileSync(entry, `export { default } from ${from("requests")};\n${classes.join("")}`);
  return entry;
}

beforeAll(async () => {
  unpackWorker(join(import.meta.dirname, "workers/0.1.0-5f27e1e.js.br"), older);
  place = await startSocketPlace();
  for (let index = 1; index <= names.length; index++) await start(index);
  await place.renewed(names, Date.now());
});
afterAll(async () => {
  await place.stop();
  folder.remove();
});

const uids = async () =>
  new Map((await nodesOf(place.admin)).map(({ metadata }) => [metadata?.name, metadata?.uid]));

let others = 0;
const ofOlderRegistry: string[] = [];

/** Returns a new join token for one machine that never reports. The request has only fields that both versions know. */
async function mint(): Promise<string> {
  const { url, adminSecret } = place.worker;
  const answer = await fetch(`${url}/v1/tokens`, {
    method: "POST",
    headers: { authorization: `Bearer ${adminSecret}`, "content-type": "application/json" },
    body: JSON.stringify({ names: "other-*", uses: 1, expiresInSeconds: 3600 }),
  });
  const { token } = (await answer.json()) as { token: string };
  thisRun().secret("join token", token);
  return token;
}

/** Reports whether a machine enrols with this token, in as many attempts as `node-shim join` makes. */
async function joins(joinToken: string): Promise<boolean> {
  const [name, key] = [`other-${++others}`, await makeMachineKey()];
  const { url: origin } = place.worker;
  const { send, close } = httpTransport(origin, 9000);
  const attempt = () => enrol(send, key, { name, origin, joinToken, machineID: name, systemUUID: name });
  try {
    return (await attempt()).ok || (await attempt()).ok || (await attempt()).ok;
  } finally {
    close();
  }
}

/** Returns the HTTP status of a request that the older version does not support. */
async function rollout(): Promise<number> {
  const { url, adminSecret } = place.worker;
  const answer = await fetch(`${url}/v1/rollout`, { headers: { authorization: `Bearer ${adminSecret}` } });
  return answer.status;
}

it.each<[Part[]]>([
  [["requests"]],
  [["NodeObject"]],
  [["GatewayObject"]],
  [["RegistryObject", "ClusterObject", "IndexObject"]],
  [["requests", "RegistryObject", "ClusterObject", "IndexObject", "GatewayObject"]],
  [["NodeObject", "RegistryObject", "ClusterObject", "IndexObject", "GatewayObject"]],
])(
  "%j by the older version → all machines keep reporting, and a new one joins and opens its socket",
  async (parts) => {
    const before = await uids();
    await place.worker.startOther(splitWorker(parts));
    await place.renewed(names, Date.now());
    expect(await uids()).toEqual(before);
    expect(await rollout()).toBe(
      parts.includes("requests") ? 404 : parts.includes("IndexObject") ? 500 : 200,
    );
    const [joined, shim] = await start(names.length + 1);
    names.push(joined);
    // Only the new machine's socket is checked: the other machines have lost sockets before, and may not yet open new
    // ones.
    await eventually(async () => shim.transport().via === "socket");
    await eventually(async () => (await place.quietHeartbeats()) > 0);
    await eventually(async () => (await place.ready()).get(joined) === "True");
    const [minted, earlier, later] = [await mint(), await mint(), await mint()];
    expect(await joins(minted)).toBe(true);
    expect(await joins(withoutStamp(earlier))).toBe(true);
    if (parts.includes("RegistryObject")) ofOlderRegistry.push(later);
    const { code, stdout } = await place.worker.rollcall(["nodes", "-o", "name"]);
    const listed = stdout
      .trim()
      .split("\n")
      .filter((name) => !name.startsWith("other-"));
    expect([code, listed.toSorted()]).toEqual([0, names.toSorted()]);
    const { code: status } = await place.worker.rollcall(["ready"]);
    expect(status).toBe(0);
  },
);

it("the newer version alone → machines enrol with the tokens that the older version has minted", async () => {
  await place.worker.startAgain("deployed");
  expect(ofOlderRegistry).toHaveLength(3);
  for (const token of ofOlderRegistry) expect(await joins(token)).toBe(true);
  expect(await joins(withoutStamp(inventedToken()))).toBe(false);
});
