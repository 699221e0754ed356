// Makes the NodeFeature object of a machine (nfd.k8s-sigs.io/v1alpha1), from which nfd-master labels the Node. Contains
// only the features that the machine's join token names, since rules act on whatever the object has.
import { ownValue } from "../kubernetes/json.ts";
import { OWNER_ANNOTATION } from "../node/ownership.ts";
import {
  featureBytes,
  type FeatureName,
  FEATURES,
  type Features,
  instancesOf,
} from "../protocol/features.ts";
import type { Grant } from "../protocol/join-tokens.ts";
import { FEATURE_PREFIX, featureLabels } from "./feature-labels.ts";
import { isAllowed } from "./within-grant.ts";

/** The label by which nfd-master and nfd-gc find a Node's objects. */
const NODE_NAME_LABEL = "nfd.node.kubernetes.io/node-name";
/** The size above which features are left out. The apiserver adds the fields' managers. */
export const MAX_NODE_FEATURE_BYTES = 64 * 1024;
/** The features that are left out first: long lists that few rules use. */
const LEFT_OUT_FIRST: readonly FeatureName[] = ["kernel.enabledmodule", "kernel.loadedmodule"];

interface FeatureSpec {
  features: {
    flags: Record<string, { elements: Record<string, object> }>;
    attributes: Record<string, { elements: Record<string, string> }>;
    instances: Record<string, { elements: { attributes: Record<string, string> }[] }>;
  };
  /** Labels that nfd-master sets without a rule: NFD's default labels. */
  labels: Record<string, string>;
}

export interface NodeFeature {
  apiVersion: "nfd.k8s-sigs.io/v1alpha1";
  kind: "NodeFeature";
  metadata: {
    name: string;
    namespace: string;
    labels: Record<string, string>;
    annotations: Record<string, string>;
    ownerReferences: { apiVersion: string; kind: string; name: string; uid: string }[];
    /** The object's own uid, which the apiserver sets. */
    uid?: string;
  };
  spec: FeatureSpec;
}

/** The features that a machine publishes, and the names of those that it has and does not publish. */
export interface PublishedFeatures {
  /** null if the join token allows none. */
  spec: FeatureSpec | null;
  /** The features that the join token does not name. */
  notAllowed: string[];
  /** The features for which MAX_NODE_FEATURE_BYTES leaves no room. */
  noRoom: string[];
}

/** Returns the features of the machine `name` that its token allows: by NFD's names, such as `pci.device` or `cpu.*`. */
export function publishedFeatures(features: Features, name: string, grant: Grant): PublishedFeatures {
  const { mayFeature = [] } = grant;
  const names = Object.keys(FEATURES)
    .filter(isFeatureName)
    .filter((each) => Object.hasOwn(features[FEATURES[each]], each));
  const allowed = names.filter((each) => isAllowed(mayFeature, each));
  const notAllowed = names.filter((each) => !allowed.includes(each));
  const labels = allowedLabels(features, mayFeature, grant);
  if (allowed.length === 0 && Object.keys(labels).length === 0) return { spec: null, notAllowed, noRoom: [] };
  const spec: FeatureSpec = { features: { flags: {}, attributes: {}, instances: {} }, labels };
  for (const each of allowed) addFeature(spec, features, each, name);
  return { spec, notAllowed, noRoom: leaveOut(spec, allowed) };
}

const isFeatureName = (name: string): name is FeatureName => Object.hasOwn(FEATURES, name);

/** Returns NFD's default labels that the token allows, and for which it has no value of its own. */
function allowedLabels(
  features: Features,
  mayFeature: readonly string[],
  { labels = {} }: Grant,
): Record<string, string> {
  const found = Object.entries(featureLabels(features)).filter(
    ([key]) =>
      key.startsWith(FEATURE_PREFIX) &&
      ownValue(labels, key) === undefined &&
      isAllowed(mayFeature, key.slice(FEATURE_PREFIX.length)),
  );
  return Object.fromEntries(found);
}

function addFeature(spec: FeatureSpec, features: Features, feature: FeatureName, name: string): void {
  const { flags, attributes, instances } = spec.features;
  const kind = FEATURES[feature];
  if (kind === "flags")
    flags[feature] = {
      elements: Object.fromEntries((features.flags[feature] ?? []).map((flag) => [flag, {}])),
    };
  else if (kind === "instances")
    instances[feature] = { elements: instancesOf(features, feature).map((each) => ({ attributes: each })) };
  else {
    // A machine must not appear under another Node's name: NFD groups Nodes by this value.
    const own = feature === "system.name" ? { nodename: name } : {};
    attributes[feature] = { elements: { ...features.attributes[feature], ...own } };
  }
}

/** Removes features until the rest fits. Returns their names. */
function leaveOut({ features, labels }: FeatureSpec, names: readonly FeatureName[]): string[] {
  const sizes = new Map<FeatureName, number>(
    names.map((name) => [name, featureBytes(features[FEATURES[name]][name] ?? {})]),
  );
  const largestFirst = names.toSorted((one, other) => (sizes.get(other) ?? 0) - (sizes.get(one) ?? 0));
  const order = [...new Set([...LEFT_OUT_FIRST.filter((name) => sizes.has(name)), ...largestFirst])];
  let bytes = featureBytes(labels) + [...sizes.values()].reduce((sum, each) => sum + each, 0);
  const left: string[] = [];
  for (const name of order) {
    if (bytes <= MAX_NODE_FEATURE_BYTES) break;
    bytes -= sizes.get(name) ?? 0;
    delete features[FEATURES[name]][name];
    left.push(name);
  }
  return left.sort();
}

/** Returns the object. The Node owns it, so that the garbage collector removes it with the Node. */
export function nodeFeature(
  { name, uid, namespace, deployment }: { name: string; uid: string; namespace: string; deployment: string },
  spec: FeatureSpec,
): NodeFeature {
  return {
    apiVersion: "nfd.k8s-sigs.io/v1alpha1",
    kind: "NodeFeature",
    metadata: {
      name,
      namespace,
      labels: { [NODE_NAME_LABEL]: name },
      annotations: { [OWNER_ANNOTATION]: deployment },
      ownerReferences: [{ apiVersion: "v1", kind: "Node", name, uid }],
    },
    spec,
  };
}
