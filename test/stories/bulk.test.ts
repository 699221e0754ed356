// Tests an operator's action on many machines: a dry run lists the machines, a confirmation starts the action in
// the registry, and each machine's object does its part.
import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterAll, describe, expect, it } from "vitest";
import {
  type BulkAnswer,
  type BulkPlan,
  bulkPlanSchema,
  type BulkProgress,
  bulkSchema,
  bulksSchema,
  type SilentNodesAnswer,
  silentNodesSchema,
  startedBulkSchema,
} from "../../shared/protocol/administration-answers.ts";
import type { MachineSummary } from "../../shared/fleet/summary.ts";
import { BULK_LIMITS } from "../../shared/protocol/limits.ts";
import type { AuditAnswer, HistoryAnswer } from "../../shared/protocol/operator-answers.ts";
import { fleetIndex, registry } from "../../worker/env.ts";
import { passing } from "../worker/support/clock.ts";
import { summaryOf } from "../worker/support/made-up-fleet.ts";
import { enrolled, facts, HEALTHY, kube, operator, shimOf } from "../worker/support/machine.ts";

const plan = (action: string, names: string[]) =>
  operator<BulkPlan>("POST", "/v1/bulk", { action, names, dryRun: true });
const confirm = (action: string, names: string[], confirmation: string | null) =>
  operator<BulkProgress & { detail: string }>("POST", "/v1/bulk", { action, names, confirmation });

async function reporting(name: string) {
  const machine = await enrolled(name);
  const report = () => shimOf(machine)(facts(name), HEALTHY);
  expect(await report()).toMatchObject({ ok: true });
  return report;
}

/** Runs an action to its end: the dry run, the confirmation, and the registry's alarm until no work is left. */
async function carriedOut(action: string, names: string[]): Promise<BulkAnswer> {
  const { body: planned } = await plan(action, names);
  expect(bulkPlanSchema.parse(planned)).toEqual(planned);
  const started = await confirm(action, names, planned.confirmation);
  expect(started.status).toBe(202);
  const { id } = startedBulkSchema.parse(started.body);
  return over(id);
}

async function over(id: string): Promise<BulkAnswer> {
  for (;;) {
    await passing(runDurableObjectAlarm(registry(env)));
    const { body } = await operator<BulkAnswer>("GET", `/v1/bulk/${id}`);
    if (body.state !== "running") return bulkSchema.parse(body);
  }
}

/**
 * The generation of the tests' updates: above the generations of the machines' own objects, so that the index
 * accepts them.
 */
const GENERATION = 1e6;
const toldOf = new Map<string, number>();

function tellIndex(name: string, summary: MachineSummary) {
  const version = (toldOf.get(name) ?? 0) + 1;
  toldOf.set(name, version);
  return fleetIndex(env).tell({ name, generation: GENERATION, version, summary, entries: [] });
}

/** Other test files count the machines in the same index. */
afterAll(async () => {
  const names = [...toldOf.keys()];
  for (const name of names) await fleetIndex(env).remove(name, GENERATION, "");
  await runInDurableObject(fleetIndex(env), (_, { storage: { sql } }) => {
    for (const name of names) sql.exec("DELETE FROM history WHERE name = ?", name);
  });
});

const isThere = async (name: string) => (await kube("GET", `/api/v1/nodes/${name}`)).kind === "Node";
const auditOf = async (target: string) =>
  (await operator<AuditAnswer>("GET", `/v1/audit?target=${target}`)).body.entries.map(({ what, detail }) => [
    what,
    detail,
  ]);

