// Tests through the whole Worker which kubelet version the Nodes report during an upgrade of the cluster, and that the
// upgrade causes no further write.
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterAll, beforeAll, expect, it } from "vitest";
import { clusterObject, type Environment } from "../../worker/env.ts";
import { shift } from "../worker/support/clock.ts";
import { enrolled, facts, HEALTHY, kube, shimOf, writesAbout } from "../worker/support/machine.ts";

/** The time between two periodic writes of a status, at least. */
const PERIOD_MS = 600_000;
const HOUR = 3_600_000 / PERIOD_MS;

/** The versions of the apiservers, which answer in turn. */
let apiservers: string[] = [];
const bound = env as unknown as { KUBE: Fetcher };
const before = { NODE_WATCH: env.NODE_WATCH, KUBE: bound.KUBE };

beforeAll(() => {
  const answerVersion = () => {
    apiservers.push(apiservers.shift()!);
    return Promise.resolve(Response.json({ major: "1", gitVersion: apiservers.at(-1) }));
  };
  const fetch: Fetcher["fetch"] = (to, init) =>
    new Request(to, init).url.endsWith("/version") ? answerVersion() : before.KUBE.fetch(to, init);
  Object.assign(env, { NODE_WATCH: "on", KUBE: { fetch } });
});
afterAll(async () => {
  Object.assign(env, before);
  await runInDurableObject(clusterObject(env), (_, state) => state.abort("evicted")).catch(() => undefined);
});

/** Forgets the version that the objects of this isolate know, of which other files' objects are some. */
const forgetVersion = (name: string) =>
  runInDurableObject(env.NODES.getByName(name), (object) => {
    const { knownCluster } = (object as unknown as { env: Environment }).env;
    Object.assign(knownCluster?.(env.KUBE_TOKEN) ?? {}, { minor: undefined, askedAtMs: undefined });
  });

const versionOf = async (name: string) =>
  /^v1\.\d+/.exec((await kube("GET", `/api/v1/nodes/${name}`)).status?.nodeInfo?.kubeletVersion ?? "")?.[0];
const statusWrites = async (name: string) =>
  (await writesAbout(name)).filter(({ request }) => request === `PATCH /api/v1/nodes/${name}/status`).length;

it("apiservers of 1.35 and 1.36 answer in turn → 1.35; 1.36 alone for an hour → 1.36 with the next periodic status, and no further write", async () => {
  const name = "upgraded-cluster";
  const report = shimOf(await enrolled(name));
  const { settings } = facts(name);
  // The lease lasts longer than a period, so that the machine never counts as away.
  const known = facts(name, { settings: { ...settings, nodeLeaseDurationSeconds: 3600 } });
  await forgetVersion(name);
  let periods = 0;
  /** Reports at the time of each periodic status, and ten seconds later. Returns the versions that the Node had. */
  async function versionsFor(count: number): Promise<Set<string | undefined>> {
    const versions = new Set<string | undefined>();
    for (let each = 0; each < count; each++, periods++) {
      shift(PERIOD_MS);
      await report(known, HEALTHY);
      versions.add(await versionOf(name));
      shift(10_000);
      await report(known, HEALTHY);
    }
    return versions;
  }
  apiservers = ["v1.35.4", "v1.36.3"];
  await report(known, HEALTHY);
  expect(await versionsFor(3 * HOUR)).toEqual(new Set(["v1.35"]));
  apiservers = ["v1.36.3"];
  expect(await versionsFor(HOUR - 1)).toEqual(new Set(["v1.35"]));
  await versionsFor(HOUR + 2);
  expect(await versionsFor(HOUR)).toEqual(new Set(["v1.36"]));
  expect(await statusWrites(name)).toBe(periods);
  await forgetVersion(name);
});
