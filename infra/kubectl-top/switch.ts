// Lets the apiserver ask the adapter for the metrics of Nodes and pods, and the former server again, with kubectl. The
// APIService has the former server in an annotation meanwhile, so that no other place must remember it.
import { failure, type Result, success } from "../../shared/result.ts";
import type { Kubectl } from "../operator/kubectl.ts";
import type { AdapterStatus } from "./adapter.ts";

const NAMESPACE = "rollcall-top";
const NAME = "kubectl-top";
const API = "apiservice.apiregistration.k8s.io/v1beta1.metrics.k8s.io";
/** The annotation with the part of the APIService's spec that `off` restores; `null` if there was no APIService. */
const BEFORE = "rollcall.dev/before-kubectl-top";

interface ApiService {
  metadata: { resourceVersion?: string; annotations?: Record<string, string> };
  spec: Target;
}
/** The server of an API, and how the apiserver checks its certificate. */
interface Target {
  service?: { name?: string; namespace?: string; port?: number } | null;
  caBundle?: string | null;
  insecureSkipTLSVerify?: boolean | null;
}

/** Returns true if the apiserver asks the adapter. */
export function isAdapter({ service }: Target): boolean {
  return service?.name === NAME && service.namespace === NAMESPACE;
}

type Pause = (ms: number) => Promise<void>;

export async function switchOn(kubectl: Kubectl, pause: Pause): Promise<Result<string>> {
  const found = await readApiService(kubectl);
  if (!found.ok) return found;
  const ready = await readyAdapter(kubectl, found.value);
  if (!ready.ok) return ready;
  const spec = {
    service: { name: NAME, namespace: NAMESPACE, port: 443 },
    caBundle: ready.value,
    insecureSkipTLSVerify: false,
  };
  const before = found.value === null ? null : targetOf(found.value.spec);
  const isRepeated = before !== null && isAdapter(before);
  const annotations = isRepeated ? {} : { [BEFORE]: JSON.stringify(before) };
  const changed =
    found.value === null
      ? await create(kubectl, { metadata: { annotations }, spec })
      : await patch(kubectl, {
          metadata: { resourceVersion: found.value.metadata.resourceVersion ?? "", annotations },
          spec,
        });
  if (!changed.ok) return changed;
  const answered = await askedAdapter(kubectl, pause);
  if (answered.ok) return answered;
  const restored = await restore(kubectl);
  const end = restored.ok ? "everything is as before" : `run rollcall kubectl-top off: ${restored.error}`;
  return failure(`the apiserver does not reach the adapter (${answered.error}); ${end}`);
}

/** The adapter answers this path itself. */
const STATUS = "/apis/metrics.k8s.io/v1beta1/rollcall";
const TRIES = 30;
const PAUSE_MS = 1000;

/** Waits until the apiserver asks the adapter. Its condition Available may still be of the server before. */
async function askedAdapter(kubectl: Kubectl, pause: Pause): Promise<Result<string>> {
  for (let tries = 1; ; tries++) {
    const read = await kubectl(["get", "--raw", STATUS]);
    if (!read.ok && tries === TRIES) return read;
    if (read.ok) {
      const { worker, metricsServer } = (JSON.parse(read.value) as AdapterStatus).faults;
      const missing = [
        ...(worker === null ? [] : [`the Worker does not answer it: ${worker}`]),
        ...(metricsServer === null ? [] : [`metrics-server does not answer it: ${metricsServer}`]),
      ];
      return success(["on: the apiserver asks the adapter", ...missing].join("; "));
    }
    await pause(PAUSE_MS);
  }
}

export async function switchOff(kubectl: Kubectl): Promise<Result<string>> {
  const restored = await restore(kubectl);
  if (!restored.ok) return restored;
  for (const [names, where] of OBJECTS) {
    const wait = ["--ignore-not-found", "--wait=true", "--timeout=120s"];
    const removed = await kubectl(["delete", ...names, ...where, ...wait]);
    if (!removed.ok)
      return failure(`${restored.value}, but objects are left: ${removed.error}; run it again`);
  }
  return success(`off: ${restored.value}, and the adapter is removed`);
}

/** The objects of infra/kubectl-top, in the order of removal. */
export const OBJECTS: readonly (readonly [names: readonly string[], where: readonly string[]])[] = [
  [
    ["clusterrolebinding", "clusterrole"].map(
      (kind) => `${kind}.rbac.authorization.k8s.io/rollcall-kubectl-top`,
    ),
    [],
  ],
  [["rolebinding.rbac.authorization.k8s.io/rollcall-kubectl-top"], ["-n", "kube-system"]],
  [[`namespace/${NAMESPACE}`], []],
];