describe("many machines at once", () => {
  it("revoked → their keys are refused, other machines' keys are not", async () => {
    const names = ["bulk-revoke-1", "bulk-revoke-2"];
    const reports = await Promise.all([...names, "bulk-revoke-3"].map(reporting));
    const bulk = await carriedOut("revoke", names);
    expect(bulk).toMatchObject({ state: "done", total: 2, done: 2, failures: [] });
    const outcomes = await Promise.all(reports.map((report) => report()));
    expect(outcomes.map(({ ok }) => ok)).toEqual([false, false, true]);
    expect(await auditOf(names[0]!)).toEqual([["machine.revoke", `bulk ${bulk.id}`]]);
    expect(await auditOf(bulk.id)).toEqual([["bulk.start", "revoke, machines: 2"]]);
    const { body } = await operator("GET", "/v1/bulk");
    const { failures: _, ...progress } = bulk;
    expect(bulksSchema.parse(body).bulks).toContainEqual(progress);
  });

  it("forgotten → Nodes and machines are gone, and the names are free", async () => {
    const names = ["bulk-forget-1", "bulk-forget-2"];
    await Promise.all(names.map(reporting));
    expect(await isThere(names[0]!)).toBe(true);
    expect(await carriedOut("forget", names)).toMatchObject({ state: "done", done: 2, failed: 0 });
    for (const name of names) {
      expect(await isThere(name)).toBe(false);
      expect((await operator("GET", `/v1/nodes/${name}`)).status).toBe(404);
      await reporting(name);
    }
  });

  it("registered again → each deleted Node is back with its machine's next report", async () => {
    const names = ["bulk-register-1", "bulk-register-2"];
    const reports = await Promise.all(names.map(reporting));
    for (const name of names) await kube("DELETE", `/api/v1/nodes/${name}`);
    expect(await carriedOut("register", names)).toMatchObject({ state: "done", done: 2 });
    await Promise.all(reports.map((report) => report()));
    for (const name of names) expect(await isThere(name)).toBe(true);
  });

  it("trusted again → those that the index has as cloned; one that no longer is gets a message", async () => {
    const name = "bulk-believe";
    await reporting(name);
    const { body: before } = await plan("believe", [name]);
    expect(before).toMatchObject({ total: 0, confirmation: null, matches: [{ name }] });
    const summary = summaryOf(1, { state: "blocked", phase: "cloned" });
    await tellIndex(name, summary);
    expect(await carriedOut("believe", [name])).toMatchObject({
      state: "done",
      done: 0,
      failures: [{ name, reason: "it is neither cloned nor two shims" }],
    });
  });

  it("one enrolled again after the dry run → left out, with a message", async () => {
    const names = ["bulk-anew-1", "bulk-anew-2"];
    await Promise.all(names.map(reporting));
    const { body: planned } = await plan("forget", names);
    await operator("POST", `/v1/nodes/${names[0]}/revoke`);
    const report = await reporting(names[0]!);
    const { body: started } = await confirm("forget", names, planned.confirmation);
    expect(await over(started.id)).toMatchObject({
      done: 1,
      failures: [{ name: names[0], reason: expect.stringContaining("its key has changed since") }],
    });
    expect(await report()).toMatchObject({ ok: true });
    expect(await Promise.all(names.map(isThere))).toEqual([true, false]);
  });
});

describe("machines by a filter", () => {
  const filter = { selector: "site=bulk-filter", state: "silent" };
  const told = (name: string, change: Partial<MachineSummary> = {}) => {
    const summary = summaryOf(1, {
      labels: { site: "bulk-filter" },
      state: "silent",
      sinceMs: Date.now(),
      ...change,
    });
    return tellIndex(name, summary);
  };
  const asked = (more: object) =>
    operator<BulkPlan & BulkProgress>("POST", "/v1/bulk", { action: "revoke", ...more });

  it("→ those that matched in the dry run, whichever match later", async () => {
    const [first, back, later] = ["bulk-filter-1", "bulk-filter-2", "bulk-filter-3"];
    const reports = await Promise.all([first, back, later].map((name) => reporting(name)));
    await told(first);
    await told(back);
    await told(later, { state: "ready" });
    const { body: planned } = await asked({ filter, dryRun: true });
    expect(planned.matches.map(({ name, state }) => [name, state])).toEqual([
      [first, "silent"],
      [back, "silent"],
    ]);
    await told(back, { state: "ready" });
    await told(later);
    const { confirmation } = planned;
    for (const other of [{ ...filter, state: "ready" }, { selector: filter.selector }])
      expect((await asked({ filter: other, confirmation })).status).toBe(409);
    const { body: started } = await asked({ filter, confirmation });
    expect(await over(started.id)).toMatchObject({ total: 2, done: 2 });
    const outcomes = await Promise.all(reports.map((report) => report()));
    expect(outcomes.map(({ ok }) => ok)).toEqual([false, false, true]);
  });

  it.each<[string, object, string]>([
    ["no term", {}, "/filter"],
    ["a state that is none", { state: "dead" }, "/filter/state"],
    ["a selector that does not parse", { selector: "site in (" }, "/filter/selector"],
    ["an unknown term", { site: "a" }, "/filter/site"],
    ["an unknown neighbour", { beside: "bulk-nobody" }, "/filter/beside"],
  ])("with %s → 400, with where", async (_, bad, pointer) => {
    expect(await asked({ filter: bad, dryRun: true })).toMatchObject({ status: 400, body: { pointer } });
  });
});

