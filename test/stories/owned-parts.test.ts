// Tests rollcall's parts of a Node, from report to report: reported values appear, others disappear, and other
// writers' values stay. rollcall does not repeat a write against another writer.
import { describe, expect, it } from "vitest";
import type { Node } from "../../shared/kubernetes/types.ts";
import { OWNED_PARTS, type PartKind, rowsOf } from "../house/owned-parts.ts";
import { maintenanceAfter } from "../../shared/node/maintenance.ts";
import type { RulesResult } from "../../shared/features/rules-result.ts";
import type { Facts } from "../../shared/protocol/facts.ts";
import type { Vitals } from "../../shared/protocol/report.ts";
import { HEALTHY } from "../worker/support/facts.ts";
import { tickingMachine } from "../worker/support/kube-in-between.ts";
import { facts, kube } from "../worker/support/machine.ts";

const NODES = "/api/v1/nodes";
const TAINT = { key: "example.com/a", value: "b", effect: "NoSchedule" } as const;
type Values = Record<string, string>;
type Ticking = ReturnType<typeof tickingMachine>;

const getNode = (name: string) => kube("GET", `${NODES}/${name}`);
const labelsOf = async (name: string): Promise<Values> => (await getNode(name)).metadata?.labels ?? {};
const renewal = (name: string) =>
  `PUT /apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/${name}`;
const patches = ({ requests }: Ticking) => requests.filter((request) => request.startsWith("PATCH")).length;

/** Returns a machine and its history. The machine's object reads the Node at every report. */
function machineNamed(name: string) {
  const machine = tickingMachine(name);
  const history: string[] = [];
  machine.journal.note = (_, text) => void history.push(text);
  const say = (settings: Partial<Facts["settings"]> = {}, more: Partial<Facts> = {}) =>
    machine.setFacts({
      settings: { ...facts(name).settings, nodeStatusReportFrequencyMs: 10_000, ...settings },
      ...more,
    });
  const report = (startId = "start-1", vitals: Partial<Vitals> = {}) => {
    machine.nowMs += 10_000;
    return machine.report({ ...HEALTHY, remainingSeconds: { RaidDegraded: 300 }, ...vitals }, startId);
  };
  say();
  return Object.assign(machine, { history, say, next: report });
}

/** Writes the Node's labels or annotations as the field manager of an operator or a controller. */
async function write(
  name: string,
  manager: string,
  change: (values: Values) => Values,
  field: "labels" | "annotations" = "labels",
): Promise<void> {
  const node = await getNode(name);
  const metadata = { ...node.metadata, [field]: change({ ...node.metadata?.[field] }) };
  await kube("PUT", `${NODES}/${name}?fieldManager=${manager}`, { ...node, metadata });
}
const without = (key: string) => (values: Values) =>
  Object.fromEntries(Object.entries(values).filter(([each]) => each !== key));
const withValue = (key: string, value: string) => (values: Values) => ({ ...values, [key]: value });

const dropIns = (labels: Values): Partial<Facts> => ({
  dropIns: { resources: {}, labels, conditions: [], working: 1, failures: [] },
});
const cloud = (zone: string): Partial<Facts> => ({
  cloud: { providerID: "shop:///7", instanceType: "nuc", zone, region: "north" },
});

const CONDITION = { type: "RaidDegraded", status: "False", reason: "Well", message: "md0" } as const;
const BEGUN = { stage: "begin", untilMs: Date.UTC(2200, 0, 1), who: "alice", comment: "" } as const;
const FOR_PODS = "of a Node for pods";
/** Settings and facts of machines. Each entry makes parts of a Node that no other entry makes. */
const EVERYTHING: Readonly<Record<string, [settings: Partial<Facts["settings"]>, more: Partial<Facts>]>> = {
  "of a cloud, with drop-ins": [
    { cloudProvider: "aws", keepTerminatedPodVolumes: true },
    {
      ...cloud("a"),
      inventory: { cpu: { model: "i5" } },
      dropIns: {
        resources: { "example.com/gpu": 1 },
        labels: { rack: "b7" },
        conditions: [{ ...CONDITION, expiresInSeconds: 300 }],
        working: 1,
        failures: [],
      },
    },
  ],
  [FOR_PODS]: [{}, {}],
  "with an external cloud provider": [
    { cloudProvider: "external", registerSchedulable: false, networkUnavailable: true },
    { addresses: { nodeIPs: ["10.0.0.5"], lookup: [], onInterface: ["10.0.0.5"], defaultRoute: {} } },
  ],
};

