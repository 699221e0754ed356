// Tests that the APIService is as before after `rollcall kubectl-top on` and `off`, and what stops `on`.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it, test } from "vitest";
import { parseAllDocuments } from "yaml";
import { OBJECTS, switchOff, switchOn } from "../../../infra/kubectl-top/switch.ts";
import { failure, type Result, success } from "../../../shared/result.ts";
import { ROOT } from "../../e2e/local-cluster.ts";

interface Api {
  metadata: { annotations?: Record<string, string | null>; resourceVersion?: string };
  spec: Record<string, unknown>;
}
const OF_METRICS_SERVER = {
  service: { name: "metrics-server", namespace: "kube-system", port: 443 },
  groupPriorityMinimum: 100,
};
const SKIPPED = { ...OF_METRICS_SERVER, insecureSkipTLSVerify: true };
const VERIFIED = { ...OF_METRICS_SERVER, caBundle: "TEVT" };
const STATUS = { version: "1", faults: { worker: null, metricsServer: null } };
const READY = {
  spec: {
    template: {
      spec: {
        containers: [{ args: ["serve", "--metrics-server", "https://metrics-server.kube-system.svc"] }],
      },
    },
  },
  status: { availableReplicas: 2 },
};

/** A cluster with one APIService. */
function clusterWith(
  spec: object | null,
  {
    deployment = READY,
    status = success(STATUS),
  }: { deployment?: object | null; status?: Result<object> } = {},
) {
  let api: Api | null = spec && { metadata: { resourceVersion: "1" }, spec: { ...spec } };
  const removed: string[] = [];
  const kubectl = async (args: readonly string[], input = ""): Promise<Result<string>> => {
    const [verb, what = ""] = args;
    const text = (object: object | null) => success(object === null ? "" : JSON.stringify(object));
    if (verb === "get" && what === "--raw") return status.ok ? text(status.value) : Promise.resolve(status);
    if (verb === "get" && what.startsWith("deployment/")) return text(deployment);
    if (verb === "get" && what.startsWith("secret/")) return success(" T1VS");
    if (verb === "get") return text(api);
    if (verb === "create") {
      const { metadata, spec: created } = JSON.parse(input) as Api;
      api = { metadata: { ...metadata, resourceVersion: "1" }, spec: created };
    } else if (verb === "patch") {
      const change = JSON.parse(args[4] ?? "") as Api;
      if (change.metadata.resourceVersion !== api!.metadata.resourceVersion) return failure("Conflict");
      const { annotations } = {
        annotations: { ...api!.metadata.annotations, ...change.metadata.annotations },
      };
      api = {
        metadata: { resourceVersion: "1", ...withoutNull({ annotations: withoutNull(annotations) }) },
        spec: withoutNull({ ...api!.spec, ...change.spec }),
      };
    } else if (what.startsWith("apiservice")) api = null;
    else removed.push(...args.slice(1).filter((each) => each.includes("/")));
    return success("");
  };
  return { kubectl, removed, api: () => api };
}
const withoutNull = (object: object) =>
  Object.fromEntries(
    Object.entries(object).filter(([, value]) => value !== null && JSON.stringify(value) !== "{}"),
  );
const pause = async () => Promise.resolve();

it.each([
  ["an unchecked certificate", SKIPPED],
  ["an authority", VERIFIED],
  ["no metrics-server", null],
])("%s: on, on again, off → as before", async (_, spec) => {
  const { kubectl, api, removed } = clusterWith(spec);
  for (let times = 0; times < 2; times++) {
    expect(await switchOn(kubectl, pause)).toEqual(success("on: the apiserver asks the adapter"));
    expect(api()?.spec).toMatchObject({
      service: { name: "kubectl-top", namespace: "rollcall-top", port: 443 },
      caBundle: "T1VS",
      insecureSkipTLSVerify: false,
    });
  }
  expect(await switchOff(kubectl)).toMatchObject({ ok: true });
  expect(api()).toEqual(spec && { metadata: { resourceVersion: "1" }, spec });
  expect(removed).toContain("namespace/rollcall-top");
});

it.each<[situation: string, spec: object, more: object, error: RegExp]>([
  ["no adapter", SKIPPED, { deployment: null }, /first apply infra\/kubectl-top/],
  ["an adapter that is not ready", SKIPPED, { deployment: { ...READY, status: {} } }, /is not ready/],
  [
    "another metrics-server",
    { service: { name: "rke2-metrics-server", namespace: "kube-system", port: 8443 } },
    {},
    /set the adapter's --metrics-server to https:\/\/rke2-metrics-server\.kube-system\.svc:8443$/,
  ],
  [
    "an adapter that cannot be reached",
    VERIFIED,
    { status: failure("503") },
    /does not reach the adapter \(503\); everything is as before/,
  ],
])("on with %s → refused, and the APIService is as before", async (_, spec, more, error) => {
  const { kubectl, api } = clusterWith(spec, more);
  expect(await switchOn(kubectl, pause)).toEqual(failure(expect.stringMatching(error)));
  expect(api()?.spec).toEqual(spec);
});

it("on while the Worker does not answer → on, and said", async () => {
  const faults = { worker: "late", metricsServer: null };
  const { kubectl } = clusterWith(SKIPPED, { status: success({ ...STATUS, faults }) });
  expect(await switchOn(kubectl, pause)).toMatchObject({
    value: expect.stringContaining("the Worker does not answer it: late"),
  });
});

it("off after metrics-server's own manifests were applied again → their APIService stays", async () => {
  const { kubectl, api } = clusterWith(SKIPPED);
  expect(await switchOn(kubectl, pause)).toMatchObject({ ok: true });
  api()!.spec = SKIPPED;
  expect(await switchOff(kubectl)).toMatchObject({ ok: true });
  expect(api()).toEqual({ metadata: { resourceVersion: "1" }, spec: SKIPPED });
});

test("off removes each object of infra/kubectl-top", () => {
  const text = readFileSync(join(ROOT, "infra/kubectl-top/kubectl-top.yaml"), "utf8");
  const objects = parseAllDocuments(text).map(
    (each) => each.toJSON() as { kind: string; metadata: { name: string; namespace?: string } },
  );
  const outside = objects.filter(({ metadata }) => metadata.namespace !== "rollcall-top");
  const named = outside.map(({ kind, metadata }) =>
    `${kind.toLowerCase()} ${metadata.name} ${metadata.namespace ?? ""}`.trim(),
  );
  const removed = OBJECTS.flatMap(([names, [, namespace = ""]]) =>
    names.map((name) =>
      `${name.replace(".rbac.authorization.k8s.io", "").replace("/", " ")} ${namespace}`.trim(),
    ),
  );
  expect(removed.toSorted()).toEqual(named.toSorted());
});