/** Lets the apiserver ask the server that it asked before `on`. Returns what the state is then. */
async function restore(kubectl: Kubectl): Promise<Result<string>> {
  const found = await readApiService(kubectl);
  if (!found.ok) return found;
  const { [BEFORE]: text } = found.value?.metadata.annotations ?? {};
  if (found.value === null || !isAdapter(found.value.spec)) {
    // Another program, such as an upgrade of metrics-server, may have restored the spec alone.
    const cleaned = text === undefined ? success("") : await patch(kubectl, without(found.value));
    return cleaned.ok ? success("the apiserver does not ask the adapter") : cleaned;
  }
  if (text === undefined)
    return failure(
      `${API} has lost its annotation ${BEFORE}: install metrics-server's APIService again, then run this again`,
    );
  const before = JSON.parse(text) as Target | null;
  if (before === null) {
    const removed = await kubectl(["delete", API]);
    return removed.ok ? success("the cluster has no metrics of Nodes and pods, as before") : removed;
  }
  const spec = { service: null, caBundle: null, insecureSkipTLSVerify: null, ...before };
  const patched = await patch(kubectl, { ...without(found.value), spec });
  return patched.ok ? success(`the apiserver asks ${before.service?.name} again`) : patched;
}

/** Returns the change that removes the annotation, if the APIService is still as it was read. */
const without = (api: ApiService | null) => ({
  metadata: { resourceVersion: api?.metadata.resourceVersion ?? "", annotations: { [BEFORE]: null } },
});

async function readApiService(kubectl: Kubectl): Promise<Result<ApiService | null>> {
  const read = await kubectl(["get", API, "--ignore-not-found", "-o", "json"]);
  if (!read.ok) return read;
  return success(read.value.trim() === "" ? null : (JSON.parse(read.value) as ApiService));
}

function targetOf({ service, caBundle, insecureSkipTLSVerify }: Target): Target {
  return {
    ...(service && { service }),
    ...(caBundle && { caBundle }),
    ...(insecureSkipTLSVerify && { insecureSkipTLSVerify }),
  };
}

interface Deployed {
  spec: { template: { spec: { containers: { args?: string[] }[] } } };
  status?: { availableReplicas?: number };
}

/** Checks that the adapter runs and asks the server that the cluster asks now. Returns the authority for the apiserver. */
async function readyAdapter(kubectl: Kubectl, api: ApiService | null): Promise<Result<string>> {
  const read = await kubectl([
    "get",
    `deployment/${NAME}`,
    "-n",
    NAMESPACE,
    "--ignore-not-found",
    "-o",
    "json",
  ]);
  if (!read.ok) return read;
  if (read.value.trim() === "")
    return failure("the adapter is not in this cluster: first apply infra/kubectl-top");
  const { spec, status } = JSON.parse(read.value) as Deployed;
  if (!status?.availableReplicas)
    return failure(
      `the adapter is not ready: kubectl -n ${NAMESPACE} describe pods, and kubectl -n ${NAMESPACE} logs deployment/${NAME}`,
    );
  const { service } = api?.spec ?? {};
  const [, asked = ""] =
    /--metrics-server[= ](\S+)/.exec(spec.template.spec.containers[0]?.args?.join(" ") ?? "") ?? [];
  if (api !== null && !isAdapter(api.spec) && service && asked !== originOf(service))
    return failure(
      `the cluster asks the service ${service.namespace}/${service.name}, and the adapter ${asked}: set the adapter's --metrics-server to ${originOf(service)}`,
    );
  const secret = await kubectl([
    "get",
    `secret/${NAME}-tls`,
    "-n",
    NAMESPACE,
    "-o",
    String.raw`jsonpath={.data.ca\.crt} {.data.tls\.crt}`,
  ]);
  // A certificate that signs itself is its own authority. cert-manager adds that of others.
  return secret.ok ? success(secret.value.trim().split(" ")[0] ?? "") : secret;
}

function originOf({ name, namespace, port = 443 }: NonNullable<Target["service"]>): string {
  return `https://${name}.${namespace}.svc${port === 443 ? "" : `:${port}`}`;
}

const patch = (kubectl: Kubectl, change: object) =>
  kubectl(["patch", API, "--type=merge", "-p", JSON.stringify(change)]);

/** Creates the APIService of a cluster without metrics-server, with the priorities of metrics-server's. */
async function create(
  kubectl: Kubectl,
  { metadata, spec }: { metadata: object; spec: object },
): Promise<Result<string>> {
  const object = {
    apiVersion: "apiregistration.k8s.io/v1",
    kind: "APIService",
    metadata: { name: "v1beta1.metrics.k8s.io", ...metadata },
    spec: {
      group: "metrics.k8s.io",
      version: "v1beta1",
      groupPriorityMinimum: 100,
      versionPriority: 100,
      ...spec,
    },
  };
  return kubectl(["create", "-f", "-"], JSON.stringify(object));
}
