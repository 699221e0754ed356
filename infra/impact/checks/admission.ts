// Finds webhooks, and policies of the apiserver, Kyverno and Gatekeeper, that check each created or changed Node.
import type { V1RuleWithOperations } from "@kubernetes/client-node";
import { type CustomObject, objectName } from "../cluster-objects.ts";
import { type Check } from "../finding.ts";
import { matchesSelector } from "./control-plane.ts";

export const webhooks: Check = {
  name: "webhooks",
  reads: "webhook configurations that match Nodes or their leases",
  follows:
    "the apiserver calls the webhook for each write of the Worker; a webhook that does not answer may block the Worker's writes",
  find: ({ validatingWebhooks, mutatingWebhooks }, { node }) => {
    const all = [
      ...validatingWebhooks.flatMap((each) =>
        (each.webhooks ?? []).map((hook) => ({ kind: "Validating", each, hook })),
      ),
      ...mutatingWebhooks.flatMap((each) =>
        (each.webhooks ?? []).map((hook) => ({ kind: "Mutating", each, hook })),
      ),
    ];
    return all
      .filter(
        ({ hook: { rules = [], objectSelector = {} } }) =>
          rules.some(matchesNodes) && matchesSelector(objectSelector, node.labels),
      )
      .map(({ kind, each, hook: { name, failurePolicy = "Fail" } }) => ({
        severity: failurePolicy === "Fail" ? "costs" : "note",
        object: `${kind}WebhookConfiguration ${objectName(each)}`,
        consequence:
          failurePolicy === "Fail"
            ? `${name} is called for writes of Nodes. While it does not answer, rollcall's Nodes go NotReady as well.`
            : `${name} is called for writes of Nodes, rollcall's as well.`,
        remedy: "Leave them out with an objectSelector: key rollcall.dev/machine, operator DoesNotExist.",
        link: "https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/",
      }));
  },
};

const WRITTEN: readonly (readonly [group: string, resources: readonly string[]])[] = [
  ["", ["nodes", "nodes/status"]],
  ["coordination.k8s.io", ["leases"]],
];

/** Returns true if the rule matches a write of the Worker. */
function matchesNodes({ apiGroups = [], operations = [], resources = [] }: V1RuleWithOperations): boolean {
  if (!operations.some((operation) => ["*", "CREATE", "UPDATE"].includes(operation))) return false;
  return WRITTEN.some(
    ([group, written]) =>
      (apiGroups.includes("*") || apiGroups.includes(group)) &&
      written.some((resource) => resources.some((each) => matchesResource(each, resource))),
  );
}

/** Mirrors upstream Matcher.resource: `*` matches all but subresources; each side of a slash may be `*`. */
function matchesResource(rule: string, written: string): boolean {
  const [resource = "", subresource = ""] = written.split("/");
  const [wanted = "", wantedSub = ""] = rule.split("/");
  return (wanted === "*" || wanted === resource) && (wantedSub === "*" || wantedSub === subresource);
}

export const policies: Check = {
  name: "policies",
  reads:
    "ValidatingAdmissionPolicies, Kyverno's ClusterPolicies and Gatekeeper's constraints that match Nodes",
  follows: "each policy applies to rollcall's Nodes as well; the dry run shows whether a policy refuses them",
  find: ({ admissionPolicies, kyvernoPolicies, gatekeeperConstraints }) => {
    const own = /^rollcall-/;
    const found = [
      ...admissionPolicies
        .filter(({ metadata, spec }) => {
          const rules = (spec?.matchConstraints?.resourceRules ?? []) as V1RuleWithOperations[];
          return !own.test(metadata?.name ?? "") && rules.some(matchesNodes);
        })
        .map((policy) => `ValidatingAdmissionPolicy ${objectName(policy)}`),
      ...kyvernoPolicies.filter(judgesNodes).map((policy) => `ClusterPolicy ${objectName(policy)}`),
      ...gatekeeperConstraints
        .filter(constrainsNodes)
        .map((constraint) => `${constraint.kind ?? "Constraint"} ${objectName(constraint)}`),
    ];
    return found.map((object) => ({
      severity: "note",
      object,
      consequence: "It judges each Node of rollcall's as well.",
      remedy:
        "Check what it demands of Nodes: rollcall's have no hostname, zone or platform labels of Kubernetes.",
    }));
  },
};

interface KyvernoMatch {
  resources?: { kinds?: string[] };
}
interface KyvernoRule {
  match?: KyvernoMatch & { any?: KyvernoMatch[]; all?: KyvernoMatch[] };
}

function judgesNodes({ spec }: CustomObject): boolean {
  const rules = (spec?.["rules"] ?? []) as KyvernoRule[];
  return rules.some(({ match = {} }) =>
    [match, ...(match.any ?? []), ...(match.all ?? [])].some(({ resources }) =>
      (resources?.kinds ?? []).some((kind) => /^(.*\/)?(Node|\*)(\/.*)?$/.test(kind)),
    ),
  );
}

/** Returns true if a Gatekeeper constraint applies to Nodes. A constraint without kinds applies to all kinds. */
function constrainsNodes({ spec }: CustomObject): boolean {
  const { kinds } = (spec?.["match"] ?? {}) as { kinds?: { apiGroups?: string[]; kinds?: string[] }[] };
  if (kinds === undefined) return true;
  return kinds.some(
    ({ apiGroups = ["*"], kinds: names = ["*"] }) =>
      apiGroups.some((group) => group === "" || group === "*") &&
      names.some((kind) => kind === "Node" || kind === "*"),
  );
}
