// Evaluates the deployment's rules for one machine. The Worker loads this file, with the rules' language, only where
// there are rules.
import { compareQuantities, roundUpQuantity } from "../kubernetes/quantity/arithmetic.ts";
import { mustParseQuantity } from "../kubernetes/quantity/parse.ts";
import { newQuantity, signOf } from "../kubernetes/quantity/quantity.ts";
import { quantityText } from "../kubernetes/quantity/text.ts";
import type { Taint } from "../kubernetes/types.ts";
import { labelKeyErrors, labelValueErrors } from "../kubernetes/validation.ts";
import { type Features, instancesOf } from "../protocol/features.ts";
import type { RuleObject } from "./rule-file.ts";
import { evaluateRules, featureSets, type FeatureRule, type NodeFeatures } from "./rules.ts";

type Texts = Readonly<Record<string, string>>;

/** The parts of a Node that rules result in. */
export interface RuleParts {
  labels: Texts;
  annotations: Texts;
  /** Quantities by resource name. */
  resources: Texts;
  taints: readonly Taint[];
}

/** The result of the rules for a machine's features. */
export interface RulesResult extends RuleParts {
  /** The rules that match, as `object/rule`, sorted. */
  matched: readonly string[];
  /** What could not be evaluated, or no Node can have: `rule NAME: why`, `label KEY: why`. */
  refused: readonly string[];
}

/** The most parts of each kind that rules can give a Node: a template can turn each of a machine's devices into one. */
const MOST = { label: 256, annotation: 64, resource: 64, taint: 32 } as const;
/** The most bytes of all parts, since a Node of more than MAX_NODE_BYTES would get no status any more. */
export const MOST_PART_BYTES = 24 * 1024;
/** The most faults that are kept for a machine. */
const MOST_FAULTS = 64;
/** The most characters of a fault: a template can make a line of all of a machine's devices. */
const FAULT_LENGTH = 500;

/** Returns the rules in the order of evaluation, which is that of their objects' names, each named `object/rule`. */
export function rulesInOrder(objects: readonly RuleObject[]): FeatureRule[] {
  return objects
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
    .flatMap(({ name, rules }) => rules.map((rule) => ({ ...rule, name: `${name}/${rule.name}` })));
}

/** Returns what the rules result in for a machine's features. The apiserver can store all of it in a Node. */
export function rulesResult(objects: readonly RuleObject[], features: Features | undefined): RulesResult {
  const sets = features ? featureSets(nodeFeaturesOf(features)) : new Map<string, never>();
  const outcome = evaluateRules(rulesInOrder(objects), sets);
  const faults = [
    ...outcome.failed.map(({ rule, fault }) => `rule ${rule}: ${fault}`),
    ...outcome.refused.map(({ what, fault }) => `${what}: ${fault}`),
  ];
  let bytes = 0;
  const fits = ([key, part]: [string, unknown]) => {
    // An annotation lists the keys.
    bytes += new TextEncoder().encode(key + key + JSON.stringify(part)).length;
    return bytes <= MOST_PART_BYTES;
  };
  /** Keeps the first parts without a fault, sorted by key. */
  const kept = <Part>(
    kind: keyof typeof MOST,
    from: [string, Part][],
    faultOf: (part: Part, key: string) => string | null = () => null,
  ) => {
    const sound = from.filter(([key, part]) => {
      const fault = faultOf(part, key);
      if (fault !== null) faults.push(`${kind} ${key}: ${fault}`);
      return fault === null;
    });
    if (sound.length > MOST[kind])
      faults.push(`${kind}: ${sound.length}, of which the first ${MOST[kind]} count`);
    const some = sound.sort(([a], [b]) => (a < b ? -1 : 1)).slice(0, MOST[kind]);
    const fitting = some.filter(fits);
    const left = some.length - fitting.length;
    if (left > 0) faults.push(`${kind}: ${left} beyond the ${MOST_PART_BYTES} bytes of all parts`);
    return fitting;
  };
  // Of taints with the same key and effect a Node can have one: the last counts, as of labels.
  const taints = outcome.taints.map(({ key, effect, value = "" }): [string, Taint] => [
    `${key}:${effect}`,
    { key, effect, ...(value && { value }) },
  ]);
  // Labels come last, since only a template of labels can fill the bytes with a machine's many devices.
  const parts = {
    taints: kept("taint", [...new Map(taints)], taintFault).map(([, taint]) => taint),
    resources: kept("resource", Object.entries(outcome.extendedResources), amountFault),
    annotations: kept("annotation", Object.entries(outcome.annotations), trustedFault),
    labels: kept("label", Object.entries(outcome.labels)),
  };
  const resources = parts.resources.map(
    ([name, text]) => [name, quantityText(mustParseQuantity(text))] as const,
  );
  return {
    labels: Object.fromEntries(parts.labels),
    annotations: Object.fromEntries(parts.annotations),
    resources: Object.fromEntries(resources),
    taints: parts.taints,
    matched: [...new Set(outcome.matched)].sort(),
    refused: faults.slice(0, MOST_FAULTS).map((fault) => fault.slice(0, FAULT_LENGTH)),
  };
}

/** The domains of agents in infra/rbac/rollcall.yaml: a Node with such an annotation of ours would get no status. */
const AGENTS = (
  "antrea.io cattle.io cilium.io cluster-autoscaler.kubernetes.io cluster.x-k8s.io csi.volume.kubernetes.io " +
  "flannel.alpha.coreos.com k3s.io k8s.ovn.org karpenter.sh kilo.squat.ai kube-router.io " +
  "kubeadm.alpha.kubernetes.io kured.dev machine.openshift.io machineconfiguration.openshift.io " +
  "nfd.node.kubernetes.io projectcalico.org submariner.io talos.dev weave.works"
).split(" ");

/** Returns why the cluster's policy refuses an annotation that networks, installers or autoscalers trust. */
function trustedFault(_: string, key: string): string | null {
  const [namespace = ""] = key.split("/");
  const isAgents =
    key.startsWith("io.cilium.") ||
    AGENTS.some((domain) => namespace === domain || namespace.endsWith(`.${domain}`));
  return isAgents ? "an agent of the cluster trusts it" : null;
}

/**
 * Returns why a Node cannot have this amount of a resource; null if it can. nfd-master leaves this to the apiserver, whose
 * thousandfold of an amount overflows.
 */
function amountFault(text: string): string | null {
  const quantity = mustParseQuantity(text);
  const isWhole = roundUpQuantity(quantity, 0).exact;
  if (signOf(quantity) < 0 || !isWhole) return "must be a whole number, not below 0";
  const most = newQuantity(Number.MAX_SAFE_INTEGER, "DecimalSI");
  return compareQuantities(quantity, most) > 0 ? `more than ${Number.MAX_SAFE_INTEGER}` : null;
}

const taintFault = ({ key, value = "" }: Taint) =>
  labelKeyErrors(key)[0] ?? labelValueErrors(value)[0] ?? null;

/** Returns a machine's own features as a NodeFeature object has them. */
export function nodeFeaturesOf(features: Features): NodeFeatures {
  const mapped = <Of, Elements>(of: Record<string, Of>, elements: (of: Of, name: string) => Elements) =>
    Object.fromEntries(
      Object.entries(of).map(([name, each]) => [name, { elements: elements(each, name) }] as const),
    );
  return {
    flags: mapped(features.flags, (names) => Object.fromEntries(names.map((name) => [name, {}]))),
    attributes: mapped(features.attributes, (texts) => texts),
    instances: mapped(features.instances, (_, name) =>
      instancesOf(features, name).map((device) => ({ attributes: device })),
    ),
  };
}
