// Tests the deployment's feature rules: what they give a Node, from report to report, and how an operator applies them.
import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterAll, describe, expect, test } from "vitest";
import type { FeatureRule } from "../../shared/features/rules.ts";
import { rulesResult } from "../../shared/features/rules-result.ts";
import type { Taint } from "../../shared/kubernetes/types.ts";
import type { Facts } from "../../shared/protocol/facts.ts";
import type { AuditAnswer } from "../../shared/protocol/operator-answers.ts";
import {
  RULE_SET_LIMITS,
  ruleSetBytes,
  type RulesAnswer,
  rulesSchema,
  type RulesTrial,
  rulesTrialAnswerSchema,
} from "../../shared/protocol/rules.ts";
import { registry } from "../../worker/env.ts";
import { RATE_LIMITS } from "../../worker/storage/token-bucket.ts";
import { passing, shift } from "../worker/support/clock.ts";
import { statusResponse, tickingMachine } from "../worker/support/kube-in-between.ts";
import {
  enrolled,
  facts,
  HEALTHY,
  indexIsUpdated,
  kube,
  operator,
  send,
  shimOf,
} from "../worker/support/machine.ts";

const gpuFeatures = (...vendors: string[]): Pick<Facts, "features"> => ({
  features: {
    flags: {},
    attributes: { "local.feature": { gpus: String(vendors.length) } },
    instances: { "pci.device": { attributes: ["vendor"], rows: vendors.map((vendor) => [vendor]) } },
  },
});
const ifVendor = (vendor: string): Pick<FeatureRule, "matchFeatures"> => ({
  matchFeatures: [{ feature: "pci.device", matchExpressions: { vendor: { op: "In", value: [vendor] } } }],
});

const nodeOf = (name: string) => kube("GET", `/api/v1/nodes/${name}`);

