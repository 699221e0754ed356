// An enrolled machine that follows the protocol and means harm: what it can change is its own Node, within limits.
import { evictDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import type { MachineKey } from "../../node-shim/identity/machine-key.ts";
import { makeMachineKey } from "../../node-shim/identity/machine-key.ts";
import { leave, rotate } from "../../node-shim/worker-link/requests.ts";
import type { Node } from "../../shared/kubernetes/types.ts";
import type { AuditEntry, HistoryAnswer } from "../../shared/protocol/operator-answers.ts";
import { MAX_IMAGE_BYTES } from "../../shared/from-report/reported-status.ts";
import type { Vitals } from "../../shared/protocol/report.ts";
import { REGISTRATION_BUDGET } from "../../worker/tick/registration-budget.ts";
import { MAX_NODE_BYTES, STATUS_BUDGET } from "../../worker/tick/status-budget.ts";
import type { Write } from "../worker/support/fault.ts";
import { CHANGES_A_DAY } from "../../worker/registry/audit.ts";
import { ORIGIN } from "../worker/support/constants.ts";
import {
  type EnrolledMachine,
  enrolled,
  enrolling,
  facts,
  HEALTHY,
  kube,
  mintToken,
  operator,
  requestsAbout,
  shimOf,
  transport,
  writesAbout,
} from "../worker/support/machine.ts";
import { shift } from "../worker/support/clock.ts";

const TOO_OFTEN = { status: 429, reason: "rate-limited" };
const RATE_LIMITED = { ...TOO_OFTEN, retryAfterSeconds: 3600 };

const log = async (by: "operators" | "machines", target: string) => {
  const { body } = await operator<{ entries: AuditEntry[] }>(
    "GET",
    `/v1/audit?by=${by}&target=${target}&limit=1000`,
  );
  return body.entries.map(({ what }) => what);
};
const times = (count: number, what: string) => Array.from({ length: count }, () => what);
const credentials = ({ name, key, kid }: Omit<EnrolledMachine, "ticket">) => ({
  name,
  origin: ORIGIN,
  key,
  kid,
});

describe("a machine that says what its token does not allow", () => {
  const beyond = (name: string) => {
    const { settings } = facts(name);
    return facts(name, {
      settings: { ...settings, nodeLabels: { tier: "back" }, providerID: "aws:///eu-west-1a/i-0" },
      dropIns: {
        resources: { "example.com/gpu": 8 },
        labels: { "example.com/rack": "b7" },
        conditions: [],
        working: 1,
        failures: [],
      },
    });
  };
  const grant = { labels: { tier: "front" }, mayLabel: [], mayResource: [], mayCloud: [] };
  const LEFT_OUT = /^left out of its Node: /;

  it("→ its Node is Ready without that, the answer and history name it, once", async () => {
    const name = "beyond-its-token";
    const report = shimOf(await enrolled(name, grant));
    for (let reports = 0; reports < 3; reports++) {
      const answer = await report(beyond(name), HEALTHY);
      expect(answer).toMatchObject({ ok: true, value: { phase: "registered" } });
    }
    expect(await report(beyond(name), HEALTHY)).toMatchObject({
      value: { ready: true, message: expect.stringMatching(LEFT_OUT) },
    });
    const node = await kube("GET", `/api/v1/nodes/${name}`);
    expect(node.metadata?.labels).toMatchObject({ tier: "front" });
    expect(node.metadata?.labels).not.toHaveProperty(["example.com/rack"]);
    expect(node.status?.capacity).not.toHaveProperty(["example.com/gpu"]);
    expect(node.spec).not.toHaveProperty("providerID");
    const { body } = await operator<HistoryAnswer>("GET", `/v1/nodes/${name}/history?kind=registration`);
    const named = body.entries.map(({ text }) => text).filter((text) => LEFT_OUT.test(text));
    expect(named).toEqual([
      "left out of its Node: label example.com/rack, label tier, provider ID aws:///eu-west-1a/i-0, " +
        "resource example.com/gpu",
    ]);
  });

  it("→ a heartbeat is one request and writes no row", async () => {
    const name = "beyond-and-steady";
    const report = shimOf(await enrolled(name, grant));
    for (let reports = 0; reports < 2; reports++) await report(beyond(name), HEALTHY);
    await requestsAbout(name);
    await report(beyond(name), HEALTHY);
    expect(await requestsAbout(name)).toHaveLength(1);
  });

  it("a label that an operator has set → stays, when a drop-in says otherwise and when it stops", async () => {
    const name = "operators-label";
    const report = shimOf(await enrolled(name));
    const say = async (rack: string | null) => {
      const dropIns = {
        resources: {},
        labels: rack === null ? {} : { "example.com/rack": rack },
        conditions: [],
        working: 1,
        failures: [],
      };
      await report(facts(name, { dropIns }), HEALTHY);
      return (await kube("GET", `/api/v1/nodes/${name}`)).metadata?.labels?.["example.com/rack"];
    };
    expect(await say("b7")).toBe("b7");
    const { metadata, ...node } = await kube("GET", `/api/v1/nodes/${name}`);
    const labels = { ...metadata?.labels, "example.com/rack": "c1" };
    await kube("PUT", `/api/v1/nodes/${name}?fieldManager=kubectl-label`, {
      ...node,
      metadata: { ...metadata, labels },
    });
    // Its object learns of it with the next look at the Node.
    await evictDurableObject(env.NODES.getByName(name));
    await operator("POST", `/v1/nodes/${name}/register`);
    expect(await say("b8")).toBe("c1");
    expect(await say(null)).toBe("c1");
  });
});

describe("what an operator sets between two reports, and the machine claims with the next", () => {
  const dropIns = (labels: Record<string, string>, resources: Record<string, number> = {}) => ({
    resources,
    labels,
    conditions: [],
    working: 1,
    failures: [],
  });

  it.each<[string, () => ReturnType<typeof dropIns>, (node: Node) => unknown, unknown]>([
    [
      "a label",
      () => dropIns({ "example.com/rack": "b7" }),
      ({ metadata }) => metadata?.labels?.["example.com/rack"],
      "c1",
    ],
    [
      "an extended resource",
      () => dropIns({}, { "example.com/gpu": 8 }),
      ({ status }) => status?.capacity?.["example.com/gpu"],
      "2",
    ],
  ])("%s → stays, and the machine is told", async (what, claim, valueOf, value) => {
    const name = `claims-late-${what.includes("label") ? "label" : "resource"}`;
    const report = shimOf(await enrolled(name));
    for (let reports = 0; reports < 3; reports++) await report(facts(name), HEALTHY);
    const { metadata, status, ...node } = await kube("GET", `/api/v1/nodes/${name}`);
    const labels = { ...metadata?.labels, "example.com/rack": "c1" };
    const capacity = { ...status?.capacity, "example.com/gpu": "2" };
    const set = { ...node, metadata: { ...metadata, labels }, status: { ...status, capacity } };
    const written = await kube("PUT", `/api/v1/nodes/${name}?fieldManager=kubectl-label`, set);
    const next = { ...set, metadata: written.metadata };
    await kube("PUT", `/api/v1/nodes/${name}/status?fieldManager=agent`, next);
    const answer = await report(facts(name, { dropIns: claim() }), HEALTHY);
    expect(answer).toMatchObject({ value: { phase: "registered", ready: true } });
    expect(valueOf(await kube("GET", `/api/v1/nodes/${name}`))).toBe(value);
  });
});

describe("a machine whose Node changes with every report", () => {
  const image = (name: string) => ({ repoDigests: [], repoTags: [name.padEnd(1000, "x")], sizeBytes: 1 });
  const many = (count: number, turn: number) =>
    Array.from({ length: count }, (_, at) => image(`${turn}-${at}`));
  const settingsOf = (name: string) => ({ ...facts(name).settings, nodeStatusMaxImages: 50 });
  const WITHHELD = "its Node changes too often: what changed is written later";
  const bytesOf = (writes: readonly Write[]) =>
    writes.reduce((sum, { object }) => sum + (object.kind === "Node" ? JSON.stringify(object).length : 0), 0);
  const runtime = { name: "containerd", version: "2.1.0" };

  async function flooding(name: string) {
    const report = shimOf(await enrolled(name));
    let turn = 0;
    return {
      flood: async (reports: number, vitals: Vitals = HEALTHY, evict = false) => {
        let answer;
        for (let sent = 0; sent < reports; sent++) {
          const what = { settings: settingsOf(name), runtime, images: many(60, turn++) };
          answer = await report(facts(name, what), vitals);
          shift(100);
          if (evict) await evictDurableObject(env.NODES.getByName(name));
        }
        return answer;
      },
      report,
    };
  }

  it.each([
    ["warm", false],
    ["evicted after each report", true],
  ])(
    "%s → its budget is written and no more; the answer and history say so, the lease goes on",
    async (how, evict) => {
      const name = `floods-${how.split(" ")[0]}`;
      const { flood } = await flooding(name);
      const answer = await flood(12, HEALTHY, evict);
      expect(answer).toMatchObject({
        ok: true,
        value: { phase: "registered", ready: true, message: WITHHELD },
      });
      // The kubelet's own lists of the apiserver are larger than what is sent by its bookkeeping.
      expect(bytesOf(await writesAbout(name))).toBeLessThan(1.1 * STATUS_BUDGET.bytesAtOnce);
      const { body } = await operator<HistoryAnswer>("GET", `/v1/nodes/${name}/history?kind=apiserver`);
      expect(body.entries.map(({ text }) => text)).toContain(WITHHELD);
      await requestsAbout(name);
      await flood(1, HEALTHY, evict);
      expect(await requestsAbout(name)).toContainEqual(expect.stringMatching(/^PUT .*leases/));
    },
  );

  it("that stops being Ready → is written at once; Ready again → waits", async () => {
    const name = "floods-and-fails";
    const { flood } = await flooding(name);
    await flood(12);
    const failing = { ...HEALTHY, errors: { runtime: ["gone"] } };
    expect(await flood(1, failing)).toMatchObject({ value: { ready: false } });
    const conditions = async () =>
      (await kube("GET", `/api/v1/nodes/${name}`)).status?.conditions?.find(({ type }) => type === "Ready")
        ?.status;
    expect(await conditions()).toBe("False");
    expect(await flood(3)).toMatchObject({ value: { ready: false, message: WITHHELD } });
    expect(await conditions()).toBe("False");
  });

  it("what was withheld comes with a later write", async () => {
    const name = "floods-and-stops";
    const { flood, report } = await flooding(name);
    await flood(12);
    shift(600_000);
    const quiet = facts(name, { settings: settingsOf(name), runtime, images: [image("last")] });
    const answer = await report(quiet, HEALTHY);
    expect(answer).toMatchObject({ value: { ready: true } });
    expect(answer).not.toHaveProperty("value.message");
    const { status } = await kube("GET", `/api/v1/nodes/${name}`);
    expect(status?.images).toEqual([expect.objectContaining({ names: ["last".padEnd(1000, "x")] })]);
  });

  it("with more images than a Node has room for → the largest ones, and it says so", async () => {
    const name = "many-images";
    const report = shimOf(await enrolled(name));
    const what = facts(name, { settings: settingsOf(name), runtime, images: many(60, 0) });
    expect(await report(what, HEALTHY)).toMatchObject({ ok: true });
    expect(await report(what, HEALTHY)).toMatchObject({
      value: { ready: true, message: `left out of its Node: images beyond ${MAX_IMAGE_BYTES} bytes` },
    });
    const node = await kube("GET", `/api/v1/nodes/${name}`);
    expect(node.status?.images).toHaveLength(Math.floor(MAX_IMAGE_BYTES / (1000 + 3 + 48)));
    expect(JSON.stringify(node).length).toBeLessThan(MAX_NODE_BYTES);
  });

  it("whose Node would be too large → is not written so, and says why; the lease goes on", async () => {
    const name = "too-large";
    const report = shimOf(await enrolled(name));
    await report(facts(name, { runtime }), HEALTHY);
    const inUse = Array.from({ length: 120 }, (_, at) => `kubernetes.io/csi/${at}`.padEnd(1000, "x"));
    const answer = await report(facts(name, { runtime, volumes: { synced: true, inUse } }), HEALTHY);
    expect(answer).toMatchObject({
      value: {
        phase: "registered",
        ready: true,
        message: expect.stringContaining(`larger than ${MAX_NODE_BYTES} bytes`),
      },
    });
    expect((await kube("GET", `/api/v1/nodes/${name}`)).status).not.toHaveProperty("volumesInUse");
  });

  it("that is started all the time → so many registrations, then one a minute; its lease goes on", async () => {
    const name = "starts-all-the-time";
    const machine = await enrolled(name);
    const start = (turn: number) => shimOf(machine, `start-${turn}`)(facts(name), HEALTHY);
    for (let turn = 0; turn < REGISTRATION_BUDGET.atOnce; turn++)
      expect(await start(turn)).toMatchObject({ value: { phase: "registered" } });
    await requestsAbout(name);
    expect(await start(100)).toMatchObject({
      value: {
        phase: "registering",
        message: "its shim was started too often: it is registered again later",
      },
    });
    // Events of the starts may still be on their way.
    const requests = (await requestsAbout(name)).filter((request) => !request.includes("/events"));
    expect(requests).toEqual([expect.stringMatching(/^PUT .*leases/)]);
    shift(REGISTRATION_BUDGET.everyMs);
    expect(await start(100)).toMatchObject({ value: { phase: "registered" } });
  });
});

describe("a machine that changes what the registry keeps", () => {
  it("rotates all the time → so often a day and no more; operators' acts stay, and its heartbeat goes on", async () => {
    const name = "rotates-all-the-time";
    const machine = await enrolled(name);
    const report = shimOf(machine);
    await report(facts(name), HEALTHY);
    await operator("POST", `/v1/nodes/${name}/register`);
    const keys = [await makeMachineKey(), await makeMachineKey()] as [MachineKey, MachineKey];
    const rotating = (turn: number) => rotate(transport, credentials(machine), keys[turn % 2]!);
    for (let turn = 0; turn < CHANGES_A_DAY; turn++) expect(await rotating(turn)).toMatchObject({ ok: true });
    for (const turn of [0, 1])
      expect(await rotating(turn)).toMatchObject({ ok: false, error: { problem: RATE_LIMITED } });
    expect(await log("machines", name)).toEqual([...times(CHANGES_A_DAY, "machine.rotate"), "machine.enrol"]);
    expect(await log("operators", name)).toEqual(["node.register"]);
    expect(await report(facts(name), HEALTHY)).toMatchObject({ ok: true, value: { phase: "registered" } });
  });

  it("enrols and leaves all the time → so often a day and no more", async () => {
    const name = "enrols-all-the-time";
    const joinToken = await mintToken({ names: name, uses: 1000 });
    for (let turn = 0; turn < CHANGES_A_DAY; turn++) {
      const key = await makeMachineKey();
      const { kid } = (await enrolling(name, { joinToken, key })) as { kid: string };
      expect(await leave(transport, credentials({ name, key, kid }))).toMatchObject({ ok: true });
    }
    expect(await enrolling(name, { joinToken, key: await makeMachineKey() })).toEqual(TOO_OFTEN);
    const turn = ["machine.leave", "machine.enrol"];
    expect(await log("machines", name)).toEqual(Array.from({ length: CHANGES_A_DAY }, () => turn).flat());
  });

  it("asks for another machine's name all the time → so often a day and no more", async () => {
    const name = "wanted-all-the-time";
    await enrolled(name);
    const asking = async () => {
      const key = await makeMachineKey();
      const outcome = await enrolling(name, { joinToken: await mintToken({ names: name }), key });
      await operator("POST", `/v1/nodes/${name}/reject`, { thumbprint: key.thumbprint });
      return outcome;
    };
    for (let turn = 0; turn < CHANGES_A_DAY; turn++)
      expect(await asking()).toEqual({ status: 409, reason: "name-pinned" });
    expect(await asking()).toEqual(TOO_OFTEN);
  });
});
