// Tests infra/rbac/flow-control.yaml on a server with API priority and fairness: the priority level of each
// account's requests, and the capacity that a flood of rollcall's requests leaves to other accounts.
import { afterAll, beforeAll, describe, expect, it, test } from "vitest";
import { parseAllDocuments } from "yaml";
import flowControl from "../../../infra/rbac/flow-control.yaml?raw";
import { create, createGrantee, sendUntil } from "../../infra/local/apiserver/contract/accounts.ts";
import { type Received, type Sent, send, type TestServer } from "../../infra/local/apiserver/test-server.ts";
import { heldRequests, type HeldRequests } from "./held-requests.ts";

const API = "/apis/flowcontrol.apiserver.k8s.io/v1";
const PLURALS: Record<string, string> = {
  FlowSchema: "flowschemas",
  PriorityLevelConfiguration: "prioritylevelconfigurations",
};
const documents = parseAllDocuments(flowControl).map((document) => document.toJS() as FlowObject);
interface FlowObject {
  kind: string;
  metadata: { name: string };
}

const nodes = "/api/v1/nodes";
const leases = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases";
const annotations = { "rollcall.dev/owner": "rollcall" };
const taints = [{ key: "rollcall.dev/facts-only", effect: "NoSchedule" }];
const NODE = "flow-control";
const HELD = "flow-control-held";
const statusOf = (name: string): Sent => ({
  method: "PATCH",
  path: `${nodes}/${name}/status?dryRun=All`,
  type: "strategic",
  body: { status: { nodeInfo: { osImage: "Test Linux" } } },
});

const applied = (object: FlowObject, query = ""): Sent => ({
  method: "PATCH",
  path: `${API}/${PLURALS[object.kind]}/${object.metadata.name}?fieldManager=test${query}`,
  type: "apply",
  body: object,
});

const codesOf = (answers: readonly Received[]) => new Set(answers.map(({ code }) => code));

const ANOTHER_DEPLOYMENT = {
  "impersonate-user": "system:serviceaccount:rollcall-system:east",
  "impersonate-group": "system:serviceaccounts:rollcall-system",
};
const METRICS: Sent = { path: "/metrics" };

/** The number of one account's requests that can wait in its priority level: handSize times queueLengthLimit. */
const QUEUED = 300;
/** The number of requests that the level must reject, in addition to those in its seats and queues. */
const TOO_MANY = 20;