const OF_RULES: RulesResult = {
  labels: { "example.com/ruled": "yes" },
  annotations: { "example.com/ruled": "yes" },
  resources: { "example.com/ruled": "1" },
  taints: [{ key: "example.com/ruled", effect: "NoSchedule" }],
  matched: ["o/r"],
  refused: [],
};

describe("the table", () => {
  const all = Object.keys(EVERYTHING);
  const withEverything = async (name: string, what: keyof typeof EVERYTHING, isUnschedulable = false) => {
    const [settings, more] = EVERYTHING[what]!;
    const machine = machineNamed(name);
    machine.isUnschedulable = isUnschedulable;
    machine.roles = ["edge"];
    machine.grant = {
      labels: { site: "oslo" },
      taints: [{ key: "example.com/token", effect: "NoSchedule" }],
      withoutFactsOnlyTaint: what === FOR_PODS,
    };
    if (what === all[0]) machine.records.put("ruled", { revision: 1, result: OF_RULES });
    machine.say(
      { nodeLabels: { shop: "17" }, inventoryLabels: true, registerWithTaints: [TAINT], ...settings },
      more,
    );
    expect(await machine.next()).toMatchObject({ phase: "registered" });
    await machine.next();
    return machine;
  };
  const partsOf = ({ metadata, spec, status }: Node): [kind: PartKind, key: string][] => [
    ...Object.keys(metadata?.labels ?? {}).map((key): [PartKind, string] => ["label", key]),
    ...Object.keys(metadata?.annotations ?? {}).map((key): [PartKind, string] => ["annotation", key]),
    ...(spec?.taints ?? []).map(({ key }): [PartKind, string] => ["taint", key]),
    ...(status?.conditions ?? []).map(({ type }): [PartKind, string] => ["condition", type]),
  ];
  /**
   * Returns the Node's labels and annotations by their kind and key, such as `label example.com/rack`. Omits those
   * that decide who owns the Node.
   */
  const keyedPartsOf = ({ metadata }: Node): Map<string, string> =>
    new Map(
      (["label", "annotation"] as const).flatMap((kind) =>
        Object.entries(metadata?.[`${kind}s`] ?? {})
          .filter(([key]) => key !== "rollcall.dev/owner")
          .map(([key, value]): [string, string] => [`${kind} ${key}`, value]),
      ),
    );
  const fateOf = (part: string, event: "removed" | "changed" | "unset") => {
    const [kind = "", key = ""] = part.split(" ");
    return rowsOf(kind as PartKind, key)[0]![event];
  };

  it("has each part of a Node that rollcall makes, and no other", async () => {
    const parts: [PartKind, string][] = [];
    for (const [index, what] of all.entries()) {
      const machine = await withEverything(`owned-all-${index}`, what, true);
      machine.records.put("maintenance", maintenanceAfter([], BEGUN, machine.nowMs));
      await machine.next("start-1", { shuttingDown: true });
      parts.push(...partsOf(await getNode(`owned-all-${index}`)));
    }
    const rows = parts.map(([kind, key]) => ({ key, rows: rowsOf(kind, key) }));
    expect(rows.filter((part) => part.rows.length === 0)).toEqual([]);
    const seen = new Set(rows.flatMap((part) => part.rows));
    expect(OWNED_PARTS.filter((row) => !seen.has(row))).toEqual([]);
  });

  it.each(all)(
    "states what happens to labels and annotations that another writer removes: %s",
    async (what) => {
      const name = `owned-all-removed-${all.indexOf(what)}`;
      const machine = await withEverything(name, what);
      const before = keyedPartsOf(await getNode(name));
      expect([...before.keys()].map((part) => fateOf(part, "removed"))).not.toContain("it stays removed");
      await write(name, "kubectl", () => ({}));
      await write(name, "kubectl", () => ({ "rollcall.dev/owner": "rollcall" }), "annotations");
      await machine.next();
      expect(keyedPartsOf(await getNode(name))).toEqual(before);
    },
  );

  it("lists that another writer removes are restored, so that their entries can still disappear", async () => {
    const name = "owned-all-lists";
    const machine = await withEverything(name, all[0]!);
    const { metadata } = await getNode(name);
    await write(name, "kubectl", () => ({ "rollcall.dev/owner": "rollcall" }), "annotations");
    await machine.next();
    expect((await getNode(name)).metadata?.annotations).toEqual(metadata?.annotations);
  });

  it.each(all)("states what happens to those that another writer sets to another value: %s", async (what) => {
    const name = `owned-all-changed-${all.indexOf(what)}`;
    const machine = await withEverything(name, what);
    const before = keyedPartsOf(await getNode(name));
    const theirs = (values: Values) =>
      Object.fromEntries(
        Object.entries(values).map(([key, value]) => [key, key === "rollcall.dev/owner" ? value : "theirs"]),
      );
    await write(name, "kubectl", theirs);
    await write(name, "kubectl", theirs, "annotations");
    await machine.next();
    const expected = [...before].map(([part, value]) => [
      part,
      fateOf(part, "changed") === "the Worker restores it" ? value : "theirs",
    ]);
    const after = keyedPartsOf(await getNode(name));
    // An annotation that lists rollcall's labels or roles must no longer list those that another writer has
    // changed.
    const isList = (part: string) =>
      part.includes("-labels") || part.endsWith("rule-annotations") || part.endsWith("/roles");
    for (const [part, value] of expected as [string, string][])
      if (!isList(part)) expect.soft(`${part}: ${after.get(part)}`).toBe(`${part}: ${value}`);
    expect([...after].filter(([part, value]) => isList(part) && value === "theirs")).toEqual([]);
  });

  it.each(all)("states what happens to those that are no longer reported: %s", async (what) => {
    const name = `owned-all-unset-${all.indexOf(what)}`;
    const machine = await withEverything(name, what);
    const before = keyedPartsOf(await getNode(name));
    machine.roles = [];
    machine.records.remove("ruled");
    machine.grant = { withoutFactsOnlyTaint: what === FOR_PODS };
    machine.say({ enableControllerAttachDetach: false }, { dropIns: null, inventory: null });
    await machine.next("start-2");
    const expected = [...before.keys()].filter((part) => fateOf(part, "unset") !== "the Worker removes it");
    expect([...keyedPartsOf(await getNode(name)).keys()].toSorted()).toEqual(expected.toSorted());
  });
});

