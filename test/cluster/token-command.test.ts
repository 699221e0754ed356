// The cluster's token for the Worker, by the command of npm run deploy and a real kubectl. Runs where KUBEBUILDER_ASSETS names a
// folder with etcd, kube-apiserver and kubectl.
import { decodeJwt } from "jose";
import { afterEach, expect, test, vi } from "vitest";
import { runKubectl } from "../../infra/deploy/kubectl-run.ts";
import { tokenCommand } from "../../infra/deploy/plan-text.ts";
import { readSettings } from "../../infra/deploy/settings-file.ts";
import { kubectl, sharedCluster } from "../e2e/kubectl.ts";

const assets = process.env["KUBEBUILDER_ASSETS"];
const NAME = "token-command";
const HOME = "rollcall-system";

afterEach(() => void vi.unstubAllEnvs());

/** As infra/rbac has them. */
const OBJECTS = [
  { apiVersion: "v1", kind: "Namespace", metadata: { name: HOME } },
  { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: NAME, namespace: HOME } },
  { apiVersion: "v1", kind: "Secret", metadata: { name: NAME, namespace: HOME } },
];

test.skipIf(!assets)("the token → of that ServiceAccount for a year, bound to its Secret", async () => {
  const cluster = await sharedCluster();
  const input = JSON.stringify({ apiVersion: "v1", kind: "List", items: OBJECTS });
  const program = `${assets}/kubectl`;
  expect(await kubectl(program, cluster, { args: ["apply", "-f", "-"], input })).toMatchObject({ code: 0 });
  const text = `origin: https://a.test\napiserver: https://kube.test\ndeployment: ${NAME}\n`;
  const settings = readSettings(text, "/rollcall.yaml", null);
  if (!settings.ok) throw new Error(settings.error.join("\n"));
  vi.stubEnv("PATH", assets ?? "");
  vi.stubEnv("HOME", cluster.home);
  vi.stubEnv("KUBECONFIG", cluster.kubeconfig);
  const { stdout, fault } = await runKubectl(tokenCommand(settings.value));
  await cluster.stop();
  expect(fault).toBeNull();
  const { sub, exp = 0, iat = 0, "kubernetes.io": bound } = decodeJwt(stdout.trim());
  expect(sub).toBe(`system:serviceaccount:${HOME}:${NAME}`);
  expect(exp - iat).toBe(8760 * 3600);
  expect(bound).toMatchObject({ secret: { name: NAME } });
});
