// Tests how a node object reacts when another writer changes its Node, and which requests it sends.
import { describe, expect, test } from "vitest";
import type { Node } from "../../../shared/kubernetes/types.ts";
import type { TickMemory } from "../../../worker/tick/memory.ts";
import type { NodeRecordStore } from "../../../worker/storage/records.ts";
import { noteLapse } from "../../../worker/tick/own-node.ts";
import { type NoticeInput, type NoticeOutcome, tickOnNotice } from "../../../worker/tick/tick.ts";
import { keptRecords } from "../support/kept-records.ts";

const HEARTBEAT = "2026-01-01T00:00:00Z";
const LATER = "2026-01-01T00:05:00Z";

interface More {
  uid?: string;
  owner?: string | null;
  ready?: string;
  heartbeat?: string;
  /** The writer of the condition Ready. */
  manager?: string;
  cordoned?: boolean;
}

function nodeOf(version: string | undefined, more: More = {}): Node {
  const {
    uid = "u-1",
    owner = "test",
    ready = "True",
    heartbeat = HEARTBEAT,
    manager = "rollcall.test",
  } = more;
  const written = { "f:conditions": { 'k:{"type":"Ready"}': { "f:lastHeartbeatTime": {}, "f:status": {} } } };
  return {
    metadata: {
      name: "edge-1",
      uid,
      ...(version !== undefined && { resourceVersion: version }),
      annotations: owner === null ? {} : { "rollcall.dev/owner": owner },
      managedFields: [{ manager, fieldsV1: { "f:status": written } }],
    },
    ...(more.cordoned && { spec: { unschedulable: true } }),
    status: { conditions: [{ type: "Ready", status: ready, lastHeartbeatTime: heartbeat }] },
  };
}

const missing = () =>
  Response.json(
    {
      kind: "Status",
      apiVersion: "v1",
      status: "Failure",
      code: 404,
      reason: "NotFound",
      details: { kind: "nodes", name: "edge-1" },
    },
    { status: 404 },
  );
const away = () => {
  throw new Error("connection refused");
};

interface Situation {
  phase?: string;
  known?: Node | null;
  memory?: TickMemory;
  /** Returns the apiserver's answer to a GET. */
  found?: () => Response;
  registerNode?: boolean;
  /** The conditions that were sent with an unknown outcome. */
  sent?: object[];
  /** Changes the records as a report during the GET would. */
  whileRead?: (records: NodeRecordStore) => void;
}

async function noticed(
  seen: Node | null,
  { phase = "registered", known = nodeOf("10"), ...more }: Situation = {},
) {
  const sent = more.sent && { sent: more.sent };
  const { kept, notes, records, journal } = keptRecords({
    registration: { phase, startId: "start-1" },
    ...(known && { node: { node: known, lastStatusReportTimeMs: 0, readAgain: false, ...sent } }),
  });
  const memory: TickMemory = { ...more.memory };
  let reads = 0;
  const fetch = async () => {
    reads++;
    more.whileRead?.(records);
    return more.found?.() ?? Response.json(nodeOf("12"));
  };
  const input = {
    env: { DEPLOYMENT: "test", KUBE_URL: "https://kube.test", KUBE: { fetch } },
    enrolment: { name: "edge-1" },
    token: { current: () => "t" },
    requests: { take: () => true },
    records,
    journal,
    memory,
    facts: { settings: { registerNode: more.registerNode } },
    nowMs: () => 1000,
  } as unknown as NoticeInput;
  const { nodeVersion: _version, ...outcome } = { nodeVersion: "", ...(await tickOnNotice(input, seen)) };
  const { node: now, ...marks } = kept.get("node") as { node: Node };
  return { outcome, reads, notes, memory, marks, version: now.metadata?.resourceVersion, kept };
}

type Outcome = { kind: NoticeOutcome["kind"]; phase?: string; isGivenUp?: boolean };
const TAKEN: Outcome = { kind: "taken", isGivenUp: false };
const PASSED: Outcome = { kind: "passed over" };
const DELETED: Outcome = { kind: "lost", phase: "node deleted" };
const NAME_TAKEN: Outcome = { kind: "lost", phase: "name taken" };
const UNREAD: Outcome = { kind: "unread" };