describe("--node-labels", () => {
  it("change → the Node's change with the next report, in one patch; other writers' labels stay", async () => {
    const name = "owned-node-labels";
    const machine = machineNamed(name);
    machine.say({ nodeLabels: { shop: "17", tier: "front" } });
    await machine.next();
    await write(name, "kubectl-label", withValue("team", "blue"));
    machine.say({ nodeLabels: { shop: "18", rack: "b7" } });
    await machine.next("start-2");
    expect(patches(machine)).toBe(1);
    const labels = await labelsOf(name);
    expect(labels).toMatchObject({ shop: "18", rack: "b7", team: "blue" });
    expect(labels).not.toHaveProperty("tier");
    expect((await getNode(name)).metadata?.annotations).toMatchObject({
      "rollcall.dev/node-labels": "rack,shop",
    });
  });

  it("exceed the join token → left out, also of an existing Node; the token's own labels win", async () => {
    const name = "owned-beyond";
    const machine = machineNamed(name);
    machine.grant = { mayLabel: ["shop", "site"], labels: { site: "oslo" } };
    await machine.next();
    machine.say({ nodeLabels: { shop: "17", tier: "front", site: "bergen" } });
    const { message } = await machine.next("start-2");
    expect(message).toBe("left out of its Node: label site, label tier");
    const labels = await labelsOf(name);
    expect(labels).toMatchObject({ shop: "17", site: "oslo" });
    expect(labels).not.toHaveProperty("tier");
    machine.say();
    await machine.next("start-3");
    expect(await labelsOf(name)).toMatchObject({ site: "oslo" });
  });

  it("equal labels that a Node already has → listed, so that they disappear when they are no longer reported", async () => {
    const name = "owned-before";
    const machine = machineNamed(name);
    machine.say({ nodeLabels: { shop: "17" } });
    await machine.next();
    await write(name, "rollcall.rollcall", without("rollcall.dev/node-labels"), "annotations");
    await machine.next();
    machine.say();
    await machine.next("start-2");
    expect(await labelsOf(name)).not.toHaveProperty("shop");
  });
});

describe("the labels of a cloud", () => {
  const ZONE = "rollcall.dev/zone";

  it("change with it, stay while its metadata cannot be read, and disappear with it", async () => {
    const name = "owned-cloud";
    const machine = machineNamed(name);
    const of = async () => (await labelsOf(name))[ZONE];
    machine.say({ cloudProvider: "file" }, cloud("a"));
    await machine.next();
    machine.say({ cloudProvider: "file" }, cloud("b"));
    await machine.next();
    expect(await of()).toBe("b");
    machine.say({ cloudProvider: "file" }, {});
    await machine.next();
    expect(await of()).toBe("b");
    machine.say({}, {});
    await machine.next("start-2");
    expect(await of()).toBeUndefined();
  });
});

