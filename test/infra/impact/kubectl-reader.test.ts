// Tests how rollcall impact runs kubectl, and the meaning of kubectl's errors.
import { expect, test } from "vitest";
import { kubectlFault, kubectlReader } from "../../../infra/impact/kubectl-reader.ts";
import type { KubectlEnd } from "../../../infra/operator/kubectl.ts";
import { machineNode, nodeToCreate } from "../../../infra/impact/machine-node.ts";

test.each<[stderr: string, reason: string, message: RegExp]>([
  [
    'Error from server (Forbidden): daemonsets.apps is forbidden: User "x" cannot list resource',
    "forbidden",
    /^daemonsets.apps is forbidden/,
  ],
  [
    "Error from server (NotFound): the server could not find the requested resource",
    "absent",
    /could not find/,
  ],
  ["Error from server (Expired): The provided continue parameter is too old", "expired", /too old/],
  ["error: You must be logged in to the server (Unauthorized)", "unauthorized", /logged in/],
  [
    "E1126 memcache.go:265 …\nThe connection to the server 127.0.0.1:1 was refused",
    "unreachable",
    /was refused$/,
  ],
  ["Unable to connect to the server: net/http: TLS handshake timeout", "unreachable", /timeout$/],
  ["Unable to connect to the server: x509: certificate signed by unknown authority", "unreachable", /x509/],
  ['error: context "prod" does not exist', "usage", /^context "prod" does not exist$/],
  ["error: stat /none: no such file or directory", "usage", /^stat \/none/],
  ["", "usage", /^kubectl is not installed$/],
  [
    'Error from server (InternalError): an error on the server ("<html><body>502</body></html>") has prevented it',
    "not-kubernetes",
    /web page/,
  ],
  [
    'Error from server: admission webhook "validate.kyverno.svc-fail" denied the request: \n\nlabels:\n  zone: required',
    "refused",
    /denied the request: \n\nlabels:\n {2}zone: required$/,
  ],
  [
    `The nodes "n" is invalid: : ValidatingAdmissionPolicy 'zones' with binding 'zones' denied request: no zone`,
    "refused",
    /denied request: no zone$/,
  ],
])("%s → %s", (stderr, reason, message) => {
  const fault = kubectlFault(stderr, "kubectl is not installed");
  expect(fault.reason).toBe(reason);
  expect(fault.message).toMatch(message);
});

async function runs(end: Partial<KubectlEnd>) {
  const calls: { args: readonly string[]; input: string }[] = [];
  const reader = kubectlReader({ kubeconfig: "k.yaml", kubeContext: "prod" }, (args, input) => {
    calls.push({ args, input });
    return Promise.resolve({ stdout: "", stderr: "", fault: null, ...end });
  });
  return {
    got: await reader.get("/version"),
    tried: await reader.tryNode(nodeToCreate(machineNode(), "v1.36.0")),
    calls,
  };
}

test("a GET and a dry run, each with a deadline, by the kubeconfig and context of the flags", async () => {
  const { got, calls } = await runs({ stdout: '{"gitVersion":"v1"}' });
  const common = ["--request-timeout=20s", "--kubeconfig=k.yaml", "--context=prod"];
  expect(got).toEqual({ ok: true, value: { gitVersion: "v1" } });
  expect(calls.map(({ args }) => args)).toEqual([
    ["get", "--raw", "/version", ...common],
    ["create", "--raw", "/api/v1/nodes?dryRun=All", "-f", "-", ...common],
  ]);
  expect(JSON.parse(calls[1]?.input ?? "")).toMatchObject({
    kind: "Node",
    status: { allocatable: { cpu: "0" } },
  });
});

test("an exit code alone → a fault that names it", async () => {
  const { got } = await runs({ fault: "exit code 3" });
  expect(got).toEqual({ ok: false, error: { reason: "usage", message: "exit code 3" } });
});
