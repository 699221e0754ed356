// Checks the cluster before a deployment: the apiserver's address, and the version and rights at kubectl's context.
// Sends only reads.
import { BlockList, isIP } from "node:net";
import { type CheckResult, failed, warning } from "../../shared/deployment/check-result.ts";
import { hostOf } from "../../node-shim/worker-link/origin.ts";
import type { Kubectl } from "../operator/kubectl.ts";
import type { DeploySettings } from "./settings-file.ts";

/** The networks that no request of Cloudflare reaches over the Internet (RFC 1918, 4193, 4291, 6598, 3927). */
const PRIVATE = new BlockList();
for (const [network, bits, family] of [
  ["10.0.0.0", 8, "ipv4"],
  ["172.16.0.0", 12, "ipv4"],
  ["192.168.0.0", 16, "ipv4"],
  ["127.0.0.0", 8, "ipv4"],
  ["100.64.0.0", 10, "ipv4"],
  ["169.254.0.0", 16, "ipv4"],
  ["fc00::", 7, "ipv6"],
  ["fe80::", 10, "ipv6"],
  ["::1", 128, "ipv6"],
] as const)
  PRIVATE.addSubnet(network, bits, family);

/** The last labels of names that public DNS does not have. */
const PRIVATE_NAME = /^[^.]+$|\.(local|localdomain|internal|lan|home\.arpa|svc)$/;

/** Returns a warning if Cloudflare cannot reach the apiserver's address over the Internet, or null. */
export function addressCheck({ apiserver, vpcService }: DeploySettings): CheckResult | null {
  if (vpcService !== undefined || !URL.canParse(apiserver)) return null;
  const host = hostOf(new URL(apiserver)).toLowerCase();
  const family = isIP(host);
  const isPrivate =
    family === 0 ? PRIVATE_NAME.test(host) : PRIVATE.check(host, family === 4 ? "ipv4" : "ipv6");
  if (!isPrivate) return null;
  const fault = warning(
    `${host} is a private address, which Cloudflare does not reach over the Internet`,
    "use the hostname of a Cloudflare Tunnel, or a Workers VPC service (vpcService): docs/apiserver.md compares the ways",
  );
  return { check: "KUBE_URL", ...fault };
}

const NAMESPACE = "rollcall-system";
/** The oldest supported minor version of Kubernetes 1: docs/cluster.md. */
const LEAST_MINOR = 30;
const CHECK = "kubeContext";
const ACCOUNT_CURE =
  "apply infra/rbac/rollcall.yaml; for another deployment in one cluster, docs/cluster.md shows how to make its ServiceAccount";
/** The error of `kubectl auth can-i` for the answer no. */
const NO = "kubectl: exit code 1";

/** Checks the version of kubectl's cluster, the Worker's ServiceAccount there, and the right to create its token. */
export async function clusterChecks(
  { kubeContext, deployment }: DeploySettings,
  kubectl: Kubectl,
): Promise<CheckResult[]> {
  const ask = (...args: string[]) =>
    kubectl([...(kubeContext === undefined ? [] : ["--context", kubeContext]), ...args]);
  const version = await ask("version", "-o", "json");
  if (!version.ok) {
    const cure = "make kubectl reach the cluster: kubectl creates the Worker's token in it";
    return [{ check: CHECK, ...warning(`the cluster cannot be checked: ${version.error}`, cure) }];
  }
  const [account, mayCreate] = [
    await ask("get", "serviceaccount", deployment, "-n", NAMESPACE, "-o", "name", "--ignore-not-found"),
    await ask("auth", "can-i", "create", "serviceaccounts", "--subresource=token", "-n", NAMESPACE),
  ];
  const checks = [versionCheck(version.value)];
  if (account.ok && account.value.trim() === "")
    checks.push(failed(`there is no ServiceAccount ${deployment} in ${NAMESPACE}`, ACCOUNT_CURE));
  if (!mayCreate.ok && mayCreate.error !== NO)
    checks.push(
      warning(
        `it is not known whether this user may create a token of ServiceAccounts: ${mayCreate.error}`,
        "check the right with kubectl, or write the token into a file that secretFiles names: KUBE_TOKEN",
      ),
    );
  else if (!mayCreate.ok)
    checks.push(
      failed(
        `this user may not create a token of ServiceAccounts in ${NAMESPACE}`,
        "name the context of an administrator, or write the token into a file that secretFiles names: KUBE_TOKEN",
      ),
    );
  return checks.flatMap((fault) => (fault === null ? [] : [{ check: CHECK, ...fault }]));
}

function versionCheck(printed: string) {
  const [, gitVersion = "", minor = "0"] =
    /"serverVersion"[^]*?"gitVersion":\s*"(v1\.(\d+)[^"]*)"/.exec(printed) ?? [];
  if (Number(minor) >= LEAST_MINOR) return null;
  return failed(
    gitVersion === "" ? "the cluster's version is not known" : `the cluster has Kubernetes ${gitVersion}`,
    `upgrade the cluster: the Worker's policies need Kubernetes 1.${LEAST_MINOR}`,
  );
}
