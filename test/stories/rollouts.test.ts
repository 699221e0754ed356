// Tests a rollout of a new version of the shim: some machines ask for the version first and get it. Machines that
// turn silent stop the rollout for all others.
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { askForUpgrade } from "../../node-shim/worker-link/requests.ts";
import type { UpgradeAnswer } from "../../shared/protocol/answers.ts";
import { JWT_TYPES } from "../../shared/protocol/claims.ts";
import type { AuditAnswer } from "../../shared/protocol/operator-answers.ts";
import type { RolloutAnswer } from "../../shared/protocol/fleet-answers.ts";
import { signReport, sha256Base64url } from "../../node-shim/worker-link/sign.ts";
import { ROLLOUT_LIMITS } from "../../shared/protocol/limits.ts";
import { fleetIndex } from "../../worker/env.ts";
import { IndexObject } from "../../worker/fleet/index-object.ts";
import { UpgradeQuestions } from "../../worker/machine/upgrade-questions.ts";
import { ORIGIN } from "../worker/support/constants.ts";
import {
  enrolled,
  type EnrolledMachine,
  facts,
  HEALTHY,
  indexIsUpdated,
  operator,
  send,
  shimOf,
  transport,
  writesAbout,
} from "../worker/support/machine.ts";

const VERSION = "0.2.0";
const GIVEN = { ok: true, value: { version: VERSION } };
const refused = (why: string) => ({ ok: true, value: { version: null, why } });

const set = (change: object = {}) =>
  operator<RolloutAnswer>("PUT", "/v1/rollout", { version: VERSION, percent: 100, ...change });
const shown = async () => (await operator<RolloutAnswer>("GET", "/v1/rollout")).body.rollout;
const ask = (machine: EnrolledMachine, version = "0.1.0", by = transport) =>
  askForUpgrade(by, { ...machine, origin: ORIGIN }, version);

/** Returns a machine that has reported, so that the fleet index has it. */
async function reported(name: string): Promise<EnrolledMachine> {
  const machine = await enrolled(name);
  await shimOf(machine)(facts(name), HEALTHY);
  await indexIsUpdated(name);
  return machine;
}

/** Sends an update of a machine to the index, later than the update of the machine's own object. */
async function tell(name: string, shim: string, state: "ready" | "silent"): Promise<void> {
  const summary = await fleetIndex(env).summary(name);
  if (!summary) throw new Error(`${name} is not known`);
  const versions = { ...summary.versions, shim };
  const version = Math.round(Date.now() / 1000) + tellings++;
  await fleetIndex(env).tell({
    name,
    generation: 1e6,
    version,
    summary: { ...summary, state, versions },
    entries: [],
  });
}
let tellings = 0;

beforeEach(() => operator("DELETE", "/v1/rollout"));
afterEach(() => operator("DELETE", "/v1/rollout"));

it("no rollout → a machine keeps its version", async () => {
  expect(await ask(await reported("rollout-none"))).toMatchObject(refused("no rollout"));
});

it("a rollout → a machine gets the version, upgrades, and is counted", async () => {
  const machine = await reported("rollout-given");
  await set();
  expect(await ask(machine)).toMatchObject(GIVEN);
  expect(await shown()).toMatchObject({ machines: { underway: 1, upgraded: 0 } });
  await tell(machine.name, VERSION, "ready");
  expect(await shown()).toMatchObject({ machines: { underway: 0, upgraded: 1 } });
  expect(await ask(machine, VERSION)).toMatchObject(refused("up to date"));
});

it("two machines never return → no other machine gets the version, until an operator sets the rollout again", async () => {
  const given = [await reported("rollout-silent-1"), await reported("rollout-silent-2")];
  const next = await reported("rollout-silent-3");
  await set();
  for (const machine of given) await ask(machine);
  for (const { name } of given) await tell(name, "0.1.0", "silent");
  expect(await ask(next)).toMatchObject(refused("stopped"));
  const why = `2 of 2 machines that were given ${VERSION} are silent: rollout-silent-1, rollout-silent-2`;
  expect(await shown()).toMatchObject({ stopped: { why } });
  await set();
  expect(await ask(next)).toMatchObject(GIVEN);
});

