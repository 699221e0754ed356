// Tests the example of a NodeReadinessRule against a real kube-apiserver: the CRD accepts it, a Node gets and loses the
// taint by the controller's own patches, and rules that the page warns of are refused.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { parse } from "yaml";
import type { Node } from "../../shared/kubernetes/types.ts";
import { eventually, ROOT } from "../e2e/local-cluster.ts";
import { send, type TestServer } from "../infra/local/apiserver/test-server.ts";
import { type ReadinessRule, reconcile } from "../worker/support/readiness-controller.ts";
import { assets, sharedServer, testServer, TURN_MS } from "./servers.ts";

const text = { type: "string" };
const status = { type: "string", enum: ["True", "False", "Unknown"] };
/** The CRD, reduced to the fields and rules that the example depends on. */
const CRD = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: "nodereadinessrules.readiness.node.x-k8s.io" },
  spec: {
    group: "readiness.node.x-k8s.io",
    scope: "Cluster",
    names: { kind: "NodeReadinessRule", plural: "nodereadinessrules", singular: "nodereadinessrule" },
    versions: [
      {
        name: "v1alpha1",
        served: true,
        storage: true,
        subresources: { status: {} },
        schema: {
          openAPIV3Schema: {
            type: "object",
            required: ["spec"],
            properties: {
              spec: {
                type: "object",
                required: ["conditions", "enforcementMode", "nodeSelector", "taint"],
                properties: {
                  conditions: {
                    type: "array",
                    minItems: 1,
                    maxItems: 32,
                    items: {
                      type: "object",
                      required: ["requiredStatus", "type"],
                      properties: { type: text, requiredStatus: status },
                    },
                  },
                  enforcementMode: { type: "string", enum: ["bootstrap-only", "continuous"] },
                  nodeSelector: {
                    type: "object",
                    properties: { matchLabels: { type: "object", additionalProperties: text } },
                    "x-kubernetes-validations": [
                      {
                        rule: "has(self.matchLabels) && size(self.matchLabels) > 0",
                        message: "must not be empty",
                      },
                    ],
                  },
                  taint: {
                    type: "object",
                    required: ["effect", "key"],
                    properties: { effect: text, key: text, value: text },
                    "x-kubernetes-validations": [
                      {
                        rule: "self.key.startsWith('readiness.k8s.io/')",
                        message: "must start with readiness.k8s.io/",
                      },
                    ],
                  },
                },
              },
            },
          },
        },
      },
    ],
  },
};

const EXAMPLE = parse(readFileSync(join(ROOT, "examples/node-readiness-rule.yaml"), "utf8")) as ReadinessRule;
const CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const RULES = "/apis/readiness.node.x-k8s.io/v1alpha1/nodereadinessrules";

describe.skipIf(assets === "")("the example of a NodeReadinessRule", () => {
  let server: TestServer;
  beforeAll(async () => {
    ({ server } = testServer(await sharedServer()));
    await send(server, { method: "POST", path: CRDS, body: CRD });
  }, TURN_MS);

  it("→ is accepted, once the CRD is served", async () => {
    const created = await eventually(async () => {
      const answer = await send(server, { method: "POST", path: RULES, body: EXAMPLE });
      return answer.code === 201 && answer.body;
    });
    expect(created).toMatchObject({ spec: EXAMPLE.spec });
  });

  it.each<[string, Partial<ReadinessRule["spec"]>]>([
    ["another prefix of the taint", { taint: { key: "example.com/raid", effect: "NoSchedule" } }],
    ["no selector", { nodeSelector: { matchLabels: {} } }],
  ])("with %s → refused", async (_, change) => {
    const rule = { ...EXAMPLE, metadata: { name: "changed" }, spec: { ...EXAMPLE.spec, ...change } };
    const code = await eventually(async () => {
      const answer = await send(server, { method: "POST", path: RULES, body: rule });
      return answer.code !== 404 && answer.code;
    });
    expect(code).toBe(422);
  });

  it("its patches → the Node is tainted while the condition is not False", async () => {
    const [name, nodes] = ["readiness-1", "/api/v1/nodes"];
    const path = `${nodes}/${name}`;
    await send(server, {
      method: "POST",
      path: nodes,
      body: { apiVersion: "v1", kind: "Node", metadata: { name } },
    });
    const read = async () => (await send(server, { path })).body as Node;
    const patch = (body: object) => send(server, { method: "PATCH", path, body, type: "merge" });
    const isTainted = async () =>
      (await read()).spec?.taints?.some(({ key }) => key === EXAMPLE.spec.taint.key) ?? false;
    await reconcile(EXAMPLE, { read, patch });
    expect(await isTainted()).toBe(true);
    const conditions = [{ type: "RaidDegraded", status: "False", reason: "Well", message: "" }];
    await send(server, {
      method: "PUT",
      path: `${path}/status`,
      body: { ...(await read()), status: { conditions } },
    });
    await reconcile(EXAMPLE, { read, patch });
    expect(await isTainted()).toBe(false);
    await send(server, { method: "DELETE", path });
  });
});
