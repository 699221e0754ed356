// Tests which writer wins a label or an annotation, and which parts are restored.
import { describe, expect, it, test } from "vitest";
import type { Node } from "../../../shared/kubernetes/types.ts";
import {
  afterWrite,
  holdBack,
  hourlyParts,
  leaveOthers,
  putBackParts,
  type WrittenParts,
} from "../../../shared/node/parts.ts";
import type { DraftNode } from "../../../shared/setters/setter.ts";

describe("values of other writers", () => {
  const OURS = "rollcall.east";
  type Map = Record<string, string>;

  /** Returns managedFields in which each manager owns the given keys of labels or annotations. */
  function owned(field: "labels" | "annotations", owners: Record<string, string[]>) {
    return Object.entries(owners).map(([manager, keys]) => ({
      manager,
      operation: "Update",
      fieldsV1: { "f:metadata": { [`f:${field}`]: Object.fromEntries(keys.map((key) => [`f:${key}`, {}])) } },
    }));
  }

  function decide(
    field: "labels" | "annotations",
    [was, is]: [was: Map, is: Map],
    owners: Record<string, string[]>,
    listed?: Map,
  ) {
    const original: Node = { metadata: { [field]: was, managedFields: owned(field, owners) } };
    const node: DraftNode = {
      metadata: { [field]: is, ...(listed && { annotations: listed }) },
      spec: {},
      status: {},
    };
    const others = leaveOthers(original, node, OURS);
    return { others, metadata: node.metadata };
  }

  describe("a label of ours", () => {
    test.each<
      [situation: string, was: Map, is: Map, owners: Record<string, string[]>, after: Map, others: Map]
    >([
      ["that is set", {}, { tier: "b" }, {}, { tier: "b" }, {}],
      ["that changes", { tier: "a" }, { tier: "b" }, { [OURS]: ["tier"] }, { tier: "b" }, {}],
      ["that goes", { tier: "a" }, {}, { [OURS]: ["tier"] }, {}, {}],
      [
        "with another's value",
        { tier: "a" },
        { tier: "b" },
        { [OURS]: ["x"], "kubectl-label": ["tier"] },
        { tier: "a" },
        { "label tier": "kubectl-label" },
      ],
      [
        "with another's value, which is no longer said",
        { tier: "a" },
        {},
        { "kubectl-label": ["tier"] },
        { tier: "a" },
        { "label tier": "kubectl-label" },
      ],
      [
        "that another writer sets as well, and that the machine no longer reports",
        { tier: "a" },
        {},
        { [OURS]: ["tier"], argocd: ["tier"] },
        { tier: "a" },
        { "label tier": "argocd" },
      ],
      ["that the other writer has removed", {}, { tier: "b" }, { "kubectl-label": ["x"] }, { tier: "b" }, {}],
      [
        "of another deployment",
        { tier: "a" },
        { tier: "b" },
        { "rollcall.west": ["tier"] },
        { tier: "a" },
        { "label tier": "rollcall.west" },
      ],
      ["where the apiserver records no owners", { tier: "a" }, { tier: "b" }, {}, { tier: "b" }, {}],
      [
        "that only rollcall may set",
        { "rollcall.dev/machine": "x" },
        { "rollcall.dev/machine": "" },
        { "kubectl-label": ["rollcall.dev/machine"] },
        { "rollcall.dev/machine": "" },
        {},
      ],
      [
        "that only the platform may set",
        { "kubernetes.io/os": "x" },
        { "kubernetes.io/os": "linux" },
        { "kubectl-label": ["kubernetes.io/os"] },
        { "kubernetes.io/os": "linux" },
        {},
      ],
    ])("%s", (_, was, is, owners, after, others) => {
      const before = structuredClone(was);
      const decided = decide("labels", [was, is], owners);
      expect(decided.metadata.labels).toEqual(after);
      expect(decided.others).toEqual(others);
      expect(was).toEqual(before);
    });

    test("with another writer's value → is not listed as ours", () => {
      const listed = {
        "rollcall.dev/fact-labels": "rack,tier",
        "rollcall.dev/token-labels": "tier",
        "rollcall.dev/node-labels": "a,tier",
        kept: "x",
      };
      const { metadata } = decide("labels", [{ tier: "a" }, { tier: "b" }], { kubectl: ["tier"] }, listed);
      expect(metadata.annotations).toEqual({
        "rollcall.dev/fact-labels": "rack",
        "rollcall.dev/node-labels": "a",
        kept: "x",
      });
    });
  });

  describe("an annotation of ours", () => {
    const ATTACH = "volumes.kubernetes.io/controller-managed-attach-detach";
    test.each<[situation: string, key: string, stays: boolean]>([
      ["with another's value", ATTACH, true],
      ["that lists what is ours, with another's value", "rollcall.dev/fact-labels", false],
    ])("%s", (_, key, stays) => {
      const { metadata, others } = decide("annotations", [{ [key]: "a" }, { [key]: "b" }], {
        kubectl: [key],
      });
      expect(metadata.annotations).toEqual({ [key]: stays ? "a" : "b" });
      expect(others).toEqual(stays ? { [`annotation ${key}`]: "kubectl" } : {});
    });
  });

  test("no value of another writer changes → the same objects", () => {
    const [was, is] = [
      { tier: "a", team: "x" },
      { tier: "b", team: "x" },
    ];
    const { metadata } = decide("labels", [was, is], { kubectl: ["team"], [OURS]: ["tier"] });
    expect(metadata.labels).toBe(is);
  });
});