describe("a request that", () => {
  it.each<[string, object, string]>([
    ["has another action", { action: "delete" }, "/action"],
    ["has no names", { names: [] }, "/names"],
    ["has too many names", { names: Array.from({ length: BULK_LIMITS.machines + 1 }, () => "a") }, "/names"],
    ["has neither filter nor names", { names: undefined }, "/filter"],
    ["has both a filter and names", { filter: { state: "silent" } }, "/filter"],
    ["has neither dry run nor confirmation", { dryRun: undefined }, "/dryRun"],
    ["has both", { confirmation: "x" }, "/dryRun"],
    ["has a dry run that is none", { dryRun: false }, "/dryRun"],
    ["has another field", { force: true }, "/force"],
  ])("%s → 400, with where", async (_, more, pointer) => {
    const body = { action: "revoke", names: ["a"], dryRun: true, ...more };
    expect(await operator("POST", "/v1/bulk", body)).toMatchObject({ status: 400, body: { pointer } });
  });

  it("has another list than its dry run → 409, and nothing is done", async () => {
    const report = await reporting("bulk-other");
    const { body } = await plan("revoke", ["bulk-other"]);
    const other = await confirm("revoke", ["bulk-other", "bulk-another"], body.confirmation);
    expect(other).toMatchObject({ status: 409, body: { reason: "conflict" } });
    expect(await report()).toMatchObject({ ok: true });
  });

  it.each(["GET", "DELETE"])("asks for none that there is, by %s → 404", async (method) => {
    for (const id of ["999999", "x", "-1", "1e3"])
      expect((await operator(method, `/v1/bulk/${id}`)).status).toBe(404);
  });
});

/** Records a silence in the machine's object, as the object's alarm would. */
async function silence(name: string, sinceMs: number): Promise<void> {
  const node = env.NODES.getByName(name);
  await runInDurableObject(node, (_, { storage }) =>
    storage.sql.exec(
      "INSERT OR REPLACE INTO records (key, value) VALUES ('silentSinceMs', ?)",
      String(sinceMs),
    ),
  );
  await evictDurableObject(node);
}

describe("a silent machine's Node", () => {
  const NAME = "silent-node";
  const DAYS = 30;
  const DAY_MS = 24 * 3600 * 1000;
  const history = async () => {
    const { body } = await operator<HistoryAnswer>("GET", `/v1/nodes/${NAME}/history?kind=registration`);
    return body.entries.map(({ text }) => text);
  };

  it("is listed, removed after the given days, and returns with the next report", async () => {
    const report = await reporting(NAME);
    const silentSinceMs = Date.now() - DAYS * DAY_MS - 1;
    const summary = summaryOf(1, { state: "silent", sinceMs: silentSinceMs });
    await tellIndex(NAME, summary);
    // Other tests have silent machines too, so the list is filtered by the name.
    const listed = async (days: number) => {
      const { body } = await operator<SilentNodesAnswer>("GET", `/v1/silent-nodes?days=${days}`);
      expect(silentNodesSchema.parse(body).removedAfterDays).toBe(DAYS);
      return body.nodes.filter(({ name }) => name === NAME);
    };
    expect(await listed(DAYS)).toEqual([{ name: NAME, silentSince: new Date(silentSinceMs).toISOString() }]);
    expect(await listed(DAYS + 1)).toEqual([]);

    // The object knows that the machine has reported, but the index still has the silence.
    const removed = async () => {
      await registry(env).removeSilentNodes();
      const { body } = await operator<{ bulks: BulkProgress[] }>("GET", "/v1/bulk");
      const { action, createdBy, failures } = await over(body.bulks[0]!.id);
      return { action, createdBy, failures: failures.filter(({ name }) => name === NAME) };
    };
    const bulk = { action: "remove-node", createdBy: "rollcall" };
    expect(await removed()).toEqual({
      ...bulk,
      failures: [{ name: NAME, reason: "it is not silent for so long any more" }],
    });
    expect(await isThere(NAME)).toBe(true);

    await silence(NAME, silentSinceMs);
    expect(await removed()).toEqual({ ...bulk, failures: [] });
    expect(await isThere(NAME)).toBe(false);
    expect((await history())[0]).toBe(`the Node was removed after ${DAYS} days of silence`);
    expect((await operator<{ phase: string }>("GET", `/v1/nodes/${NAME}`)).body.phase).toBe("node deleted");
    expect(await auditOf(NAME)).toContainEqual(["node.remove", expect.stringMatching(/^bulk \d+$/)]);

    expect(await report()).toMatchObject({ ok: true, value: { phase: "registered", ready: true } });
    expect(await isThere(NAME)).toBe(true);
    expect((await history())[0]).toContain("Node created again");
  });
});