describe("a Node", () => {
  const TAINT = { key: "feature.node.kubernetes.io/gpu", effect: "NoSchedule" };
  const gpuRule: FeatureRule = {
    name: "gpu",
    ...ifVendor("10de"),
    labels: { gpu: "true", "example.com/maker": "nvidia" },
    annotations: { "example.com/note": "has a GPU" },
    extendedResources: { "example.com/gpus": "@local.feature.gpus" },
    taints: [TAINT],
  };

  /** A registered machine for which rules were evaluated. */
  async function ruled(
    name: string,
    rules: FeatureRule[],
    more: Partial<ReturnType<typeof tickingMachine>> = {},
  ) {
    const machine = Object.assign(tickingMachine(name), more);
    const follow = (next: FeatureRule[], ...vendors: string[]) =>
      machine.records.put("ruled", {
        revision: 1,
        result: rulesResult([{ name: "o", rules: next }], gpuFeatures(...vendors).features),
      });
    const report = () => {
      machine.nowMs += 10_000;
      return machine.report();
    };
    follow(rules, "10de");
    await report();
    await report();
    return { machine, follow, report };
  }

  async function partsOf(name: string) {
    const { metadata, spec, status } = await nodeOf(name);
    const { labels = {}, annotations = {} } = metadata ?? {};
    return {
      gpu: labels["feature.node.kubernetes.io/gpu"],
      maker: labels["example.com/maker"],
      note: annotations["example.com/note"],
      capacity: status?.capacity?.["example.com/gpus"],
      allocatable: status?.allocatable?.["example.com/gpus"],
      taint: (spec?.taints ?? []).some(({ key }) => key === TAINT.key),
    };
  }
  const ALL = {
    gpu: "true",
    maker: "nvidia",
    note: "has a GPU",
    capacity: "1",
    allocatable: "0",
    taint: true,
  };
  const NOTHING = {
    gpu: undefined,
    maker: undefined,
    note: undefined,
    capacity: undefined,
    allocatable: undefined,
    taint: false,
  };

  test("is created with all that the rules result in", async () => {
    await ruled("rules-1", [gpuRule]);
    expect(await partsOf("rules-1")).toEqual(ALL);
  });

  test("the device is gone, and comes back → so do label, annotation, resource and taint", async () => {
    const { follow, report } = await ruled("rules-2", [gpuRule]);
    follow([gpuRule]);
    await report();
    expect(await partsOf("rules-2")).toEqual(NOTHING);
    follow([gpuRule], "10de", "8086");
    await report();
    expect(await partsOf("rules-2")).toEqual({ ...ALL, capacity: "2" });
  });

  test("steady reports: one request each, and no row", async () => {
    const { machine, report } = await ruled("rules-3", [gpuRule]);
    const { writes } = machine.records;
    for (let at = 0; at < 3; at++) {
      await report();
      expect(machine.requests).toEqual([
        "PUT /apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/rules-3",
      ]);
    }
    expect(machine.records.writes).toBe(writes);
  });

  test("a token that allows nothing → nothing, and the operator is told what is left out", async () => {
    const grant = { mayLabel: [], mayFeature: [], mayTaint: [], mayResource: [] };
    const { machine } = await ruled("rules-4", [gpuRule], { grant });
    expect(await partsOf("rules-4")).toEqual(NOTHING);
    expect(machine.records.get("leftOut")).toMatchObject({
      status: [
        "annotation example.com/note",
        "label example.com/maker",
        "label feature.node.kubernetes.io/gpu",
        "resource example.com/gpus",
        "taint feature.node.kubernetes.io/gpu",
      ],
    });
  });

  test("a label of the token → stays as the token has it, whether or not a rule has it", async () => {
    const grant = { labels: { "example.com/maker": "ours" } };
    const { follow, report } = await ruled("rules-5", [gpuRule], { grant });
    expect(await partsOf("rules-5")).toMatchObject({ maker: "ours", gpu: "true" });
    follow([]);
    await report();
    expect(await partsOf("rules-5")).toMatchObject({ maker: "ours", gpu: undefined });
  });

  test("another writer's label of the same key → stays", async () => {
    const { machine, follow, report } = await ruled("rules-6", []);
    const node = await nodeOf("rules-6");
    const labels = { ...node.metadata?.labels, "example.com/maker": "theirs" };
    await kube("PUT", "/api/v1/nodes/rules-6?fieldManager=kubectl", {
      ...node,
      metadata: { ...node.metadata, labels },
    });
    machine.records.put("node", { ...machine.records.get("node")!, readAgain: true });
    follow([gpuRule], "10de");
    await report();
    expect(await partsOf("rules-6")).toMatchObject({ maker: "theirs", gpu: "true" });
    follow([]);
    await report();
    expect(await partsOf("rules-6")).toMatchObject({ maker: "theirs", gpu: undefined });
  });

  test("another writer's resource of the same name → stays, without a request for each report", async () => {
    const { machine, follow, report } = await ruled("rules-10", []);
    const set = async (amount: string) => {
      const status = { capacity: { "example.com/gpus": amount } };
      const path = "/api/v1/nodes/rules-10/status?fieldManager=kubectl";
      await kube("PATCH", path, { status }, "application/merge-patch+json");
      expect((await nodeOf("rules-10")).status?.capacity).toMatchObject(status.capacity);
      machine.records.put("node", { ...machine.records.get("node")!, readAgain: true });
    };
    await set("8");
    follow([gpuRule], "10de");
    await report();
    expect(await partsOf("rules-10")).toMatchObject({ capacity: "8", gpu: "true" });
    await report();
    expect(machine.requests).toHaveLength(1);
    follow([]);
    await report();
    expect(await partsOf("rules-10")).toMatchObject({ capacity: "8", gpu: undefined });
  });

  test("a restart of the shim → everything stays", async () => {
    const { machine } = await ruled("rules-7", [gpuRule]);
    machine.nowMs += 60_000;
    await machine.report(HEALTHY, "start-2");
    expect(await partsOf("rules-7")).toEqual(ALL);
  });

  test("an apiserver that refuses the change of taints → the labels follow; one attempt an hour", async () => {
    const { machine, follow, report } = await ruled("rules-8", [{ ...gpuRule, taints: [] }]);
    let attempts = 0;
    machine.inBetween = (method, path) => {
      if (method !== "PATCH" || path.endsWith("/status")) return undefined;
      attempts++;
      return statusResponse(403, "Forbidden");
    };
    const tainted = [{ ...gpuRule, labels: { gpu: "yes" } }];
    follow(tainted, "10de");
    for (let at = 0; at < 3; at++) await report();
    expect([attempts, await partsOf("rules-8")]).toMatchObject([1, { gpu: "yes", taint: false }]);
    machine.nowMs += 3_600_000;
    machine.inBetween = undefined;
    await report();
    await report();
    expect(await partsOf("rules-8")).toMatchObject({ taint: true });
  });

  test("taints of other writers → stay, in every change", async () => {
    const { follow, report } = await ruled("rules-9", [gpuRule]);
    const node = await nodeOf("rules-9");
    const other: Taint = { key: "example.com/down", effect: "NoExecute" };
    await kube("PUT", "/api/v1/nodes/rules-9?fieldManager=kubectl", {
      ...node,
      spec: { ...node.spec, taints: [...(node.spec?.taints ?? []), other] },
    });
    follow([]);
    for (let at = 0; at < 3; at++) await report();
    const { spec } = await nodeOf("rules-9");
    const keys = spec?.taints?.map(({ key }) => key);
    expect(keys).toEqual(expect.arrayContaining(["rollcall.dev/facts-only", "example.com/down"]));
    expect(keys).not.toContain(TAINT.key);
  });
});