/** Defines the tests. `started`: a real server with infra/rbac, and a token of the account `rollcall`. */
export function describeFlowControl(started: () => { server: TestServer; token: string }): void {
  const uids = new Map<string, string>();
  const asRollcall = (sent: Sent) => send(started().server, { ...sent, token: started().token });
  let other = "";

  beforeAll(async () => {
    const { server } = started();
    for (const object of documents) {
      const { kind, metadata } = object;
      const tried = await send(server, applied(object, "&dryRun=All"));
      expect(tried.code, tried.text).toBe(201);
      const { code, body, text } = await send(server, applied(object));
      expect(code, text).toBe(201);
      uids.set(String(body.metadata?.uid), `${kind} ${metadata.name}`);
    }
    const rules = [{ apiGroups: [""], resources: ["nodes", "nodes/status"], verbs: ["get", "patch"] }];
    other = await createGrantee(server, "flow-control-other", rules);
    // The server applies new flow-control objects only after a moment: the request is repeated until they count it.
    for (const sent of [{ path: `${nodes}/${NODE}` }, { path: `${leases}/${NODE}` }])
      await sendUntil(server, { ...sent, token: started().token }, (answer) => levelOf(answer).length === 2);
  });

  /** Returns the names of the objects of flow-control.yaml that the apiserver applied to a request. */
  function levelOf({ headers }: Received): string[] {
    const named = ["x-kubernetes-pf-flowschema-uid", "x-kubernetes-pf-prioritylevel-uid"];
    return named.flatMap((header) => uids.get(headers[header] ?? "") ?? []);
  }

  it("each object is accepted as it is, and again without a change", async () => {
    for (const object of documents) {
      const again = await send(started().server, applied(object));
      expect(again.code, again.text).toBe(200);
      expect(again.body.metadata).toMatchObject({ generation: 1 });
    }
  });

  const renewal: Sent = {
    method: "PUT",
    path: `${leases}/${NODE}?dryRun=All`,
    body: { metadata: { name: NODE } },
  };
  test.each<[situation: string, level: string, sent: Sent]>([
    ["renews a lease", "rollcall-leases", renewal],
    ["reads a lease", "rollcall-leases", { path: `${leases}/${NODE}` }],
    ["creates a lease", "rollcall-leases", { method: "POST", path: leases, body: {} }],
    ["deletes a lease", "rollcall-leases", { method: "DELETE", path: `${leases}/none` }],
    ["reads a Node", "rollcall", { path: `${nodes}/${NODE}` }],
    ["writes a status", "rollcall", statusOf(NODE)],
    ["creates a Node", "rollcall", { method: "POST", path: nodes, body: {} }],
    ["creates an event", "rollcall", { method: "POST", path: "/api/v1/namespaces/default/events", body: {} }],
    ["requests what it may not read", "rollcall", { path: "/api/v1/pods" }],
    ["requests a path that is no resource", "rollcall", { path: "/metrics" }],
  ])("the account %s → level %s", async (_, level, sent) => {
    const both = [`FlowSchema ${level}`, `PriorityLevelConfiguration ${level}`];
    expect(levelOf(await asRollcall(sent))).toEqual(both);
    const another = await send(started().server, { ...sent, headers: ANOTHER_DEPLOYMENT });
    expect(levelOf(another), "another deployment").toEqual(both);
  });

  test.each<[who: string, headers: Record<string, string>]>([
    ["an administrator", {}],
    [
      "an account of another namespace",
      {
        "impersonate-user": "system:serviceaccount:default:rollcall",
        "impersonate-group": "system:serviceaccounts:default",
      },
    ],
    ["a kubelet", { "impersonate-user": "system:node:edge-7", "impersonate-group": "system:nodes" }],
  ])("%s → none of the file's levels", async (_, headers) => {
    for (const sent of [renewal, statusOf(NODE), { path: `${nodes}/${NODE}` }])
      expect(levelOf(await send(started().server, { ...sent, headers }))).toEqual([]);
  });

  describe("a flood of the account's requests, each of which takes as long as the test wants", () => {
    let held: HeldRequests;
    let seats = 0;
    let flood: Promise<Received>[] = [];
    const answered: Received[] = [];

    beforeAll(async () => {
      const { server } = started();
      for (const name of [NODE, HELD]) {
        const node = {
          metadata: { name, annotations, labels: { held: String(name === HELD) } },
          spec: { taints },
        };
        expect((await asRollcall({ method: "POST", path: nodes, body: node })).code).toBe(201);
      }
      const lease = { metadata: { name: NODE, annotations }, spec: { holderIdentity: NODE } };
      expect((await asRollcall({ method: "POST", path: leases, body: lease })).code).toBe(201);
      held = await heldRequests();
      await holdStatusWrites(server, held);
      seats = figureIn(await send(server, METRICS), "nominal_limit_seats");
      // The server calls a new webhook only after a moment: the request is repeated until the webhook holds it.
      let first = asRollcall(statusOf(HELD));
      while (await Promise.race([first.then(() => true), held.asked.then(() => false)]))
        first = asRollcall(statusOf(HELD));
      flood = Array.from({ length: seats - 1 + QUEUED + TOO_MANY }, async () => {
        const answer = await asRollcall(statusOf(HELD));
        answered.push(answer);
        return answer;
      });
      flood.push(first);
      await sendUntil(server, { path: "/livez" }, () => answered.length >= TOO_MANY);
    });
    afterAll(async () => {
      held?.close();
      await Promise.all(flood);
      const path = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/flow-control";
      await send(started().server, { method: "DELETE", path });
    });

    it("→ seats and queues are full, and further requests are refused with 429", async () => {
      const metrics = await send(started().server, METRICS);
      const executing = figureIn(metrics, "current_executing_requests");
      const waiting = waitingIn(metrics);
      expect(executing).toBeLessThanOrEqual(seats);
      expect({ executing, waiting }).toEqual({
        executing: flood.length - QUEUED - answered.length,
        waiting: QUEUED,
      });
      expect(codesOf(answered)).toEqual(new Set([429]));
      for (const { headers } of answered) expect(Number(headers["retry-after"])).toBeGreaterThan(0);
    });

    it("→ all requests of others are answered, before any of the flood is", async () => {
      const { server } = started();
      const asked = [{ path: `${nodes}/${NODE}` }, statusOf(NODE)];
      for (const token of [other, server.token]) {
        const answers = await Promise.all(
          Array.from({ length: 20 }, (_, at) => send(server, { ...asked[at % 2]!, token })),
        );
        expect(codesOf(answers)).toEqual(new Set([200]));
      }
      expect(codesOf(answered)).toEqual(new Set([429]));
    });

    it("→ the account's own leases are renewed, before any of the flood is answered", async () => {
      for (let renewals = 0; renewals < 20; renewals++) {
        const { body } = await asRollcall({ path: `${leases}/${NODE}` });
        const renewed = await asRollcall({ method: "PUT", path: `${leases}/${NODE}`, body });
        expect(renewed.code, renewed.text).toBe(200);
      }
      expect(codesOf(answered)).toEqual(new Set([429]));
    });

    it("→ once its requests continue, all that waited are answered, also another deployment's", async () => {
      const refused = answered.length;
      const path = `${nodes}/${NODE}`;
      const another = send(started().server, { path, headers: ANOTHER_DEPLOYMENT });
      await sendUntil(started().server, METRICS, (answer) => waitingIn(answer) > QUEUED);
      held.release();
      const answers = await Promise.all(flood);
      expect(answers.filter(({ code }) => code === 200)).toHaveLength(flood.length - refused);
      expect((await another).code).toBe(200);
    });
  });
}

async function holdStatusWrites(server: TestServer, { url, caBundle }: HeldRequests): Promise<void> {
  await create(server, "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations", {
    metadata: { name: "flow-control" },
    webhooks: [
      {
        name: "flow-control.rollcall.test",
        clientConfig: { url, caBundle },
        rules: [
          { apiGroups: [""], apiVersions: ["v1"], operations: ["UPDATE"], resources: ["nodes/status"] },
        ],
        objectSelector: { matchLabels: { held: "true" } },
        admissionReviewVersions: ["v1"],
        sideEffects: "None",
        timeoutSeconds: 30,
      },
    ],
  });
}

/** Returns a metric of the priority level `rollcall`, summed over its flows. */
function figureIn({ text }: Received, metric: string): number {
  const isOurs = (line: string) =>
    line.startsWith(`apiserver_flowcontrol_${metric}{`) && line.includes('priority_level="rollcall"');
  const lines = text.split("\n").filter(isOurs);
  return lines.reduce((sum, line) => sum + Number(line.split(" ").at(-1)), 0);
}

const waitingIn = (metrics: Received) => figureIn(metrics, "current_inqueue_requests");