it("a label → only machines with it", async () => {
  const machine = await reported("rollout-label");
  await set({ selector: "rollcall.dev/hostname=rollout-other" });
  expect(await ask(machine)).toMatchObject(refused("not chosen"));
  await set({ selector: "rollcall.dev/hostname=rollout-label" });
  expect(await ask(machine)).toMatchObject(GIVEN);
});

it("a request for the version → renews nothing, and the service's next report counts", async () => {
  const machine = await enrolled("rollout-beside");
  const report = shimOf(machine);
  await report(facts(machine.name), HEALTHY);
  await indexIsUpdated(machine.name);
  await set();
  const before = (await writesAbout(machine.name, "Lease")).length;
  await ask(machine);
  expect((await writesAbout(machine.name, "Lease")).length).toBe(before);
  expect(await report(facts(machine.name), HEALTHY)).toMatchObject({
    ok: true,
    value: { phase: "registered" },
  });
});

it("an operator's actions → are in the audit log", async () => {
  await set({ percent: 5 });
  await operator("POST", "/v1/rollout/stop");
  await operator("DELETE", "/v1/rollout");
  const { entries } = (await operator<AuditAnswer>("GET", `/v1/audit?target=${VERSION}&limit=3`)).body;
  expect(entries.map(({ what, detail }) => [what, detail])).toEqual([
    ["rollout.end", ""],
    ["rollout.stop", ""],
    ["rollout.set", "5%, at most 2% silent, 50 at once"],
  ]);
});

it.each([
  ["a report's signature", JWT_TYPES.report, { protocol: 1, version: "0.1.0" }, 401, "unauthenticated"],
  ["another field", JWT_TYPES.upgrade, { protocol: 1, version: "0.1.0", force: true }, 400, "invalid-body"],
  ["no version", JWT_TYPES.upgrade, { protocol: 1 }, 400, "invalid-body"],
  ["no JSON", JWT_TYPES.upgrade, "{", 400, "invalid-json"],
])("%s → refused", async (what, typ, asked, status, reason) => {
  const machine = await enrolled(`rollout-${what.replaceAll(/\W/g, "-")}`.toLowerCase());
  const path = `/v1/nodes/${machine.name}/upgrade`;
  const body = typeof asked === "string" ? asked : JSON.stringify(asked);
  const post = async (ticket: string) => {
    const claims = { sub: machine.name, aud: ORIGIN, body: sha256Base64url(body), ticket, n: 1 };
    const authorization = `Bearer ${await signReport(machine.key, machine.kid, claims, typ)}`;
    return send(path, { method: "POST", headers: { authorization }, body });
  };
  const first = await post("");
  const { ticket = "" } = await first.clone().json<{ ticket?: string }>();
  const last = first.status === 409 ? await post(ticket) : first;
  expect([last.status, await last.json()]).toEqual([status, expect.objectContaining({ reason })]);
});

it("the fleet index fails → the machine keeps its version, and asks again", async () => {
  const machine = await reported("rollout-index");
  await set();
  const body = Uint8Array.from(new TextEncoder().encode('{"protocol":1,"version":"0.1.0"}'));
  const failing = { upgrade: async (): Promise<UpgradeAnswer> => Promise.reject(new Error("overloaded")) };
  const questions = new UpgradeQuestions(
    () => failing,
    undefined,
    () => Date.now(),
  );
  expect(await questions.answer({ name: machine.name, body })).toEqual(refused("not known"));
});

it("requests up to a machine's limit → answered; one more → refused, and the fleet index is not asked", async () => {
  const machine = await reported("rollout-often");
  const asked = vi.spyOn(IndexObject.prototype, "upgrade");
  for (let question = 0; question < ROLLOUT_LIMITS.questionsAtOnce; question++)
    expect(await ask(machine)).toMatchObject(refused("no rollout"));
  let wait: unknown;
  const watched: typeof transport = async (request) => {
    const response = await transport(request);
    ({ retryAfterSeconds: wait } = JSON.parse(response.body) as { retryAfterSeconds?: number });
    return response;
  };
  expect(await ask(machine, "0.1.0", watched)).toMatchObject({
    ok: false,
    error: { problem: { status: 429, reason: "rate-limited" } },
  });
  expect(wait).toBe(60);
  expect(asked).toHaveBeenCalledTimes(ROLLOUT_LIMITS.questionsAtOnce);
  asked.mockRestore();
});
