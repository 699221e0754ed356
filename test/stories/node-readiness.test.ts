// Tests a rule of the Node Readiness Controller on a machine's Node: the taint follows a drop-in's condition, and
// rollcall leaves the taint and the annotation of the rule alone.
import { evictDurableObject, runDurableObjectAlarm } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import type { DropIns } from "../../shared/protocol/drop-ins.ts";
import { shift } from "../worker/support/clock.ts";
import { enrolled, facts, HEALTHY, kube, operator, shimOf } from "../worker/support/machine.ts";
import { completed, type ReadinessRule, reconcile } from "../worker/support/readiness-controller.ts";

const TAINT = { key: "readiness.k8s.io/raid", effect: "NoSchedule" };
const ruleOf = (enforcementMode: ReadinessRule["spec"]["enforcementMode"]): ReadinessRule => ({
  metadata: { name: "raid" },
  spec: {
    nodeSelector: { matchLabels: {} },
    conditions: [{ type: "RaidDegraded", requiredStatus: "False" }],
    taint: TAINT,
    enforcementMode,
  },
});

async function machine(name: string, mode: ReadinessRule["spec"]["enforcementMode"]) {
  const path = `/api/v1/nodes/${name}`;
  const rule = ruleOf(mode);
  const enrolment = await enrolled(name);
  let report = shimOf(enrolment, "process-1");
  const read = () => kube("GET", path);
  return {
    rule,
    /** Reports RaidDegraded with this status and the remaining seconds, and lets the controller act. */
    async says(status: "True" | "False", remaining = 300): Promise<void> {
      const condition = { type: "RaidDegraded", status, reason: "R", message: "md0", expiresInSeconds: 300 };
      const dropIns: DropIns = {
        resources: {},
        labels: {},
        conditions: [condition],
        working: 1,
        failures: [],
      };
      shift(10_000);
      await report(facts(name, { dropIns }), { ...HEALTHY, remainingSeconds: { RaidDegraded: remaining } });
      const patch = (body: object) => kube("PATCH", path, body, "application/merge-patch+json");
      await reconcile(rule, { read, patch });
    },
    async restarts(): Promise<void> {
      await evictDurableObject(env.NODES.getByName(name));
      report = shimOf(enrolment, "process-2");
    },
    /** Returns whether the Node has the taint of the rule. */
    isTainted: async () => (await read()).spec?.taints?.some(({ key }) => key === TAINT.key) ?? false,
    annotation: async () => (await read()).metadata?.annotations?.[completed(rule)],
  };
}

it("continuous → tainted while the condition is True or has expired, through reports, a restart and a maintenance", async () => {
  const name = "readiness-continuous";
  const box = await machine(name, "continuous");
  await box.says("False");
  expect(await box.isTainted()).toBe(false);
  await box.says("True");
  expect(await box.isTainted()).toBe(true);
  await box.restarts();
  await box.says("True");
  const maintenance = { stage: "begin", until: "2100-01-10T00:00:00Z" };
  await operator("PATCH", `/v1/nodes/${name}`, { maintenance });
  await runDurableObjectAlarm(env.NODES.getByName(name));
  await box.says("True");
  expect(await box.isTainted()).toBe(true);
  await box.says("False");
  expect(await box.isTainted()).toBe(false);
  await box.says("False", 0);
  expect(await box.isTainted()).toBe(true);
});

it("bootstrap-only → untainted for good once the condition is False, and the annotation stays", async () => {
  const box = await machine("readiness-once", "bootstrap-only");
  await box.says("True");
  expect([await box.isTainted(), await box.annotation()]).toEqual([true, undefined]);
  await box.says("False");
  await box.says("True");
  await box.restarts();
  await box.says("True");
  expect([await box.isTainted(), await box.annotation()]).toEqual([false, "true"]);
});