describe("another writer removes", () => {
  it.each([
    ["a label of the configuration", "shop"],
    ["one of the token", "site"],
    ["one of a drop-in", "rack"],
    ["the host's name", "rollcall.dev/hostname"],
    ["the platform", "rollcall.dev/os"],
    ["what keeps it out of the counts of Nodes", "node.kubernetes.io/exclude-disruption"],
    ["its queue of evictions", "failure-domain.beta.kubernetes.io/region"],
    ["what keeps load balancers away", "node.kubernetes.io/exclude-from-external-load-balancers"],
  ])("%s → it is put back, and nothing is said about it", async (_, key) => {
    const name = `owned-removed-${key.split("/").at(-1)}`;
    const machine = machineNamed(name);
    machine.grant = { labels: { site: "oslo" } };
    machine.say({ nodeLabels: { shop: "17" } }, dropIns({ rack: "b7" }));
    await machine.next();
    const before = await labelsOf(name);
    expect(before).toHaveProperty([key]);
    machine.history.length = 0;
    await write(name, "kubectl-label", without(key));
    expect(await machine.next()).not.toHaveProperty("message");
    expect(await labelsOf(name)).toEqual(before);
    expect(machine.history).toEqual([]);
  });

  it("the annotation for the attach-detach controller → restored", async () => {
    const name = "owned-annotation";
    const key = "volumes.kubernetes.io/controller-managed-attach-detach";
    const machine = machineNamed(name);
    await machine.next();
    await write(name, "kubectl-annotate", without(key), "annotations");
    await machine.next();
    expect((await getNode(name)).metadata?.annotations).toMatchObject({ [key]: "true" });
  });
});

describe("another writer sets another value", () => {
  it("→ it stays, and history names the writer once; removed → ours again", async () => {
    const name = "owned-contested";
    const machine = machineNamed(name);
    machine.say({ nodeLabels: { tier: "front" } });
    await machine.next();
    machine.history.length = 0;
    await write(name, "kubectl-label", withValue("tier", "back"));
    const theirs = {
      phase: "registered",
      message: "stays as others have set it: label tier (kubectl-label)",
    };
    expect(await machine.next()).toMatchObject(theirs);
    machine.say({ nodeLabels: { tier: "middle" } });
    expect(await machine.next("start-2")).toMatchObject(theirs);
    expect(await machine.next("start-2")).toMatchObject(theirs);
    expect(await labelsOf(name)).toMatchObject({ tier: "back" });
    const said = () => machine.history.filter((text) => text.startsWith("label"));
    expect(said()).toEqual(["label tier stays as kubectl-label has set it"]);

    await write(name, "kubectl-label", without("tier"));
    expect(await machine.next("start-2")).not.toHaveProperty("message");
    expect(await labelsOf(name)).toMatchObject({ tier: "middle" });
    expect(said()).toEqual([
      "label tier stays as kubectl-label has set it",
      "label tier is set again: what kubectl-label had set is gone",
    ]);
  });

  it("→ it stays when the label is no longer reported", async () => {
    const name = "owned-unset";
    const machine = machineNamed(name);
    machine.grant = { labels: { site: "oslo" } };
    machine.say({ nodeLabels: { tier: "front" } });
    await machine.next();
    await write(name, "fleet-agent", (values) => ({ ...values, tier: "back", site: "bergen" }));
    machine.say();
    machine.grant = {};
    await machine.next("start-2");
    await machine.next("start-2");
    expect(await labelsOf(name)).toMatchObject({ tier: "back", site: "bergen" });
    expect(await machine.next("start-2")).not.toHaveProperty("message");
  });

  it("→ a steady report costs one request and no row all the same", async () => {
    const name = "owned-steady";
    const machine = machineNamed(name);
    machine.say({ nodeLabels: { tier: "front" }, nodeStatusReportFrequencyMs: 300_000 });
    await machine.next();
    await write(name, "kubectl-label", withValue("tier", "back"));
    machine.nowMs += 360_000;
    await machine.next();
    await machine.next();
    const { writes } = machine.records;
    await machine.next();
    expect(machine.requests).toEqual([renewal(name)]);
    expect(machine.records.writes).toBe(writes);
  });

  it("the apiserver does not record writers → ours is restored", async () => {
    const name = "owned-unrecorded";
    const machine = machineNamed(name);
    machine.say({ nodeLabels: { tier: "front" } });
    await machine.next();
    await write(name, "kubectl-label", withValue("tier", "back"));
    machine.inBetween = async (method, path, ask) => {
      if (method !== "GET" || !path.startsWith(`${NODES}/${name}`)) return undefined;
      const node = await (await ask()).json<Node>();
      const { managedFields: _, ...metadata } = node.metadata ?? {};
      return Response.json({ ...node, metadata });
    };
    await machine.next();
    expect(await labelsOf(name)).toMatchObject({ tier: "front" });
  });
});