describe("an operator", () => {
  const object = (name: string, ...rules: object[]) => ({
    apiVersion: "nfd.k8s-sigs.io/v1alpha1",
    kind: "NodeFeatureRule",
    metadata: { name },
    spec: { rules },
  });
  const read = async () => rulesSchema.parse((await operator<RulesAnswer>("GET", "/v1/rules")).body);
  /** Applies these objects to the present set. */
  const apply = async (objects: readonly unknown[], more: object = {}) =>
    operator<RulesAnswer & { detail: string }>("PUT", "/v1/rules", {
      objects,
      base: (await read()).revision,
      mayChange: 1000,
      ...more,
    });
  async function rolledOut() {
    for (;;) {
      const { rollout } = await read();
      if (rollout?.state !== "running") return rollout;
      await passing(runDurableObjectAlarm(registry(env)));
    }
  }
  const attempt = async (objects: unknown[]) => {
    const answers: RulesTrial[] = [];
    for (let after: string | null = ""; after !== null; after = answers.at(-1)?.next ?? null) {
      const { status, body } = await operator<RulesTrial>("POST", "/v1/rules/try", { objects, after });
      expect(status).toBe(200);
      answers.push(rulesTrialAnswerSchema.parse(body));
    }
    return answers.flatMap(({ changes }) => changes);
  };
  /** A machine with these vendors' devices, which has registered. */
  async function withDevices(name: string, ...vendors: string[]) {
    const machine = await enrolled(name);
    const report = shimOf(machine);
    const sendOf = (...of: string[]) => report({ ...facts(name), ...gpuFeatures(...of) }, HEALTHY);
    expect(await sendOf(...vendors)).toMatchObject({ ok: true });
    return sendOf;
  }
  const labelOf = async (name: string) =>
    (await nodeOf(name)).metadata?.labels?.["feature.node.kubernetes.io/lab"];
  const labRule = (vendor: string, value: string) => ({
    name: "lab",
    ...ifVendor(vendor),
    labels: { lab: value },
  });

  /** Other test files have machines in the same registry. */
  afterAll(() =>
    runInDurableObject(registry(env), (_, { storage: { sql } }) => {
      sql.exec("DELETE FROM rule_sets");
      sql.exec("DELETE FROM rules_rollout");
    }),
  );

  test("tries rules → who would change and how; nothing changes", async () => {
    await withDevices("rules-op-1", "aaa1");
    const changes = await attempt([object("o", labRule("aaa1", "one"))]);
    expect(changes).toEqual([
      {
        name: "rules-op-1",
        changes: [{ kind: "label", key: "feature.node.kubernetes.io/lab", before: null, after: "one" }],
        refused: [],
      },
    ]);
    expect((await read()).revision).toBe(0);
  });

  test.each<[role: string, selector: object, status: number, detail: string | undefined]>([
    ["view", {}, 403, "operator rules-view may look, and change nothing."],
    ["operator", {}, 200, undefined],
    [
      "operator",
      { selector: "site=berlin" },
      403,
      "operator rules-operator-confined has a selector, and rules count for all machines.",
    ],
  ])("with the role %s, %j, tries rules → %i", async (role, selector, status, detail) => {
    const name = `rules-${role}${"selector" in selector ? "-confined" : ""}`;
    const made = await operator<{ secret: string }>("POST", "/v1/operators", {
      name,
      role,
      expiresInSeconds: 3600,
      ...selector,
    });
    const answered = async (method: string, path: string, body: object) => {
      const headers = { authorization: `Bearer ${made.body.secret}` };
      const response = await send(path, { method, headers, body: JSON.stringify(body) });
      return [response.status, (await response.json<{ detail?: string }>()).detail] as const;
    };
    const objects = [object("o", labRule("aaa1", "one"))];
    expect(await answered("POST", "/v1/rules/try", { objects })).toEqual([status, detail]);
    const { revision } = await read();
    expect((await answered("PUT", "/v1/rules", { objects, base: revision }))[0]).toBe(403);
    expect((await read()).revision).toBe(revision);
  });

  test("tries a rule beyond a machine's token → no change, and what is left out", async () => {
    const name = "rules-op-bound";
    const machine = await enrolled(name, { mayLabel: [], mayFeature: [] });
    const reported = { ...facts(name), ...gpuFeatures("aaa9") };
    expect(await shimOf(machine)(reported, HEALTHY)).toMatchObject({ ok: true });
    expect(await attempt([object("o", labRule("aaa9", "one"))])).toEqual([
      {
        name,
        changes: [],
        refused: ["label feature.node.kubernetes.io/lab: the machine's join token does not allow it"],
      },
    ]);
  });

  test("applies, changes and undoes rules → the machines' Nodes follow with their next report", async () => {
    const one = await withDevices("rules-op-2", "aaa2");
    const other = await withDevices("rules-op-3", "bbb2");
    const { status, body } = await apply([object("o", labRule("aaa2", "one"))]);
    expect([status, body]).toMatchObject([200, { rollout: { state: "running" } }]);
    expect(await rolledOut()).toMatchObject({ state: "done", changed: 1, failed: 0 });
    await one("aaa2");
    await other("bbb2");
    expect([await labelOf("rules-op-2"), await labelOf("rules-op-3")]).toEqual(["one", undefined]);
    await indexIsUpdated("rules-op-2");
    expect((await read()).matches).toEqual([{ rule: "o/lab", machines: 1 }]);

    // The rules are evaluated again when a machine's features change.
    await other("aaa2");
    await one();
    await one();
    expect([await labelOf("rules-op-2"), await labelOf("rules-op-3")]).toEqual([undefined, "one"]);

    // A machine that enrols later follows too, from its first report on.
    await withDevices("rules-op-4", "aaa2");
    expect(await labelOf("rules-op-4")).toBe("one");

    const undone = await operator<RulesAnswer>("POST", "/v1/rules/undo", { base: (await read()).revision });
    expect([undone.status, undone.body.objects]).toEqual([200, []]);
    expect(await rolledOut()).toMatchObject({ state: "done", changed: 2 });
    await other("aaa2");
    expect(await labelOf("rules-op-3")).toBeUndefined();
    const audit = await operator<AuditAnswer>("GET", `/v1/audit?target=${undone.body.revision}`);
    expect(audit.body.entries).toMatchObject([{ what: "rules.undo", detail: "to 0" }]);
  });

  test("features that change with each report → evaluated four times, then once in ten minutes, evicted or not", async () => {
    const report = await withDevices("rules-op-7");
    await apply([object("o", labRule("aaa7", "seven"))]);
    await rolledOut();
    const shown: unknown[] = [];
    for (let at = 0; at < 8; at++) {
      await report(...(at % 2 === 0 ? ["aaa7"] : []));
      shown.push(await labelOf("rules-op-7"));
      await evictDurableObject(env.NODES.getByName("rules-op-7"));
    }
    // The first evaluation was that of the machine's first report.
    expect(shown).toEqual(["seven", undefined, ...Array<string>(6).fill("seven")]);
    shift(RATE_LIMITS.rulings.everyMs);
    await report();
    expect(await labelOf("rules-op-7")).toBeUndefined();
    await apply([]);
    await rolledOut();
  });

  test("more Nodes would change than may → the rollout stops, and continues when the operator allows more", async () => {
    const reports = [await withDevices("rules-op-5", "aaa5"), await withDevices("rules-op-6", "aaa5")];
    await apply([object("o", labRule("aaa5", "five"))], { mayChange: 1 });
    expect(await rolledOut()).toMatchObject({ state: "stopped", changed: 1, mayChange: 1 });
    for (const report of reports) await report("aaa5");
    expect([await labelOf("rules-op-5"), await labelOf("rules-op-6")]).toEqual(["five", undefined]);
    const { status } = await operator("POST", "/v1/rules/continue", { mayChange: 2 });
    expect([status, await rolledOut()]).toMatchObject([200, { state: "done", changed: 2 }]);
    expect((await operator("POST", "/v1/rules/continue", { mayChange: 2 })).status).toBe(409);
  });

  test.each<[string, unknown, string, string]>([
    ["no object", "x", "/objects/0", "Invalid input: expected object, received string"],
    [
      "an operator that NFD does not have",
      object("o", { name: "r", matchFeatures: [{ feature: "a.b", matchExpressions: { c: { op: "Is" } } }] }),
      "/objects/0/spec/rules/0/matchFeatures/0/matchExpressions/c",
      "Is",
    ],
    [
      "a long name",
      object("o".repeat(126), { name: "r" }, { name: "rr" }),
      "/objects/0",
      "more than 128 characters",
    ],
  ])("%s → refused with the place, and nothing changes", async (_, value, pointer, detail) => {
    const before = await read();
    const refused = await apply([value]);
    expect([refused.status, refused.body]).toMatchObject([
      400,
      { reason: "invalid-body", pointer, detail: expect.stringContaining(detail) as string },
    ]);
    expect(await read()).toEqual(before);
  });

  test("limits: at them accepted, just over them refused", async () => {
    const rules = (count: number) =>
      Array.from({ length: count }, (__, at) => ({ name: `r${at}`, labels: {} }));
    const long = (size: number) => {
      const made = object("o", { name: "r", annotations: { "example.com/a": "" } });
      made.spec.rules = [
        { name: "r", annotations: { "example.com/a": "x".repeat(size - ruleSetBytes([made])) } },
      ];
      return [made];
    };
    const many = (count: number) => Array.from({ length: count }, (__, at) => object(`o${at}`));
    /** Each `a{999}` has 1000 steps. */
    const matching = (name: string, ...value: string[]) => {
      const matchFeatures = [
        { feature: "pci.device", matchExpressions: { class: { op: "InRegexp", value } } },
      ];
      return object(name, { name: "r", matchFeatures });
    };
    const { objects, bytes, steps } = RULE_SET_LIMITS;
    const large = ["a", "b", "c", "d"].map((name) =>
      matching(name, ...Array<string>(steps / 4000).fill("a{999}")),
    );
    for (const [set, status] of [
      [[object("o", ...rules(256))], 200],
      [[object("o", ...rules(200)), object("p", ...rules(57))], 400],
      [long(bytes), 200],
      [long(bytes + 1), 400],
      [many(objects), 200],
      [many(objects + 1), 400],
      [large, 200],
      [[...large, matching("e", "a")], 400],
      [[object("o"), object("o")], 400],
    ] as const)
      expect((await apply(set)).status).toBe(status);
    await apply([]);
    await rolledOut();
  });

  test("applied from an old revision → a conflict that names the present one", async () => {
    const { revision } = await read();
    const refused = await apply([], { base: revision - 1 });
    expect([refused.status, refused.body.detail]).toEqual([
      409,
      `the rules have revision ${revision} by now, not ${revision - 1}: read them before you change them`,
    ]);
  });

  test("applies rules, and an earlier Worker takes the alarm → the daily work continues the rollout", async () => {
    const report = await withDevices("rules-op-12", "aaa12");
    await apply([object("o", labRule("aaa12", "one"))]);
    await runInDurableObject(registry(env), (_, { storage }) => storage.deleteAlarm());
    await evictDurableObject(registry(env));
    await registry(env).removeSilentNodes();
    let isDue = true;
    while (isDue) isDue = await passing(runDurableObjectAlarm(registry(env)));
    expect((await read()).rollout?.state).toBe("done");
    await report("aaa12");
    expect(await labelOf("rules-op-12")).toBe("one");
  });
});
