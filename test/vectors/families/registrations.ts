// Runs the recordings of registration: the initial Node, reconciliation, one attempt and the loop around it.
import { type CloudFacts, initialNode } from "../../../shared/node/initial-node.ts";
import { nodeSchema } from "../../../shared/kubernetes/patch/node-schema.ts";
import type { Node } from "../../../shared/kubernetes/types.ts";
import { wireForm } from "../../../shared/kubernetes/patch/wire-form.ts";
import {
  reconcileCMADAnnotation,
  reconcileExtendedResource,
  reconcileHugePageResource,
  tryRegister,
  updateDefaultLabels,
  updateDefaultResources,
} from "../../../shared/node/registration.ts";
import type { DraftNode } from "../../../shared/setters/setter.ts";
import { draftOf } from "../../../shared/node/update-node.ts";
import { createFakeApiserver } from "../fake-apiserver.ts";
import type { Family, Json } from "../family.ts";
import { builtNode, mine, registerWithApiserver, trackerCalls } from "../registration-loop.ts";
import { failure, type Result, success } from "../../../shared/result.ts";

function reading<T>(value: T, error: string | null): Result<T> {
  return error === null ? success(value) : failure(error);
}

/** Returns a Node in the recordings' format, in which unset times of conditions are null. */
function wireNode(node: DraftNode): Json {
  const { conditions } = node.status;
  if (!conditions) return wireForm({ ...node }, nodeSchema);
  const complete = conditions.map((condition): Json => ({ lastHeartbeatTime: null, ...condition }));
  return wireForm({ ...node, status: { ...node.status, conditions: complete } }, nodeSchema);
}

const initial: Family = {
  run(given) {
    const built = initialNode(given, []);
    if (!built.ok) return { node: null, error: built.error };
    return { node: wireNode(built.value.node), error: null };
  },
};

const legacyInitial: Family = {
  run(given) {
    const older = {
      unschedulable: !given.registerSchedulable,
      networkUnavailable: given.providerRequiresNetworkingConfiguration,
      now: given.now,
      keepTerminatedPodVolumes: given.keepTerminatedPodVolumes,
      cloud: given.cloud && cloudFacts(given.cloud),
    };
    return initial.run({ ...given, declaredFeatures: null, older });
  },
};

const cloudFacts = (cloud: Json): CloudFacts => ({
  instances: cloud.instancesSupported
    ? {
        providerID: reading(cloud.providerID, cloud.providerIDError),
        instanceType: reading(cloud.instanceType, cloud.instanceTypeError),
      }
    : null,
  zone: cloud.zonesSupported
    ? reading({ failureDomain: cloud.failureDomain, region: cloud.region }, cloud.zoneError)
    : null,
});

const RECONCILERS: Record<string, (initial: Node, existing: DraftNode, shouldReset: boolean) => boolean> = {
  cmad: reconcileCMADAnnotation,
  labels: updateDefaultLabels,
  extendedResource: reconcileExtendedResource,
  hugePages: reconcileHugePageResource,
  defaultResources: updateDefaultResources,
};

const reconcile: Family = {
  run({ op, initialNode, existingNode, shouldReset }) {
    const before = JSON.stringify(existingNode);
    const node = draftOf(existingNode);
    const requiresUpdate = RECONCILERS[op]!(initialNode, node, shouldReset);
    if (JSON.stringify(existingNode) !== before) throw new Error("the Node that was given has changed");
    return { requiresUpdate, existingNode: wireNode(node) };
  },
};

const tryRegisterFamily: Family = {
  async run({ node, existingNode, shouldReset, outcomes }) {
    const server = createFakeApiserver(true);
    if (existingNode) server.store("nodes", existingNode);
    server.force(outcomes);
    const attempt = await tryRegister(server.client, node, mine, () => shouldReset);
    return { registered: attempt.ok, tracker: trackerCalls(attempt), calls: server.takeCalls() };
  },
};

/** The values of fields that these recordings omit. */
const PLAIN = {
  goos: "linux",
  goarch: "amd64",
  registerWithTaints: [],
  externalCloudProvider: false,
  enableControllerAttachDetach: false,
  providerID: "",
  declaredFeatures: null,
};

const register: Family = {
  async run({ nodeName, hostname, nodeLabels, existingNode, outcomes }) {
    const server = createFakeApiserver(true);
    if (existingNode) server.store("nodes", existingNode);
    server.force(outcomes);
    const build = () => builtNode(initialNode({ ...PLAIN, nodeName, hostname, nodeLabels }, []));
    const loop = await registerWithApiserver(server.client, build);
    return { ...loop, attempts: loop.sleepsMs.length, calls: server.takeCalls() };
  },
};

export const registrations: Record<string, Family> = {
  initialNode: initial,
  legacyInitialNode: legacyInitial,
  reconcile,
  tryRegister: tryRegisterFamily,
  register,
};