describe("parts that another writer undoes", () => {
  const OURS = "rollcall.east";
  const SECOND = 1000;
  const MINUTE = 60 * SECOND;
  const HOUR = 60 * MINUTE;
  const START = Date.UTC(2026, 0, 1);

  type Labels = Record<string, string>;

  /** Returns a Node and functions: reports that set its label `tier`, and actions of another writer. */
  function fight(first: Labels = { tier: "front" }) {
    let lastKnown: Node = { metadata: { labels: first } };
    const machine = {
      nowMs: START,
      written: {} as WrittenParts,
      /** The labels of the Node in the apiserver. */
      labels: first,
      wanted: { tier: "front" } as Labels,
      managedFields: [] as NonNullable<NonNullable<Node["metadata"]>["managedFields"]>,
      /** Changes labels on each write, as an admission webhook does. */
      webhook: (labels: Labels) => labels,
      isWritable: true,
      /** Reports, and returns the written part, as `tier=front`; "" if nothing was written. */
      report(afterMs = 0): string {
        machine.nowMs += afterMs;
        const { labels, managedFields, nowMs } = machine;
        const original: Node = { metadata: { labels, managedFields } };
        const node: DraftNode = { metadata: { labels: machine.wanted }, spec: {}, status: {} };
        const held = holdBack(node, machine.written, { original, lastKnown, fieldManager: OURS, nowMs });
        machine.written = held.written;
        lastKnown = original;
        const { labels: next = {} } = node.metadata;
        if (JSON.stringify(next) === JSON.stringify(labels) || !machine.isWritable) return "";
        machine.labels = machine.webhook(next);
        lastKnown = { metadata: { labels: machine.labels } };
        machine.written = afterWrite(held.written, held.wanted, lastKnown, nowMs);
        return Object.entries(next)
          .map(([key, value]) => `${key}=${value}`)
          .join();
      },
      /** Lets another writer remove the label, then reports. */
      undo(afterMs: number): string {
        machine.labels = {};
        return machine.report(afterMs);
      },
      hourly: () => hourlyParts(machine.written),
      /** Evicts the node object: keeps only the writes that it stores in SQLite. */
      evict: () => void (machine.written = putBackParts(machine.written)),
    };
    return machine;
  }

  const BACK = "tier=front";

  describe("a label that another writer removes", () => {
    it("twice → restored at once; the third time within ten minutes → not, and the conflict is reported", () => {
      const machine = fight();
      expect([machine.undo(0), machine.undo(MINUTE), machine.undo(MINUTE)]).toEqual([BACK, BACK, ""]);
      expect(machine.hourly()).toHaveLength(1);
    });

    it.each([
      ["ten minutes after the first", 10 * MINUTE, ""],
      ["a moment later than ten minutes after the first", 10 * MINUTE + 1, BACK],
    ])("the third time %s", (_, afterMs, written) => {
      const machine = fight();
      machine.undo(0);
      machine.undo(5 * MINUTE);
      expect(machine.undo(afterMs - 5 * MINUTE)).toBe(written);
    });

    it.each([
      ["a moment before an hour has passed since it was restored", HOUR - 1, ""],
      ["an hour after it was restored", HOUR, BACK],
    ])("again and again, %s", (_, afterMs, written) => {
      const machine = fight();
      for (let times = 0; times < 3; times++) machine.undo(0);
      expect(machine.report(afterMs)).toBe(written);
    });

    it("for hours → restored once an hour", () => {
      const machine = fight();
      const written: string[] = [];
      for (let seconds = 0; seconds < 3 * 3600 + 60; seconds += 10) written.push(machine.undo(10 * SECOND));
      expect(written.filter((each) => each !== "")).toHaveLength(2 + 3);
      expect(machine.hourly()).toHaveLength(1);
    });

    it("and that stays for ten minutes after it was restored → forgotten; a moment less → not yet", () => {
      const machine = fight();
      for (let times = 0; times < 3; times++) machine.undo(0);
      machine.report(HOUR);
      machine.report(10 * MINUTE);
      expect(machine.hourly()).toHaveLength(1);
      machine.report(1);
      expect(machine.written).toEqual({});
      expect(machine.undo(0)).toBe(BACK);
    });

    it("and the object is evicted each time → still counted", () => {
      const machine = fight();
      const written = [0, 1, 2].map(() => {
        machine.evict();
        return machine.undo(MINUTE);
      });
      expect(written).toEqual([BACK, BACK, ""]);
    });

    it("while the apiserver cannot be written → a write that fails is not counted", () => {
      const machine = fight();
      machine.isWritable = false;
      for (let times = 0; times < 9; times++) machine.undo(10 * SECOND);
      machine.isWritable = true;
      expect(machine.report()).toBe(BACK);
    });

    it("after the clock was set back → no wait lasts beyond that", () => {
      const machine = fight();
      for (let times = 0; times < 3; times++) machine.undo(0);
      expect(machine.report(-HOUR)).toBe(BACK);
    });
  });

  it("a label that our list names and the Node lacks → is restored, whichever process noticed it", () => {
    const node: DraftNode = { metadata: { labels: { a: "1", b: "2", c: "3" } }, spec: {}, status: {} };
    const annotations = { "rollcall.dev/node-labels": "a,c" };
    const original: Node = { metadata: { labels: { c: "before" }, annotations } };
    const seen = { original, lastKnown: original, fieldManager: OURS, nowMs: START };
    const { wanted } = holdBack(node, {}, seen);
    expect(wanted.map(({ key, isPutBack }) => `${key} ${isPutBack}`)).toEqual([
      "a true",
      "b false",
      "c false",
    ]);
  });

  describe("no conflict", () => {
    it("a label that is reported for the first time → remembered for ten minutes, and never in SQLite", () => {
      const machine = fight({});
      expect(machine.report()).toBe(BACK);
      expect(putBackParts(machine.written)).toEqual({});
      machine.report(10 * MINUTE + 1);
      expect(machine.written).toEqual({});
    });

    it("a machine that reports two values in turn → each is written", () => {
      const machine = fight();
      const said = ["a", "b", "a", "b", "a", "b"].map((value) => {
        machine.wanted = { tier: value };
        return machine.report(10 * SECOND);
      });
      expect(said).toEqual(["tier=a", "tier=b", "tier=a", "tier=b", "tier=a", "tier=b"]);
    });

    it("a machine that stops reporting it and starts again → each change is written", () => {
      const machine = fight({});
      const said = [1, 0, 1, 0, 1, 0, 1].map((isSaid) => {
        machine.wanted = isSaid ? { tier: "front" } : {};
        return machine.report(10 * SECOND);
      });
      expect(said).toEqual([BACK, "", BACK, "", BACK, "", BACK]);
    });
  });

  describe("the writer that undoes it", () => {
    const hourlyAfter = (change: (machine: ReturnType<typeof fight>) => void) => {
      const machine = fight();
      change(machine);
      machine.undo(0);
      for (let times = 0; times < 3; times++) machine.report(10 * SECOND);
      return machine.hourly();
    };
    const ownedBy = (manager: string, key: string) => ({
      manager,
      operation: "Update",
      fieldsV1: { "f:metadata": { "f:labels": { [`f:${key}`]: {} } } },
    });

    it("missing already in the answer → changed on its way, evicted or not", () => {
      const words = ["label tier (undone on its way into the cluster, as admission webhooks do)"];
      expect(hourlyAfter((machine) => (machine.webhook = () => ({})))).toEqual(words);
      const evicted = fight();
      evicted.webhook = () => ({});
      evicted.undo(0);
      for (let times = 0; times < 3; times++) {
        evicted.evict();
        evicted.report(30 * SECOND);
      }
      expect(evicted.hourly()).toEqual(words);
    });

    it("missing in the answer from its first write on, and the object is evicted each time → still counted", () => {
      const machine = fight({});
      machine.webhook = () => ({});
      const written = Array.from({ length: 9 }, () => {
        machine.evict();
        return machine.report(30 * SECOND);
      });
      expect(written.filter((each) => each !== "")).toEqual([BACK, BACK, BACK]);
    });

    it("a value that another manager has set → that manager", () => {
      const machine = fight();
      const managers = [ownedBy("fleet-agent", "tier")];
      for (let times = 0; times < 3; times++) {
        Object.assign(machine, { labels: { tier: "theirs" }, managedFields: managers });
        machine.report(MINUTE);
      }
      expect(machine.hourly()).toEqual(["label tier (undone by fleet-agent)"]);
      expect(machine.labels).toEqual({ tier: "theirs" });
    });

    it("removed later → an unknown writer; other writers of the Node are named", () => {
      const machine = fight();
      machine.managedFields = [ownedBy(OURS, "x"), ownedBy("fleet-agent", "y"), ownedBy("fleet-agent", "z")];
      for (let times = 0; times < 3; times++) machine.undo(MINUTE);
      expect(machine.hourly()).toEqual([
        "label tier (removed by a writer whose name the apiserver does not keep; besides rollcall, fleet-agent write this Node)",
      ]);
    });
  });

  test("annotations are held back like labels, each by itself", () => {
    const nowMs = START;
    const at = { value: "true", atMs: nowMs, putBackMs: [nowMs, nowMs] };
    const original: Node = { metadata: { labels: {}, annotations: { kept: "x" } } };
    const node: DraftNode = {
      metadata: { labels: { a: "true" }, annotations: { kept: "x", a: "true" } },
      spec: {},
      status: {},
    };
    const seen = { original, lastKnown: original, fieldManager: OURS, nowMs };
    const { wanted } = holdBack(node, { "annotation a": at }, seen);
    expect(node.metadata).toEqual({ labels: { a: "true" }, annotations: { kept: "x" } });
    expect(wanted.map(({ part }) => part)).toEqual(["label a"]);
  });

  describe("a kubelet's label that a bystander must not have", () => {
    const KEY = "kubernetes.io/hostname";
    const THERE = { [KEY]: "edge-7" };
    function withoutIt(webhook?: (labels: Labels) => Labels) {
      const machine = fight(THERE);
      machine.wanted = { tier: "front" };
      if (webhook) machine.webhook = webhook;
      return machine;
    }

    it("set again on its way into the cluster → removed three times, then once an hour; evicted or not", () => {
      const machine = withoutIt((labels) => ({ ...labels, ...THERE }));
      const written: string[] = [];
      for (let seconds = 0; seconds < 2 * 3600 + 60; seconds += 10) {
        if (seconds % 60 === 0) machine.evict();
        written.push(machine.report(10 * SECOND));
      }
      expect(written.filter((each) => each !== "")).toHaveLength(3 + 2);
      expect(machine.hourly()).toEqual([
        `no label ${KEY} (undone on its way into the cluster, as admission webhooks do)`,
      ]);
    });

    it("set again later, without a manager → that is reported", () => {
      const machine = withoutIt();
      for (let times = 0; times < 4; times++) {
        machine.labels = { ...THERE, tier: "front" };
        machine.report(MINUTE);
      }
      expect(machine.hourly()).toEqual([
        `no label ${KEY} (set by a writer whose name the apiserver does not keep)`,
      ]);
      expect(machine.labels).toEqual({ ...THERE, tier: "front" });
    });

    it("and allowed again for a time by NODE_TOPOLOGY_LABELS → each change is written", () => {
      const machine = withoutIt();
      const written = [0, 1, 0, 1, 0].map((isKept) => {
        machine.wanted = isKept ? { tier: "front", ...THERE } : { tier: "front" };
        return machine.report(10 * SECOND);
      });
      expect(written).toEqual([BACK, `${BACK},${KEY}=edge-7`, BACK, `${BACK},${KEY}=edge-7`, BACK]);
    });
  });
});