describe("registerWithTaints", () => {
  const taintsOf = async (name: string) => (await getNode(name)).spec?.taints?.map(({ key }) => key);

  it("changes → the Node's taints stay; history has that once, with the way to a new Node", async () => {
    const name = "owned-taints";
    const machine = machineNamed(name);
    machine.say({ registerWithTaints: [TAINT] });
    await machine.next();
    const before = await taintsOf(name);
    machine.say({ registerWithTaints: [{ ...TAINT, key: "example.com/other" }] });
    await machine.next("start-2");
    await machine.next("start-3");
    expect(await taintsOf(name)).toEqual(before);
    expect(machine.history.filter((text) => text.includes("taints"))).toEqual([
      "the taints of the Node stay: it does not get example.com/other=b:NoSchedule, it keeps example.com/a=b:NoSchedule; " +
        `a new Node has the configured taints: kubectl delete node ${name}, then rollcall node register ${name}`,
    ]);
  });

  it("and the Node is deleted while its machine is not Ready → the new one has the reported and other writers' taints", async () => {
    const name = "owned-taints-anew";
    const machine = machineNamed(name);
    machine.say({ registerWithTaints: [TAINT] });
    await machine.next();
    machine.say({ registerWithTaints: [{ ...TAINT, key: "example.com/other" }] });
    await machine.next("start-2");
    const node = await getNode(name);
    const taints = [...(node.spec?.taints ?? []), { key: "theirs", effect: "NoSchedule" }];
    await kube("PUT", `${NODES}/${name}`, { ...node, spec: { ...node.spec, taints } });
    machine.nowMs += 360_000;
    await machine.report({ ...HEALTHY, shuttingDown: true }, "start-2");
    await kube("DELETE", `${NODES}/${name}`);
    machine.nowMs += 360_000;
    expect(await machine.next("start-2")).toMatchObject({ phase: "node deleted" });
    machine.nowMs += 3_600_000;
    expect(await machine.next("start-2")).toMatchObject({ phase: "registered" });
    const keys = (await taintsOf(name)) ?? [];
    expect(keys).toEqual(expect.arrayContaining(["rollcall.dev/facts-only", "example.com/other", "theirs"]));
    expect(keys).not.toContain("example.com/a");
  });
});

describe("an admission webhook removes a label from every write", () => {
  it("→ restored twice, then once an hour; phase message and history have it, and its end", async () => {
    const name = "owned-webhook";
    const machine = machineNamed(name);
    machine.say({ nodeLabels: { tier: "front" } });
    await machine.next();
    let isThere = true;
    let written = 0;
    machine.inBetween = async (method, path, ask) => {
      if (method !== "PATCH" || !path.startsWith(`${NODES}/${name}`)) return undefined;
      const answer = await ask();
      if (!isThere || !(await answer.clone().json<Node>()).metadata?.labels?.["tier"]) return answer;
      written++;
      await write(name, "webhook", without("tier"));
      return Response.json(await getNode(name));
    };
    await write(name, "kubectl-label", without("tier"));
    machine.history.length = 0;
    let message: string | undefined;
    /** Sends a report every `everySeconds`, for `hours`. */
    const goOn = async (hours: number, everySeconds: number) => {
      for (let seconds = 0; seconds < hours * 3600; seconds += everySeconds) {
        machine.nowMs += (everySeconds - 10) * 1000;
        ({ message } = await machine.next());
      }
    };
    await goOn(0.02, 10);
    const why = "label tier (undone on its way into the cluster, as admission webhooks do)";
    expect(written).toBe(2);
    expect(message).toBe(`put back once an hour only: ${why}`);
    expect(machine.history).toEqual([`put back once an hour only: ${why}`]);

    machine.evict();
    await goOn(2, 300);
    expect(written).toBe(2 + 2);

    isThere = false;
    await goOn(1.5, 300);
    expect(message).toBeUndefined();
    expect(await labelsOf(name)).toMatchObject({ tier: "front" });
    expect(machine.history.at(-1)).toBe("label tier is put back at once again");
    expect(machine.records.get("putBack")).toBeUndefined();
  });
});
