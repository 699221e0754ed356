// Tests a malicious machine that is enrolled and follows the protocol: it can change only its own Node, within
// limits.
import { evictDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { type MachineKey, makeMachineKey } from "../../node-shim/identity/identity.ts";
import type { Transport } from "../../node-shim/worker-link/exchange.ts";
import { leave, rotate } from "../../node-shim/worker-link/requests.ts";
import type { Node } from "../../shared/kubernetes/types.ts";
import type { AuditEntry, HistoryAnswer } from "../../shared/protocol/operator-answers.ts";
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
} from "../worker/support/machine.ts";

const TOO_OFTEN = { status: 429, reason: "rate-limited" };

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

describe("a machine that reports more than its token allows", () => {
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

  it("→ its Node is Ready without that; the answer names it each time, and history once", async () => {
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

  it("a label that an operator has set → stays, with and without a drop-in's value", async () => {
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
    // After the eviction the machine's object reads the changed Node.
    await evictDurableObject(env.NODES.getByName(name));
    await operator("POST", `/v1/nodes/${name}/register`);
    expect(await say("b8")).toBe("c1");
    expect(await say(null)).toBe("c1");
  });
});

describe("an operator's change between two reports, which the machine then claims", () => {
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

describe("a machine that changes its data in the registry", () => {
  it("rotates constantly → a limited number of times a day; operators' audit entries stay, and it still reports", async () => {
    const name = "rotates-all-the-time";
    const machine = await enrolled(name);
    const report = shimOf(machine);
    await report(facts(name), HEALTHY);
    await operator("POST", `/v1/nodes/${name}/register`);
    const keys = [await makeMachineKey(), await makeMachineKey()] as [MachineKey, MachineKey];
    const waits = new Set<string>();
    const watched: Transport = async (request) => {
      const response = await transport(request);
      const { retryAfterSeconds } = JSON.parse(response.body) as { retryAfterSeconds?: number };
      if (response.status === 429) waits.add(`${retryAfterSeconds} s`);
      return response;
    };
    const rotating = (turn: number) => rotate(watched, credentials(machine), keys[turn % 2]!);
    for (let turn = 0; turn < CHANGES_A_DAY; turn++) expect(await rotating(turn)).toMatchObject({ ok: true });
    for (const turn of [0, 1])
      expect(await rotating(turn)).toMatchObject({ ok: false, error: { problem: TOO_OFTEN } });
    expect([...waits]).toEqual(["3600 s"]);
    expect(await log("machines", name)).toEqual([...times(CHANGES_A_DAY, "machine.rotate"), "machine.enrol"]);
    expect(await log("operators", name)).toEqual(["node.register"]);
    expect(await report(facts(name), HEALTHY)).toMatchObject({ ok: true, value: { phase: "registered" } });
  });

  it("enrols and leaves constantly → a limited number of times a day", async () => {
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

  it("asks for another machine's name constantly → a limited number of times a day", async () => {
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