describe("a Node", () => {
  const known11 = { memory: { nodeVersion: "11" } };
  test.each<
    [situation: string, seen: Node | null, more: Situation, outcome: Outcome, reads: number, version: string]
  >([
    ["newer than what is known → taken", nodeOf("11"), {}, TAKEN, 0, "11"],
    ["of more digits → newer", nodeOf("100"), {}, TAKEN, 0, "100"],
    ["that is what is known: our own write → passed over", nodeOf("10"), {}, PASSED, 0, "10"],
    [
      "that is our own last heartbeat, which has no row → passed over",
      nodeOf("11"),
      known11,
      PASSED,
      0,
      "10",
    ],
    ["newer than our own last heartbeat → taken", nodeOf("12"), known11, TAKEN, 0, "12"],
    [
      "older than our own last heartbeat → read, and never taken over it",
      nodeOf("10"),
      known11,
      TAKEN,
      1,
      "12",
    ],
    ["older than what is known, as after a restore of etcd → read", nodeOf("9"), {}, TAKEN, 1, "12"],
    ["without a version → read", nodeOf(undefined), {}, TAKEN, 1, "12"],
    ["whose version is no number → read", nodeOf("x"), {}, TAKEN, 1, "12"],
    ["that came too late to be sent → read", null, {}, TAKEN, 1, "12"],
    ["gone from the list, and it is there without its label → read", null, {}, TAKEN, 1, "12"],
    ["gone", null, { found: missing }, DELETED, 1, "10"],
    ["gone, and the apiserver is away → unread", null, { found: away }, UNREAD, 1, "10"],
    [
      "gone, and there is another one",
      null,
      { found: () => Response.json(nodeOf("12", { uid: "u-2" })) },
      DELETED,
      1,
      "10",
    ],
    ["that is another one of this name", nodeOf("11", { uid: "u-2" }), {}, DELETED, 0, "10"],
    ["that belongs to another deployment", nodeOf("11", { owner: "east" }), {}, NAME_TAKEN, 0, "10"],
    ["that belongs to nobody", nodeOf("11", { owner: null }), {}, NAME_TAKEN, 0, "10"],
    [
      "that a kubelet keeps alive",
      nodeOf("11", { manager: "kubelet", heartbeat: LATER }),
      {},
      NAME_TAKEN,
      0,
      "10",
    ],
    [
      "gone that is never created here",
      null,
      { found: missing, registerNode: false },
      { kind: "lost", phase: "waiting for Node" },
      1,
      "10",
    ],
    [
      "that the node controller gave up",
      nodeOf("11", { ready: "Unknown", manager: "kcm" }),
      {},
      { kind: "taken", isGivenUp: true },
      0,
      "11",
    ],
  ])("%s", async (_, seen, more, outcome, reads, version) => {
    const after = await noticed(seen, more);
    expect([after.outcome, after.reads, after.version]).toEqual([outcome, reads, version]);
    if (outcome.kind === "taken") expect(after.memory.nodeVersion).toBe(version);
  });

  test.each<[situation: string, more: Situation]>([
    ["while the Node is deleted", { phase: "node deleted" }],
    ["while it waits for one", { phase: "waiting for Node" }],
    ["while the name is taken", { phase: "name taken" }],
  ])("%s → passed over without a request", async (_, more) => {
    for (const seen of [nodeOf("11"), null]) {
      const after = await noticed(seen, more);
      expect([after.outcome, after.reads, after.version]).toEqual([PASSED, 0, "10"]);
    }
  });
});

describe("what is stored", () => {
  test("of a taken name: it may be free, and the next report checks", async () => {
    const memory = { lookedAtMs: 500 };
    expect((await noticed(nodeOf("11"), { phase: "name taken", memory })).memory).toEqual({});
    expect((await noticed(nodeOf("11"), { memory })).memory.lookedAtMs).toBe(500);
  });

  test("of a Node that could not be read: the next report reads it", async () => {
    expect((await noticed(null, { found: away })).marks).toMatchObject({ readAgain: true });
  });

  test("of a Node that the node controller set to Unknown: its lease had expired, and the history has the writer", async () => {
    const { marks, notes } = await noticed(nodeOf("11", { ready: "Unknown", manager: "kcm" }));
    expect(marks).toMatchObject({ readAgain: true, hasLapsed: true });
    expect(notes).toEqual([expect.stringMatching(/^condition: kcm set Ready: True → Unknown /)]);
  });

  test("of one that is read while a report ends a silence: its lease had expired", async () => {
    const { outcome, marks } = await noticed(null, { whileRead: noteLapse });
    expect(outcome).toEqual(TAKEN);
    expect(marks).toMatchObject({ readAgain: true, hasLapsed: true });
  });

  test.each<[situation: string, sent: string | undefined, isOthers: boolean]>([
    ["that we had sent, and its answer was lost → nothing", "False", false],
    ["other than what we had sent → another writer's", "True", true],
    ["that nobody here had sent → another writer's", undefined, true],
  ])("of a status %s in history", async (_, sent, isOthers) => {
    const { notes } = await noticed(nodeOf("11", { ready: "False" }), {
      ...(sent !== undefined && { sent: [{ type: "Ready", status: sent }] }),
    });
    expect(notes).toEqual(
      isOthers ? [expect.stringMatching(/^condition: another writer set Ready: True → False /)] : [],
    );
  });

  test("of one that was cordoned: nothing else", async () => {
    const { marks, notes, kept } = await noticed(nodeOf("11", { cordoned: true }));
    expect([marks, notes]).toEqual([{ lastStatusReportTimeMs: 0, readAgain: false }, []]);
    expect(kept.get("node")).toMatchObject({ node: { spec: { unschedulable: true } } });
  });

  test("of one that is lost: the time, and that it was Ready", async () => {
    const { kept } = await noticed(null, { found: missing });
    expect(kept.get("registration")).toMatchObject({ phase: "node deleted", startId: "start-1" });
    expect(kept.get("deletion")).toMatchObject({ atMs: 1000, wasReady: true });
  });
});
